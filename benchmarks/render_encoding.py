"""The tables of encoding."""

import statistics
from collections.abc import Callable, Iterable, Sequence

from cells import IDLE, NUMBPE
from encoding_cells import COMPARED, ENCODING_CELLS, LABELS, TITLES
from records import MOST_LINEAR, Record, compare_lengths
from tables import (
    collect_runs,
    describe_circumstances,
    format_peak,
    format_seconds,
    format_table,
    take_median,
)

OTHERS = [label for label in LABELS.values() if label != NUMBPE]
ORDER = {cell.name: place for place, cell in enumerate(ENCODING_CELLS)}
MARK = "†"

READING = (
    "MB are millions of bytes of UTF-8; figures are medians of the rounds. *×* is how many times "
    "faster numbpe is, the median of the ratios within rounds; where it is the slower one, the "
    "ratio is below 1 and **bold**. Every run is a new process, engines take turns, each with its "
    "best settings and through Python: from a `str` to a NumPy array of ids, or a list where an "
    "engine gives no array. Caches are as the engine has them by default and begin empty: the "
    "first fifth of a text warms up, the next two fifths are timed, and no text is seen twice. "
    "Before a figure counts, the SHA-256 of all ids must be that of tokenizers {reference}; {mark} "
    "marks ids that differ. What is timed, and where that is unfair: "
    "[benchmarks/README.md](benchmarks/README.md)."
)

Cells = Sequence[Record]


def render_encoding(machine: Record, cells: Record) -> str:
    """Return all tables, as Markdown."""
    ordered = [cells[name] for name in sorted(cells, key=lambda name: ORDER.get(name, len(ORDER)))]
    references = {
        cell["reference"]["versions"]["tokenizers"] for cell in ordered if cell["reference"]
    }
    reading = READING.format(reference=", ".join(sorted(references)), mark=MARK)
    parts = [f"{describe_circumstances(machine, cells)}\n\n{reading}\n"]
    for kind, render in RENDERERS.items():
        if chosen := [cell for cell in ordered if cell["kind"] == kind]:
            parts.append(render(chosen))
    return "\n".join(parts)


def find_ratios(cell: Record, label: str, name: str = "seconds", *, by_size: bool) -> list[float]:
    """Return, for each round, how many times longer a contender took than numbpe.

    by_size : for the same text; the contender may have had a shorter one
    """
    ratios = []
    for entry in cell["rounds"]:
        own, other = entry["runs"].get(NUMBPE), entry["runs"].get(label)
        if own and other and label != NUMBPE:
            scale = own["n_bytes"] / other["n_bytes"] if by_size else 1
            ratios.append(scale * other[name] / own[name])
    return ratios


def take_ratio(
    cell: Record, label: str, name: str = "seconds", *, by_size: bool = True
) -> float | None:
    """Return the median of the ratios; None if there are none."""
    ratios = find_ratios(cell, label, name, by_size=by_size)
    return statistics.median(ratios) if ratios else None


def format_ratio(ratio: float | None) -> str:
    """Return a ratio, bold where numbpe loses."""
    if ratio is None:
        return ""
    text = f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}"
    return f"**{text}**" if ratio < 1 else text


def take_speed(cell: Record, label: str) -> float | None:
    """Return the median of a contender's MB/s; None if it has not run."""
    runs = collect_runs(cell, label)
    return (
        statistics.median(run["n_bytes"] / run["seconds"] for run in runs) / 1e6 if runs else None
    )


def format_speed(cell: Record, label: str) -> str:
    """Return MB/s, with a mark if ids differ."""
    speed = take_speed(cell, label)
    if speed is None:
        return ""
    return (f"{speed:.0f}" if speed >= 99.5 else f"{speed:.1f}") + mark_difference(cell, label)


def mark_difference(cell: Record, label: str) -> str:
    """Return the mark of a contender whose ids differ from the reference's."""
    different = any(not check["equal"] and check["labels"] == [label] for check in cell["checks"])
    return MARK if different else ""


