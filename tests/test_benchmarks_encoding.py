"""The benchmark of encoding: what is timed is new text, ids are compared, figures become tables."""

import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import numbpe

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
LABELS = ("numbpe", "gigatoken", "tokenizers 0.23")
SVG = "{http://www.w3.org/2000/svg}"


def run_program(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)


def make_run(seconds: float, n_bytes: int, *, equal: bool = True) -> dict[str, Any]:
    return {"seconds": seconds, "n_bytes": n_bytes, "ids": {"equal": equal}}


def make_cell(corpus: str, rounds: list[dict[str, Any]], different: str | None) -> dict[str, Any]:
    example = {"document": 3, "position": 9, "ids": [1, 2], "reference": [4]}
    checks = [
        {
            "what": "ids",
            "labels": [label],
            "equal": label != different,
            "n_documents": 40,
            "n_different": int(label == different),
            "examples": [example] if label == different else [],
        }
        for label in LABELS
    ]
    return {
        "title": f"gpt2, {corpus}",
        "kind": "throughput",
        "date": "2026-01-01",
        "versions": {"gigatoken": "0.10.0"},
        "reference": {"versions": {"tokenizers": "0.23.3"}},
        "corpus": corpus,
        "tokenizer": "gpt2",
        "threads": 1,
        "contenders": {label: {"engine": label} for label in LABELS},
        "rounds": [{"load": 0.0, "runs": runs} for runs in rounds],
        "checks": checks,
    }


def make_results() -> dict[str, Any]:
    """Return two cells: numbpe wins the first by 2 and loses the second by 2."""
    won = {
        "numbpe": make_run(0.01, 2_000_000),
        "gigatoken": make_run(0.02, 2_000_000),
        "tokenizers 0.23": make_run(0.1, 400_000),
    }
    lost = {
        "numbpe": make_run(0.04, 2_000_000),
        "gigatoken": make_run(0.02, 2_000_000, equal=False),
        "tokenizers 0.23": make_run(0.4, 400_000),
    }
    machine = {
        "cpu": "A CPU",
        "cores": 2,
        "memory_nbytes": 1 << 33,
        "system": "Linux x86_64",
        "python": "3.11.0",
    }
    cells = {
        "gpt2-english": make_cell("english", [won] * 3, None),
        "gpt2-code": make_cell("code", [lost] * 3, "gigatoken"),
    }
    return {"benchmark": "encoding", "machine": machine, "cells": cells}


