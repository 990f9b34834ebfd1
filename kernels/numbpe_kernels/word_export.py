"""Taking words and counts out of a word table, all of them or a part chosen by their hash."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.word_table import (
    COUNT,
    HIGH,
    LONG_MARK,
    LOW,
    PLACE,
    ROW_WIDTH,
    WordTable,
    word_mix,
)

_ZERO = np.uint64(0)
_ROW_SHIFT = np.uint64(2)
_BYTE = np.uint64(0xFF)
_BYTE_BITS = np.uint64(8)
_LENGTH_SHIFT = np.uint64(56)


@njit
def word_table_row_part(
    rows: NDArray[np.uint64], row: np.uint64, part_mask: np.uint64
) -> np.uint64:
    """Return the part that a word belongs to, uint64: some bits of its hash, no matter the table.

    rows : (m * ROW_WIDTH,) uint64; row, part_mask : uint64, a row in use and the number of parts
    less 1. Other bits than those that choose a row, so that the words of one part spread evenly.
    Reads only.
    """
    high = rows[row + HIGH]
    mixed = rows[row + LOW] if high >= LONG_MARK else word_mix(rows[row + LOW], high)
    return (mixed >> _BYTE_BITS) & part_mask


@njit
def word_table_measure(table: WordTable, part: np.uint64, part_mask: np.uint64) -> tuple[int, int]:
    """Return how many words one part of the table has and how many bytes they take, int64.

    part, part_mask : uint64, see word_table_row_part; 0 and 0 for the whole table
    Reads table.rows, (m * ROW_WIDTH,) uint64. One pass over them.
    """
    n_words = 0
    n_bytes = 0
    for i in range(table.rows.shape[0] // ROW_WIDTH):
        row = np.uint64(i) << _ROW_SHIFT
        high = table.rows[row + HIGH]
        if high == _ZERO or word_table_row_part(table.rows, row, part_mask) != part:
            continue
        n_words += 1
        if high >= LONG_MARK:
            n_bytes += np.int64(high & ~LONG_MARK)
        else:
            n_bytes += np.int64(high >> _LENGTH_SHIFT)
    return n_words, n_bytes


@njit
def word_table_export(
    table: WordTable,
    part: np.uint64,
    part_mask: np.uint64,
    contents_out: NDArray[np.uint8],
    offsets_out: NDArray[np.int64],
    counts_out: NDArray[np.int64],
) -> None:
    """Write the words of one part and their counts, in the order of the rows.

    part, part_mask : uint64, as in word_table_measure, which returns n and k
    contents_out : (>= k,) uint8; offsets_out : (>= n + 1,) int64, of which the first is kept as
    the place where the first word goes; counts_out : (>= n,) int64
    One pass over the rows.
    """
    word = 0
    target = offsets_out[0]
    for i in range(table.rows.shape[0] // ROW_WIDTH):
        row = np.uint64(i) << _ROW_SHIFT
        high = table.rows[row + HIGH]
        if high == _ZERO or word_table_row_part(table.rows, row, part_mask) != part:
            continue
        if high >= LONG_MARK:
            length = np.int64(high & ~LONG_MARK)
            place = np.int64(table.rows[row + PLACE])
            for j in range(length):
                contents_out[target + j] = table.arena[place + j]
        else:
            length = np.int64(high >> _LENGTH_SHIFT)
            rest = table.rows[row + LOW]
            for j in range(length):
                if j == 8:
                    rest = high
                contents_out[target + j] = np.uint8(rest & _BYTE)
                rest >>= _BYTE_BITS
        target += length
        counts_out[word] = np.int64(table.rows[row + COUNT])
        word += 1
        offsets_out[word] = target