def find_others(cells: Iterable[Record]) -> list[str]:
    """Return the engines beside numbpe that have run in any of the cells."""
    return [label for label in OTHERS if any(collect_runs(cell, label) for cell in cells)]


def name_corpus(cell: Record) -> str:
    """Return what the text of a cell is called."""
    corpus: str = cell["corpus"]
    return TITLES.get(corpus, corpus)


def render_throughput(cells: Cells) -> str:
    """Return the tables of documents encoded one by one."""
    others = find_others(cells)
    rows = [["vocabulary", "text", NUMBPE, *(part for label in others for part in (label, "×"))]]
    for cell in cells:
        row = [cell["tokenizer"], name_corpus(cell), format_speed(cell, NUMBPE)]
        for label in others:
            row += [format_speed(cell, label), format_ratio(take_ratio(cell, label))]
        rows.append(row)
    lines = [
        "**Documents of 10 KiB, one call each, one thread: MB/s**",
        "![MB/s by text and engine](benchmarks/results/encoding.svg)",
        format_table(rows, n_left=2),
        f"Text timed: {describe_sizes(cells, [NUMBPE, *others])}, after half as much to warm up.",
        *describe_means(cells, others),
        *describe_differences(cells),
    ]
    return "\n\n".join(lines) + "\n"


def describe_sizes(cells: Cells, labels: Sequence[str]) -> str:
    """Return how much text engines were timed with."""
    sizes: dict[str, list[str]] = {}
    for label in labels:
        runs = [run for cell in cells for run in collect_runs(cell, label)]
        if runs:
            sizes.setdefault(f"{take_median(runs, 'n_bytes') / 1e6:.1f} MB", []).append(label)
    return "; ".join(f"{size} with {', '.join(names)}" for size, names in sizes.items())


def describe_means(cells: Cells, others: Sequence[str]) -> list[str]:
    """Return the table of geometric means over groups of cells."""
    groups: dict[str, tuple[str, ...]] = {"English, program code, Hindi": ("english", "code", "hi")}
    groups |= {TITLES[name]: (name,) for name in ("zh", "ja", "th", "ko", "ru")}
    chosen: dict[str, list[Record]] = {
        title: [c for c in cells if c["tokenizer"] in COMPARED and c["corpus"] in corpora]
        for title, corpora in groups.items()
    }
    chosen["other vocabularies"] = [c for c in cells if c["tokenizer"] not in COMPARED]
    chosen["all"] = list(cells)
    rows = [["text", "cells", *others, "the best of them"]]
    for title, group in chosen.items():
        if not group:
            continue
        columns = [[take_ratio(cell, label) for cell in group] for label in others]
        best = [
            min((r for r in row if r is not None), default=None)
            for row in zip(*columns, strict=True)
        ]
        rows.append([title, str(len(group)), *map(format_mean, [*columns, best])])
    if len(rows) == 1 or not others:
        return []
    title = (
        "How many times faster numbpe is: geometric means, the least in brackets, over "
        f"{', '.join(COMPARED)}; in the last rows over what they name:"
    )
    return [title, format_table(rows)]


def format_mean(ratios: Iterable[float | None]) -> str:
    """Return the geometric mean and the least of the ratios that there are."""
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return ""
    return f"{format_ratio(statistics.geometric_mean(known))} ({format_ratio(min(known))})"


def describe_differences(cells: Cells) -> list[str]:
    """Return a line on each contender whose ids differ from the reference's."""
    lines = []
    n_equal = 0
    for cell in cells:
        for check in cell["checks"]:
            if check["what"] != "ids":
                continue
            n_equal += check["equal"]
            if not check["equal"]:
                lines.append(f"- {cell['title']}: {describe_difference(check)}")
    head = f"Ids were equal in {n_equal} of {n_equal + len(lines)} cases."
    return [head + f" {MARK}:\n\n" * bool(lines) + "\n".join(lines)] if n_equal or lines else []


