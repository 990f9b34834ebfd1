"""``numbpe combinatorial encode`` and ``decode``: text to rows and back. Nothing is printed here, but data."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from numbpe.command_options import (
    STANDARD_INPUT,
    CommandReport,
    add_errors_option,
    add_input_option,
    add_machine_options,
    add_output_options,
    add_separator_options,
    add_text_options,
    describe_inputs,
    read_standard_input,
    write_data,
    write_file,
    write_lines,
)
from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.progress import Progress
from numbpe.sizes import format_nbytes

if TYPE_CHECKING:
    from numbpe.combinatorial.tokenizer import CombinatorialTokenizer

_ENCODE_EPILOG = """examples:
  numbpe combinatorial encode --tokenizer owt.json --input owt.txt --output owt.npy
  numbpe combinatorial encode --tokenizer owt.json --text 'Hello, world'"""

_DECODE_EPILOG = """examples:
  numbpe combinatorial decode --tokenizer owt.json --input owt.npy --output owt.txt
  numbpe combinatorial encode --tokenizer owt.json --text Hello | numbpe combinatorial decode --tokenizer owt.json"""

_WIDTH: Final = 4
_ROWS_A_PART: Final = 1 << 20
_BRACKETS: Final = bytes.maketrans(b"[](),", b"     ")


def add_encode_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``encode`` to the actions."""
    parser = actions.add_parser(
        "encode",
        help="turn text into rows",
        description="Turn text into rows of four indices: variation, prefix, core, suffix.",
        epilog=_ENCODE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run_encode)
    _add_tokenizer_option(parser)
    text = parser.add_argument_group("text")
    add_text_options(text, " (default: stdin)")
    text.add_argument("--text", metavar="TEXT", help="the text itself")
    add_errors_option(text)
    add_separator_options(text)
    add_machine_options(text)
    text.add_argument(
        "--output", metavar="FILE",
        help="NAME.npy, an (n, 4) int32 array, or NAME.parquet, a list of rows for each document; "
        "needed but for --text, whose rows go to stdout, one a line",
    )  # fmt: skip
    add_output_options(parser)


def add_decode_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``decode`` to the actions."""
    parser = actions.add_parser(
        "decode",
        help="turn rows into text",
        description="Turn rows into the bytes that they spell.",
        epilog=_DECODE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run_decode)
    _add_tokenizer_option(parser)
    rows = parser.add_argument_group("rows")
    add_input_option(
        rows, "NAME.npy files, decoded one after another (default: numbers from stdin)"
    )
    rows.add_argument("--output", metavar="FILE", help="where the text goes (default: stdout)")
    add_output_options(parser)


def _add_tokenizer_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tokenizer", metavar="FILE", required=True, help="a file of ours or of the reference"
    )


def _load(arguments: argparse.Namespace) -> "CombinatorialTokenizer":
    from numbpe.combinatorial.tokenizer import CombinatorialTokenizer

    return CombinatorialTokenizer.load(arguments.tokenizer)


def run_encode(arguments: argparse.Namespace) -> CommandReport:
    """Encode as the command line says; return the figures."""
    if arguments.text is not None:
        if arguments.input or arguments.output:
            raise ArgumentError(
                "the rows of --text go to stdout; leave --input and --output out, or --text"
            )
        rows = _load(arguments).encode(arguments.text).tolist()
        if not arguments.json:
            write_lines(*(" ".join(map(str, row)) for row in rows))
        return CommandReport({"rows": rows})
    if arguments.output is None:
        raise ArgumentError("rows are written to a file; name it by --output NAME.npy")
    report = _load(arguments).encode_files(
        describe_inputs(arguments, arguments.input or [STANDARD_INPUT]),
        arguments.output,
        separator=arguments.separator,
        errors=arguments.errors,
        threads=arguments.threads,
        memory=arguments.memory,
        progress=Progress(enabled=not arguments.quiet),
    )
    figures = {
        "n_documents": report.n_documents,
        "n_rows": report.n_rows,
        "n_source_bytes": report.n_source_bytes,
        "seconds": round(report.seconds, 4),
        "file": str(report.file),
    }
    read = format_nbytes(report.n_source_bytes)
    lines = [
        f"read     {read} in {report.n_documents:,} documents",
        f"wrote    {report.file}: {report.n_rows:,} rows",
        f"took     {report.seconds:.2f} s",
    ]
    return CommandReport(figures, lines)


def run_decode(arguments: argparse.Namespace) -> CommandReport:
    """Decode as the command line says; return the figures."""
    if arguments.json and not arguments.output:
        raise ArgumentError("--json and the text would both go to stdout; give --output FILE too")
    parts = _decode(_load(arguments), arguments.input)
    if arguments.output is None:
        for part in parts:
            write_data(part)
        return CommandReport({})
    n_bytes = write_file(parts, Path(arguments.output))
    figures = {"n_bytes": n_bytes, "file": arguments.output}
    return CommandReport(figures, [f"wrote    {arguments.output}: {format_nbytes(n_bytes)}"])


def _decode(tokenizer: "CombinatorialTokenizer", inputs: list[str]) -> Iterator[bytes]:
    if not inputs or inputs == [STANDARD_INPUT]:
        yield tokenizer.decode_bytes(_parse_rows(read_standard_input()))
        return
    for path in inputs:
        rows = _open_rows(path)
        for start in range(0, len(rows), _ROWS_A_PART):
            yield tokenizer.decode_bytes(rows[start : start + _ROWS_A_PART])


def _open_rows(path: str) -> Any:
    """Return the array of a .npy file, without reading it into memory."""
    import numpy as np

    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(
            f"cannot decode {shorten_value(path, 200)}: it is no .npy file of rows ({error})"
        ) from None
    if rows.ndim != 2 or rows.shape[1] != _WIDTH:
        raise DataError(
            f"cannot decode {shorten_value(path, 200)}: its shape is {rows.shape}, and must be "
            f"(n, {_WIDTH})"
        )
    return rows


def _parse_rows(data: bytes) -> list[list[int]]:
    """Return the numbers of a text as rows; DataError for what is none."""
    words = data.translate(_BRACKETS).split()
    try:
        numbers = [int(word) for word in words]
    except ValueError as error:
        raise DataError(
            f"cannot decode the rows: {error}; rows are whole numbers with white space between them"
        ) from None
    if len(numbers) % _WIDTH:
        raise DataError(
            f"cannot decode {len(numbers):,} numbers: a row is {_WIDTH} numbers, and "
            f"{len(numbers) % _WIDTH} are left over"
        )
    return [numbers[i : i + _WIDTH] for i in range(0, len(numbers), _WIDTH)]
