"""``numbpe train``: its options and its work. Nothing is printed here; :mod:`numbpe.cli` does that."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numbpe.errors import ArgumentError
from numbpe.outputs import (
    FORMATS,
    STANDARD_INPUT,
    check_name,
    choose_name,
    reserve_folder,
    write_results,
)
from numbpe.progress import Progress
from numbpe.sizes import parse_nbytes
from numbpe.summary import TrainingSummary

if TYPE_CHECKING:
    from numbpe.counting import WordCounts
    from numbpe.sources import Source

DEFAULT_PATTERN = "gpt2"
DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>",)

_DESCRIPTION = """Train a byte-pair-encoding vocabulary on text.

Writes NAME_vocab.pkl (dict of id to bytes), NAME_merges.pkl (list of pairs of bytes) and NAME.json (a
tokenizer.json) to the output folder, all or none. The same input and options give the same bytes,
whatever the threads and the memory."""

_EPILOG = """examples:
  numbpe train --input owt.txt --vocab 32000
  numbpe train --input 'shards/*.txt' --vocab 50000 --pattern o200k --memory 4GiB --output runs/o200k
  zcat wiki.gz | numbpe train --input - --vocab 8000 --name wiki --counts wiki.counts.parquet
  numbpe train --counts wiki.counts.parquet --vocab 16000 --name wiki16k"""


def run(arguments: argparse.Namespace) -> TrainingSummary:
    """Train as the command line says, write the results, and return the figures."""
    started = time.perf_counter()
    if not arguments.input and arguments.counts is None:
        raise ArgumentError(
            "there is nothing to train on; give text by --input or counts by --counts"
        )
    if arguments.held_out is not None and not arguments.check:
        raise ArgumentError("--held-out names the text for --check; give --check too")
    name = check_name(arguments.name or choose_name(arguments.input, arguments.counts))
    folder = Path(arguments.output)
    with reserve_folder(folder):
        return _train_in_folder(arguments, folder, name, started)


def _train_in_folder(
    arguments: argparse.Namespace, folder: Path, name: str, started: float
) -> TrainingSummary:
    """Count, merge and write; return the figures."""
    from numbpe.training import train_with_report

    source, options = _choose_source(arguments)
    tokenizer, report = train_with_report(source, arguments.vocab, **options)
    writing_started = time.perf_counter()
    files = write_results(tokenizer, folder, name, arguments.format)
    seconds = {**report.seconds, "writing": time.perf_counter() - writing_started}
    return TrainingSummary(
        n_source_bytes=report.n_source_bytes,
        n_pieces=report.n_pieces,
        n_distinct_words=report.n_distinct_words,
        vocab_size=report.vocab_size,
        asked_vocab_size=arguments.vocab,
        n_merges=report.n_merges,
        stopped_early=report.stopped_early,
        seconds=seconds,
        total_seconds=time.perf_counter() - started,
        files=files,
    )


def _choose_source(arguments: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return what to train on, and the keyword arguments of training.

    Where there is no text, the counts say which pattern and special tokens they were made with; an
    option that says otherwise is an error of training.
    """
    counts = None if arguments.input else _load_counts(arguments.counts)
    patterns = arguments.pattern or (counts.pattern if counts else (DEFAULT_PATTERN,))
    special_tokens = arguments.special
    if special_tokens is None:
        special_tokens = counts.special_tokens if counts else DEFAULT_SPECIAL_TOKENS
    options = {
        "special_tokens": tuple(special_tokens),
        "pattern": patterns[0] if len(patterns) == 1 else tuple(patterns),
        "unicode_version": arguments.unicode,
        "recipe": arguments.recipe,
        "min_frequency": arguments.min_frequency,
        "max_token_bytes": arguments.max_token_bytes,
        "threads": arguments.threads,
        "memory": arguments.memory,
        "errors": arguments.errors,
        "progress": Progress(enabled=not arguments.quiet),
    }
    return _find_files(arguments.input) if counts is None else counts, options


def _find_files(inputs: Sequence[str]) -> "Source":
    """Return the files that inputs stand for, in a form that cannot be taken for a list of texts."""
    from numbpe.sources import resolve_source

    paths = [path for item in inputs for path in resolve_source(item).paths or ()]
    if all(path == STANDARD_INPUT for path in paths):
        return STANDARD_INPUT
    return [path if path == STANDARD_INPUT else Path(path) for path in paths]


