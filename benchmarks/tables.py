"""What the tables of all benchmarks share."""

import statistics
from collections.abc import Sequence

from records import Record


def describe_circumstances(machine: Record, cells: Record) -> str:
    """Return what holds for all tables: machine, versions, dates."""
    versions = {name: text for cell in cells.values() for name, text in cell["versions"].items()}
    dates = sorted({cell["date"] for cell in cells.values()})
    memory = machine["memory_nbytes"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores"
        + (f", {memory / 2**30:.0f} GiB" if memory else "")
        + f", {machine['system']}, Python {machine['python']}; "
        + ", ".join(f"{name} {text}" for name, text in sorted(versions.items()))
        + f"; measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}."
    )


def collect_runs(cell: Record, label: str) -> list[Record]:
    """Return the measured runs of a contender."""
    return [entry["runs"][label] for entry in cell["rounds"] if label in entry["runs"]]


def take_median(runs: Sequence[Record], name: str) -> float:
    """Return the median of a figure over runs."""
    return float(statistics.median(run[name] for run in runs))


def format_seconds(runs: Sequence[Record], name: str) -> str:
    """Return median and least; nothing if the runs have no such figure."""
    if name not in runs[0]:
        return ""
    return f"{take_median(runs, name):.2f} ({min(run[name] for run in runs):.2f})"


def format_peak(runs: Sequence[Record]) -> str:
    """Return the median of peaks in MB; nothing where it is not known."""
    if any(run["peak_rss_nbytes"] is None for run in runs):
        return ""
    return f"{take_median(runs, 'peak_rss_nbytes') / 1e6:.0f}"


def format_table(rows: Sequence[Sequence[str]], n_left: int = 1) -> str:
    """Return rows as a Markdown table, the first one its head; numbers to the right.

    n_left : how many columns are no numbers
    """
    head, *body = rows
    ruler = ["---" if place < n_left else "---:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ruler, *body))