def describe_difference(check: Record) -> str:
    """Return in how many documents ids differ, and where they do first."""
    example = check["examples"][0]
    numbers = ", ".join(str(other["document"]) for other in check["examples"])
    more = ", ..." if check["n_different"] > len(check["examples"]) else ""
    return (
        f"{check['labels'][0]} differs in {check['n_different']} of {check['n_documents']} "
        f"documents ({numbers}{more}); in the first of them from id {example['position']} on: "
        f"{example['ids']} instead of {example['reference']}"
    )


def render_batch(cells: Cells) -> str:
    """Return the table of all documents in one call, on one thread and on more."""
    by_text: dict[tuple[str, str], dict[int, Record]] = {}
    for cell in cells:
        by_text.setdefault((cell["tokenizer"], cell["corpus"]), {})[cell["threads"]] = cell
    threads = sorted({cell["threads"] for cell in cells})
    heads = [part for n in threads for part in (f"{n} thread{'s' * (n > 1)}", "×")]
    rows = [["vocabulary", "text", "engine", *heads, "gain by threads"]]
    for (vocabulary, _), of_text in by_text.items():
        for label in [NUMBPE, *find_others(of_text.values())]:
            row = [vocabulary, name_corpus(next(iter(of_text.values()))), label]
            for n in threads:
                found = of_text.get(n)
                row.append(format_speed(found, label) if found else "")
                row.append(format_ratio(take_ratio(found, label)) if found else "")
            speeds = [take_speed(of_text[n], label) for n in threads if n in of_text]
            known_speeds = [speed for speed in speeds if speed is not None]
            gain = known_speeds[-1] / known_speeds[0] if len(known_speeds) > 1 else None
            rows.append([*row, "" if gain is None else f"{gain:.2f}"])
    lines = ["**All documents of 10 KiB in one call: MB/s**", format_table(rows, n_left=3)]
    sizes = describe_sizes(cells, [NUMBPE, *find_others(cells)])
    lines += [f"Text timed: {sizes}.", *describe_differences(cells)]
    return "\n\n".join(lines) + "\n"


def render_latency(cells: Cells) -> str:
    """Return the table of calls timed one by one."""
    names = {"p50_seconds": "p50", "p99_seconds": "p99", "short_seconds": "20 characters"}
    heads = [part for name in names.values() for part in (f"{name}, µs", "×")]
    rows = [["vocabulary", "text", "engine", *heads]]
    n_samples = 0
    for cell in cells:
        for label in [NUMBPE, *find_others([cell])]:
            if not (runs := collect_runs(cell, label)):
                continue
            n_samples = max(n_samples, runs[0]["n_samples"])
            row = [cell["tokenizer"], name_corpus(cell), label + mark_difference(cell, label)]
            for name in names:
                row.append(f"{take_median(runs, name) * 1e6:.1f}")
                row.append(format_ratio(take_ratio(cell, label, name, by_size=False)))
            rows.append(row)
    title = (
        f"**Documents of 512 bytes, {n_samples:,} calls, each timed; and the median of calls "
        "with 20 characters**"
    )
    lines = [title, format_table(rows, n_left=3), *describe_differences(cells)]
    return "\n\n".join(lines) + "\n"