def _load_counts(path: str) -> "WordCounts":
    from numbpe.counting import WordCounts

    return WordCounts.load(path)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``train`` to the sub-commands."""
    parser = commands.add_parser(
        "train",
        help="train a vocabulary on text",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    _add_source_options(parser)
    _add_vocabulary_options(parser)
    _add_resource_options(parser)
    _add_output_options(parser)


def _add_source_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("text")
    group.add_argument(
        "--input",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="text files, globs in quotes, or - for stdin; needed unless --counts is read",
    )
    group.add_argument(
        "--counts",
        metavar="FILE",
        help="with --input: write the word counts to FILE too (Parquet); "
        "without --input: train from the counts in FILE, with no text at all",
    )
    group.add_argument(
        "--errors",
        choices=("replace", "ignore", "strict"),
        default="replace",
        help="what to do with bytes that are not UTF-8 (default: %(default)s, by U+FFFD)",
    )
    group.add_argument(
        "--pattern",
        metavar="NAME|REGEX",
        action="append",
        help="how text is cut into pieces: the name of a known pattern (gpt2, cl100k, o200k, llama3, "
        "...) or a regular expression; repeat it for a sequence of cuts "
        f"(default: {DEFAULT_PATTERN}, or what the counts were made with)",
    )
    group.add_argument(
        "--unicode",
        choices=("16", "17"),
        default="16",
        help="version of Unicode that says what is a letter (default: %(default)s)",
    )


def _add_vocabulary_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("vocabulary")
    group.add_argument(
        "--vocab",
        metavar="N",
        type=int,
        required=True,
        help="number of tokens: 256 bytes, the special tokens, and merges up to N",
    )
    special = group.add_mutually_exclusive_group()
    special.add_argument(
        "--special",
        metavar="TOKEN",
        action="append",
        help="a special token, at which text is cut; may be repeated "
        f"(default: {DEFAULT_SPECIAL_TOKENS[0]}, or what the counts were made with)",
    )
    special.add_argument(
        "--no-special",
        dest="special",
        action="store_const",
        const=(),
        help="have no special token",
    )
    group.add_argument(
        "--recipe",
        choices=("cs336", "tiktoken"),
        default="cs336",
        help="numbering and ties: cs336 (bytes, special tokens, merges; the greatest pair of byte "
        "strings first) or tiktoken (bytes, merges, special tokens; the smallest pair of ids first) "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--min-frequency",
        metavar="N",
        type=int,
        default=1,
        help="stop when the most frequent pair occurs less often (default: %(default)s)",
    )
    group.add_argument(
        "--max-token-bytes", metavar="N", type=int, help="make no token longer than N bytes"
    )


def _add_resource_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("machine")
    group.add_argument("--threads", metavar="N", type=int, help="threads (default: all cores)")
    group.add_argument(
        "--memory",
        metavar="SIZE",
        type=_read_size,
        help="memory that the process may take, such as 4GiB; word counts beyond it go to disk",
    )


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("results")
    group.add_argument(
        "--output", metavar="DIR", default="artifacts", help="folder (default: %(default)s)"
    )
    group.add_argument("--name", help="first part of the file names (default: that of the input)")
    group.add_argument(
        "--format",
        nargs="+",
        choices=FORMATS,
        default=["json"],
        help="what to write besides the two pickles: json (NAME.json), tiktoken (NAME.tiktoken), "
        "gpt2 (NAME/vocab.json and merges.txt) (default: json)",
    )
    group.add_argument(
        "--check",
        action="store_true",
        help="check the result: round trips, a second training run with other threads and chunk "
        "sizes, bytes per token on held-out text",
    )
    group.add_argument(
        "--held-out",
        metavar="FILE",
        help="text for --check that is not trained on (default: the end of the first input)",
    )
    group.add_argument("--json", action="store_true", help="print the summary to stdout as JSON")
    group.add_argument("--quiet", action="store_true", help="no progress, no summary")
    group.add_argument("--debug", action="store_true", help="show tracebacks")


def _read_size(text: str) -> int:
    try:
        return parse_nbytes(text)
    except ArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
