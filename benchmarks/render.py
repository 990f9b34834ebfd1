"""Write the tables of results/*.json into README.md: ``python benchmarks/render.py [--check]``."""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from cells import IDLE, NUMBPE
from records import Record

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TRAINING = ROOT / "benchmarks" / "results" / "training.json"
BEGIN, END = "<!-- benchmark:begin -->\n", "<!-- benchmark:end -->\n"

COMPARED = ("english", "code", "zh")


def main() -> int:
    """Update the README, print the tables of another file, or only check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if they differ")
    parser.add_argument("--results", type=Path, metavar="FILE", help="print the tables of a file")
    arguments = parser.parse_args()
    if arguments.results is not None:
        print(render_file(arguments.results), end="")
        return 0
    if not arguments.check:
        update_readme()
        return 0
    if make_readme() == README.read_text(encoding="utf-8"):
        return 0
    print("README.md differs from the results; run benchmarks/render.py", file=sys.stderr)
    return 1


def update_readme() -> None:
    """Put the tables into the README."""
    README.write_text(make_readme(), encoding="utf-8")


def make_readme() -> str:
    """Return the README with the tables of the results, whatever it has had between the marks."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"error: README.md has no {BEGIN.strip()} ... {END.strip()}")
    return before + BEGIN + (render_file(TRAINING) if TRAINING.exists() else "") + END + after


def render_file(path: Path) -> str:
    """Return the tables of a file of results."""
    return render_results(json.loads(path.read_text(encoding="utf-8")))


def render_results(results: Record) -> str:
    """Return all tables, as Markdown."""
    cells = {name: cell for name, cell in results["cells"].items() if cell["rounds"]}
    if not cells:
        return ""
    parts = [describe_circumstances(results["machine"], cells)]
    parts += [render_comparison(cells[name]) for name in COMPARED if name in cells]
    parts += [render_alone(cell) for name, cell in cells.items() if name not in COMPARED]
    return "\n".join(parts)


def describe_circumstances(machine: Record, cells: Record) -> str:
    """Return what holds for all tables: machine, versions, how to read them."""
    versions = {name: text for cell in cells.values() for name, text in cell["versions"].items()}
    dates = sorted({cell["date"] for cell in cells.values()})
    memory = machine["memory_nbytes"]
    circumstances = (
        f"{machine['cpu']}, {machine['cores']} cores"
        + (f", {memory / 2**30:.0f} GiB" if memory else "")
        + f", {machine['system']}, Python {machine['python']}; "
        + ", ".join(f"{name} {text}" for name, text in sorted(versions.items()))
        + f"; measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}."
    )
    reading = (
        "Seconds are medians, with the least in brackets; MB are millions of bytes. Engines took "
        "turns, each run in a new process, with its best settings, the text in the page cache, and "
        "numbpe's kernels compiled before. *File to files* is timed inside, from the call to the last "
        "file written; *whole process* outside, with starting Python and imports; *× numbpe* is "
        "how many times longer than numbpe in the same round, the median of the rounds. What is timed, and where that is "
        "unfair: [benchmarks/README.md](benchmarks/README.md)."
    )
    return f"{circumstances}\n\n{reading}\n"


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


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first one its head; numbers to the right."""
    head, *body = rows
    ruler = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ruler, *body))


if __name__ == "__main__":
    sys.exit(main())
