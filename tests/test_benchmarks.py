"""The benchmarks: their tables are those of their figures, and engines agree where they must."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


def run_program(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)


def make_run(seconds: float, process_seconds: float, n_megabytes: int) -> dict[str, float]:
    return {
        "seconds": seconds,
        "process_seconds": process_seconds,
        "cpu_seconds": 1.0,
        "peak_rss_nbytes": n_megabytes * 1_000_000,
    }


def make_results() -> dict[str, Any]:
    """Return three rounds of two engines, the slower of which ran in the first two only."""
    rounds = [
        {"numbpe": make_run(1.0, 2.0, 100), "other": make_run(2.0, 4.0, 50)},
        {"numbpe": make_run(2.0, 3.0, 110), "other": make_run(8.0, 9.0, 60)},
        {"numbpe": make_run(3.0, 4.0, 120)},
    ]
    labels = ["numbpe", "other"]
    cell = {
        "title": "English",
        "date": "2026-01-01",
        "versions": {"other": "1.2"},
        "corpora": {"english": {"n_bytes": 5_000_000}},
        "corpus": "english",
        "vocab_size": 1000,
        "threads": 2,
        "contenders": {label: {"engine": label, "corpus": "english"} for label in labels},
        "skipped": {"third": "not installed"},
        "rounds": [{"load": 0.0, "runs": runs} for runs in rounds],
        "checks": [{"what": "tokens", "labels": labels, "n": 743, "equal": False}],
    }
    machine = {
        "cpu": "A CPU",
        "cores": 2,
        "memory_nbytes": 1 << 33,
        "system": "Linux x86_64",
        "python": "3.11.0",
    }
    return {"benchmark": "training", "machine": machine, "cells": {"english": cell}}


def test_readme__has_the_tables_of_the_results() -> None:
    """Truth: benchmarks/results."""
    done = run_program("render.py", "--check")
    assert done.returncode == 0, done.stderr


def test_results__name_no_place_on_a_machine() -> None:
    """Truth: the habit that results can be published as they are."""
    for path in (BENCHMARKS / "results").glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert '"/' not in text
        assert str(Path.home()) not in text or str(Path.home()) == "/"


def test_render__takes_medians_and_ratios_within_rounds(tmp_path: Path) -> None:
    """Truth: hand-computed; ratios 2 and 4 have the median 3, medians 2 and 5 would give 2.5."""
    path = tmp_path / "results.json"
    path.write_text(json.dumps(make_results()), encoding="utf-8")
    lines = run_program("render.py", "--results", str(path)).stdout.splitlines()
    assert "| numbpe | 2.00 (1.00) |  | 3.00 (2.00) |  | 1.0 | 110 | 3 |" in lines
    assert "| other | 5.00 (2.00) | 3.00 | 6.50 (4.00) | 2.50 | 1.0 | 55 | 2 |" in lines
    assert "Checked: **different** tokens (the first 743) from numbpe, other." in lines
    assert "Not run: third (not installed)." in lines


@pytest.mark.slow
def test_training_benchmark__runs_and_engines_agree(tmp_path: Path) -> None:
    """Truth: each other: the engines that are installed must make the same merges."""
    random_numbers = random.Random(1)
    words = ["low", "lower", "newest", "widest", "42", "été", "！", "don't"]
    lines = [
        " ".join(random_numbers.choices(words, k=12)) + random_numbers.choice(["\n", "\n\n"])
        for _ in range(300)
    ]
    text = "<|endoftext|>\n".join(["".join(lines[:100]), "".join(lines[100:])])
    (tmp_path / "english.txt").write_text(text, encoding="utf-8")
    results = tmp_path / "results.json"
    done = run_program(
        *("run.py", "train", "--only", "english", "--vocab", "280", "--rounds", "1"),
        *("--corpora", str(tmp_path), "--results", str(results)),
    )
    assert done.returncode == 0, done.stderr
    cell = json.loads(results.read_text(encoding="utf-8"))["cells"]["english"]
    assert "numbpe" in cell["rounds"][0]["runs"]
    assert all(check["equal"] for check in cell["checks"])
    assert "| numbpe |" in run_program("render.py", "--results", str(results)).stdout


def test_shortened_run__is_kept_out_of_the_readme() -> None:
    """Truth: the rule that the README shows figures of whole runs only."""
    done = run_program("run.py", "train", "--limit", "1000")
    assert done.returncode == 2
    assert "--results" in done.stderr
