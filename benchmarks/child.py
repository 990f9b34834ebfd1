"""One run of one engine, in a process of its own: ``run.py`` starts it and measures it too.

The clock runs from the call of the engine, its modules imported, until its files are written.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from encode_operations import OPERATIONS, EncodeJob
from jobs import Job, read_merges


def main() -> None:
    """Do what the command line says and write a report."""
    arguments = parse_arguments()
    if arguments.operation == "digest":
        # What every engine makes: the vocabulary without 256 bytes and the special token.
        report = read_merges(arguments.output).describe(arguments.vocab - 257)
    else:
        report = run_engine(arguments)
    arguments.report.write_text(json.dumps(report), encoding="utf-8")


def run_engine(arguments: argparse.Namespace) -> dict[str, Any]:
    """Import an engine and return what it reports."""
    started = time.perf_counter()
    engine = importlib.import_module(f"engines.{arguments.engine}")
    report: dict[str, Any] = {"import_seconds": time.perf_counter() - started}
    if arguments.operation == "train":
        report |= time_training(engine, make_job(arguments, arguments.output))
    elif arguments.operation == "count":
        with tempfile.TemporaryDirectory() as folder:
            report |= engine.count(make_job(arguments, Path(folder)))
    elif arguments.operation == "versions":
        extensions = metadata.entry_points(group="numba_extensions")
        report["numba_extensions"] = sorted({point.module for point in extensions})
        report["versions"] = find_versions(engine.DISTRIBUTIONS)
    else:
        report |= OPERATIONS[arguments.operation](engine, make_encode_job(arguments))
    return report


def find_versions(distributions: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return the versions of packages, by their names, or by what an engine calls them."""
    names = distributions if isinstance(distributions, Mapping) else {n: n for n in distributions}
    return {name: metadata.version(package) for name, package in names.items()}


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    operations = ["train", "count", "digest", "versions", *OPERATIONS]
    parser.add_argument("operation", choices=operations)
    parser.add_argument("engine", nargs="?")
    parser.add_argument("--input", type=Path, default=Path())
    parser.add_argument("--output", type=Path, default=Path())
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--vocab", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--tokenizer", type=Path, default=Path())
    parser.add_argument("--reference", type=Path, help="folder with the ids to compare with")
    parser.add_argument("--bytes", type=int, default=0, help="of the input")
    parser.add_argument("--document", type=int, default=1, help="bytes of a document")
    return parser.parse_args()


def make_job(arguments: argparse.Namespace, output: Path) -> Job:
    """Return the job of a command line."""
    options = dict(option.split("=", 1) for option in arguments.option)
    return Job(arguments.input, output, arguments.vocab, arguments.threads, options)


def make_encode_job(arguments: argparse.Namespace) -> EncodeJob:
    """Return the job of encoding of a command line."""
    return EncodeJob(
        input=arguments.input,
        output=arguments.output,
        tokenizer=arguments.tokenizer,
        reference=arguments.reference,
        n_bytes=arguments.bytes,
        document_nbytes=arguments.document,
        threads=arguments.threads,
    )


def time_training(engine: Any, job: Job) -> dict[str, Any]:
    """Return the seconds from file to files, and those of the stages that the engine tells."""
    started = time.perf_counter()
    stages = engine.train(job)
    return {"seconds": time.perf_counter() - started, "stages": stages}


if __name__ == "__main__":
    main()
    # The interpreter is not taken down, for any engine: numbpe's own command does not do it either.
    sys.stdout.flush()
    os._exit(0)
