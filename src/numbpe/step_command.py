"""``numbpe step``: a page on which one steps through the encoding of a text."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from numbpe.command_options import (
    CommandReport,
    add_limit_option,
    add_output_options,
    add_tokenizers_options,
    collect_load_options,
    write_lines,
)
from numbpe.errors import ArgumentError

if TYPE_CHECKING:
    from numbpe.see.stepping import Model

_DESCRIPTION = """Make a page on which one types a text and steps through its encoding.

It shows the pieces, the pair with the lowest rank, the merge and the ids, for a standard and for a combinatorial
vocabulary side by side: two small tables of equal size that are trained from a paragraph, and the
vocabularies given. The page is one file and needs no network. Without --output it is served on this
machine until Ctrl-C."""

_EPILOG = """examples:
  numbpe step
  numbpe step gpt2/tokenizer.json --output step.html
  numbpe step gpt2/tokenizer.json --port 8000 --text 'Hello, world'
  numbpe step --paragraph story.txt --rows 500 --output step.html"""

_TEXT = "The cat said: \u201cTHE END.\u201d The friends weren't there."


def run(arguments: argparse.Namespace) -> CommandReport:
    """Make the page, and write or serve it."""
    if arguments.output is not None and arguments.port is not None:
        raise ArgumentError("--output writes a file, --port serves the page; leave one of them out")
    if arguments.port is not None and not 0 <= arguments.port <= 65_535:
        raise ArgumentError(f"--port must be from 0 to 65535, not {arguments.port}")
    from numbpe.see.small_tables import PARAGRAPH, train_small_tables
    from numbpe.see.stepping import build_step_page

    paragraph = PARAGRAPH
    if arguments.paragraph is not None:
        paragraph = "".join(_read_paragraph(arguments.paragraph))
    models = [load_model(path, arguments) for path in arguments.tokenizers]
    models += train_small_tables(paragraph, arguments.rows)
    text = _TEXT if arguments.text is None else arguments.text
    page = build_step_page(models, text=text, limit=arguments.limit)
    figures = {"tables": [model["name"] for model in models], "page_nbytes": len(page.encode())}
    if arguments.output is None:
        _serve(page, arguments)
        return CommandReport(figures)
    from numbpe.files import write_atomically

    with write_atomically(arguments.output) as file:
        file.write(page.encode("utf-8"))
    return CommandReport(
        figures | {"output": arguments.output},
        [f"wrote    {arguments.output}; open it in a browser"],
    )


def load_model(path: str, arguments: argparse.Namespace) -> "Model":
    """Return a tokenizer of either kind as a page holds it."""
    from numbpe.see.kinds import load_either
    from numbpe.see.subjects import as_subject

    tokenizer = load_either(path, **collect_load_options(arguments))
    return as_subject(tokenizer, Path(path).name).describe()


def _read_paragraph(path: str) -> list[str]:
    from numbpe.see.texts import iterate_blocks

    return list(iterate_blocks(path))


def _serve(page: str, arguments: argparse.Namespace) -> None:
    from numbpe.see.serving import PageServer

    with PageServer(page, arguments.port or 0) as server:
        write_lines(server.url)
        if not arguments.quiet:
            sys.stderr.write("the page is at this address, on this machine alone; Ctrl-C ends\n")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``step`` to the sub-commands."""
    parser = commands.add_parser(
        "step",
        help="make a page that steps through the encoding of a text",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_tokenizers_options(parser, "*")
    group = parser.add_argument_group("page")
    group.add_argument("--text", metavar="TEXT", help="the text that the page begins with")
    group.add_argument(
        "--paragraph", metavar="FILE", help="train the small tables from this text, or - for stdin"
    )
    group.add_argument(
        "--rows",
        metavar="N",
        type=int,
        default=330,
        help="rows of the small tables (default: %(default)s)",
    )
    group.add_argument("--output", metavar="FILE", help="write the page to this file")
    group.add_argument("--port", metavar="N", type=int, help="serve it on this port of 127.0.0.1")
    add_limit_option(group)
    add_output_options(parser)
