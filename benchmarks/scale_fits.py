"""Power laws through measured points, and what they say of texts that were not measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from records import Record


@dataclass(frozen=True)
class PowerLaw:
    """``factor * n ** exponent``."""

    factor: float
    exponent: float

    def predict(self, n: float) -> float:
        """Return the value at ``n``."""
        return float(self.factor * n**self.exponent)


def fit_power_law(points: Sequence[tuple[float, float]]) -> PowerLaw:
    """Return the law with the least squares of logarithms, through two points or more."""
    logs = [(math.log(n), math.log(value)) for n, value in points]
    exponent, intercept = _fit_line(logs)
    return PowerLaw(math.exp(intercept), exponent)


@dataclass(frozen=True)
class Line:
    """``constant + slope * n``."""

    constant: float
    slope: float

    def predict(self, n: float) -> float:
        """Return the value at ``n``."""
        return self.constant + self.slope * n


def fit_line(points: Sequence[tuple[float, float]]) -> Line:
    """Return the line with the least squares, through two points or more."""
    slope, constant = _fit_line(points)
    return Line(constant, slope)


def _fit_line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return slope and constant of the line with the least squares."""
    if len({x for x, _ in points}) < 2:
        raise ValueError("cannot fit a line: it takes points at two places or more")
    mean_x = math.fsum(x for x, _ in points) / len(points)
    mean_y = math.fsum(y for _, y in points) / len(points)
    spread = math.fsum((x - mean_x) ** 2 for x, _ in points)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return slope, mean_y - slope * mean_x


def extrapolate(runs: Sequence[Record], law: Record, n_bytes: int) -> Record:
    """Return what a text of ``n_bytes`` would take, by what runs on smaller texts took.

    law : factor and exponent of Heaps' law, by which distinct words grow with bytes of text
    Seconds follow power laws of the text, those of counting at least in proportion to it; memory without a budget a line over the distinct words.
    """
    n_words = PowerLaw(law["factor"], law["exponent"]).predict(n_bytes)
    largest = max(runs, key=lambda run: run["n_bytes"])
    point: Record = {
        "n_bytes": n_bytes,
        "n_distinct_words": round(n_words),
        "n_word_bytes": round(n_words * largest["n_word_bytes"] / largest["n_distinct_words"]),
    }
    for name in ("counting", "merging"):
        fitted = fit_power_law([(run["n_bytes"], run[name]) for run in runs])
        point[name] = fitted.predict(n_bytes)
        point[f"{name}_exponent"] = fitted.exponent
    # No text is counted faster for being longer, though a slow minute may make it look so.
    in_proportion = largest["counting"] * n_bytes / largest["n_bytes"]
    point["counting"] = max(point["counting"], in_proportion)
    memory = fit_line([(run["n_distinct_words"], run["peak_rss_nbytes"]) for run in runs])
    point["peak_rss_nbytes"] = round(memory.predict(n_words))
    point["nbytes_a_word"] = memory.slope
    return point
