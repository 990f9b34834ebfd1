"""Many texts in one array, and where each of them ends: what batches of ids and of rows share."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import index
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets
from numbpe.errors import ArgumentError, shorten_value

Text = TypeVar("Text", bound=NDArray[Any])
"""The array of a text."""

Listed = TypeVar("Listed")
"""The same as a list."""


class RaggedBatch(Sequence[Text], Generic[Text, Listed]):
    """What n texts become, in one array: a sequence of an array for each text.

    values: (N, ...) what the texts become, one after another.
    offsets: (n + 1,) int64: what text i becomes is ``values[offsets[i]:offsets[i + 1]]``.

    Batches of one kind compare by their contents.
    """

    __slots__ = ("offsets", "values")

    values: Text
    offsets: Offsets

    def _check_offsets(self, noun: str) -> None:
        """Raise ArgumentError unless the offsets fit the values, of which ``noun`` is the word."""
        n_values, bounds = len(self.values), self.offsets
        if (
            len(bounds) == 0
            or bounds[0] != 0
            or bounds[-1] != n_values
            or (np.diff(bounds) < 0).any()
        ):
            raise ArgumentError(
                f"the offsets {shorten_value(bounds.tolist())} do not fit {n_values} {noun}: "
                f"they must begin with 0, not decrease, and end with {n_values}"
            )

    def _get_text(self, key: int) -> Text:
        """Return the array of a text, counted from the end if negative; IndexError for no text."""
        text = index(key)
        if not -len(self) <= text < len(self):
            raise IndexError(f"there is no text {text}; the batch has {len(self)} texts")
        text %= len(self)
        return self.values[self.offsets[text] : self.offsets[text + 1]]  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Text]:
        for start, stop in pairwise(self.offsets.tolist()):
            yield self.values[start:stop]  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(
            self.values, other.values
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.values, self.offsets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The (n,) lengths of the texts: how many tokens each has."""
        return np.diff(self.offsets)

    def to_list(self) -> list[Listed]:
        """Return a list for each text, of Python's integers."""
        listed = self.values.tolist()
        return [listed[start:stop] for start, stop in pairwise(self.offsets.tolist())]
