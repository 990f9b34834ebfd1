"""``numbpe train --check``: which text the checks are run on, and how their results read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numbpe.sizes import format_nbytes

if TYPE_CHECKING:
    from numbpe.checks import CheckReport
    from numbpe.sources import TextSource
    from numbpe.tokenizer import Tokenizer

HELD_OUT_NBYTES = 1_000_000
"""Most text that is held out: the checks encode simply, not fast."""

SECOND_CHUNK_NBYTES = 100_003
"""Size of the chunks of the second training run: much smaller than the usual one, and odd."""


@dataclass(frozen=True)
class CheckLines:
    """The results of all checks, in lines for a person."""

    passed: bool
    lines: tuple[str, ...]


def choose_second_threads(threads: int | None) -> int:
    """Return how many threads the second run takes, so that it differs from the first."""
    return 2 if threads == 1 else 1


def check_training(
    tokenizers: "Mapping[int, Tokenizer]",
    train_again: "Callable[[], Tokenizer]",
    train_to_size: "Callable[[int], Tokenizer]",
    second_run: str,
    held_out: "TextSource | None",
    *,
    was_trained_on: bool,
) -> CheckLines:
    """Run the checks on tokenizers by size, the largest last.

    train_again : makes the largest anew; ``second_run`` says how that differs
    train_to_size : makes one of another size by a run of its own
    """
    from numbpe.checks import compare_runs, run_checks

    text, place = _read_held_out(held_out, from_end=was_trained_on)
    if was_trained_on:
        place += ", trained on"
    *smaller, largest = tokenizers
    report = run_checks(tokenizers[largest], train_again, [text] if text else [])
    passed = report.passed
    lines = _list_lines(report, second_run, place)
    for size in smaller:
        is_equal = compare_runs(tokenizers[size], train_to_size(size)).passed
        passed = passed and is_equal
        lines.append(f"size {size:,}: {'equals' if is_equal else 'is not'} what its own run makes")
    return CheckLines(passed, tuple(lines))


def _read_held_out(source: "TextSource | None", *, from_end: bool) -> tuple[str, str]:
    """Return a part of a file, and what to call it: the last one of plain text that was trained on."""
    if source is None:
        return "", ""
    from numbpe.sources import resolve_source

    resolved = resolve_source(source)
    size = resolved.n_bytes
    if size is not None and resolved.files:
        part = "last" if from_end else "first"
        with open(resolved.files[0].path, "rb") as file:
            if from_end:
                file.seek(max(0, size - HELD_OUT_NBYTES))
            data = file.read(HELD_OUT_NBYTES)
    else:
        part = "first"
        data = resolved.read_start(HELD_OUT_NBYTES)
    name = resolved.description.strip("'")
    # A character that the cut went through is left out.
    text = data.decode("utf-8", "ignore")
    if len(data) == size:
        return text, name
    return text, f"the {part} {format_nbytes(len(data))} of {name}"


def _list_lines(report: "CheckReport", second_run: str, place: str) -> list[str]:
    round_trip = report.round_trip
    lines = [f"round trip: {round_trip.n_documents:,} documents, {round_trip.n_failed} failed"]
    lines += [f"round trip failed for {text[:60]!r}" for text in round_trip.failures]
    second = report.second_run
    if second.passed:
        lines.append(f"second run, {second_run}: the same {second.n_merges:,} merges")
    elif second.first_difference is not None:
        lines.append(f"second run, {second_run}: another merge at {second.first_difference:,}")
    else:
        lines.append(f"second run, {second_run}: the same merges, other token ids")
    if report.bytes_per_token is None:
        lines.append("bytes per token: not measured; give text by --held-out")
    else:
        lines.append(f"bytes per token: {report.bytes_per_token:.3f} on {place}")
    return lines
