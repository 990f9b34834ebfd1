"""The rows of many texts in one array."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbpe.arrays import Offsets
from numbpe.combinatorial.row_arrays import WIDTH, Rows, as_row_array
from numbpe.errors import ArgumentError, shorten_value
from numbpe.id_arrays import as_id_array

if TYPE_CHECKING:
    import pyarrow as pa


class RowBatch(Sequence[Rows]):
    """The rows of n texts: a sequence of (length, 4) int32 arrays, kept in one.

    Args:
        values: (N, 4) integers, the rows of all texts one after another.
        offsets: (n + 1,) integers: the rows of text i are ``values[offsets[i]:offsets[i + 1]]``.

    Raises ArgumentError where offsets do not begin at 0, decrease, or do not end at N.

    Example:
        >>> batch = RowBatch([[0, 0, 97, 0], [0, 0, 98, 0]], [0, 2, 2])
        >>> len(batch), batch[0].shape, batch[1].shape
        (2, (2, 4), (0, 4))
    """

    __slots__ = ("offsets", "values")

    values: Rows
    offsets: Offsets

    def __init__(self, values: ArrayLike, offsets: ArrayLike) -> None:
        self.values = as_row_array(values, "take")
        self.offsets = bounds = as_id_array(offsets, "take offsets with")
        n_rows = len(self.values)
        is_cut = len(bounds) and bounds[0] == 0 and bounds[-1] == n_rows
        if not is_cut or (np.diff(bounds) < 0).any():
            raise ArgumentError(
                f"the offsets {shorten_value(bounds.tolist())} do not fit {n_rows} rows: they must "
                f"begin with 0, not decrease, and end with {n_rows}"
            )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, key: int) -> Rows: ...

    @overload
    def __getitem__(self, key: slice) -> "RowBatch": ...

    def __getitem__(self, key: int | slice) -> "Rows | RowBatch":
        if isinstance(key, slice):
            chosen = [self[i] for i in range(*key.indices(len(self)))]
            return RowBatch.from_list(chosen)
        text = index(key)
        if not -len(self) <= text < len(self):
            raise IndexError(f"there is no text {text}; the batch has {len(self)} texts")
        text %= len(self)
        return self.values[self.offsets[text] : self.offsets[text + 1]]

    def __iter__(self) -> Iterator[Rows]:
        for start, stop in pairwise(self.offsets.tolist()):
            yield self.values[start:stop]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowBatch):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(
            self.values, other.values
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.values, self.offsets)

    def __repr__(self) -> str:
        return f"RowBatch({len(self)} texts, {len(self.values)} rows)"

    @classmethod
    def from_list(cls, texts: Sequence[ArrayLike]) -> "RowBatch":
        """Return the batch of texts that are arrays or lists of rows; ArgumentError for others."""
        arrays = [as_row_array(rows, "take") for rows in texts]
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(rows) for rows in arrays], out=offsets[1:])
        return cls(np.concatenate([np.empty((0, WIDTH), dtype=np.int32), *arrays]), offsets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The (n,) numbers of rows of the texts."""
        return np.diff(self.offsets)

    def to_list(self) -> list[list[list[int]]]:
        """Return the rows as lists of Python's integers."""
        listed = self.values.tolist()
        return [listed[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def to_arrow(self) -> "pa.LargeListArray":
        """Return the rows as a pyarrow array of lists of four int32 each; nothing is copied."""
        import pyarrow as pa

        rows = pa.FixedSizeListArray.from_arrays(pa.array(self.values.reshape(-1)), WIDTH)
        return pa.LargeListArray.from_arrays(pa.array(self.offsets), rows)
