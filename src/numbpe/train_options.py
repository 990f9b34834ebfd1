"""The options of ``numbpe train``."""

import argparse

from numbpe.command_options import (
    add_engine_options,
    add_errors_option,
    add_machine_options,
    add_text_options,
)
from numbpe.outputs import FORMATS
from numbpe.recipes import RECIPES

DEFAULT_PATTERN = "gpt2"
DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>",)
DEFAULT_UNICODE = "16"
DEFAULT_RECIPE = "cs336"

DESCRIPTION = """Train a byte-pair-encoding vocabulary on text.

Writes NAME_vocab.pkl (dict of id to bytes), NAME_merges.pkl (list of pairs of bytes) and NAME.json (a
tokenizer.json) to the output folder, all or none. The same input and options give the same bytes,
whatever the threads and the memory."""

EPILOG = """examples:
  numbpe train --input owt.txt --vocab 32000
  numbpe train --input 'shards/*.txt' --vocab 50000 --pattern o200k --memory 4GiB --output runs/o200k
  zcat wiki.gz | numbpe train --input - --vocab 8000 --name wiki --counts wiki.counts.parquet
  numbpe train --counts wiki.counts.parquet --vocab 8000,16000,32000 --name wiki
  numbpe train --input german.txt --extend artifacts/owt.json --vocab 48000
  numbpe train --input 's3://corpus/web/*.parquet' --vocab 50000 --name web --engine ray --address auto"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options of ``train``."""
    _add_source_options(parser)
    _add_vocabulary_options(parser)
    _add_resource_options(parser)
    _add_output_options(parser)


def _add_source_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("text")
    add_text_options(group, "; needed unless --counts is read")
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
        metavar="N[,N...]",
        type=_read_vocab_sizes,
        required=True,
        help="number of tokens: 256 bytes, the special tokens, and merges up to N; of several, such as "
        "8000,16000,32000, each is what a run of its own gives, in files named NAME-N",
    )
    group.add_argument(
        "--extend",
        metavar="TOKENIZER",
        help="go on where this tokenizer ends: its ids and merges are kept, up to N tokens in all. "
        "--pattern and --special are needed only where its file does not say",
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
        choices=tuple(RECIPES),
        help="what is counted, ties, and numbering: cs336 (bytes, special tokens, merges; the greatest "
        "pair of byte strings first), tiktoken (bytes, merges, special tokens; the smallest pair of "
        "ids first) or hf (what BpeTrainer of tokenizers makes) "
        f"(default: {DEFAULT_RECIPE}, or that of --extend)",
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
    add_machine_options(group, "; word counts beyond it go to disk")
    group.add_argument(
        "--resume",
        action="store_true",
        help="keep what is counted of many files on disk, about once a minute, and go on from what an "
        "earlier run with --resume and the same files and options has left there when it was killed",
    )
    group.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="with --resume: the folder for that (default: NAME.checkpoint in the output folder); it "
        "is removed in the end",
    )
    add_engine_options(group)


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


def _read_vocab_sizes(text: str) -> tuple[int, ...]:
    """Return one size or several, ascending."""
    try:
        sizes = sorted(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of tokens; write one, such as 32000, or several with commas"
        ) from None
    if len(set(sizes)) < len(sizes):
        raise argparse.ArgumentTypeError(f"{text!r} names a size twice; name each once")
    return tuple(sizes)
