"""``numbpe encode``: text to token ids, on standard output or in files."""

import argparse
from typing import TYPE_CHECKING, Any

from numbpe.command_options import (
    STANDARD_INPUT,
    CommandReport,
    add_engine_options,
    add_errors_option,
    add_machine_options,
    add_output_options,
    add_separator_options,
    add_text_options,
    add_tokenizer_options,
    describe_inputs,
    load_tokenizer,
    make_engine,
    write_lines,
)
from numbpe.errors import ArgumentError
from numbpe.progress import Progress

if TYPE_CHECKING:
    from numbpe.shard_report import EncodingReport

_DESCRIPTION = """Turn text into token ids.

With --output the ids of files of any size go to files: .bin (little-endian uint16 or uint32, nothing
else; numpy.memmap reads it), .npy (numpy.load), .parquet or .arrow (a row for each document). A file
OUTPUT.json beside them says what is in them. Without --output the ids are printed, one line for each
text."""

_EPILOG = """examples:
  numbpe encode --tokenizer gpt2/tokenizer.json --input owt.txt --output owt.bin
  numbpe encode --tokenizer gpt2/tokenizer.json --input 'web/*.txt' --output web.parquet --shards 16 --resume
  numbpe encode --tokenizer gpt2/tokenizer.json --input 'web/*.txt' --output web.bin --engine ray --address 10.0.0.1:6379
  numbpe encode --tokenizer gpt2/tokenizer.json --text 'Hello, world'
  numbpe encode --tokenizer gpt2/tokenizer.json --count --input owt.txt"""

_FILE_OPTIONS = {"shards": 1, "dtype": None, "resume": False, "write_separator": None}


def run(arguments: argparse.Namespace) -> "CommandReport | EncodingReport":
    """Encode as the command line says, and return the figures."""
    _check_combinations(arguments)
    if arguments.output is not None:
        return _encode_files(arguments)
    if arguments.count and not arguments.text:
        return _count_files(arguments)
    return _encode_texts(arguments)


def _check_combinations(arguments: argparse.Namespace) -> None:
    """Refuse options that make no sense together."""
    if arguments.output is not None:
        if arguments.text or arguments.lines:
            raise ArgumentError(
                "--output takes the text of files; name them by --input, or - for stdin"
            )
        if arguments.count:
            raise ArgumentError("--count writes no ids; leave --output or --count out")
        if not arguments.input:
            raise ArgumentError("there is nothing to encode; name files by --input, or - for stdin")
        return
    for name, default in _FILE_OPTIONS.items():
        if getattr(arguments, name) != default:
            option = name.replace("_", "-")
            raise ArgumentError(f"--{option} is about files of ids; give --output too")
    if arguments.engine is not None and not arguments.count:
        raise ArgumentError("--engine is about files; give --output, or --count, too")
    if arguments.engine is not None and arguments.text:
        raise ArgumentError("--engine is about files; leave --text out")
    if arguments.text and (arguments.input or arguments.lines):
        raise ArgumentError("--text is the text itself; leave --input and --lines out")


def _encode_files(arguments: argparse.Namespace) -> "EncodingReport":
    from numbpe.shards import encode_files

    return encode_files(
        load_tokenizer(arguments),
        describe_inputs(arguments, arguments.input or [STANDARD_INPUT]),
        arguments.output,
        separator=arguments.separator,
        write_separator=arguments.write_separator,
        shards=arguments.shards,
        dtype=arguments.dtype,
        resume=arguments.resume,
        add_special_tokens=arguments.add_special_tokens,
        **_collect_options(arguments),
    )


def _count_files(arguments: argparse.Namespace) -> "EncodingReport":
    from numbpe.shards import count_files

    report = count_files(
        load_tokenizer(arguments),
        describe_inputs(arguments, arguments.input or [STANDARD_INPUT]),
        **_collect_options(arguments),
    )
    if not arguments.json:
        write_lines(str(report.n_tokens))
    return report


def _collect_options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "special": arguments.special,
        "errors": arguments.errors,
        "threads": arguments.threads,
        "memory": arguments.memory,
        "progress": Progress(enabled=not arguments.quiet),
        "engine": make_engine(arguments),
    }


def _encode_texts(arguments: argparse.Namespace) -> CommandReport:
    """Print the ids of each text on a line, or how many there are."""
    tokenizer = load_tokenizer(arguments)
    rows = []
    for text in _list_texts(arguments):
        ids = tokenizer.encode(text, arguments.special, arguments.add_special_tokens)
        rows.append(ids.tolist())
    if not arguments.json:
        lines = [str(len(row)) if arguments.count else " ".join(map(str, row)) for row in rows]
        write_lines(*lines)
    figures: dict[str, Any] = {"n_tokens": sum(map(len, rows))}
    figures |= {} if arguments.count else {"ids": rows}
    return CommandReport(figures)


def _list_texts(arguments: argparse.Namespace) -> list[str]:
    if arguments.text:
        return list(arguments.text)
    from numbpe.sources import resolve_source

    texts = []
    source = resolve_source(describe_inputs(arguments, arguments.input or [STANDARD_INPUT]))
    for name, data in source.read_documents():
        text = _decode(data, name, arguments.errors)
        if arguments.lines:
            lines = text.split("\n")
            texts += lines[:-1] if not lines[-1] else lines
        else:
            texts.append(text)
    return texts


def _decode(data: bytes, name: str, errors: str) -> str:
    try:
        return data.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        from numbpe.corpus import word_invalid_text

        raise word_invalid_text(name, data[error.start :], error.start) from None


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``encode`` to the sub-commands."""
    parser = commands.add_parser(
        "encode",
        help="turn text into token ids",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_tokenizer_options(parser)
    _add_text_options(parser)
    _add_file_options(parser)
    machine = parser.add_argument_group("machine")
    add_machine_options(machine)
    add_engine_options(machine)
    add_output_options(parser)


def _add_text_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("text")
    add_text_options(group, " (default: stdin)")
    group.add_argument(
        "--text", metavar="TEXT", action="append", default=[], help="a text; may be repeated"
    )
    group.add_argument(
        "--lines", action="store_true", help="each line is a text of its own, without its line end"
    )
    add_errors_option(group)
    group.add_argument(
        "--special",
        choices=("allow", "text", "error"),
        default="allow",
        help="text that spells a special token becomes it (allow, the default), is taken as any text "
        "(text), or is refused (error)",
    )
    group.add_argument(
        "--add-special-tokens",
        action="store_true",
        help="add the ids that the tokenizer's template puts around a text",
    )
    group.add_argument("--count", action="store_true", help="print how many tokens there are")


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("files of ids")
    group.add_argument(
        "--output", metavar="FILE", help="NAME.bin, NAME.npy, NAME.parquet or NAME.arrow"
    )
    group.add_argument(
        "--shards",
        metavar="N",
        type=int,
        default=1,
        help="write N files, NAME-00000-of-0000N.SUFFIX and so on (default: %(default)s)",
    )
    add_separator_options(group)
    group.add_argument(
        "--write-separator",
        action=argparse.BooleanOptionalAction,
        help="whether its id stands behind each document (default: in .bin and .npy it does)",
    )
    group.add_argument(
        "--dtype",
        choices=("uint16", "uint32"),
        help="type of the ids (default: uint16 if all ids of the tokenizer fit)",
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="keep the shards that an earlier run of the same command has completed",
    )
