"""``numbpe combinatorial``: Combinatorial BPE from training to rows. Nothing is printed here.

A sub-command of its own, since its vocabularies are other files, and its ids rows of four indices.
"""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numbpe.combinatorial_rows_command import add_decode_parser, add_encode_parser
from numbpe.command_options import (
    CommandReport,
    add_errors_option,
    add_machine_options,
    add_output_options,
    add_text_options,
    describe_inputs,
)
from numbpe.errors import ArgumentError
from numbpe.outputs import choose_name
from numbpe.process_memory import measure_peak_rss
from numbpe.progress import Progress
from numbpe.sizes import format_nbytes

if TYPE_CHECKING:
    from numbpe.combinatorial.definition import CharacterVocabulary, CombinatorialVocabulary

_DESCRIPTION = """Combinatorial BPE: a token is a row of four indices, (variation, prefix, core, suffix), so that "the",
" the", "The" and " THE," share a core, and text takes fewer tokens for as many embeddings."""

_EPILOG = """examples:
  numbpe combinatorial train --input owt.txt --vocab 16384 --output owt.json
  numbpe combinatorial encode --tokenizer owt.json --input owt.txt --output owt.npy
  numbpe combinatorial decode --tokenizer owt.json --input owt.npy
  numbpe combinatorial inspect owt.json --text 'The cat, the hat'"""

_TRAIN_DESCRIPTION = """Train the four tables on text, or with --plain a vocabulary over characters to compare them with.

The same input and options give the same bytes, whatever the threads and the memory."""

_TRAIN_EPILOG = """examples:
  numbpe combinatorial train --input owt.txt --vocab 16384 --output owt.json
  numbpe combinatorial train --input 'src/*.py' --vocab 8192 --split-camel --output code.json
  numbpe combinatorial train --input owt.txt --vocab 16384 --prefix '' --prefix ' ' --suffix ''
  numbpe combinatorial train --input owt.txt --vocab 16384 --plain gpt2 --output plain.json"""

_INSPECT_EPILOG = """examples:
  numbpe combinatorial inspect owt.json --text 'The cat, the hat'
  numbpe combinatorial inspect owt.json --top 20"""

