"""``numbpe decode``: token ids to text, byte for byte."""

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from numbpe.command_options import (
    STANDARD_INPUT,
    CommandReport,
    add_input_option,
    add_output_options,
    add_separator_options,
    add_tokenizer_options,
    load_tokenizer,
    read_standard_input,
    write_data,
    write_file,
)
from numbpe.errors import ArgumentError, DataError, shorten_value

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer

_DESCRIPTION = """Turn token ids into text, byte for byte.

Ids come from a .bin, .npy, .parquet or .arrow file that numbpe encode wrote, or as numbers, with
white space or commas between them, from --ids or stdin."""

_EPILOG = """examples:
  numbpe decode --tokenizer gpt2/tokenizer.json --ids 15496 11 995
  numbpe decode --tokenizer gpt2/tokenizer.json --input owt.bin --output owt.txt
  numbpe encode --tokenizer t.json --text 'Hello' | numbpe decode --tokenizer t.json"""

_BRACKETS = bytes.maketrans(b"[],", b"   ")


def run(arguments: argparse.Namespace) -> CommandReport:
    """Decode as the command line says, and return the figures."""
    if arguments.json and arguments.output is None:
        raise ArgumentError("--json would be mixed with the text on stdout; give --output too")
    if arguments.ids is not None and arguments.input:
        raise ArgumentError("--ids are the ids themselves; leave --input out")
    started = time.perf_counter()
    parts = _decode(arguments)
    if arguments.output is None:
        n_bytes = 0
        for part in parts:
            write_data(part)
            n_bytes += len(part)
        return CommandReport({"n_bytes": n_bytes})
    n_bytes = write_file(parts, Path(arguments.output))
    seconds = time.perf_counter() - started
    return CommandReport(
        {"n_bytes": n_bytes, "seconds": round(seconds, 4), "file": arguments.output},
        [f"wrote    {arguments.output}: {n_bytes:,} bytes in {seconds:.2f} s"],
    )


def _decode(arguments: argparse.Namespace) -> Iterable[bytes]:
    tokenizer = load_tokenizer(arguments)
    skips = arguments.skip_special_tokens
    if arguments.ids is not None:
        return [tokenizer.decode_bytes(_parse_ids(" ".join(arguments.ids).encode()), skips)]
    if not arguments.input or arguments.input == [STANDARD_INPUT]:
        return [tokenizer.decode_bytes(_parse_ids(read_standard_input()), skips)]
    return _decode_files(tokenizer, arguments)


def _decode_files(tokenizer: "Tokenizer", arguments: argparse.Namespace) -> Iterable[bytes]:
    from numbpe.shard_decoding import decode_file

    for path in arguments.input:
        yield from decode_file(
            tokenizer,
            path,
            dtype=arguments.dtype,
            separator=arguments.separator,
            skip_special_tokens=arguments.skip_special_tokens,
        )


def _parse_ids(data: bytes) -> list[int]:
    """Return the numbers of a text; DataError for what is none."""
    ids = []
    for position, word in enumerate(data.translate(_BRACKETS).split()):
        try:
            ids.append(int(word))
        except ValueError:
            raise DataError(
                f"cannot decode {shorten_value(word.decode('utf-8', 'replace'))}, number {position} "
                "of the ids: ids are whole numbers with white space between them; a file of ids is "
                "named by --input"
            ) from None
    return ids


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``decode`` to the sub-commands."""
    parser = commands.add_parser(
        "decode",
        help="turn token ids into text",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_tokenizer_options(parser)
    group = parser.add_argument_group("ids")
    add_input_option(group, "files of ids, decoded one after another (default: numbers from stdin)")
    group.add_argument("--ids", metavar="ID", nargs="+", help="the ids themselves")
    group.add_argument(
        "--dtype",
        choices=("uint16", "uint32"),
        help="type of the ids in a .bin file (default: what is written beside it, else uint16 if all "
        "ids of the tokenizer fit)",
    )
    add_separator_options(group)
    group.add_argument("--skip-special-tokens", action="store_true", help="leave them out")
    group.add_argument("--output", metavar="FILE", help="where the text goes (default: stdout)")
    add_output_options(parser)
