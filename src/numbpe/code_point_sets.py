"""Sets of Unicode code points, held as intervals, so that a set of 100,000 letters is 700 numbers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

END_OF_CODE_POINTS = 0x110000


@dataclass(frozen=True, eq=False)
class CodePointSet:
    """A set of code points.

    ``bounds`` is (2 k,) int32, strictly increasing: start, stop, start, stop, ... of k intervals
    that do not touch; stops are exclusive.
    """

    bounds: NDArray[np.int32]

    @classmethod
    def from_intervals(cls, intervals: Iterable[tuple[int, int]]) -> "CodePointSet":
        """Return the set of all code points of ``intervals``, pairs of first and last."""
        bounds: list[int] = []
        for first, last in sorted(intervals):
            if bounds and first <= bounds[-1]:
                bounds[-1] = max(bounds[-1], last + 1)
            else:
                bounds += [first, last + 1]
        return cls(np.array(bounds, dtype=np.int32))

    @classmethod
    def from_code_points(cls, code_points: Iterable[int]) -> "CodePointSet":
        """Return the set of ``code_points``, in any order."""
        return cls.from_intervals((code_point, code_point) for code_point in code_points)

    @property
    def key(self) -> bytes:
        """Equal for equal sets, and for no others."""
        return self.bounds.tobytes()

    def __contains__(self, code_point: int) -> bool:
        return bool(np.searchsorted(self.bounds, code_point, side="right") & 1)

    def __len__(self) -> int:
        return int(np.sum(self.bounds[1::2] - self.bounds[::2]))

    def contains_each(self, code_points: NDArray[Any]) -> NDArray[np.bool_]:
        """Return, for each of ``code_points``, whether it is in the set."""
        inside: NDArray[np.bool_] = (
            np.searchsorted(self.bounds, code_points, side="right") & 1
        ).astype(np.bool_)
        return inside

    def __invert__(self) -> "CodePointSet":
        return EVERY_CODE_POINT - self

    def __or__(self, other: "CodePointSet") -> "CodePointSet":
        return _combine(self, other, np.logical_or)

    def __and__(self, other: "CodePointSet") -> "CodePointSet":
        return _combine(self, other, np.logical_and)

    def __sub__(self, other: "CodePointSet") -> "CodePointSet":
        return _combine(self, other, np.greater)


def _combine(
    left: CodePointSet, right: CodePointSet, operation: Callable[..., Any]
) -> CodePointSet:
    """Return the code points for which ``operation(in left, in right)`` is true."""
    points = sort_distinct(np.concatenate([left.bounds, right.bounds]))
    inside = operation(left.contains_each(points), right.contains_each(points))
    # The last point is the end of an interval of one of the two, so ``inside`` ends with False.
    changes = np.diff(inside, prepend=np.False_)
    return CodePointSet(points[changes].astype(np.int32))


def sort_distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return each of ``values`` once, in ascending order.

    As ``numpy.unique`` does, which imports masked arrays: 15 ms, of a start that takes 150.
    """
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


NO_CODE_POINT = CodePointSet(np.array([], dtype=np.int32))
EVERY_CODE_POINT = CodePointSet(np.array([0, END_OF_CODE_POINTS], dtype=np.int32))


def partition_code_points(
    sets: list[CodePointSet],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
    """Split the code points into classes that no set of ``sets`` tells apart.

    Returns the starts of runs of code points (r,), the class of each run (r,), and membership
    (n classes, n sets): whether a class lies in a set. Classes are numbered by first occurrence.
    """
    zero = np.array([0], dtype=np.int32)
    starts = sort_distinct(np.concatenate([zero] + [s.bounds for s in sets]))
    starts = starts[starts < END_OF_CODE_POINTS]
    membership = np.stack(
        [np.ones(len(starts), dtype=np.bool_)] + [s.contains_each(starts) for s in sets], axis=1
    )
    packed = np.packbits(membership, axis=1)
    class_of_row: dict[bytes, int] = {}
    classes = np.array(
        [class_of_row.setdefault(row.tobytes(), len(class_of_row)) for row in packed],
        dtype=np.int64,
    )
    # Each class that is met for the first time has the next number.
    first_runs = np.flatnonzero(np.diff(np.maximum.accumulate(classes), prepend=-1))
    return starts, classes, membership[first_runs, 1:]
