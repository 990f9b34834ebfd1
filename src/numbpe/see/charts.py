"""Charts as SVG that takes its colours from the page, so that they suit light and dark and paper.

Drawn by matplotlib, which the extra ``numbpe[report]`` installs and which nothing else imports.
"""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from numbpe.errors import ArgumentError
from numbpe.see.pages import escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_SERIES: Final = 6
"""Colours of series that the style sheet has; further series begin anew."""

# Colours that stand for the variables of the style sheet until the drawing is done.
_INK, _SOFT, _LINE = "#010101", "#010102", "#010103"
_SERIES: Final = tuple(f"#01010{4 + i}" for i in range(N_SERIES))
_VARIABLES: Final = {_INK: "--ink", _SOFT: "--soft", _LINE: "--line"} | {
    color: f"--series-{i}" for i, color in enumerate(_SERIES)
}
_STYLE: Final[Any] = {
    "font.size": 10,
    "text.color": _INK,
    "text.parse_math": False,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.5,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "svg.fonttype": "none",
    "svg.hashsalt": "numbpe",
}


def check_charts() -> None:
    """Raise ArgumentError if charts cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ArgumentError(
            "a report draws its charts with matplotlib, which is not installed; type pip install "
            "'numbpe[report]'"
        ) from None


def draw_bars(
    name: str, title: str, groups: Sequence[str], series: Mapping[str, Sequence[float]], unit: str
) -> str:
    """Return a chart of bars, one group after another, with one bar a series in each."""

    def draw(axes: "Axes") -> None:
        height = 0.8 / max(1, len(series))
        for k, values in enumerate(series.values()):
            places = [i + (k - (len(series) - 1) / 2) * height for i in range(len(groups))]
            bars = axes.barh(places, values, height * 0.9, color=_color(k))
            axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=8, color=_SOFT)
        axes.set_yticks(range(len(groups)), list(groups))
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.12, y=0.02)
        axes.set_xlabel(unit)

    n_bars = len(groups) * (len(series) + 0.6)
    # Many bars are narrower, so that they fit a page of paper.
    thickness = 0.26 if n_bars < 20 else 0.2
    return _draw(name, title, draw, thickness * n_bars + 0.8, _make_legend(series, 8, ("",)))


def draw_lines(
    name: str,
    title: str,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    labels: tuple[str, str],
    *,
    is_log: bool = False,
) -> str:
    """Return a chart of lines, each given by its places and its values."""

    def draw(axes: "Axes") -> None:
        for k, (places, values) in enumerate(series.values()):
            axes.plot(places, values, color=_color(k), linestyle=_DASHES[k % 4])
        if is_log:
            axes.set_xscale("log")
            axes.set_yscale("log")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])

    return _draw(name, title, draw, 3.1, _make_legend(series, 2, _SVG_DASHES))


_DASHES: Final = ("-", "--", "-.", ":")
_SVG_DASHES: Final = ("", "7 3", "11 3 2 3", "2 3")
"""The same as lengths of strokes and of gaps."""


def _make_legend(names: Iterable[str], thickness: int, dashes: Sequence[str]) -> str:
    """Return a list of what the colours stand for; it is HTML, so that it wraps on a narrow screen."""
    items = "".join(
        f'<li><svg class="swatch" viewBox="0 0 28 8" aria-hidden="true"><line x2="28" y1="4" y2="4" '
        f'stroke="var(--series-{k % N_SERIES})" stroke-width="{thickness}" '
        f'stroke-dasharray="{dashes[k % len(dashes)]}"/></svg> {escape(name)}</li>'
        for k, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'


def _color(number: int) -> str:
    return _SERIES[number % N_SERIES]


def _draw(name: str, title: str, draw: Any, height: float, legend: str) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    buffer = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, height), layout="constrained")
        figure.patch.set_alpha(0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0)
        draw(axes)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=nothing)
    return _finish(buffer.getvalue(), name, title, legend)


def _finish(drawing: str, name: str, title: str, legend: str) -> str:
    """Return the element of a drawing, with the page's colours and names of its own."""
    svg = drawing[drawing.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(color, f"var({variable})")
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
    head = f'<svg role="img" aria-label="{escape(title)}"'
    caption = f"<figcaption>{escape(title)}</figcaption>"
    return (
        f'<figure class="chart">{caption}{legend}<div class="scroll">{head}{svg[4:]}</div></figure>'
    )
