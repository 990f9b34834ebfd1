"""Open-addressing table that counts words, with the bytes of short words inside the row.

A row is 32 bytes: the key in two numbers, see ``word_keys``, the count, and where the bytes of a long word
lie. Long words with an equal key are told apart by the bytes in the arena. No word is empty, so no key
has two zero numbers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.copying import bytes_copy
from numbpe_kernels.memory import prefetch
from numbpe_kernels.packed_rows import pairs_agree
from numbpe_kernels.word_keys import (
    LONG_MARK,
    SHORT_NBYTES,
    word_equal_long,
    word_hash_long,
    word_mix,
    word_write_short_key,
)

ROW_WIDTH = 4
LOW = np.uint64(0)
HIGH = np.uint64(1)
COUNT = np.uint64(2)
PLACE = np.uint64(3)
"""Columns of a row; the length of a short word is the highest byte of HIGH. Rows lie in one flat
array and are addressed by the place of their first number, as uint64: that costs neither the
multiplication by a width known at run time only, nor the test for a negative index."""

N_WORDS = 0
ARENA_END = 1
STATE_SIZE = 2
"""Places in ``WordTable.state``."""

BATCH_WIDTH = 4
BATCH_HIGH = np.uint64(1)
BATCH_ROW = np.uint64(2)
BATCH_START = np.uint64(3)
"""Columns of ``WordTable.batch``."""

LONGEST_BATCH = 64
"""Words whose rows are asked for together, so that their cache misses overlap: 5 % faster than 32."""

BATCH = 32
"""As many where a table has no room for more."""

# Typed once, here: a cast in a kernel costs compile time wherever it stands.
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ROW = np.uint64(ROW_WIDTH)
_ROW_SHIFT = np.uint64(2)
_ROW_MASK = np.uint64((1 << 64) - ROW_WIDTH)
_BATCH_SHIFT = np.uint64(2)
_WIDTH = np.uint64(BATCH_WIDTH)
_BATCH = np.uint64(BATCH)
_LONGEST = np.uint64(LONGEST_BATCH)
_SHORT = np.uint64(SHORT_NBYTES)
_NOWHERE = np.uint64((1 << 64) - 1)


class WordTable(NamedTuple):
    """Rows and arena of a table.

    rows : (m * ROW_WIDTH,) uint64, m a power of two; a free row is all zeros
    arena : (a,) uint8, the bytes of long words, readable TEXT_PADDING bytes past the last
    batch : (LONGEST_BATCH * BATCH_WIDTH,) uint64, scratch: of each word of a batch the two numbers of its
        key, its first row, and where it begins
    state : (STATE_SIZE,) int64, rows in use and bytes in the arena
    shift : uint64, 64 - log2(m)
    salt : uint64, what the key is mixed with when its row is chosen. Words that come in the order of the
        rows of one table would crowd one region of another that has the same salt
    """

    rows: NDArray[np.uint64]
    arena: NDArray[np.uint8]
    batch: NDArray[np.uint64]
    state: NDArray[np.int64]
    shift: np.uint64
    salt: np.uint64


def make_word_table(
    n_slots: int, arena_nbytes: int, salt: np.uint64 = _ZERO, *, will_be_full: bool = False
) -> WordTable:
    """Return an empty table of ``n_slots`` rows, a power of two, at least 2.

    will_be_full : take the memory of all rows now, one page after another; else each page is taken
        when it is first written to, which costs more where it was read before, and where another
        thread runs
    """
    rows = (np.empty if will_be_full else np.zeros)(n_slots * ROW_WIDTH, dtype=np.uint64)
    if will_be_full:
        rows[:] = 0
    return WordTable(
        rows=rows,
        arena=np.zeros(arena_nbytes, dtype=np.uint8),
        batch=np.zeros(LONGEST_BATCH * BATCH_WIDTH, dtype=np.uint64),
        state=np.zeros(STATE_SIZE, dtype=np.int64),
        shift=np.uint64(64 - (n_slots.bit_length() - 1)),
        salt=salt,
    )


@njit_inline
def word_table_first_row(table: WordTable, low: np.uint64, high: np.uint64) -> np.uint64:
    """Return where the row begins in which a word is sought first. low, high : uint64. Reads only; uint64."""
    return (word_mix(low ^ table.salt, high) >> table.shift) << _ROW_SHIFT


@njit_inline
def word_table_probe(
    table: WordTable, text: NDArray[np.uint8], start: int, i: np.uint64
) -> np.uint64:
    """Return the row of the i-th word of a batch, or the free row where it would go, as uint64.

    text : (n,) uint8, looked at for a long word only; start : int64, where the word begins
    i : uint64, its place in the scratch arrays, which hold its key and first row
    Reads only. Expected O(1) probes; does not end if no row is free.
    """
    rows, batch = table.rows, table.batch
    last = np.uint64(rows.shape[0] - 1)
    place = i << _BATCH_SHIFT
    row = batch[place + BATCH_ROW]
    while True:
        if pairs_agree(rows, row, batch, place):
            high = batch[place + BATCH_HIGH]
            if high < LONG_MARK:
                return row
            length = np.int64(high & ~LONG_MARK)
            if word_equal_long(text, start, table.arena, np.int64(rows[row + PLACE]), length):
                return row
        elif rows[row + HIGH] == _ZERO:
            return row
        row = (row + _ROW) & last


@njit_inline
def word_table_hash(
    table: WordTable, text: NDArray[np.uint8], start: int, length: int, i: np.uint64
) -> None:
    """Write the key and first row of a word into place i of the scratch arrays.

    text : (n,) uint8 with padding; start, length : int64, length at least 1; i : uint64
    Also asks for the cache line of the row.
    """
    place = i << _BATCH_SHIFT
    batch = table.batch
    if length <= SHORT_NBYTES:
        word_write_short_key(text, np.uint64(start), np.uint64(length), batch, place)
    else:
        batch[place] = word_hash_long(text, start, length)
        batch[place + BATCH_HIGH] = LONG_MARK | np.uint64(length)
    row = word_table_first_row(table, batch[place], batch[place + BATCH_HIGH])
    table.batch[place + BATCH_ROW] = row
    table.batch[place + BATCH_START] = np.uint64(start)
    prefetch(table.rows, row)


@njit_inline
def word_table_hash_short(
    table: WordTable,
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    first: np.uint64,
    n_done: np.uint64,
    n_most: np.uint64,
    start: np.uint64,
    stop: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Do as word_table_hash with words of a batch up to the first that is long, or to ``stop``.

    text : (n,) uint8 with padding; ends : (>= first + n_most,) int64, those of the batch from first on
    n_done, n_most : uint64, words of the batch that are done and that it may have; start, stop : uint64
    Returns how many words are done then, and where the next one begins. Writes the batch.
    """
    rows, batch = table.rows, table.batch
    while n_done < n_most and start != stop:
        end = np.uint64(ends[first + n_done])
        length = end - start
        if length > _SHORT:
            break
        column = n_done << _BATCH_SHIFT
        word_write_short_key(text, start, length, batch, column)
        mixed = word_mix(batch[column] ^ table.salt, batch[column + BATCH_HIGH])
        # As word_table_first_row; a mask instead of a second shift is 4 % of a known word.
        row = mixed >> (table.shift - _ROW_SHIFT) & _ROW_MASK
        batch[column + BATCH_ROW] = row
        batch[column + BATCH_START] = start
        prefetch(rows, row)
        n_done += _ONE
        start = end
    return n_done, start