def render_files(cells: Cells) -> str:
    """Return the table of a file encoded to a file."""
    rows = [["vocabulary", "text", "engine", "seconds", "MB/s", "×", "CPU, s", "peak RSS, MB"]]
    for cell in cells:
        for label in cell["contenders"]:
            if runs := collect_runs(cell, label):
                rows.append(
                    [
                        *(cell["tokenizer"], name_corpus(cell), label),
                        *(format_seconds(runs, "seconds"), format_speed(cell, label)),
                        format_ratio(take_ratio(cell, label)),
                        *(f"{take_median(runs, 'cpu_seconds'):.1f}", format_peak(runs)),
                    ]
                )
    n_bytes = cells[0]["corpora"][cells[0]["corpus"]]["n_bytes"]
    equal = all(check["equal"] for cell in cells for check in cell["checks"])
    lines = [
        f"**A whole file to a file of ids, {n_bytes / 1e6:.0f} MB, {cells[0]['threads']} threads**",
        format_table(rows, n_left=3),
        f"The files of ids are {'equal' if equal else '**different**'}.",
    ]
    return "\n\n".join(lines) + "\n"


def render_loading(cells: Cells) -> str:
    """Return the table of the time until the first ids are there."""
    names = {"import_seconds": "import", "load_seconds": "load", "first_call_seconds": "first call"}
    heads = [*(f"{name}, s" for name in names.values()), "together, s", "peak RSS, MB"]
    rows = [["vocabulary", "engine", *heads]]
    for cell in cells:
        for label in cell["contenders"]:
            if runs := collect_runs(cell, label):
                together = statistics.median(sum(run[name] for name in names) for run in runs)
                seconds = [f"{take_median(runs, name):.3f}" for name in names]
                row = [cell["tokenizer"], label, *seconds]
                rows.append([*row, f"{together:.3f}", format_peak(runs)])
    title = "**Loading a `tokenizer.json`, until a first short text is encoded**"
    return f"{title}\n\n{format_table(rows, n_left=2)}\n"


def render_memory(cells: Cells) -> str:
    """Return the table of peaks after a long text."""
    rows = [["vocabulary", "engine", "peak RSS, MB", "MB/s"]]
    for cell in cells:
        for label in cell["contenders"]:
            if runs := collect_runs(cell, label):
                speed = "" if label == IDLE else format_speed(cell, label)
                rows.append([cell["tokenizer"], label, format_peak(runs), speed])
    n_bytes = max(
        run["n_bytes"] for cell in cells for run in collect_runs(cell, NUMBPE) or [{"n_bytes": 0}]
    )
    title = (
        f"**Memory: {n_bytes / 1e6:.0f} MB of {name_corpus(cells[0])} encoded in documents "
        "of 10 KiB, one thread**"
    )
    return f"{title}\n\n{format_table(rows, n_left=2)}\n"


def render_linearity(cells: Cells) -> str:
    """Return the table of texts that are a single piece: medians of the rounds."""
    cell = cells[0]
    kinds = list(next(iter(cell["rounds"][0]["runs"].values()))["texts"])
    rows = [
        ["vocabulary", *(part for kind in kinds for part in (f"{kind}: 1 M, s", "2 M, s", "×"))]
    ]
    worst = 0.0
    for label in cell["contenders"]:
        row = [label]
        for kind in kinds:
            texts = [run["texts"] for run in collect_runs(cell, label)]
            short, long = (statistics.median(text[kind][i] for text in texts) for i in (0, 1))
            ratio = compare_lengths(texts, kind)
            row += [f"{short:.3f}", f"{long:.3f}", f"{ratio:.2f}"]
            worst = max(worst, ratio)
        rows.append(row)
    title = (
        "**Texts of one kind of character, a million and two millions: seconds of numbpe, medians, and "
        "the median of the ratios**"
    )
    verdict = f"None of the ratios is above {MOST_LINEAR}."
    if worst > MOST_LINEAR:
        verdict = f"**The greatest ratio, {worst:.2f}, is above {MOST_LINEAR}.**"
    return f"{title}\n\n{format_table(rows)}\n\n{verdict}\n"


RENDERERS: dict[str, Callable[[Cells], str]] = {
    "throughput": render_throughput,
    "batch": render_batch,
    "latency": render_latency,
    "files": render_files,
    "load": render_loading,
    "memory": render_memory,
    "linearity": render_linearity,
}
