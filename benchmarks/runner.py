"""Measure a cell: rounds in which contenders alternate, each in a process of its own."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cells import NUMBPE, Cell, Contender
from corpora import Corpora, describe_file
from machine import digest_code, find_allowed_cpus, find_commit, read_load, restrict_to_cpus
from processes import RunError, measure
from records import Record, evaluate_checks, is_continued_by

ROOT = Path(__file__).resolve().parent.parent
CHILD = ("{python}", "{root}/benchmarks/child.py")


class Runner:
    """Measures cells, in a temporary folder ``work``.

    rounds, vocab_size : instead of a cell's own, if not None
    wanted : the engines that are run; None for all that are installed
    pythons : by engine, where it is not the Python that runs this
    tokenizers : the files of the vocabularies that cells name
    """

    def __init__(
        self,
        corpora: Corpora,
        work: Path,
        *,
        rounds: int | None,
        vocab_size: int | None,
        wanted: set[str] | None,
        pythons: Mapping[str, str],
        tokenizers: Corpora | None = None,
    ) -> None:
        self._corpora = corpora
        self._work = work
        self._rounds = rounds
        self._vocab_size = vocab_size
        self._wanted = wanted
        self._pythons = pythons
        self._tokenizers = tokenizers
        self._allowed_cpus = find_allowed_cpus()
        self._reference = work / "reference"
        self._versions: dict[str, dict[str, str]] = {}

    def run_cell(self, cell: Cell, old: Record | None, save: Callable[[Record], None]) -> Record:
        """Return the record of a cell, saved after every round; go on from ``old`` if it fits."""
        contenders, versions, skipped = self._choose_contenders(cell)
        record = self._start_record(cell, contenders, versions, skipped)
        if old is not None and is_continued_by(old, record):
            record |= {name: old[name] for name in ("rounds", "once", "reference")}
        if len(record["rounds"]) < record["asked_rounds"]:
            if cell.reference is not None:
                record["reference"] = self._make_reference(cell, cell.reference)
            restrict_to_cpus(cell.threads, self._allowed_cpus)
            for contender in contenders:
                if contender.warm_up:
                    self._run(cell, contender)
        self._run_rounds(cell, contenders, record, save)
        shutil.rmtree(self._reference, ignore_errors=True)
        record["checks"] = evaluate_checks(record)
        save(record)
        return record

    def _make_reference(self, cell: Cell, contender: Contender) -> Record:
        """Return what is to be told of the ids that all must give, which are written to a folder.

        It takes all CPUs: nothing is timed.
        """
        n_cpus = len(self._allowed_cpus or ()) or os.cpu_count() or 1
        restrict_to_cpus(n_cpus, self._allowed_cpus)
        self._reference.mkdir()
        run = self._run(replace(cell, threads=n_cpus), contender)
        engine = contender.engine
        assert engine is not None
        names = ("n_documents", "n_ids", "sha256")
        return {"versions": self._ask_versions(engine), **{name: run[name] for name in names}}

    def _run_rounds(
        self,
        cell: Cell,
        contenders: list[Contender],
        record: Record,
        save: Callable[[Record], None],
    ) -> None:
        """Run the rounds that a record lacks, and what is run once."""
        for number in range(len(record["rounds"]), record["asked_rounds"]):
            load = read_load()
            runs = {
                contender.label: self._run_aloud(cell, contender, f"round {number + 1}")
                for contender in contenders
                if contender.max_rounds is None or number < contender.max_rounds
            }
            record["rounds"].append({"load": load, "runs": runs})
            save(record)
        for contender in contenders:
            if contender.max_rounds == 0 and contender.label not in record["once"]:
                record["once"][contender.label] = self._run_aloud(cell, contender, "for checks")

    def _choose_contenders(
        self, cell: Cell
    ) -> tuple[list[Contender], dict[str, str], dict[str, str]]:
        """Return the contenders that can run, versions of their engines, and why others cannot."""
        versions: dict[str, str] = {}
        skipped = {}
        reasons: dict[str | None, str | None] = {None: None}
        for contender in cell.contenders:
            engine = contender.engine
            if engine is not None and engine not in reasons:
                if self._wanted is not None and engine not in self._wanted:
                    reasons[engine] = "not asked for"
                    continue
                try:
                    versions |= self._ask_versions(engine)
                    reasons[engine] = None
                except RunError as error:
                    # Which it is stands in the message; the JSON needs no traceback.
                    print(f"{engine} cannot be run: {error}", file=sys.stderr)
                    reasons[engine] = "not installed, or it cannot be imported"
        for contender in cell.contenders:
            if (reason := reasons[contender.engine]) is not None:
                skipped[contender.label] = reason
        chosen = [contender for contender in cell.contenders if contender.label not in skipped]
        return chosen, versions, skipped

    def _ask_versions(self, engine: str) -> dict[str, str]:
        """Return the versions of an engine's packages, asked for once; RunError if it cannot run."""
        if engine in self._versions:
            return self._versions[engine]
        # This run imports the engine, so that later ones find its byte code compiled.
        report = self._work / "versions.json"
        command = [*CHILD, "versions", engine, "--report", str(report)]
        python = self._find_python(engine)
        measure([part.format(python=python, root=ROOT) for part in command], {})
        answer = json.loads(report.read_text(encoding="utf-8"))
        if engine == NUMBPE and answer["numba_extensions"]:
            print(
                f"numba also loads {', '.join(answer['numba_extensions'])}, in every process of "
                "numbpe, which takes time and memory: run it with --python numbpe=PATH from an "
                "environment without them",
                file=sys.stderr,
            )
        self._versions[engine] = answer["versions"]
        return self._versions[engine]

    def _find_python(self, engine: str | None) -> str:
        """Return the Python for an engine; commands without an engine are numbpe's."""
        return self._pythons.get(engine or NUMBPE, sys.executable)

    def _start_record(
        self,
        cell: Cell,
        contenders: list[Contender],
        versions: dict[str, str],
        skipped: dict[str, str],
    ) -> Record:
        texts = {contender.corpus or cell.corpus for contender in contenders} | {cell.corpus}
        tokenizers = {contender.tokenizer or cell.tokenizer or "" for contender in contenders} - {
            ""
        }
        return {
            "title": cell.title,
            "kind": cell.kind,
            "date": datetime.now(UTC).date().isoformat(),
            "commit": find_commit(ROOT),
            "code": digest_code(ROOT),
            "versions": versions,
            "corpora": {name: describe_file(self._corpora.prepare(name)) for name in sorted(texts)},
            "corpus": cell.corpus,
            "tokenizers": {
                name: describe_file(self._prepare_tokenizer(name)) for name in sorted(tokenizers)
            },
            "tokenizer": cell.tokenizer,
            "vocab_size": self._choose_vocab_size(cell),
            "threads": cell.threads,
            "asked_rounds": cell.rounds if self._rounds is None else self._rounds,
            "asked_checks": [
                {"what": check.what, "labels": list(check.labels)} for check in cell.checks
            ],
            "contenders": {
                contender.label: {
                    "engine": contender.engine,
                    "corpus": contender.corpus or cell.corpus,
                    "tokenizer": contender.tokenizer or cell.tokenizer,
                    "max_rounds": contender.max_rounds,
                }
                for contender in contenders
            },
            "skipped": skipped,
            "reference": None,
            "rounds": [],
            "once": {},
            "checks": [],
        }

    def _prepare_tokenizer(self, name: str | None) -> Path:
        """Return the file of a tokenizer; any path where none is asked for."""
        if name is None or self._tokenizers is None:
            return Path()
        return self._tokenizers.prepare(name)

    def _choose_vocab_size(self, cell: Cell) -> int | None:
        if cell.vocab_size is None or self._vocab_size is None:
            return cell.vocab_size
        return min(self._vocab_size, cell.vocab_size)

    def _run_aloud(self, cell: Cell, contender: Contender, when: str) -> Record:
        run = self._run(cell, contender)
        inside = f"{run['seconds']:.3f} s, " if "seconds" in run else ""
        if "n_bytes" in run:
            inside += f"{run['n_bytes'] / run['seconds'] / 1e6:.1f} MB/s, "
        if not run.get("ids", {"equal": True})["equal"]:
            inside += f"{run['ids']['n_different']} documents DIFFER, "
        print(
            f"{cell.name}, {when}, {contender.label}: {inside}process "
            f"{run['process_seconds']:.3f} s, {(run['peak_rss_nbytes'] or 0) / 1e6:.0f} MB",
            file=sys.stderr,
        )
        return run

    def _run(self, cell: Cell, contender: Contender) -> Record:
        """Run a contender once, in a new folder; return figures from outside and inside."""
        folder = Path(tempfile.mkdtemp(dir=self._work))
        try:
            fields = {
                "python": self._find_python(contender.engine),
                "root": ROOT,
                "input": self._corpora.prepare(contender.corpus or cell.corpus),
                "output": folder / "output",
                "report": folder / "report.json",
                "tokenizer": self._prepare_tokenizer(contender.tokenizer or cell.tokenizer),
                "reference": self._reference,
                "vocab": self._choose_vocab_size(cell),
                "threads": cell.threads,
            }
            (folder / "output").mkdir()
            environment = self._choose_environment(cell, contender, folder)
            command = [part.format(**fields) for part in contender.command]
            run: Record = measure(command, environment).to_dict()
            if (folder / "report.json").exists():
                run |= json.loads((folder / "report.json").read_text(encoding="utf-8"))
            if contender.has_merges:
                run["merges"] = self._digest(fields, folder / "digest.json")
        finally:
            shutil.rmtree(folder)
        return _round_figures(run)

    def _choose_environment(self, cell: Cell, contender: Contender, folder: Path) -> dict[str, str]:
        # Rayon is what the Rust engines share; tokenizers asks for a word of its own besides.
        environment = {
            "RAYON_NUM_THREADS": str(cell.threads),
            "TOKENIZERS_PARALLELISM": "true",
        }
        if contender.empty_cache:
            environment["NUMBA_CACHE_DIR"] = str(folder / "cache")
        return environment

    def _digest(self, fields: dict[str, Any], report: Path) -> Record:
        command = [*CHILD, "digest", "--output", "{output}"]
        command += ["--vocab", "{vocab}", "--report", str(report)]
        measure([part.format(**fields) for part in command], {})
        digests: Record = json.loads(report.read_text(encoding="utf-8"))
        return digests


def _round_figures(run: Record) -> Record:
    """Return a run with seconds of four digits at least: what is more would be noise."""

    def round_value(value: Any) -> Any:
        if isinstance(value, float):
            return round(value, 4) if value >= 1 else float(f"{value:.4g}")
        if isinstance(value, dict):
            return _round_figures(value)
        return [round_value(item) for item in value] if isinstance(value, list) else value

    return {name: round_value(value) for name, value in run.items()}
