"""Adding up tables of words slice by slice: the words whose hashes begin with the same bits.

In a table, the words of a slice stand in rows that follow one another, and so they are added up in a
small table, in the order of their hashes, instead of in a table of all words: memory is gone through
once, and little of it is new.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.memory import prefetch
from numbpe_kernels.word_keys import LONG_MARK, word_mix
from numbpe_kernels.word_table import (
    BATCH_HIGH,
    BATCH_ROW,
    COUNT,
    HIGH,
    LOW,
    PLACE,
    ROW_WIDTH,
    WordTable,
    word_table_enter,
    word_table_first_row,
    word_table_probe,
)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ROW_SHIFT = np.uint64(2)
_LENGTH_SHIFT = np.uint64(56)
_HASH_BITS = np.uint64(64)
_AHEAD = np.uint64(32 * ROW_WIDTH)
"""Numbers between the row at hand and the one whose bytes are asked for."""


@njit
def word_table_measure_slices(
    table: WordTable, slice_bits: np.uint64, sizes_out: NDArray[np.int64]
) -> None:
    """Add up the words of each slice, and their bytes.

    slice_bits : uint64, at least 1: how many bits of the hashes make a slice
    sizes_out : (2**slice_bits, 2) int64, words and bytes. Writes sizes_out; one pass over table.rows.
    """
    rows = table.rows
    for i in range(np.uint64(rows.shape[0]) >> _ROW_SHIFT):
        row = i << _ROW_SHIFT
        high = rows[row + HIGH]
        if high == _ZERO:
            continue
        length = high >> _LENGTH_SHIFT if high < LONG_MARK else high & ~LONG_MARK
        number = word_mix(rows[row + LOW] ^ table.salt, high) >> (_HASH_BITS - slice_bits)
        sizes_out[number, _ZERO] += 1
        sizes_out[number, _ONE] += np.int64(length)


@njit
def word_table_absorb_slice(
    table: WordTable, other: WordTable, slice_bits: np.uint64, number: np.uint64
) -> None:
    """Add the counts of one slice of ``other`` to ``table``, which has room for its words.

    table : with the salt of ``other``, and a shift that is less by slice_bits than its number of rows
        says, so that the words of a slice spread over all of its rows; all words in it are of this slice
    slice_bits : uint64, at least 1, and ``other`` has at least 2**slice_bits rows; number : uint64
    Writes table. One pass over the rows of the slice.
    """
    rows, last = table.rows, np.uint64(table.rows.shape[0] - 1)
    other_last = np.uint64(other.rows.shape[0] - 1)
    n_numbers = np.uint64(other.rows.shape[0]) >> slice_bits
    theirs = number * n_numbers
    stop = theirs + n_numbers
    while True:
        prefetch(other.arena, other.rows[((theirs + _AHEAD) & other_last) + PLACE])
        row = theirs & other_last
        high = other.rows[row + HIGH]
        # Behind its last row, words of the slice follow only as long as no row is free.
        if high == _ZERO and theirs >= stop:
            return
        theirs += _ONE << _ROW_SHIFT
        low = other.rows[row + LOW]
        if high == _ZERO or word_mix(low ^ other.salt, high) >> (_HASH_BITS - slice_bits) != number:
            continue
        place = np.int64(other.rows[row + PLACE]) if high >= LONG_MARK else 0
        table.batch[_ZERO] = low
        table.batch[BATCH_HIGH] = high
        table.batch[BATCH_ROW] = word_table_first_row(table, low, high) & last
        count = other.rows[row + COUNT]
        row = word_table_probe(table, other.arena, place, _ZERO)
        if rows[row + HIGH] == _ZERO:
            word_table_enter(table, other.arena, place, _ZERO, row, count)
        else:
            rows[row + COUNT] += count
