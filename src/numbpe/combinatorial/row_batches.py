"""The rows of many texts in one array."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike

from numbpe.combinatorial.row_arrays import WIDTH, Rows, as_row_array
from numbpe.id_arrays import as_id_array
from numbpe.ragged_batches import RaggedBatch

if TYPE_CHECKING:
    import pyarrow as pa


class RowBatch(RaggedBatch[Rows, list[list[int]]]):
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

    __slots__ = ()

    def __init__(self, values: ArrayLike, offsets: ArrayLike) -> None:
        self.values = as_row_array(values, "take")
        self.offsets = as_id_array(offsets, "take offsets with")
        self._check_offsets("rows")

    @overload
    def __getitem__(self, key: int) -> Rows: ...

    @overload
    def __getitem__(self, key: slice) -> "RowBatch": ...

    def __getitem__(self, key: int | slice) -> "Rows | RowBatch":
        if isinstance(key, slice):
            chosen = [self[i] for i in range(*key.indices(len(self)))]
            return RowBatch.from_list(chosen)
        return self._get_text(key)

    def __repr__(self) -> str:
        return f"RowBatch({len(self)} texts, {len(self.values)} rows)"

    @classmethod
    def from_list(cls, texts: Sequence[ArrayLike]) -> "RowBatch":
        """Return the batch of texts that are arrays or lists of rows; ArgumentError for others."""
        arrays = [as_row_array(rows, "take") for rows in texts]
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(rows) for rows in arrays], out=offsets[1:])
        return cls(np.concatenate([np.empty((0, WIDTH), dtype=np.int32), *arrays]), offsets)

    def to_arrow(self) -> "pa.LargeListArray":
        """Return the rows as a pyarrow array of lists of four int32 each; nothing is copied."""
        import pyarrow as pa

        rows = pa.FixedSizeListArray.from_arrays(pa.array(self.values.reshape(-1)), WIDTH)
        return pa.LargeListArray.from_arrays(pa.array(self.offsets), rows)
