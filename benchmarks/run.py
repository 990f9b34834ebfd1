"""Run the benchmarks: ``python benchmarks/run.py train``, or ``encode``.

See README.md beside this file.
"""

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import render
from cells import TRAINING_CELLS, Cell
from corpora import Corpora, CorpusError
from encoding_cells import ENCODING_CELLS
from machine import describe_machine, read_load
from processes import RunError
from records import Record, RecordError, load_results, save_results
from runner import ROOT, Runner

RESULTS = ROOT / "benchmarks" / "results"
SHARED = ROOT.parent / "shared" / "data"
DEFAULT_CORPORA = (SHARED / "corpora", SHARED / "cs336")
DEFAULT_TOKENIZERS = (SHARED / "tokenizers",)
CELLS: dict[str, Sequence[Cell]] = {"training": TRAINING_CELLS, "encoding": ENCODING_CELLS}


def main() -> int:
    """Measure what the command line asks for; return the exit code."""
    parser = make_parser()
    arguments = parser.parse_args()
    names = [cell.name for cell in CELLS[arguments.benchmark]]
    if unknown := [pattern for pattern in arguments.only if not fnmatch.filter(names, pattern)]:
        parser.error(f"there is no cell {', '.join(unknown)}; there are {', '.join(names)}")
    default_results = RESULTS / f"{arguments.benchmark}.json"
    arguments.results = arguments.results or default_results
    if arguments.results == default_results and not is_full_run(arguments):
        parser.error("give --results too: figures of a shortened run do not belong into the README")
    try:
        passed = measure_cells(arguments)
    except (CorpusError, RecordError, RunError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; --resume goes on after the last whole round", file=sys.stderr)
        return 130
    if arguments.results == default_results:
        render.update_pages()
    return 0 if passed else 1


def is_full_run(arguments: argparse.Namespace) -> bool:
    """Return whether nothing is shortened. Rounds may be more or fewer: they are stated."""
    return not (arguments.limit or arguments.engines or getattr(arguments, "vocab", None))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="run.py", description="Run the benchmarks.")
    commands = parser.add_subparsers(dest="benchmark", required=True)
    train = commands.add_parser(
        "training",
        aliases=["train"],
        help="train vocabularies, from file to files",
        description="Measure training: numbpe beside other engines, and by itself.",
        epilog="example: python benchmarks/run.py train --only english,memory --rounds 5",
    )
    add_arguments(train, "training")
    train.add_argument("--vocab", type=int, metavar="N", help="tokens at most, for a quick look")
    encode = commands.add_parser(
        "encoding",
        aliases=["encode"],
        help="encode with published vocabularies, from texts to ids",
        description="Measure encoding: numbpe beside other engines, ids compared first.",
        epilog="example: python benchmarks/run.py encode --only 'gpt2-*,files' --rounds 5",
    )
    add_arguments(encode, "encoding")
    encode.add_argument(
        "--tokenizers",
        type=Path,
        action="append",
        metavar="DIR",
        help="folder with NAME.json or NAME.json.xz; may be repeated "
        "(default: ../shared/data/tokenizers beside the repository)",
    )
    return parser


def add_arguments(parser: argparse.ArgumentParser, benchmark: str) -> None:
    """Add the options that all benchmarks have."""
    parser.set_defaults(benchmark=benchmark)
    names = ", ".join(cell.name for cell in CELLS[benchmark])
    parser.add_argument(
        "--only",
        metavar="CELL,...",
        type=split_names,
        default=[],
        help=f"of the cells, * stands for anything: {names}",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="instead of a cell's own number")
    parser.add_argument(
        "--resume", action="store_true", help="keep rounds measured before, of the same kind"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="drop all results that the file has had"
    )
    parser.add_argument(
        "--corpora",
        type=Path,
        action="append",
        metavar="DIR",
        help="folder with NAME.txt or NAME.txt.xz, and corpus.en; may be repeated "
        "(default: ../shared/data/corpora and ../shared/data/cs336 beside the repository)",
    )
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help=f"default: benchmarks/results/{benchmark}.json"
    )
    parser.add_argument("--work", type=Path, metavar="DIR", help="where to put temporary files")
    parser.add_argument("--limit", type=int, metavar="BYTES", help="cut all texts to this size")
    parser.add_argument(
        "--engines", metavar="NAME,...", type=split_names, default=[], help="only these engines"
    )
    parser.add_argument(
        "--python",
        metavar="ENGINE=PATH",
        type=parse_python,
        action="append",
        default=[],
        help="the Python of another environment to run an engine with; may be repeated",
    )


def parse_python(text: str) -> tuple[str, str]:
    """Return engine and path; ArgumentTypeError for what is not ENGINE=PATH."""
    engine, found, path = text.partition("=")
    if not found or not Path(path).is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is not ENGINE=PATH with the path of a Python")
    # Not resolved: an environment's Python is a link, and where the link lies matters.
    return engine, str(Path(path).absolute())


def split_names(text: str) -> list[str]:
    """Return the names between commas."""
    return text.split(",")


def measure_cells(arguments: argparse.Namespace) -> bool:
    """Measure the cells asked for, one after another; return whether all checks held."""
    patterns = arguments.only or ["*"]
    cells = [
        cell
        for cell in CELLS[arguments.benchmark]
        if any(fnmatch.fnmatch(cell.name, pattern) for pattern in patterns)
    ]
    results = load_results(
        arguments.results, arguments.benchmark, describe_machine(), fresh=arguments.fresh
    )
    if (load := read_load()) is not None and load > 0.5:
        print(f"the machine is busy (load {load}): figures will suffer", file=sys.stderr)
    folders = [*(arguments.corpora or DEFAULT_CORPORA), ROOT / "data"]
    wanted = set(arguments.engines) or None
    passed = True
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        corpora = Corpora(folders, Path(work), arguments.limit)
        runner = Runner(
            corpora,
            Path(work),
            rounds=arguments.rounds,
            vocab_size=getattr(arguments, "vocab", None),
            wanted=wanted,
            pythons=dict(arguments.python),
            tokenizers=open_tokenizers(arguments, Path(work)),
        )
        for cell in cells:

            def save(record: Record, name: str = cell.name) -> None:
                results["cells"][name] = record
                save_results(arguments.results, results)

            old = results["cells"].get(cell.name) if arguments.resume else None
            record = runner.run_cell(cell, old, save)
            passed = report_checks(cell.name, record) and passed
    return passed


def open_tokenizers(arguments: argparse.Namespace, work: Path) -> Corpora | None:
    """Return the files of vocabularies; None for benchmarks without them."""
    if arguments.benchmark != "encoding":
        return None
    folders = arguments.tokenizers or DEFAULT_TOKENIZERS
    return Corpora(folders, work, None, ".json", "--tokenizers")


def report_checks(name: str, record: Record) -> bool:
    """Print the checks that did not hold; return whether those did that have to."""
    failed = [check for check in record["checks"] if not check["equal"]]
    for check in failed:
        print(f"{name}: results differ, {check['what']}: {check['labels']}", file=sys.stderr)
    return not any(check.get("required", True) for check in failed)


if __name__ == "__main__":
    sys.exit(main())
