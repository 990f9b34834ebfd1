"""The tables of training."""

import statistics

from cells import IDLE, NUMBPE
from records import Record
from tables import (
    collect_runs,
    describe_circumstances,
    format_peak,
    format_seconds,
    format_table,
    take_median,
)

COMPARED = ("english", "code", "zh")

READING = (
    "Seconds are medians, with the least in brackets; MB are millions of bytes. Engines took "
    "turns, each run in a new process, with its best settings, the text in the page cache, and "
    "numbpe's kernels compiled before. *File to files* is timed inside, from the call to the last "
    "file written; *whole process* outside, with starting Python and imports; *× numbpe* is "
    "how many times longer than numbpe in the same round, the median of the rounds. What is timed, and where that is "
    "unfair: [benchmarks/README.md](benchmarks/README.md)."
)


def render_training(machine: Record, cells: Record) -> str:
    """Return all tables, as Markdown."""
    parts = [f"{describe_circumstances(machine, cells)}\n\n{READING}\n"]
    parts += [render_comparison(cells[name]) for name in COMPARED if name in cells]
    parts += [render_alone(cell) for name, cell in cells.items() if name not in COMPARED]
    return "\n".join(parts)


def render_comparison(cell: Record) -> str:
    """Return the table of engines beside each other."""
    corpus = cell["corpora"][cell["corpus"]]
    title = f"{cell['title']}, {corpus['n_bytes'] / 1e6:.0f} MB, {cell['vocab_size']:,} tokens, "
    rows = [
        [
            *("engine", "file to files, s", "× numbpe", "whole process, s", "× numbpe"),
            *("CPU, s", "peak RSS, MB", "rounds"),
        ]
    ]
    for label in cell["contenders"]:
        if runs := collect_runs(cell, label):
            rows.append(
                [
                    label,
                    format_seconds(runs, "seconds"),
                    format_ratio(cell, label, "seconds"),
                    format_seconds(runs, "process_seconds"),
                    format_ratio(cell, label, "process_seconds"),
                    f"{take_median(runs, 'cpu_seconds'):.1f}",
                    format_peak(runs),
                    str(len(runs)),
                ]
            )
    lines = [f"**{title}{cell['threads']} threads**", format_table(rows)]
    lines += [*describe_memory(cell), *describe_checks(cell)]
    if missing := ", ".join(f"{label} ({why})" for label, why in cell["skipped"].items()):
        lines.append(f"Not run: {missing}.")
    return "\n\n".join(lines) + "\n"


def render_alone(cell: Record) -> str:
    """Return the table of runs that are not compared with other engines."""
    rows = [["", "text, MB", "seconds", "MB/s", "whole process, s", "peak RSS, MB", "rounds"]]
    for label, contender in cell["contenders"].items():
        if not (runs := collect_runs(cell, label)):
            continue
        n_megabytes = cell["corpora"][contender["corpus"]]["n_bytes"] / 1e6
        speed, reads = "", contender["engine"] is not None
        if reads and n_megabytes >= 1:
            speed = f"{n_megabytes / take_median(runs, 'seconds'):.0f}"
        rows.append(
            [
                label,
                f"{n_megabytes:.1f}" if reads else "",
                format_seconds(runs, "seconds"),
                speed,
                format_seconds(runs, "process_seconds"),
                format_peak(runs),
                str(len(runs)),
            ]
        )
    lines = [f"**{cell['title']}**", format_table(rows), *describe_checks(cell)]
    return "\n\n".join(lines) + "\n"


def format_ratio(cell: Record, label: str, name: str) -> str:
    """Return the median over rounds of this contender's figure by numbpe's in the same round."""
    ratios = [
        entry["runs"][label][name] / entry["runs"][NUMBPE][name]
        for entry in cell["rounds"]
        if name in entry["runs"].get(label, ()) and NUMBPE in entry["runs"]
    ]
    return f"{statistics.median(ratios):.2f}" if ratios and label not in (NUMBPE, IDLE) else ""


def describe_memory(cell: Record) -> list[str]:
    """Return a line on numbpe's memory without that of Python, NumPy, LLVM and Numba."""
    idle, own = collect_runs(cell, IDLE), collect_runs(cell, NUMBPE)
    if not idle or not own or any(run["peak_rss_nbytes"] is None for run in idle + own):
        return []
    nbytes = take_median(own, "peak_rss_nbytes") - take_median(idle, "peak_rss_nbytes")
    return [f"Above what the idle interpreter takes, numbpe takes {nbytes / 1e6:.0f} MB."]


def describe_checks(cell: Record) -> list[str]:
    """Return a line on what was found equal and what was not."""
    phrases = []
    for check in cell["checks"]:
        labels = ", ".join(check["labels"])
        if check["what"] != "every round":
            equality = "equal" if check["equal"] else "**different**"
            phrases.append(f"{equality} {check['what']} (the first {check['n']:,}) from {labels}")
        elif not check["equal"]:
            phrases.append(f"**different** results in the rounds of {labels}")
    return [f"Checked: {'; '.join(phrases)}."] if phrases else []