@njit_inline
def word_table_recount(table: WordTable, column: np.uint64, last_column: np.uint64) -> np.uint64:
    """Count words of the batch up to one that is new or long; return its column, or the last one.

    column, last_column : uint64, of the next word in the batch, and behind the last. Writes table.rows.
    """
    rows, batch = table.rows, table.batch
    last = np.uint64(rows.shape[0] - 1)
    while column < last_column:
        row = batch[column + BATCH_ROW]
        while not pairs_agree(rows, row, batch, column):
            if rows[row + HIGH] == _ZERO:
                return column
            row = (row + _ROW) & last
        if rows[row + HIGH] >= LONG_MARK:
            return column
        rows[row + COUNT] += _ONE
        column += _WIDTH
    return column


@njit_inline
def word_table_enter(
    table: WordTable,
    text: NDArray[np.uint8],
    start: int,
    i: np.uint64,
    row: np.uint64,
    count: np.uint64,
) -> None:
    """Make the free row ``row`` the row of the i-th word of a batch.

    text : (n,) uint8; start : int64, where the word begins; i, row, count : uint64
    Writes rows, arena and state; the arena has room.
    """
    high = table.batch[(i << _BATCH_SHIFT) + BATCH_HIGH]
    table.rows[row + LOW] = table.batch[i << _BATCH_SHIFT]
    table.rows[row + HIGH] = high
    table.rows[row + COUNT] = count
    table.state[N_WORDS] += 1
    if high >= LONG_MARK:
        place = table.state[ARENA_END]
        length = np.int64(high & ~LONG_MARK)
        bytes_copy(text, start, length, table.arena, place)
        table.rows[row + PLACE] = np.uint64(place)
        table.state[ARENA_END] = place + length


@njit
def word_table_capacity(table: WordTable) -> int:
    """Return how many words the table takes, int64: three quarters of its rows."""
    return table.rows.shape[0] // np.int64(4 * ROW_WIDTH) * 3


