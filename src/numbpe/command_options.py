"""What several sub-commands share: options for the tokenizer and the machine, and standard output."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numbpe.errors import ArgumentError
from numbpe.sizes import parse_nbytes

if TYPE_CHECKING:
    from numbpe.engines.ray_engine import RayEngine
    from numbpe.sources import TextSource
    from numbpe.tokenizer import Tokenizer

STANDARD_INPUT = "-"

FORMATS = ("text", "jsonl", "parquet", "arrow", "feather")
"""As in ``numbpe.source_detection``, which imports more than a help text should wait for."""

ENGINES = ("ray",)
"""As in ``numbpe.engines.choice``, for the same reason."""


@dataclass(frozen=True)
class CommandReport:
    """What a sub-command says about its work: figures for machines, lines for a person."""

    figures: dict[str, Any]
    lines: list[str] = field(default_factory=list)
    passed: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values that JSON can hold."""
        return self.figures

    def to_lines(self) -> list[str]:
        """Return the lines for a person."""
        return self.lines


def list_files(inputs: Sequence[str]) -> "list[str | Path]":
    """Return the files that inputs stand for, for what reads nothing but plain text."""
    from numbpe.input_files import expand_path

    paths = [file.path for path in inputs for file in expand_path(path)]
    return [path if path == STANDARD_INPUT else Path(path) for path in paths]


def describe_inputs(arguments: argparse.Namespace, inputs: Sequence[str]) -> "TextSource":
    """Return the files that inputs stand for, none of which can be taken for a text."""
    from numbpe.input_files import expand_path
    from numbpe.sources import TextSource

    return TextSource(
        [file for path in inputs for file in expand_path(path)],
        format=arguments.input_format,
        column=arguments.column,
        on_bad=arguments.on_bad,
    )


def add_input_option(group: "argparse._ArgumentGroup", about: str) -> None:
    """Add ``--input``; ``about`` is its help."""
    group.add_argument(
        "--input", metavar="FILE", nargs="+", action="extend", default=[], help=about
    )


def add_text_options(group: "argparse._ArgumentGroup", needed: str) -> None:
    """Add ``--input`` for text, of which ``needed`` says when it is, and how its files are read."""
    about = (
        "files of text, JSON Lines, Parquet or Arrow, compressed or not; folders, globs in quotes, "
        "addresses such as s3://bucket/key, or - for stdin"
    )
    add_input_option(group, about + needed)
    group.add_argument(
        "--input-format",
        choices=FORMATS,
        help="what the files hold, once uncompressed (default: what their first bytes and suffixes "
        "say; .gz, .zst, .bz2 and .xz are always undone)",
    )
    group.add_argument(
        "--column",
        "--field",
        metavar="NAME",
        help="the column of tables, or the field of JSON Lines, that holds the text, such as text or "
        "meta.body (default: text)",
    )
    group.add_argument(
        "--on-bad",
        choices=("error", "skip"),
        default="error",
        help="what to do with rows without text and damaged files: end with an error (the default), "
        "or leave them out and count them",
    )


def add_errors_option(
    group: "argparse._ArgumentGroup", default: Literal["replace", "strict"] = "replace"
) -> None:
    """Add ``--errors``: what to do with text that is not UTF-8."""
    meaning = {"replace": "by U+FFFD", "strict": "refuse the text"}[default]
    group.add_argument(
        "--errors",
        choices=("replace", "ignore", "strict"),
        default=default,
        help=f"what to do with bytes that are not UTF-8 (default: %(default)s, {meaning})",
    )


def add_machine_options(group: "argparse._ArgumentGroup", about_memory: str = "") -> None:
    """Add ``--threads`` and ``--memory``, to whose help ``about_memory`` is added."""
    group.add_argument("--threads", metavar="N", type=int, help="threads (default: all cores)")
    group.add_argument(
        "--memory",
        metavar="SIZE",
        type=read_size,
        help="memory that the process may take, such as 4GiB" + about_memory,
    )


def add_width_option(group: "argparse._ArgumentGroup") -> None:
    """Add ``--width``: how wide an embedding is; see :func:`check_width`."""
    group.add_argument(
        "--width",
        metavar="N",
        type=int,
        default=4096,
        help="numbers in a row of the embedding, for the cost (default: %(default)s)",
    )


def check_width(arguments: argparse.Namespace) -> None:
    """Raise ArgumentError unless ``--width`` is the width of an embedding."""
    if arguments.width < 1:
        raise ArgumentError(
            f"--width must be 1 or more, not {arguments.width}: it is how many numbers a row of the "
            "embedding has, such as 4096"
        )


def add_limit_option(group: "argparse._ArgumentGroup") -> None:
    """Add ``--limit``: how large the vocabularies in a page may be."""
    group.add_argument(
        "--limit",
        metavar="SIZE",
        type=read_size,
        default=24_000_000,
        help="the most that vocabularies may take in the page (default: 24MB)",
    )


def add_tokenizer_options(parser: argparse.ArgumentParser, *, is_positional: bool = False) -> None:
    """Add what names a tokenizer, and what its file may not say."""
    group = parser.add_argument_group("tokenizer")
    names = ["tokenizer"] if is_positional else ["--tokenizer"]
    required = {} if is_positional else {"required": True}
    group.add_argument(
        *names,
        metavar="TOKENIZER",
        help="a tokenizer.json, NAME.tiktoken, a folder with vocab.json and merges.txt, or NAME.pkl "
        "for NAME_vocab.pkl and NAME_merges.pkl",
        **required,  # type: ignore[arg-type]
    )
    _add_load_options(group, "the file")


