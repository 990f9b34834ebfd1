"""The results as JSON: written after every round, whole or not at all."""

import json
import os
import statistics
from pathlib import Path
from typing import Any

from cells import NUMBPE

Record = dict[str, Any]

MOST_LINEAR = 2.5
"""How many times as long twice the text may take, on a machine that does other things too."""


class RecordError(Exception):
    """Results that cannot be added to."""


def load_results(path: Path, benchmark: str, machine: Record | None, *, fresh: bool) -> Record:
    """Return the results so far; RecordError if they are not those of ``machine``, None for any."""
    if fresh or not path.exists():
        return {"benchmark": benchmark, "machine": machine, "cells": {}}
    results: Record = json.loads(path.read_text(encoding="utf-8"))
    if machine is not None and results["machine"] != machine:
        raise RecordError(
            f"cannot add to {path}: it has the figures of another machine or Python; "
            "give another file by --results, or --fresh to drop them"
        )
    return results


def save_results(path: Path, results: Record) -> None:
    """Write the results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def is_continued_by(old: Record | None, new: Record) -> bool:
    """Return whether the rounds of an earlier run are of the same kind as those of a new one."""
    changing = ("rounds", "asked_rounds", "checks", "once", "date", "commit", "reference")
    return old is not None and (
        {name: value for name, value in old.items() if name not in changing}
        == {name: value for name, value in new.items() if name not in changing}
    )


def evaluate_checks(cell: Record) -> list[Record]:
    """Return, for each check of a cell, whether the contenders that ran made the same.

    Every contender must also have made the same in all of its rounds. A check that must hold is
    ``required``: ids that another engine gives are its own affair, and stand beside its figures.
    """
    checks = _evaluate_ids(cell) + _evaluate_linearity(cell)
    made = _collect(cell, "merges") | _collect(cell, "file")
    for label, descriptions in made.items():
        equal = all(description == descriptions[0] for description in descriptions)
        if len(descriptions) > 1:
            checks.append({"what": "every round", "labels": [label], "equal": equal})
    for check in cell["asked_checks"]:
        labels = [label for label in check["labels"] if label in made]
        if len(labels) > 1:
            firsts = [made[label][0] for label in labels]
            if check["what"] == "file":
                equal = all(first == firsts[0] for first in firsts)
                checks.append({"what": "file", "labels": labels, "equal": equal})
                continue
            keys = ("n_compared", f"{check['what']}_digest")
            equal = all(first[key] == firsts[0][key] for first in firsts for key in keys)
            n = min(first["n_compared"] for first in firsts)
            checks.append({"what": check["what"], "labels": labels, "n": n, "equal": equal})
    return checks


def _collect(cell: Record, name: str) -> dict[str, list[Record]]:
    """Return, by contender, what its runs have under a name."""
    made: dict[str, list[Record]] = {}
    for runs in [*(entry["runs"] for entry in cell["rounds"]), cell["once"]]:
        for label, run in runs.items():
            if name in run:
                made.setdefault(label, []).append(run[name])
    return made


def _evaluate_ids(cell: Record) -> list[Record]:
    """Return whether the ids of each contender are those of the reference, in all rounds."""
    checks = []
    for label, found in _collect(cell, "ids").items():
        worst = max(found, key=lambda ids: ids["n_different"])
        checks.append(
            {
                "what": "ids",
                "labels": [label],
                "equal": all(ids["equal"] for ids in found),
                "required": cell["contenders"][label]["engine"] == NUMBPE,
                "n_documents": worst["n_documents"],
                "n_different": worst["n_different"],
                "examples": worst.get("examples", []),
            }
        )
    return checks


def _evaluate_linearity(cell: Record) -> list[Record]:
    """Return whether twice the text takes at most MOST_LINEAR times as long, for each kind."""
    checks = []
    for label, found in _collect(cell, "texts").items():
        for name in found[0]:
            check = {"what": f"linear time, {name}", "labels": [label]}
            checks.append({**check, "equal": compare_lengths(found, name) <= MOST_LINEAR})
    return checks


def compare_lengths(rounds: list[Record], name: str) -> float:
    """Return how many times as long the longer text of a kind takes as the shorter: the median of the rounds.

    The two of a round were timed side by side. Those of different rounds may not be compared: the
    machine may have had another speed.
    """
    return statistics.median(texts[name][1] / texts[name][0] for texts in rounds)