@njit
def word_table_add(
    table: WordTable,
    text: NDArray[np.uint8],
    start: int,
    ends: NDArray[np.int64],
    first: int,
    n_ends: int,
) -> int:
    """Count the words that begin at ``start`` and end at ``ends[first]``, ... ``ends[n_ends - 1]``.

    text : (n,) uint8 with padding; start, first, n_ends : int64; ends : (>= n_ends,) int64, ascending
    Writes the table. Returns the place in ``ends`` of the first word that was not counted, int64:
    less than n_ends where a batch might not find room.
    Cost: about one cache miss a word that is not common.
    """
    capacity = word_table_capacity(table)
    done, begin = np.uint64(first), np.uint64(start)
    while done < np.uint64(n_ends):
        free = capacity - table.state[N_WORDS]
        n_batch = min(_LONGEST if free >= LONGEST_BATCH else _BATCH, np.uint64(n_ends) - done)
        batch_nbytes = ends[done + n_batch - _ONE] - np.int64(begin)
        room = table.arena.shape[0] - table.state[ARENA_END] - 64
        if np.int64(n_batch) > free or batch_nbytes > room:
            return np.int64(done)
        n_hashed = _ZERO
        while True:
            n_hashed, begin = word_table_hash_short(
                table, text, ends, done, n_hashed, n_batch, begin, _NOWHERE
            )
            if n_hashed == n_batch:
                break
            length = ends[done + n_hashed] - np.int64(begin)
            word_table_hash(table, text, np.int64(begin), length, n_hashed)
            begin = np.uint64(ends[done + n_hashed])
            n_hashed += _ONE
        # The words that most are, known and short, go through a loop of their own.
        column, last_column = _ZERO, n_batch << _BATCH_SHIFT
        while True:
            column = word_table_recount(table, column, last_column)
            if column == last_column:
                break
            place = np.int64(table.batch[column + BATCH_START])
            i = column >> _BATCH_SHIFT
            row = word_table_probe(table, text, place, i)
            if table.rows[row + HIGH] == _ZERO:
                word_table_enter(table, text, place, i, row, _ONE)
            else:
                table.rows[row + COUNT] += _ONE
            column += _WIDTH
        done += n_batch
    return np.int64(done)


@njit_inline
def word_table_move_row(
    old_rows: NDArray[np.uint64], old: np.uint64, table: WordTable
) -> np.uint64:
    """Copy a row of a smaller table into a free row of ``table``; return where that begins, uint64.

    old_rows : (k * ROW_WIDTH,) uint64; old : uint64, where the row of a word that ``table`` lacks begins
    Writes table.rows.
    """
    rows = table.rows
    last = np.uint64(rows.shape[0] - 1)
    low, high = old_rows[old + LOW], old_rows[old + HIGH]
    row = word_table_first_row(table, low, high)
    while rows[row + HIGH] != _ZERO:
        row = (row + _ROW) & last
    for column in range(ROW_WIDTH):
        rows[row + np.uint64(column)] = old_rows[old + np.uint64(column)]
    return row


@njit
def word_table_rehash(old_rows: NDArray[np.uint64], table: WordTable) -> None:
    """Move the rows of a smaller table into the empty rows of ``table``, which has its arena.

    old_rows : (k * ROW_WIDTH,) uint64, distinct words. Writes table.rows. One pass.
    """
    for i in range(old_rows.shape[0] // ROW_WIDTH):
        old = np.uint64(i) << _ROW_SHIFT
        if old_rows[old + HIGH] != _ZERO:
            word_table_move_row(old_rows, old, table)


@njit
def word_table_add_counted(
    table: WordTable,
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    first: int,
) -> int:
    """Add words with their counts, from the word number ``first`` on.

    text : (k,) uint8 with padding; offsets : (n + 1,) int64, where the words begin and end in it;
    counts : (n,) int64; first : int64
    Writes table. Returns the number of the first word for which there was no room, or n, int64.
    """
    rows = table.rows
    capacity = word_table_capacity(table)
    for word in range(first, counts.shape[0]):
        start = offsets[word]
        length = offsets[word + 1] - start
        room = table.arena.shape[0] - table.state[ARENA_END] - 64
        if length > room or table.state[N_WORDS] >= capacity:
            return np.int64(word)
        word_table_hash(table, text, start, length, _ZERO)
        row = word_table_probe(table, text, start, _ZERO)
        count = np.uint64(counts[word])
        if rows[row + HIGH] == _ZERO:
            word_table_enter(table, text, start, _ZERO, row, count)
        else:
            rows[row + COUNT] += count
    return np.int64(counts.shape[0])