_FLAGS = {
    "no_fold_case": "store capital letters as they are, not as small ones with a variation",
    "punct_to_next": "give punctuation behind a word to the prefix of the next word",
    "fold_han": "store Traditional Chinese characters as Simplified ones with a variation",
    "split_camel": "cut words where small letters meet capital ones, as in source code",
}
_NUMBERS = {
    "min_char_freq": (20, "leave characters that occur less often to bytes"),
    "max_affix_candidates": (2000, "prefixes, and suffixes, to choose from"),
    "min_affix_freq": (10, "take nothing for an affix that occurs less often"),
    "max_affix_len": (16, "nor what has more characters"),
}


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``combinatorial`` and its actions to the sub-commands."""
    parser = commands.add_parser(
        "combinatorial",
        help="train and use Combinatorial BPE, whose tokens are rows of four indices",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(
        title="actions", metavar="ACTION", required=True, help="what to do"
    )
    _add_train_parser(actions)
    add_encode_parser(actions)
    add_decode_parser(actions)
    _add_inspect_parser(actions)


def _add_action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, **texts: Any
) -> argparse.ArgumentParser:
    return actions.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)


def _add_train_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _add_action(
        actions,
        "train",
        help="train the tables on text",
        description=_TRAIN_DESCRIPTION,
        epilog=_TRAIN_EPILOG,
    )
    parser.set_defaults(run=run_train)
    text = parser.add_argument_group("text")
    add_text_options(text, "")
    add_errors_option(text)
    tables = parser.add_argument_group("tables")
    tables.add_argument(
        "--vocab", metavar="N", type=int, required=True, help="rows of all four tables together"
    )
    for name, help_text in _FLAGS.items():
        tables.add_argument("--" + name.replace("_", "-"), action="store_true", help=help_text)
    for name, (default, help_text) in _NUMBERS.items():
        tables.add_argument(
            "--" + name.replace("_", "-"), metavar="N", type=int, default=default,
            help=f"{help_text} (default: %(default)s)",
        )  # fmt: skip
    for side in ("prefix", "suffix"):
        choice = tables.add_mutually_exclusive_group()
        choice.add_argument(
            f"--n-{side}", metavar="N", type=int, help=f"how many {side}es there are beside the "
            "empty one (default: learned)",
        )  # fmt: skip
        choice.add_argument(
            f"--{side}", metavar="TEXT", action="append",
            help=f"a {side} of a closed list, of which '' must be the first; repeat it",
        )  # fmt: skip
    tables.add_argument(
        "--special", metavar="TOKEN", action="append", default=[],
        help="a special token, at which text is cut; may be repeated (default: none)",
    )  # fmt: skip
    tables.add_argument(
        "--plain", metavar="PATTERN", choices=("gpt2", "cl100k"),
        help="train a plain vocabulary over characters, cut by gpt2 or cl100k, to compare with",
    )  # fmt: skip
    add_machine_options(parser.add_argument_group("machine"))
    results = parser.add_argument_group("results")
    results.add_argument(
        "--output", metavar="FILE",
        help="the file to write (default: artifacts/NAME_combinatorial.json, NAME being that of the "
        "input)",
    )  # fmt: skip
    results.add_argument(
        "--format", choices=("numbpe", "reference"), default="numbpe",
        help="numbpe, or that of the reference implementation, which has no special tokens "
        "(default: %(default)s)",
    )  # fmt: skip
    add_output_options(parser)


def _add_inspect_parser(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _add_action(
        actions,
        "inspect",
        help="show what a file of tables holds",
        description="Show the sizes of the tables and their first rows.",
        epilog=_INSPECT_EPILOG,
    )
    parser.set_defaults(run=run_inspect)
    parser.add_argument("tokenizer", metavar="FILE", help="a file of ours or of the reference")
    parser.add_argument(
        "--top", metavar="N", type=int, default=10, help="rows to show (default: %(default)s)"
    )
    parser.add_argument(
        "--text", metavar="TEXT", help="show the rows of a text, and what each says"
    )
    add_output_options(parser)


def run_train(arguments: argparse.Namespace) -> CommandReport:
    """Train as the command line says, write the file, and return the figures."""
    from numbpe.combinatorial.formats import write_reference_file, write_vocabulary

    started = time.perf_counter()
    if not arguments.input:
        raise ArgumentError("there is nothing to train on; give text by --input")
    target = Path(arguments.output or f"artifacts/{_choose_name(arguments)}.json")
    if target.suffix != ".json":
        raise ArgumentError(f"cannot write {str(target)!r}; the file must be called NAME.json")
    if arguments.format == "reference" and arguments.special:
        raise ArgumentError(
            "the format of the reference implementation has no special tokens; leave --special or "
            "--format reference out"
        )
    vocabulary, figures = _train(arguments)
    write = write_reference_file if arguments.format == "reference" else write_vocabulary
    write(vocabulary, target)
    seconds = time.perf_counter() - started
    peak = measure_peak_rss()
    figures |= {"total_seconds": round(seconds, 4), "peak_rss_nbytes": peak, "file": str(target)}
    lines = [
        f"read     {format_nbytes(figures['n_source_bytes'])}"
        if "n_source_bytes" in figures
        else f"read     {len(arguments.input):,} inputs",
        f"tables   {_describe_sizes(vocabulary)}",
        f"wrote    {target}",
        f"took     {seconds:.2f} s" + (f", {format_nbytes(peak)} of memory" if peak else ""),
    ]
    if figures.get("stopped_early"):
        asked, given = arguments.vocab, vocabulary.vocab_size
        lines.append(f"note     no pair was left: the text gives {given:,} of {asked:,} rows")
    return CommandReport(figures, lines)


def _choose_name(arguments: argparse.Namespace) -> str:
    kind = f"plain_{arguments.plain}" if arguments.plain else "combinatorial"
    return f"{choose_name(arguments.input, None)}_{kind}"


def _train(
    arguments: argparse.Namespace,
) -> "tuple[CombinatorialVocabulary | CharacterVocabulary, dict[str, Any]]":
    """Return the trained tables and the first of the figures."""
    how: dict[str, Any] = {
        "threads": arguments.threads,
        "memory": arguments.memory,
        "errors": arguments.errors,
        "progress": Progress(enabled=not arguments.quiet),
    }
    if arguments.plain:
        from numbpe.combinatorial.standard_training import train_standard

        plain = train_standard(
            describe_inputs(arguments, arguments.input),
            arguments.vocab,
            arguments.plain,
            min_char_freq=arguments.min_char_freq,
            special_tokens=arguments.special,
            **how,
        )
        return plain, {"asked_vocab_size": arguments.vocab, **_list_sizes(plain)}
    from numbpe.bad_input import warn_of_skipped
    from numbpe.combinatorial.training import train_combinatorial_with_report
    from numbpe.combinatorial.training_options import TrainingOptions

    options = TrainingOptions(
        vocab_size=arguments.vocab,
        n_prefix=arguments.n_prefix,
        n_suffix=arguments.n_suffix,
        prefixes=arguments.prefix,
        suffixes=arguments.suffix,
        fold_case=not arguments.no_fold_case,
        punct_to_next=arguments.punct_to_next,
        fold_han=arguments.fold_han,
        split_camel=arguments.split_camel,
        special_tokens=arguments.special,
        **{name: getattr(arguments, name) for name in _NUMBERS},
    )
    vocabulary, report = train_combinatorial_with_report(
        describe_inputs(arguments, arguments.input), options, **how
    )
    figures = {
        "n_source_bytes": report.n_source_bytes,
        "n_units": report.n_units,
        "n_distinct_words": report.n_distinct_words,
        "asked_vocab_size": arguments.vocab,
        "stopped_early": report.stopped_early,
        "skipped": report.skipped.to_dict(),
        "seconds": {stage: round(value, 4) for stage, value in report.seconds.items()},
    }
    warn_of_skipped(report.skipped)
    return vocabulary, figures | _list_sizes(vocabulary)


def run_inspect(arguments: argparse.Namespace) -> CommandReport:
    """Show what a file holds."""
    from numbpe.combinatorial.formats import read_vocabulary

    vocabulary = read_vocabulary(arguments.tokenizer)
    top = max(0, arguments.top)
    shown: dict[str, list[str]] = {
        "alphabet": list(vocabulary.alphabet[:top]),
        "merges": [left + right for left, right in vocabulary.merges[:top]],
        "special_tokens": list(vocabulary.special_tokens[:top]),
    }
    for table in ("prefixes", "suffixes"):
        if hasattr(vocabulary, table):
            shown[table] = list(getattr(vocabulary, table)[:top])
    flags = [
        flag
        for flag in ("fold_case", "punct_to_next", "fold_han", "split_camel")
        if getattr(vocabulary, flag, False)
    ]
    lines = [f"tables   {_describe_sizes(vocabulary)}"]
    if flags:
        lines.append(f"flags    {', '.join(flags)}")
    lines += [f"{name:<9}{' '.join(map(repr, rows))}" for name, rows in shown.items() if rows]
    figures = {**_list_sizes(vocabulary), "flags": flags, **shown}
    if arguments.text is not None:
        rows = _describe_text(vocabulary, arguments.text)
        figures["rows"] = [row for row, _ in rows]
        lines += [f"{' '.join(map(str, row)):<24}{words}" for row, words in rows]
    return CommandReport(figures, lines)


def _describe_text(
    vocabulary: "CombinatorialVocabulary | CharacterVocabulary", text: str
) -> list[tuple[list[int], str]]:
    """Return the rows of a text, and each in words."""
    from numbpe.combinatorial.definition import N_BYTES, VARIATIONS, CombinatorialVocabulary
    from numbpe.combinatorial.tokenizer import CombinatorialTokenizer

    if not isinstance(vocabulary, CombinatorialVocabulary):
        raise ArgumentError(
            "--text shows rows of Combinatorial BPE, and this file holds a plain vocabulary; leave "
            "it out"
        )
    tokenizer = CombinatorialTokenizer(vocabulary)
    rows: list[tuple[list[int], str]] = []
    for row in tokenizer.encode(text).tolist():
        variation, prefix, core, suffix = row
        spelled = f"byte {core:#04x}" if core < N_BYTES else repr(vocabulary.core_strings[core])
        words = [VARIATIONS[variation]] if variation else []
        words += [f"prefix {vocabulary.prefixes[prefix]!r}"] if prefix else []
        words += [spelled]
        words += [f"suffix {vocabulary.suffixes[suffix]!r}"] if suffix else []
        rows.append((row, ", ".join(words)))
    return rows


def _list_sizes(vocabulary: "CombinatorialVocabulary | CharacterVocabulary") -> dict[str, Any]:
    return {
        "vocab_size": vocabulary.vocab_size,
        "sizes": getattr(vocabulary, "sizes", {"core": vocabulary.n_cores}),
        "n_merges": len(vocabulary.merges),
    }


def _describe_sizes(vocabulary: "CombinatorialVocabulary | CharacterVocabulary") -> str:
    sizes = _list_sizes(vocabulary)["sizes"]
    parts = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    return f"{parts}: {vocabulary.vocab_size:,} rows, {len(vocabulary.merges):,} merges"