def test_documents__are_the_text_without_separators(
    load_module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the text itself; whatever the blocks, and a shorter text gives the first of them."""
    text = (
        "añ中😀b" * 200
        + "<|endoftext|>\n"
        + "Ω<|endoftext|" * 50
        + "<|endoftext|>\n<|endoftext|>\nz"
    )
    path = tmp_path / "text.txt"
    path.write_text(text * 4, encoding="utf-8")
    expected = (text * 4).replace("<|endoftext|>\n", "")
    for block_nbytes in (7, 64, 1 << 20):
        monkeypatch.setattr(load_module("documents"), "BLOCK_NBYTES", block_nbytes)
        documents = load_module("documents").read_documents(path, 1 << 30, 50)
        assert expected.startswith("".join(documents))
        assert len("".join(documents).encode()) >= len(expected.encode()) - 64
        assert {len(document.encode()) for document in documents} <= {47, 48, 49, 50}
        shorter = load_module("documents").read_documents(path, 3_001, 50)
        assert shorter == documents[: len(shorter)]
        assert len(shorter) > 50


def test_slices__are_apart(load_module: Callable[[str], ModuleType]) -> None:
    """Truth: the rule: the first fifth warms up, the next two are timed, the rest is not read."""
    warm, timed, first = load_module("documents").cut_slices(list(range(25)))
    assert (list(warm), list(timed), first) == (list(range(5)), list(range(5, 15)), 5)


def test_reference__finds_the_documents_that_differ(
    load_module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    """Truth: hand-made ids; the digest is that of uint32, little-endian, from lists and arrays."""
    written = load_module("references").write_reference(tmp_path, [[1], [], [70_000, 3], [4, 5]])
    assert (written["n_documents"], written["n_ids"]) == (4, 5)
    assert written["sha256"] == hashlib.sha256(np.array([1, 70_000, 3, 4, 5], "<u4")).hexdigest()
    compare = load_module("references").compare_with_reference
    same = compare(tmp_path, [[], np.array([70_000, 3], np.uint32)], 1)
    assert same["equal"]
    assert same["sha256"] == hashlib.sha256(np.array([70_000, 3], "<u4")).hexdigest()
    other = compare(tmp_path, [[], [70_000], [4, 6]], 1)
    assert (other["equal"], other["n_different"], other["n_documents"]) == (False, 2, 3)
    assert other["examples"] == [
        {"document": 2, "position": 1, "ids": [], "reference": [3]},
        {"document": 3, "position": 1, "ids": [6], "reference": [5]},
    ]


def test_reference__sees_ids_that_moved_to_the_next_document(
    load_module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    """Truth: hand-made: all ids joined are the same, which no digest of them can tell."""
    load_module("references").write_reference(tmp_path, [[1, 2], [3]])
    found = load_module("references").compare_with_reference(tmp_path, [[1], [2, 3]], 0)
    assert (found["equal"], found["n_different"]) == (False, 2)


def test_other_engines_that_differ__are_told_but_fail_no_run(
    load_module: Callable[[str], ModuleType],
) -> None:
    """Truth: the rule that only numbpe's ids must be those of the reference."""
    ids = {"equal": False, "n_documents": 4, "n_different": 1, "examples": [{"document": 0}]}
    cell = {
        "rounds": [{"runs": {"ours": {"ids": ids}, "theirs": {"ids": ids}}}],
        "once": {},
        "asked_checks": [],
        "contenders": {"ours": {"engine": "numbpe"}, "theirs": {"engine": "gigatoken"}},
    }
    checks = load_module("records").evaluate_checks(cell)
    assert [(check["labels"], check["required"]) for check in checks] == [
        (["ours"], True),
        (["theirs"], False),
    ]
    run = load_module("run")
    assert run.report_checks("cell", {"checks": checks[1:]})
    assert not run.report_checks("cell", {"checks": checks})


def test_linearity__is_judged_by_the_median_of_the_ratios(
    load_module: Callable[[str], ModuleType],
) -> None:
    """Truth: hand-computed: 2.0 and 2.2 are linear, 2.6 is not; a slow round does not matter."""
    rounds = [
        {"letter": [1.0, 2.0], "ab": [1.0, 2.6]},
        {"letter": [3.0, 6.6], "ab": [1.0, 2.7]},
        {"letter": [1.0, 9.0], "ab": [2.0, 4.0]},
    ]
    cell = {
        "rounds": [{"runs": {"gpt2": {"texts": texts}}} for texts in rounds],
        "once": {},
        "asked_checks": [],
        "contenders": {"gpt2": {"engine": "numbpe"}},
    }
    checks = load_module("records").evaluate_checks(cell)
    assert [check["equal"] for check in checks] == [True, False]


def test_quantiles__are_samples(load_module: Callable[[str], ModuleType]) -> None:
    """Truth: hand-computed: of 1 to 100, the 51st is above half of them, the 100th above 99."""
    take_quantile = load_module("encode_operations").take_quantile
    values = [float(value) for value in range(100, 0, -1)]
    assert [take_quantile(values, share) for share in (0.5, 0.99, 1.0)] == [51.0, 100.0, 100.0]


def test_tables__have_ratios_losses_and_differences(tmp_path: Path) -> None:
    """Truth: hand-computed; 2 MB in 0.01 s are 200 MB/s, and 0.4 MB in 0.1 s are a 50th of that."""
    path = tmp_path / "results.json"
    path.write_text(json.dumps(make_results()), encoding="utf-8")
    plot = tmp_path / "plot.svg"
    done = run_program("render.py", "--results", str(path), "--plot", str(plot))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "| gpt2 | English | 200 | 100 | 2.00 | 4.0 | 50.0 |" in lines
    assert "| gpt2 | program code | 50.0 | 100† | **0.50** | 1.0 | 50.0 |" in lines
    # The geometric mean of 2 and 1/2 is 1.
    assert "| all | 2 | 1.00 (**0.50**) | 50.0 (50.0) | 1.00 (**0.50**) |" in lines
    assert "Ids were equal in 5 of 6 cases. †:" in lines
    assert (
        "- gpt2, code: gigatoken differs in 1 of 40 documents (3); in the first of them from id 9 "
        "on: [1, 2] instead of [4]" in lines
    )
    titles = [title.text for title in ElementTree.parse(plot).iter(f"{SVG}title")]
    assert "numbpe, English: 200.0 MB/s" in titles
    assert len(titles) == 6


def make_text(path: Path, seed: int) -> None:
    random_numbers = random.Random(seed)
    words = ["low", "lower", "newest", "widest", "42", "été", "中文", "don't", "\n\n", "  "]
    parts = random_numbers.choices(words, k=30_000)
    for place in range(0, len(parts), 1_000):
        parts[place] = "\n<|endoftext|>\n"
    path.write_text(" ".join(parts), encoding="utf-8")


@pytest.mark.slow
def test_encoding_benchmark__runs_and_ids_are_those_of_tokenizers(tmp_path: Path) -> None:
    """Truth: tokenizers, whose ids the benchmark compares by itself."""
    make_text(tmp_path / "english.txt", 1)
    tokenizer = numbpe.train(
        tmp_path / "english.txt", 300, special_tokens=["<|endoftext|>"], progress=False
    )
    tokenizer.save(tmp_path / "gpt2.json")
    results = tmp_path / "results.json"
    cells = "gpt2-english,batch-2-gpt2-english,latency-gpt2-english,files,load-gpt2,peak"
    done = run_program(
        *("run.py", "encode", "--only", cells, "--rounds", "1", "--engines", "numbpe,tokenizers"),
        *("--corpora", str(tmp_path), "--tokenizers", str(tmp_path), "--results", str(results)),
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(results.read_text(encoding="utf-8"))
    assert set(record["cells"]) == set(cells.split(","))
    for name in cells.split(",")[:3]:
        cell = record["cells"][name]
        assert [check["equal"] for check in cell["checks"]] == [True, True]
        runs = cell["rounds"][0]["runs"]
        assert runs["numbpe"]["ids"]["n_ids"] > 1_000
        assert runs["numbpe"]["ids"]["sha256"] == runs["tokenizers 0.23"]["ids"]["sha256"]
    rendered = run_program("render.py", "--results", str(results)).stdout
    assert rendered.count("| numbpe |") == 6  # a column, and a row in five tables
    assert "Ids were equal in 2 of 2 cases." in rendered


def test_shortened_run__is_kept_out_of_the_readme() -> None:
    """Truth: the rule that the README shows figures of whole runs only."""
    done = run_program("run.py", "encode", "--engines", "numbpe")
    assert done.returncode == 2
    assert "--results" in done.stderr


def test_unknown_cell__is_refused() -> None:
    """Truth: the names of the cells, in which * stands for anything."""
    done = run_program("run.py", "encode", "--only", "gpt2-*,gpt3-*", "--limit", "1")
    assert done.returncode == 2
    assert "there is no cell gpt3-*" in done.stderr
