"""The tables of Combinatorial BPE: all of them, and what the README shows."""

import itertools
from typing import Any

from records import Record
from reported_figures import (
    REFERENCE_SPEED,
    REFERENCE_TRAINING_SECONDS,
    REPORTED,
    REPORTED_AFFIXES,
    ROWS,
)
from tables import format_table

TITLES = {
    "english": "English",
    "ru": "Russian",
    "zh": "Chinese",
    "hi": "Hindi",
    "code": "program code",
}
PLAIN = {"gpt2": "plain, GPT-2's pattern", "cl100k": "plain, cl100k's pattern"}
COMBINATORIAL = {
    "full": "combinatorial",
    "camel": "combinatorial, camelCase cut",
    "han": "combinatorial, Traditional folded",
    "no case": "without case",
    "no affixes": "without affixes",
    "space and case": "space and case alone",
    "space": "space alone",
}
BEST = {"code": "camel", "zh": "han"}
"""The variant that the last step of a corpus leads to, where it is not the full one."""
SHOWN = 16_384
"""Rows of the tables that look at one size only."""


def render_page(results: Record) -> str:
    """Return all tables, as Markdown."""
    cells = order_cells(results)
    parts = [describe_circumstances(results)]
    parts += [render_grid(name, cell) for name, cell in cells.items()]
    parts += [render_savings(cells), render_use(cells), *render_speed(cells)]
    return "\n\n".join(parts) + "\n"


def render_summary(results: Record) -> str:
    """Return the tables of the README."""
    cells = order_cells(results)
    parts = [describe_circumstances(results), render_overview(cells), render_savings(cells)]
    return "\n\n".join([*parts, *render_speed(cells)]) + "\n"


def order_cells(results: Record) -> Record:
    """Return the corpora in the order of the tables."""
    return {name: results["cells"][name] for name in TITLES if name in results["cells"]}


