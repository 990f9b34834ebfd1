"""Measure how training grows with the text, and say what 15 GB and 1 TB would take.

    python benchmarks/scale.py --corpora DIR        # 3 to 5 minutes on 2 cores, 15 GB in the temporary folder

Text is made of the English corpus, new words included: see scale_text.py. Each size is trained on in
a process of its own; bounds on memory are tried, too. Writes results/scale.json and,
from it, the tables of scale.md beside this file; what is measured, and where that is unfair, is told there.
"""

import argparse
import datetime
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import render
from corpora import Corpora, CorpusError
from machine import (
    describe_machine,
    find_allowed_cpus,
    find_commit,
    read_load,
    restrict_to_cpus,
)
from processes import RunError, measure
from records import Record, save_results
from scale_fits import extrapolate

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "scale.json"
SHARED = ROOT.parent / "shared" / "data" / "corpora"
SIZES, LARGEST, BOUND = (0.2, 1.0, 4.0), 15.0, 8.0
FARTHEST = 1000.0
"""Gigabytes that are reckoned, not measured."""
THREADS, VOCAB_SIZE, SEED = 2, 32_000, 1
COUNTING_NBYTES = 400_000_000
"""What counting alone is given once: little enough that words go to disk."""
SPARE = 1.15
"""How much more than the text the disk must have."""


class Steps:
    """Runs steps in processes of their own, their reports and measurements put together."""

    def __init__(self, work: Path, vocab_size: int) -> None:
        self._work = work
        self._vocab_size = vocab_size

    def run(self, step: str, inputs: list[Path], **options: object) -> Record:
        """Run a step of scale_run.py and return what it and its process reported."""
        report = self._work / "report.json"
        script = Path(__file__).with_name("scale_run.py")
        command = [sys.executable, str(script), step, "--report", str(report)]
        options = {"threads": THREADS, "vocab": self._vocab_size, **options}
        for name, value in options.items():
            if value is not None:
                command += [f"--{name.replace('_', '-')}", str(value)]
        if inputs:
            command += ["--input", *map(str, inputs)]
        measured = measure(command, {}).to_dict()
        return {**measured, **json.loads(report.read_text(encoding="utf-8"))}


