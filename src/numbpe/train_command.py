"""``numbpe train``: its options and its work. Nothing is printed here; :mod:`numbpe.cli` does that."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numbpe.command_options import add_errors_option, add_input_option, list_files
from numbpe.errors import ArgumentError
from numbpe.outputs import (
    FORMATS,
    STANDARD_INPUT,
    check_name,
    choose_name,
    reserve_folder,
    write_results,
)
from numbpe.process_memory import measure_peak_rss
from numbpe.progress import Progress
from numbpe.sizes import parse_nbytes
from numbpe.summary import TrainingSummary
from numbpe.train_checks import (
    SECOND_CHUNK_NBYTES,
    CheckLines,
    check_training,
    choose_second_threads,
)

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer
    from numbpe.word_counts import WordCounts

DEFAULT_PATTERN = "gpt2"
DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>",)

DEFAULT_UNICODE = "16"

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
    _check_combinations(arguments)
    name = check_name(arguments.name or choose_name(arguments.input, arguments.counts))
    folder = Path(arguments.output)
    with reserve_folder(folder):
        return _train_in_folder(arguments, folder, name, started)


def _check_combinations(arguments: argparse.Namespace) -> None:
    """Refuse options that make no sense together."""
    if not arguments.input and arguments.counts is None:
        raise ArgumentError(
            "there is nothing to train on; give text by --input or counts by --counts"
        )
    if arguments.held_out is not None and not arguments.check:
        raise ArgumentError("--held-out names the text for --check; give --check too")
    if arguments.check and STANDARD_INPUT in arguments.input:
        raise ArgumentError(
            "--check reads the text twice, which standard input cannot give; put it into a file"
        )


def _train_in_folder(
    arguments: argparse.Namespace, folder: Path, name: str, started: float
) -> TrainingSummary:
    """Count, merge, write and check; return the figures."""
    from numbpe.training import train_with_report

    source, options = _choose_source(arguments)
    saves_counts = bool(arguments.input) and arguments.counts is not None
    save_counts = (lambda counts: counts.save(arguments.counts)) if saves_counts else None
    clock = _Clock(started)
    clock.finish("starting")
    tokenizer, report = train_with_report(
        source, arguments.vocab, **options, on_counted=save_counts
    )
    clock.add(report.seconds)
    files, refusals = write_results(tokenizer, folder, name, arguments.format)
    clock.finish("writing")
    peak_rss_nbytes = measure_peak_rss()
    checks = None
    if arguments.check:
        checks = _check(arguments, tokenizer, source, options)
        clock.finish("checking")
    return TrainingSummary(
        n_source_bytes=report.n_source_bytes if arguments.input else 0,
        n_pieces=report.n_pieces,
        n_distinct_words=report.n_distinct_words,
        vocab_size=report.vocab_size,
        asked_vocab_size=arguments.vocab,
        n_merges=report.n_merges,
        stopped_early=report.stopped_early,
        seconds=clock.seconds,
        total_seconds=time.perf_counter() - started,
        files={**files, "counts": Path(arguments.counts)} if saves_counts else files,
        peak_rss_nbytes=peak_rss_nbytes,
        checks=checks,
        refusals=refusals,
    )


class _Clock:
    """Seconds by stage, one stage after another."""

    def __init__(self, started: float) -> None:
        self.seconds: dict[str, float] = {}
        self._last = started

    def finish(self, stage: str) -> None:
        """End a stage that began where the last one ended."""
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now

    def add(self, seconds: dict[str, float]) -> None:
        """Add stages that were timed elsewhere, and end now."""
        self.seconds |= seconds
        self._last = time.perf_counter()


def _choose_source(arguments: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return what to train on, and the keyword arguments of training.

    Where there is no text, the counts say which pattern and special tokens they were made with; an
    option that says otherwise is an error of training.
    """
    if arguments.input:
        return list_files(arguments.input), _collect_options(arguments, None)
    from numbpe.word_counts import WordCounts

    counts = WordCounts.load(arguments.counts)
    return counts, _collect_options(arguments, counts)


def _collect_options(arguments: argparse.Namespace, counts: "WordCounts | None") -> dict[str, Any]:
    """Return the keyword arguments of training; what is not given is as in the counts."""
    patterns = arguments.pattern or (counts and counts.pattern) or (DEFAULT_PATTERN,)
    special_tokens = arguments.special
    if special_tokens is None:
        special_tokens = DEFAULT_SPECIAL_TOKENS if counts is None else counts.special_tokens
    default_unicode = DEFAULT_UNICODE if counts is None else counts.unicode_version
    return {
        "special_tokens": tuple(special_tokens),
        "pattern": patterns[0] if len(patterns) == 1 else tuple(patterns),
        "unicode_version": arguments.unicode or default_unicode,
        "recipe": arguments.recipe,
        "min_frequency": arguments.min_frequency,
        "max_token_bytes": arguments.max_token_bytes,
        "threads": arguments.threads,
        "memory": arguments.memory,
        "errors": arguments.errors,
        "progress": Progress(enabled=not arguments.quiet),
    }


def _check(
    arguments: argparse.Namespace, tokenizer: "Tokenizer", source: Any, options: dict[str, Any]
) -> CheckLines:
    """Run the three checks; the second training run is one with other threads and chunks."""
    from numbpe.training import train_with_report

    threads = choose_second_threads(arguments.threads)
    other = {**options, "threads": threads, "chunk_nbytes": SECOND_CHUNK_NBYTES}
    if arguments.held_out is not None:
        held_out: Path | None = Path(arguments.held_out)
    else:
        # The files are known to be there: they were read.
        held_out = Path(source[0]) if arguments.input else None
    return check_training(
        tokenizer,
        lambda: train_with_report(source, arguments.vocab, **other)[0],
        f"threads {threads}, chunks of {SECOND_CHUNK_NBYTES:,} bytes"
        if arguments.input
        else "from the same counts",
        held_out,
        was_trained_on=arguments.held_out is None,
    )


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
    add_input_option(
        group, "text files, globs in quotes, or - for stdin; needed unless --counts is read"
    )
    group.add_argument(
        "--counts",
        metavar="FILE",
        help="with --input: write the word counts to FILE too (Parquet); "
        "without --input: train from the counts in FILE, with no text at all",
    )
    add_errors_option(group)
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
        help="version of Unicode that says what is a letter "
        f"(default: {DEFAULT_UNICODE}, or what the counts were made with)",
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