def describe_circumstances(results: Record) -> str:
    """Return what holds for all tables: machine, versions, date."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {text}" for name, text in sorted(results["versions"].items()))
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python "
        f"{machine['python']}; {versions}; measured {results['date']}."
    )


def find_ratio(cell: Record, variant: str, rows: int) -> float | None:
    """Return characters per token; None if that was not measured."""
    figures = cell["compression"].get(variant, {}).get(str(rows))
    return None if figures is None else float(figures["characters_per_token"])


def find_best_plain(cell: Record, rows: int) -> float | None:
    """Return the characters per token of the better plain vocabulary."""
    found = [ratio for name in PLAIN if (ratio := find_ratio(cell, name, rows)) is not None]
    return max(found, default=None)


def find_reported(name: str, variant: str, rows: int) -> float | None:
    """Return the reported characters per token."""
    figures = REPORTED[name].get(variant)
    return None if figures is None or rows not in ROWS else figures[ROWS.index(rows)]


def compute_gain(ratio: float | None, base: float | None) -> float | None:
    """Return how many percent more characters a token has."""
    return None if ratio is None or base is None else 100 * (ratio / base - 1)


def render_grid(name: str, cell: Record) -> str:
    """Return the table of one corpus: all vocabularies at all sizes, beside what is reported."""
    texts = cell["texts"]
    sizes = [rows for rows in ROWS if find_best_plain(cell, rows) is not None]
    table = [["rows", *(f"{rows:,}" for rows in sizes)]]

    def add(label: str, values: list[float | None], form: str = "{:.3f}") -> None:
        if any(value is not None for value in values):
            shown = ["" if value is None else form.format(value) for value in values]
            table.append([label, *shown])

    for variant, label in (PLAIN | COMBINATORIAL).items():
        add(label, [find_ratio(cell, variant, rows) for rows in sizes])
        add("*reported*", [find_reported(name, variant, rows) for rows in sizes], "*{:.3f}*")
        if variant in ("full", "camel"):
            gains = [
                compute_gain(find_ratio(cell, variant, rows), find_best_plain(cell, rows))
                for rows in sizes
            ]
            add("more than the better plain one, %", gains, "{:+.1f}")
            reported = [
                compute_gain(find_reported(name, variant, rows), find_reported(name, "plain", rows))
                for rows in sizes
            ]
            add("*reported, %*", reported, "*{:+.1f}*")
    table.append(["prefixes / suffixes", *(format_affixes(cell, rows) for rows in sizes)])
    if name in REPORTED_AFFIXES:
        pairs = [REPORTED_AFFIXES[name][ROWS.index(rows)] for rows in sizes]
        table.append(
            ["*reported*", *(f"*{prefixes} / {suffixes}*" for prefixes, suffixes in pairs)]
        )
    head = (
        f"**{TITLES[name]}: characters per token** ({texts['training']['n_bytes'] / 1e6:.1f} MB "
        f"trained on, {texts['held_out']['n_bytes'] / 1e6:.1f} MB held out)"
    )
    return f"{head}\n\n{format_table(table)}"


def format_affixes(cell: Record, rows: int) -> str:
    """Return how many rows went to prefixes and suffixes."""
    figures = cell["compression"].get("full", {}).get(str(rows))
    if figures is None:
        return ""
    return f"{figures['sizes']['prefix']:,} / {figures['sizes']['suffix']:,}"


def render_overview(cells: Record) -> str:
    """Return the table of all corpora at one size."""
    table = [
        [
            *("corpus", "plain, better pattern", "combinatorial", "more, %", "*reported, %*"),
            *("without case", "without affixes", "space and case alone"),
        ]
    ]
    for name, cell in cells.items():
        variant = "camel" if name == "code" else "full"
        plain, ratio = find_best_plain(cell, SHOWN), find_ratio(cell, variant, SHOWN)
        reported = compute_gain(
            find_reported(name, variant, SHOWN), find_reported(name, "plain", SHOWN)
        )
        others = [
            find_ratio(cell, other, SHOWN) for other in ("no case", "no affixes", "space and case")
        ]
        row: list[Any] = [plain, ratio, compute_gain(ratio, plain), reported, *others]
        forms = ["{:.3f}", "{:.3f}", "{:+.1f}", "*{:+.1f}*", "{:.3f}", "{:.3f}", "{:.3f}"]
        shown = [
            "" if value is None else form.format(value)
            for value, form in zip(row, forms, strict=True)
        ]
        table.append([TITLES[name] + (" (camelCase cut)" if variant == "camel" else ""), *shown])
    head = f"**Characters per token on text held out, {SHOWN:,} embedding rows**"
    return f"{head}\n\n{format_table(table)}"


def render_savings(cells: Record) -> str:
    """Return the table of the savings, step by step, in percent of the plain tokens."""
    table = [
        [
            *("corpus", "space as a prefix", "case as a variation", "all other affixes"),
            *("camelCase cut, Traditional folded", "tokens saved in all"),
        ]
    ]
    for name, cell in cells.items():
        steps = ["space", "space and case", "full", *([BEST[name]] if name in BEST else [])]
        ratios = [find_best_plain(cell, SHOWN), *(find_ratio(cell, step, SHOWN) for step in steps)]
        if None in ratios:
            continue
        n_tokens = [ratios[0] / ratio for ratio in ratios]  # type: ignore[operator]
        saved = [100 * (a - b) for a, b in itertools.pairwise(n_tokens)]
        shown = [f"{percent:.1f}" for percent in saved]
        shown += [""] * (4 - len(shown))
        table.append([TITLES[name], *shown, f"{100 * (1 - n_tokens[-1]):.1f}"])
    head = (
        f"**Where the savings come from: tokens saved at {SHOWN:,} rows, in percent of those of the "
        "better plain vocabulary, each step on top of the one before**"
    )
    return f"{head}\n\n{format_table(table)}"


def render_use(cells: Record) -> str:
    """Return the table of how often each factor says something."""
    table = [["corpus", "variation", "prefix", "suffix", "bytes of unknown characters"]]
    for name, cell in cells.items():
        figures = cell["compression"].get("full", {}).get(str(SHOWN))
        if figures is not None:
            shares = [figures["shares"][factor] for factor in ("variation", "prefix", "suffix")]
            shares.append(figures["bytes_share"])
            table.append([TITLES[name], *(f"{100 * share:.1f}" for share in shares)])
    head = f"**Tokens that have a factor other than the empty one, {SHOWN:,} rows, %**"
    return f"{head}\n\n{format_table(table)}"


def render_speed(cells: Record) -> list[str]:
    """Return the table of speeds, one thread, beside plain vocabularies and the authors' program."""
    if not any(cell["speed"] for cell in cells.values()):
        return []
    table = [
        [
            *("corpus", "encode, cold, MB/s", "encode, MB/s", "decode, MB/s"),
            *("plain: encode, MB/s", "decode, MB/s", "train 6 MB, s"),
        ]
    ]
    for name, cell in cells.items():
        if speed := cell["speed"]:
            own, plain = speed["full"], speed["gpt2"]
            values = [own["encode_cold"], own["encode"], own["decode"], plain["encode"]]
            shown = [f"{value:.1f}" for value in [*values, plain["decode"]]]
            table.append([TITLES[name], *shown, f"{speed['training']['seconds']:.2f}"])
    warm, decoding = REFERENCE_SPEED["encode"], REFERENCE_SPEED["decode"]
    assert isinstance(warm, tuple)
    assert isinstance(decoding, tuple)
    table.append(
        [
            "*authors' program, elsewhere*",
            f"*{REFERENCE_SPEED['encode_cold']}*",
            f"*{warm[0]:.0f} to {warm[1]:.0f}*",
            f"*{decoding[0]} to {decoding[1]}*",
            *("", "", f"*{REFERENCE_TRAINING_SECONDS}*"),
        ]
    )
    head = (
        "**Speed, documents of 10 KiB, one call each, on one thread; training on 6 MB to 8,192 rows "
        "on all cores, kernels compiled before**"
    )
    return [f"{head}\n\n{format_table(table)}"]