def main() -> int:
    """Measure what the command line asks for; return the exit code."""
    arguments = make_parser().parse_args()
    is_usual = (arguments.sizes, arguments.largest, arguments.vocab) == (
        *(list(SIZES), LARGEST, VOCAB_SIZE),
    )
    if arguments.results == RESULTS and not is_usual:
        print("error: give --results FILE with --sizes, --largest or --vocab", file=sys.stderr)
        return 2
    restrict_to_cpus(THREADS, find_allowed_cpus())
    try:
        with tempfile.TemporaryDirectory(dir=arguments.work) as work:
            results = measure_all(Path(work), arguments)
    except (CorpusError, RunError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    save_results(arguments.results, results)
    if arguments.results == RESULTS:
        render.update_pages()
    failed = [check["what"] for check in results["checks"] if not check["equal"]]
    for what in failed:
        print(f"error: {what}: not so", file=sys.stderr)
    return int(bool(failed))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--corpora", type=Path, action="append", metavar="DIR", help="folder with english.txt")
    add("--sizes", type=float, nargs="+", default=list(SIZES), metavar="GB", help="two or more")
    add("--largest", type=float, default=LARGEST, metavar="GB", help="trained on within the bound")
    add("--bound", type=float, default=BOUND, metavar="GB", help="of memory and address space")
    add("--vocab", type=int, default=VOCAB_SIZE, metavar="N", help="tokens")
    add("--work", type=Path, metavar="DIR", help="for temporary files")
    add("--results", type=Path, metavar="FILE", default=RESULTS)
    return parser


def measure_all(work: Path, arguments: argparse.Namespace) -> Record:
    """Make the text, train on each size of it, and return all figures."""
    started, load = time.perf_counter(), read_load()
    sizes = sorted(arguments.sizes)
    farthest = max(arguments.largest, sizes[-1])
    corpora = Corpora(arguments.corpora or [SHARED], work, None)
    corpus = corpora.prepare("english")
    check_disk(work, farthest)
    steps = Steps(work, arguments.vocab)
    base = steps.run("train", [ROOT / "data" / "austen.txt"], vocab=1000)  # compiles the kernels
    law = steps.run("make", [corpus], output=work, bytes=round(1e9 * farthest), seed=SEED)
    print(f"made {farthest:g} GB of text in {law['process_seconds']:.0f} s", flush=True)
    files = sorted(work.glob("round-*.txt"))

    def run(gigabytes: float, kind: str, step: str = "train", **options: object) -> Record:
        n_files = max(1, round(1e9 * gigabytes / law["round_nbytes"]))
        done = {"kind": kind, **options, **steps.run(step, files[:n_files], **options)}
        print(describe_run(done), flush=True)
        return done

    runs = [run(size, "free") for size in sizes]
    runs.append(run(sizes[-1], "counting", "count", memory=COUNTING_NBYTES))
    bound = round(1e9 * arguments.bound)
    runs.append(run(arguments.largest, "bounded", memory=bound, address_space=bound))
    # The largest text is foretold from the others, which tells how good the farthest point can be.
    training = [done for done in runs if done["kind"] != "counting"]
    farther = [
        extrapolate(training[:-1], law, training[-1]["n_bytes"]),
        extrapolate(training, law, round(1e9 * FARTHEST)),
    ]
    needs = [(point["n_distinct_words"], point["n_word_bytes"]) for point in farther]
    estimated = steps.run("estimate", [], words=json.dumps(needs))
    for point, need in zip(farther, estimated["needs"], strict=True):
        point["least_budget_nbytes"] = base["peak_rss_nbytes"] + need
    return {
        "benchmark": "scale",
        "machine": describe_machine(),
        "versions": estimated["versions"],
        "date": datetime.date.today().isoformat(),
        "commit": find_commit(ROOT),
        "load": load,
        "seconds": time.perf_counter() - started,
        "threads": THREADS,
        "vocab_size": arguments.vocab,
        "law": law,
        "runs": runs,
        "extrapolated": farther,
        "checks": list_checks(runs),
    }


def check_disk(work: Path, gigabytes: float) -> None:
    """Raise CorpusError where the text would not fit on the disk."""
    free = shutil.disk_usage(work).free / 1e9
    if SPARE * gigabytes > free:
        raise CorpusError(
            f"cannot make {gigabytes:g} GB of text: the disk of the temporary folder has {free:.1f} GB "
            "free; give another folder by --work, or --largest and --results"
        )


def describe_run(run: Record) -> str:
    """Return a line on a run."""
    return (
        f"{run['n_bytes'] / 1e9:6.2f} GB, {run['kind']}: {run['counting']:.1f} s of counting, "
        f"{run.get('merging', 0):.1f} s of merging, {run['peak_rss_nbytes'] / 1e6:.0f} MB, {run['n_distinct_words']:,} words"
    )


def list_checks(runs: list[Record]) -> list[dict[str, Any]]:
    """Return what had to hold: the same merges within any budget, and budgets that were kept."""
    counted = next(run for run in runs if run["kind"] == "counting")
    checks = [
        {
            "what": "counts within a budget give the same merges",
            "equal": run["merges"] == counted["merges"],
        }
        for run in runs
        if run["kind"] == "free" and run["n_bytes"] == counted["n_bytes"]
    ]
    return checks + [
        {
            "what": f"{run['n_bytes'] / 1e9:.1f} GB of text stay within {run['memory'] / 1e9:.2f} GB",
            "equal": run["peak_rss_nbytes"] <= run["memory"],
        }
        for run in runs
        if "memory" in run
    ]


if __name__ == "__main__":
    sys.exit(main())
