"""Run the benchmarks: ``python benchmarks/run.py train``. See README.md beside this file."""

import argparse
import sys
import tempfile
from pathlib import Path

import render
from cells import TRAINING_CELLS
from corpora import Corpora, CorpusError
from machine import describe_machine, read_load
from processes import RunError
from records import Record, RecordError, load_results, save_results
from runner import ROOT, Runner

RESULTS = ROOT / "benchmarks" / "results"
DEFAULT_CORPORA = (
    ROOT.parent / "shared" / "data" / "corpora",
    ROOT.parent / "shared" / "data" / "cs336",
)


def main() -> int:
    """Measure what the command line asks for; return the exit code."""
    parser = make_parser()
    arguments = parser.parse_args()
    if unknown := set(arguments.only) - {cell.name for cell in TRAINING_CELLS}:
        parser.error(f"there is no cell {', '.join(sorted(unknown))}")
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
        render.update_readme()
    return 0 if passed else 1


def is_full_run(arguments: argparse.Namespace) -> bool:
    """Return whether nothing is shortened. Rounds may be more or fewer: they are stated."""
    return arguments.limit is None and arguments.vocab is None and not arguments.engines


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
    train.set_defaults(benchmark="training")
    names = ", ".join(cell.name for cell in TRAINING_CELLS)
    train.add_argument(
        "--only", metavar="CELL,...", type=split_names, default=[], help=f"of the cells: {names}"
    )
    train.add_argument("--rounds", type=int, metavar="N", help="instead of a cell's own number")
    train.add_argument(
        "--resume", action="store_true", help="keep rounds measured before, of the same kind"
    )
    train.add_argument(
        "--fresh", action="store_true", help="drop all results that the file has had"
    )
    train.add_argument(
        "--corpora",
        type=Path,
        action="append",
        metavar="DIR",
        help="folder with NAME.txt or NAME.txt.xz, and corpus.en; may be repeated "
        "(default: ../shared/data/corpora and ../shared/data/cs336 beside the repository)",
    )
    train.add_argument(
        "--results", type=Path, metavar="FILE", help="default: benchmarks/results/training.json"
    )
    train.add_argument("--work", type=Path, metavar="DIR", help="where to put temporary files")
    train.add_argument("--limit", type=int, metavar="BYTES", help="cut all texts to this size")
    train.add_argument("--vocab", type=int, metavar="N", help="tokens at most, for a quick look")
    train.add_argument(
        "--engines", metavar="NAME,...", type=split_names, default=[], help="only these engines"
    )
    train.add_argument(
        "--python",
        metavar="ENGINE=PATH",
        type=parse_python,
        action="append",
        default=[],
        help="the Python of another environment to run an engine with; may be repeated",
    )
    return parser


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
    cells = [cell for cell in TRAINING_CELLS if not arguments.only or cell.name in arguments.only]
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
            vocab_size=arguments.vocab,
            wanted=wanted,
            pythons=dict(arguments.python),
        )
        for cell in cells:

            def save(record: Record, name: str = cell.name) -> None:
                results["cells"][name] = record
                save_results(arguments.results, results)

            old = results["cells"].get(cell.name) if arguments.resume else None
            record = runner.run_cell(cell, old, save)
            passed = report_checks(cell.name, record) and passed
    return passed


def report_checks(name: str, record: Record) -> bool:
    """Print the checks that did not hold; return whether all did."""
    failed = [check for check in record["checks"] if not check["equal"]]
    for check in failed:
        print(f"{name}: results differ, {check['what']}: {check['labels']}", file=sys.stderr)
    return not failed


if __name__ == "__main__":
    sys.exit(main())
