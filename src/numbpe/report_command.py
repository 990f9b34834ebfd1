"""``numbpe report``: a page that compares tokenizers on texts."""

import argparse
from pathlib import Path

from numbpe.command_options import (
    CommandReport,
    add_errors_option,
    add_limit_option,
    add_output_options,
    add_tokenizers_options,
    add_width_option,
    check_width,
    collect_load_options,
    read_size,
)
from numbpe.errors import ArgumentError

_DESCRIPTION = """Make a page that compares tokenizers of both kinds on the same texts.

Bytes, characters and words per token, the vocabularies by script and length and how the texts use them, spellings of
one word, parts of characters, digits and white space, the texts in coloured tokens, and the stepper. One
file without anything beside it, for the screen, light and dark, and for paper. Charts need
numbpe[report]."""

_EPILOG = """examples:
  numbpe report gpt2/tokenizer.json llama3/tokenizer.json --text English=owt.txt --text Hindi=hi.txt --output report.html
  numbpe report gpt2/tokenizer.json combinatorial.json --text English=owt.txt --output report.html
  numbpe report ours.json --text held-out=test.txt --output report.html --sample 10MB"""


def run(arguments: argparse.Namespace) -> CommandReport:
    """Make the page and write it."""
    check_width(arguments)
    from numbpe.files import write_atomically
    from numbpe.see.charts import check_charts
    from numbpe.see.kinds import load_either
    from numbpe.see.report import build_report
    from numbpe.see.texts import read_texts

    check_charts()
    files = _name_texts(arguments.text)
    texts = read_texts(files, arguments.sample, arguments.errors)
    names = _name_tokenizers(arguments.tokenizers)
    options = collect_load_options(arguments)
    tokenizers = {name: load_either(path, **options) for name, path in names.items()}
    report = build_report(
        tokenizers,
        texts,
        width=arguments.width,
        limit=arguments.limit,
        max_text_nbytes=arguments.sample,
    )
    with write_atomically(arguments.output) as file:
        file.write(report.html.encode("utf-8"))
    is_sampled = any(text.is_sample for text in texts)
    lines = [*report.remarks, f"wrote    {arguments.output}; open it in a browser"]
    if is_sampled:
        lines.insert(0, "sampled  the texts have more than --sample; the page says so too")
    figures = {
        "output": arguments.output,
        "tokenizers": list(tokenizers),
        "texts": [text.name for text in texts],
        "is_sampled": is_sampled,
        "page_nbytes": len(report.html.encode()),
        "remarks": list(report.remarks),
    }
    return CommandReport(figures, lines)


def _name_texts(items: list[str]) -> dict[str, Path]:
    """Return the files of texts by name."""
    files: dict[str, Path] = {}
    for item in items:
        name, separator, path = item.partition("=")
        if not separator or not name or not path:
            raise ArgumentError(
                f"cannot use --text {item!r}: give a name and a file, such as --text English=owt.txt"
            )
        if name in files:
            raise ArgumentError(f"two texts are called {name!r}; give each a name of its own")
        if not Path(path).exists():
            raise FileNotFoundError(f"cannot read {path!r}: there is no such file")
        if not Path(path).is_file():
            raise ArgumentError(f"cannot use --text {item!r}: {path!r} is not a file; give a file")
        files[name] = Path(path)
    return files


def _name_tokenizers(paths: list[str]) -> dict[str, str]:
    """Return the paths by short names: the file's, and the folder's where that is not enough."""
    named: dict[str, str] = {}
    for path in paths:
        given = Path(path)
        name = given.name
        if name in ("tokenizer.json", "") or name in named:
            name = str(Path(*given.parts[-2:]))
        if name in named:
            name = path
        if name in named:
            raise ArgumentError(f"the tokenizer {path!r} is given twice; give it once")
        named[name] = path
    return named


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``report`` to the sub-commands."""
    parser = commands.add_parser(
        "report",
        help="make a page that compares tokenizers on texts",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_tokenizers_options(parser, "+")
    group = parser.add_argument_group("texts and page")
    group.add_argument(
        "--text",
        metavar="NAME=FILE",
        action="append",
        required=True,
        help="a text in UTF-8, and what the page calls it; may be repeated",
    )
    group.add_argument("--output", metavar="FILE", required=True, help="the page to write")
    group.add_argument(
        "--sample",
        metavar="SIZE",
        type=read_size,
        default=50_000_000,
        help="texts that together have more are sampled to this (default: 50MB)",
    )
    add_errors_option(group, "strict")
    add_width_option(group)
    add_limit_option(group)
    add_output_options(parser)
