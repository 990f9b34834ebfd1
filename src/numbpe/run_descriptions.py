"""What a run was asked to do, as values that JSON can hold, and how two runs differ."""

from collections.abc import Mapping
from typing import Any

from numbpe.errors import ArgumentError, shorten_value
from numbpe.sources import ResolvedSource


def describe_files(source: ResolvedSource) -> list[list[object]]:
    """Return the files of a source with their sizes and times; ArgumentError if it has others."""
    files = source.describe_files()
    if files is None:
        raise ArgumentError(
            f"cannot keep a checkpoint of {source.description}: whether it gives the same text again "
            "cannot be known; give files, or leave checkpoint and resume out"
        )
    return files


def find_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return in words the first thing in which two descriptions of a run differ."""
    for key in {**old, **new}:
        before, now = old.get(key), new.get(key)
        if before == now:
            continue
        if key == "inputs" and isinstance(before, list) and isinstance(now, list):
            return _compare_inputs(before, now)
        if isinstance(before, dict) and isinstance(now, dict):
            return find_difference(before, now)
        if key == "tokenizer_sha256":
            return "tokenizer was another one"
        return f"{key.replace('_', ' ')} was {shorten_value(before, 200)}, and now it is {shorten_value(now, 200)}"
    return "description is another"


def _compare_inputs(before: list[list[Any]], now: list[list[Any]]) -> str:
    for old, new in zip(before, now, strict=False):
        if old[0] != new[0]:
            return (
                f"corpus had {shorten_value(old[0], 200)} where now is {shorten_value(new[0], 200)}"
            )
        if old != new:
            changed = "size" if old[1] != new[1] else "time of change"
            return f"file {shorten_value(new[0], 200)} had another {changed}"
    return f"corpus had {len(before):,} files, and now it has {len(now):,}"
