"""Taking words and counts out of a word table, all of them or a part chosen by their hash."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.copying import bytes_copy
from numbpe_kernels.memory import prefetch
from numbpe_kernels.word_keys import LONG_MARK, word_mix
from numbpe_kernels.word_table import COUNT, HIGH, LOW, PLACE, ROW_WIDTH, WordTable

_ZERO = np.uint64(0)
_ROW_SHIFT = np.uint64(2)
_ONE = np.uint64(1)
_BYTE_BITS = np.uint64(8)
_BYTE_SHIFT = np.uint64(3)
_KEY_NBYTES = 16
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
    row_bytes: NDArray[np.uint8],
    part_mask: np.uint64,
    cursors: NDArray[np.int64],
    contents_out: NDArray[np.uint8],
    offsets_out: NDArray[np.int64],
    counts_out: NDArray[np.int64],
) -> None:
    """Write the words of some parts and their counts, those of a part in the order of the rows.

    row_bytes : (m * ROW_WIDTH * 8,) uint8, the memory of table.rows: the bytes of short words
    part_mask : uint64, as in word_table_measure
    cursors : (n_parts, 2) int64, where the next word of each part goes: its number and its first
        byte; -1 for parts that are not written. Advanced.
    contents_out : uint8, with padding; offsets_out, counts_out : int64; written where the cursors
        point. offsets_out gets the start of each word; the end of the last one is the caller's to
        write. Where there is one part only, some bytes of no use are written behind its words.
    One pass over table.rows.
    """
    rows = table.rows
    n_numbers = np.uint64(rows.shape[0])
    is_whole = part_mask == _ZERO
    for i in range(n_numbers >> _ROW_SHIFT):
        row = i << _ROW_SHIFT
        if row + _AHEAD < n_numbers:
            prefetch(table.arena, rows[row + _AHEAD + PLACE])
        high = rows[row + HIGH]
        if high == _ZERO:
            continue
        part = _ZERO if is_whole else word_table_row_part(rows, row, part_mask)
        word = cursors[part, _ZERO]
        if word < 0:
            continue
        target = cursors[part, _ONE]
        is_long = high >= LONG_MARK
        length = np.int64(high & ~LONG_MARK) if is_long else np.int64(high >> _LENGTH_SHIFT)
        source, begin = row_bytes, row << _BYTE_SHIFT
        if is_long:
            source, begin = table.arena, rows[row + PLACE]
        if not is_whole:
            for j in range(np.uint64(length)):
                contents_out[np.uint64(target) + j] = source[begin + j]
        elif is_long:
            bytes_copy(source, np.int64(begin), length, contents_out, target)
        else:
            for j in range(_KEY_NBYTES):
                contents_out[np.uint64(target) + np.uint64(j)] = source[begin + np.uint64(j)]
        offsets_out[np.uint64(word)] = target
        counts_out[np.uint64(word)] = np.int64(rows[row + COUNT])
        cursors[part, _ZERO] = word + 1
        cursors[part, _ONE] = target + length
