"""The plot of MB/s by text and engine, as SVG written by hand: nothing to install."""

import math
import statistics
from collections.abc import Collection
from dataclasses import dataclass
from html import escape

from cells import NUMBPE
from encoding_cells import COMPARED, LABELS, TITLES
from records import Record
from render_encoding import take_speed

COLOURS = dict(
    zip(LABELS.values(), ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#7f7f7f"), strict=True)
)
"""Of the palette of Okabe and Ito, which colour-blind readers can tell apart."""

WIDTH, LEFT, RIGHT, TOP, ROW = 860, 130, 40, 76, 34
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class Axis:
    """Speeds from left to right, on a logarithmic scale between two of the ticks."""

    low: float
    high: float

    @classmethod
    def spanning(cls, speeds: Collection[float]) -> "Axis":
        """Return the axis on which speeds fit."""
        low = max((tick for tick in TICKS if tick < min(speeds)), default=min(speeds) / 2)
        high = min((tick for tick in TICKS if tick > max(speeds)), default=max(speeds))
        return cls(low, high)

    def place(self, speed: float) -> float:
        """Return where a speed lies."""
        share = math.log(speed / self.low) / math.log(self.high / self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)


def plot_throughput(cells: Record) -> str:
    """Return a plot of the geometric means over vocabularies, a row for each text."""
    speeds = average_speeds(cells)
    if not speeds:
        return draw([], 1)
    axis = Axis.spanning([speed for row in speeds.values() for speed in row.values()])
    bottom = TOP + ROW * len(speeds)
    parts = [*draw_axis(axis, bottom), *draw_legend(name_engines(cells))]
    for number, (corpus, row) in enumerate(speeds.items()):
        parts += draw_row(axis, TOP + ROW * number + ROW // 2, TITLES[corpus], row)
    return draw(parts, bottom + 48)


def draw_axis(axis: Axis, bottom: int) -> list[str]:
    """Return the lines of the ticks, and what they stand for."""
    parts = []
    for tick in TICKS:
        if axis.low <= tick <= axis.high:
            x = axis.place(tick)
            parts.append(f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="#ddd"/>')
            parts.append(write(x, bottom + 18, str(tick), "middle"))
    return [*parts, write((LEFT + WIDTH - RIGHT) / 2, bottom + 36, "MB/s, logarithmic", "middle")]


def draw_row(axis: Axis, y: int, title: str, speeds: dict[str, float]) -> list[str]:
    """Return the dots of engines on one text, numbpe's the largest and on top."""
    places = [axis.place(speed) for speed in speeds.values()]
    parts = [write(LEFT - 12, y + 4, title, "end")]
    parts.append(f'<path d="M{min(places):.1f} {y}H{max(places):.1f}" stroke="#bbb"/>')
    for label, speed in reversed(speeds.items()):
        size = 7 if label == NUMBPE else 5
        shape = f'cx="{axis.place(speed):.1f}" cy="{y}" r="{size}" fill="{COLOURS[label]}"'
        hint = f"<title>{escape(label)}, {escape(title)}: {speed:.1f} MB/s</title>"
        parts.append(f"<circle {shape}>{hint}</circle>")
    return parts


def average_speeds(cells: Record) -> dict[str, dict[str, float]]:
    """Return, by text and engine, the geometric mean of MB/s over the vocabularies compared."""
    speeds: dict[str, dict[str, float]] = {}
    for cell in choose_cells(cells):
        for label in LABELS.values():
            found = [
                speed
                for other in choose_cells(cells)
                if other["corpus"] == cell["corpus"] and (speed := take_speed(other, label))
            ]
            if found:
                speeds.setdefault(cell["corpus"], {})[label] = statistics.geometric_mean(found)
    return {corpus: speeds[corpus] for corpus in TITLES if corpus in speeds}


def choose_cells(cells: Record) -> list[Record]:
    """Return the cells that are shown."""
    return [
        cell
        for cell in cells.values()
        if cell["kind"] == "throughput" and cell["tokenizer"] in COMPARED
    ]


def name_engines(cells: Record) -> dict[str, str]:
    """Return what engines are called in the legend: with the vocabularies that they lack."""
    chosen = choose_cells(cells)
    names = {}
    for label in LABELS.values():
        ran = {cell["tokenizer"] for cell in chosen if take_speed(cell, label)}
        lacking = [
            name
            for name in COMPARED
            if name not in ran and any(cell["tokenizer"] == name for cell in chosen)
        ]
        if ran:
            names[label] = f"{label} (without {', '.join(lacking)})" if lacking else label
    return names


def draw_legend(engines: dict[str, str]) -> list[str]:
    """Return the names of the engines beside their colours, and what is shown."""
    names = ", ".join(COMPARED)
    title = f"Documents of 10 KiB, one thread: geometric mean over {names}"
    parts = [write(LEFT, 22, title, "start", bold=True)]
    x = float(LEFT)
    for label, name in engines.items():
        parts.append(f'<circle cx="{x + 6:.1f}" cy="42" r="5" fill="{COLOURS[label]}"/>')
        parts.append(write(x + 16, 46, name, "start"))
        x += 36 + 6.6 * len(name)
    return parts


def write(x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> str:
    """Return a piece of text."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def draw(parts: list[str], height: float) -> str:
    """Return the whole drawing, on white so that it can be read in any theme."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13" fill="#222">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])
