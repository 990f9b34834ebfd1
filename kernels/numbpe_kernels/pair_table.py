"""Open-addressing table from a pair of tokens to its count and its list of occurrences."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.hashing import hash_key
from numbpe_kernels.memory import prefetch

ROW_WIDTH = 4
KEY = 0
COUNT = 1
FIRST = 2
LENGTH = 3
"""Columns of a row: the key, the weighted count of the pair, where its occurrences begin in the
pool and how many there are. A row is 32 bytes, half a cache line. Rows lie in one flat array and
are addressed by the place of their first number."""

EMPTY_KEY = np.int64(-1)


class PairTable(NamedTuple):
    """Rows of a table; a free row has the key ``EMPTY_KEY``.

    rows : (m * ROW_WIDTH,) int64, m a power of two and at least 2
    shift : uint64, 64 - log2(m)
    """

    rows: NDArray[np.int64]
    shift: np.uint64


def make_pair_table(n_slots: int) -> PairTable:
    """Return an empty table of ``n_slots`` rows, a power of two."""
    rows = np.zeros(n_slots * ROW_WIDTH, dtype=np.int64)
    rows[KEY::ROW_WIDTH] = EMPTY_KEY
    return PairTable(rows, np.uint64(64 - (n_slots.bit_length() - 1)))


@njit
def pair_key(left: int, right: int) -> int:
    """Return the key of a pair: ``left`` in the upper, ``right`` in the lower 32 bits.

    left, right : int64, 0 to 2**31 - 1
    """
    return (np.int64(left) << 32) | np.int64(right)


@njit
def pair_left(key: int) -> int:
    """Return the left token of a key as int64."""
    return np.int64(key) >> 32


@njit
def pair_right(key: int) -> int:
    """Return the right token of a key as int64."""
    return np.int64(key) & np.int64(0xFFFFFFFF)


@njit
def pair_table_find(table: PairTable, key: int) -> int:
    """Return the row of ``key``, or the free row where it would go, as int64.

    key : int64, not EMPTY_KEY
    Reads only. Expected O(1) probes; does not end if the table has no free row.
    """
    rows = table.rows
    last = rows.shape[0] - 1
    row = hash_key(key, table.shift) << 2
    while rows[row + KEY] != key and rows[row + KEY] != EMPTY_KEY:
        row = (row + ROW_WIDTH) & last
    return row


@njit
def pair_table_prefetch(table: PairTable, key: int) -> None:
    """Ask for the cache line where the row of ``key`` is sought first. key : int64. Changes nothing."""
    prefetch(table.rows, hash_key(key, table.shift) << 2)


@njit
def pair_table_move(source: PairTable, target: PairTable, floor: int) -> int:
    """Insert the rows of ``source`` whose count is at least ``floor`` into the empty ``target``.

    floor : int64
    Writes target.rows; the target needs a free row more than rows are moved. Returns the number
    of rows moved, int64. Cost: one pass over the source.
    """
    moved = 0
    for old in range(0, source.rows.shape[0], ROW_WIDTH):
        if source.rows[old + KEY] != EMPTY_KEY and source.rows[old + COUNT] >= floor:
            row = pair_table_find(target, source.rows[old + KEY])
            for column in range(ROW_WIDTH):
                target.rows[row + column] = source.rows[old + column]
            moved += 1
    return moved
