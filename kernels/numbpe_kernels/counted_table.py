"""A word table that also knows where in the whole text each word stood first.

Beside the rows of a :class:`~numbpe_kernels.word_table.WordTable` lies ``firsts``, (m,) int64, with
one position a row. Positions only have to grow along the text; the least one of a word is kept, so
that what is counted in parts, in any order, gives the same table as the whole.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.word_table import (
    ARENA_END,
    BATCH,
    COUNT,
    HIGH,
    N_WORDS,
    ROW_WIDTH,
    WordTable,
    word_table_capacity,
    word_table_enter,
    word_table_hash,
    word_table_move_row,
    word_table_probe,
)

DOCUMENT = 0
POSITION = 1
N_COUNTED = 2
PROGRESS_SIZE = 3
"""Places in ``progress``: the document at hand; where its next word begins, -1 before the document
is begun; how many of the ends that were found are counted."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ROW = np.uint64(ROW_WIDTH)
_ROW_SHIFT = np.uint64(2)
_BATCH = np.int64(BATCH)


@njit
def counted_table_add_ends(
    table: WordTable,
    firsts: NDArray[np.int64],
    base: int,
    text: NDArray[np.uint8],
    documents: NDArray[np.int64],
    ends: NDArray[np.int64],
    n_ends: int,
    is_late: bool,
    progress: NDArray[np.int64],
) -> bool:
    """Count the words of documents whose ends were found. Returns whether all of them were counted.

    firsts : (m,) int64, beside the table; base : int64, the position of ``text[0]``
    text : uint8 with padding; documents : (n, 2) int64, starts and stops of texts, none empty
    ends : (>= n_ends,) int64, ends of words, which follow one another document for document
    is_late : whether text that stands behind this was counted before, so that words that are known
        may stand here first
    progress : (PROGRESS_SIZE,) int64, DOCUMENT 0, POSITION -1 before a chunk is begun, and
        N_COUNTED 0 before each call that has other ends; where the table ran out of room, the
        caller enlarges it and calls again
    Writes table, firsts and progress. About one cache miss a word that is not common.
    """
    if n_ends == 0:
        return True
    rows = table.rows
    capacity = word_table_capacity(table)
    done = progress[N_COUNTED]
    document = progress[DOCUMENT]
    place = progress[POSITION]
    if place < 0:
        place = documents[document, 0]
    while done < n_ends:
        n_batch = min(_BATCH, n_ends - done)
        batch_nbytes = ends[done + n_batch - 1] - place
        room = table.arena.shape[0] - table.state[ARENA_END] - 64
        if table.state[N_WORDS] + n_batch > capacity or batch_nbytes > room:
            break
        first_document = document
        begin = place
        for i in range(n_batch):
            end = ends[done + i]
            if place >= documents[document, 1]:
                document += 1
                place = documents[document, 0]
            word_table_hash(table, text, place, end - place, np.uint64(i))
            place = end
        document = first_document
        place = begin
        for i in range(n_batch):
            if place >= documents[document, 1]:
                document += 1
                place = documents[document, 0]
            row = word_table_probe(table, text, place, np.uint64(i))
            if rows[row + HIGH] == _ZERO:
                word_table_enter(table, text, place, np.uint64(i), np.uint64(row), _ONE)
                firsts[row >> _ROW_SHIFT] = base + place
            else:
                rows[row + COUNT] += _ONE
                if is_late:
                    firsts[row >> _ROW_SHIFT] = min(firsts[row >> _ROW_SHIFT], base + place)
            place = ends[done + i]
        done += n_batch
    progress[N_COUNTED] = done
    progress[DOCUMENT] = document
    progress[POSITION] = place
    return done == n_ends


@njit
def counted_table_add(
    table: WordTable,
    firsts: NDArray[np.int64],
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    counts: NDArray[np.int64],
    positions: NDArray[np.int64],
    start: int,
) -> int:
    """Add words with their counts and positions, from the word number ``start`` on.

    firsts : (m,) int64, beside the table; text : (k,) uint8 with padding
    bounds : (n, 2) int64, where each word begins and ends in the text; empty words are left out
    counts, positions : (n,) int64
    Writes table and firsts. Returns the number of the first word for which there was no room, or n,
    int64. About one cache miss a word.
    """
    rows = table.rows
    capacity = word_table_capacity(table)
    for word in range(start, counts.shape[0]):
        begin = bounds[word, 0]
        length = bounds[word, 1] - begin
        if length == 0:
            continue
        room = table.arena.shape[0] - table.state[ARENA_END] - 64
        if length > room or table.state[N_WORDS] >= capacity:
            return np.int64(word)
        word_table_hash(table, text, begin, length, _ZERO)
        row = word_table_probe(table, text, begin, _ZERO)
        count = np.uint64(counts[word])
        position = positions[word]
        if rows[row + HIGH] == _ZERO:
            word_table_enter(table, text, begin, _ZERO, np.uint64(row), count)
            firsts[row >> _ROW_SHIFT] = position
        else:
            rows[row + COUNT] += count
            firsts[row >> _ROW_SHIFT] = min(firsts[row >> _ROW_SHIFT], position)
    return np.int64(counts.shape[0])


@njit
def counted_table_rehash(
    old_rows: NDArray[np.uint64],
    old_firsts: NDArray[np.int64],
    table: WordTable,
    firsts: NDArray[np.int64],
) -> None:
    """Move the rows of a smaller table into the empty rows of ``table``, which has its arena.

    old_rows : (k * ROW_WIDTH,) uint64, distinct words; old_firsts : (k,) int64; firsts : (m,) int64
    Writes table.rows and firsts. One pass.
    """
    for i in range(old_firsts.shape[0]):
        old = np.uint64(i) << _ROW_SHIFT
        if old_rows[old + HIGH] != _ZERO:
            row = word_table_move_row(old_rows, old, table)
            firsts[row >> _ROW_SHIFT] = old_firsts[i]