def add_tokenizers_options(parser: argparse.ArgumentParser, number: str) -> None:
    """Add what names several tokenizers of either kind, and what their files may not say."""
    group = parser.add_argument_group("tokenizers")
    group.add_argument(
        "tokenizers",
        metavar="TOKENIZER",
        nargs=number,
        help="a tokenizer.json, NAME.tiktoken, a folder with vocab.json and merges.txt, NAME.pkl, or a "
        "combinatorial vocabulary",
    )
    _add_load_options(group, "a file")


def _add_load_options(group: "argparse._ArgumentGroup", file: str) -> None:
    """Add what :func:`collect_load_options` collects; ``file`` is what help texts call the file."""
    group.add_argument(
        "--pattern",
        metavar="NAME|REGEX",
        action="append",
        help=f"how text is cut into pieces, where {file} does not say; may be repeated",
    )
    group.add_argument(
        "--special-token",
        metavar="TOKEN",
        action="append",
        help=f"a special token, where {file} does not name it; may be repeated",
    )


def load_tokenizer(arguments: argparse.Namespace) -> "Tokenizer":
    """Return the tokenizer that the options name."""
    from numbpe.loading import load

    return load(arguments.tokenizer, **collect_load_options(arguments))


def collect_load_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of loading."""
    return {
        "pattern": collect_pattern(arguments),
        "special_tokens": arguments.special_token,
    }


def collect_pattern(arguments: argparse.Namespace) -> str | list[str] | None:
    """Return what ``--pattern`` names: one pattern, several, or None."""
    patterns: list[str] | None = arguments.pattern
    return patterns[0] if patterns and len(patterns) == 1 else patterns


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add what every sub-command has."""
    group = parser.add_argument_group("messages")
    group.add_argument("--json", action="store_true", help="print the results to stdout as JSON")
    group.add_argument("--quiet", action="store_true", help="no progress, no summary")
    group.add_argument("--debug", action="store_true", help="show tracebacks")


def add_separator_options(parser: argparse._ArgumentGroup) -> None:
    """Add what names the token between documents."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--separator",
        metavar="TOKEN",
        default="auto",
        help="the special token that ends documents (default: <|endoftext|> or what the tokenizer "
        "has in its place)",
    )
    choice.add_argument(
        "--no-separator",
        dest="separator",
        action="store_const",
        const=None,
        help="no token ends documents, only the ends of files do",
    )


def add_engine_options(group: "argparse._ArgumentGroup") -> None:
    """Add what names an engine, and the address of its cluster."""
    group.add_argument(
        "--engine",
        choices=ENGINES,
        help="do the work on a cluster of Ray (pip install 'numbpe[ray]'); --threads and --memory are "
        "then those of each task",
    )
    group.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="with --engine: the head of the cluster, or auto for the one that runs on this machine "
        "(default: $RAY_ADDRESS, or else one that is started for the run)",
    )
    group.add_argument(
        "--connect-timeout",
        metavar="SECONDS",
        type=float,
        help="with --engine: how long to wait for the cluster to answer (default: 30)",
    )


def make_engine(arguments: argparse.Namespace) -> "RayEngine | None":
    """Return the engine that the options name; None for none."""
    if arguments.engine is None:
        for name in ("address", "connect_timeout"):
            if getattr(arguments, name) is not None:
                option = name.replace("_", "-")
                raise ArgumentError(f"--{option} is about a cluster; give --engine ray too")
        return None
    from numbpe.engines.ray_engine import DEFAULT_TIMEOUT, RayEngine

    timeout = arguments.connect_timeout
    return RayEngine(arguments.address, timeout=DEFAULT_TIMEOUT if timeout is None else timeout)


def read_size(text: str) -> int:
    """Return a size such as 4GiB in bytes, for argparse."""
    try:
        return parse_nbytes(text)
    except ArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def read_standard_input() -> bytes:
    """Return all of standard input."""
    return sys.stdin.buffer.read()


def write_data(data: bytes) -> None:
    """Write to standard output, byte for byte."""
    output = sys.stdout
    output.flush()
    output.buffer.write(data)
    output.buffer.flush()


def write_file(parts: Iterable[bytes], path: Path) -> int:
    """Write parts one after another to a file, all or none; return how many bytes they have."""
    from numbpe.files import write_atomically

    n_bytes = 0
    with write_atomically(path) as file:
        for part in parts:
            file.write(part)
            n_bytes += len(part)
    return n_bytes


def write_lines(*lines: str) -> None:
    """Write lines to standard output; what its encoding lacks is written with a backslash."""
    encoding = sys.stdout.encoding or "utf-8"
    write_data("".join(line + "\n" for line in lines).encode(encoding, "backslashreplace"))


def wants_color(choice: str) -> bool:
    """Return whether to colour standard output; ``choice`` is "always", "never" or "auto".

    NO_COLOR, if it is set and not empty, is obeyed (https://no-color.org).
    """
    if choice != "auto":
        return choice == "always"
    is_dumb = os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and not is_dumb
