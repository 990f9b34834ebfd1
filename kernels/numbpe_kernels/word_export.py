"""Taking words and counts out of a word table, all of them or a part chosen by their hash."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.memory import prefetch
from numbpe_kernels.word_keys import LONG_MARK, word_mix
from numbpe_kernels.word_table import COUNT, HIGH, LOW, PLACE, ROW_WIDTH, WordTable

_ZERO = np.uint64(0)
_ROW_SHIFT = np.uint64(2)
_BYTE = np.uint64(0xFF)
_BYTE_BITS = np.uint64(8)
_LENGTH_SHIFT = np.uint64(56)
_AHEAD = np.uint64(
    16 * ROW_WIDTH
)  # rows between the one at hand and the one whose bytes are asked for


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
def word_table_measure(
    table: WordTable, part_mask: np.uint64, sizes_out: NDArray[np.int64]
) -> None:
    """Add the words of each part and their bytes up.

    part_mask : uint64, the number of parts less 1; 0 for the whole table as one part
    sizes_out : (n_parts, 2) int64, zeros before; written: words and bytes of each part
    One pass over table.rows.
    """
    for i in range(table.rows.shape[0] // ROW_WIDTH):
        row = np.uint64(i) << _ROW_SHIFT
        high = table.rows[row + HIGH]
        if high == _ZERO:
            continue
        part = word_table_row_part(table.rows, row, part_mask)
        sizes_out[part, 0] += 1
        if high >= LONG_MARK:
            sizes_out[part, 1] += np.int64(high & ~LONG_MARK)
        else:
            sizes_out[part, 1] += np.int64(high >> _LENGTH_SHIFT)


@njit
def word_table_export(
    table: WordTable,
    part_mask: np.uint64,
    cursors: NDArray[np.int64],
    contents_out: NDArray[np.uint8],
    offsets_out: NDArray[np.int64],
    counts_out: NDArray[np.int64],
) -> None:
    """Write the words of some parts and their counts, those of a part in the order of the rows.

    part_mask : uint64, as in word_table_measure
    cursors : (n_parts, 2) int64, where the next word of each part goes: its number and its first
        byte; -1 for parts that are not written. Advanced.
    contents_out : uint8; offsets_out, counts_out : int64; written where the cursors point.
        offsets_out gets the start of each word; the end of the last one is the caller's to write.
    One pass over table.rows.
    """
    n_numbers = np.uint64(table.rows.shape[0])
    for i in range(table.rows.shape[0] // ROW_WIDTH):
        row = np.uint64(i) << _ROW_SHIFT
        if row + _AHEAD < n_numbers:
            prefetch(table.arena, table.rows[row + _AHEAD + PLACE])
        high = table.rows[row + HIGH]
        if high == _ZERO:
            continue
        part = word_table_row_part(table.rows, row, part_mask)
        word = cursors[part, 0]
        if word < 0:
            continue
        target = cursors[part, 1]
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
        offsets_out[word] = target
        counts_out[word] = np.int64(table.rows[row + COUNT])
        cursors[part, 0] = word + 1
        cursors[part, 1] = target + length
