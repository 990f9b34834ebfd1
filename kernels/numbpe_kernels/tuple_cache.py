"""What a thread knows of words and gaps of Combinatorial BPE: look them up, and learn what is new.

Two caches, both the table of ``word_table`` with other contents: of words, with their pieces, and of
gaps. Of a short word with up to three pieces, COUNT holds the first two and PLACE the third and, in its
upper half, their number. All other words have their pieces in ``word_values``: COUNT is ``n << 40 |
place``, and the upper half of PLACE is 0. Of a gap COUNT is its number. What it becomes stands in
``gap_heads`` at four times its number: the prefix of the next word, the suffix of the last, how many
pieces lie between, and their place in ``gap_values``. Gap 0 is the empty one.

A block is a number of words with the gap before the first and the gap behind each: gap i stands
before word i. What is long, or stands at an end of a text, is not kept: the gap i of a block then has
the number i + 1, and its pieces, as those of a long word, are in ``long_values``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.tuple_model import (
    TupleModel,
    TupleScratch,
    tuple_encode_run,
    tuple_find_prefix,
    tuple_find_suffix,
    tuple_find_white,
)
from numbpe_kernels.tuple_words import ROOM_A_BLOCK
from numbpe_kernels.word_keys import LONG_MARK
from numbpe_kernels.word_table import (
    ARENA_END,
    BATCH,
    COUNT,
    HIGH,
    N_WORDS,
    PLACE,
    WordTable,
    word_table_capacity,
    word_table_enter,
    word_table_hash,
    word_table_probe,
)

PART = 0
IS_BEGUN = 1
N_DONE = 2
N_ROWS = 3
N_TAKEN = 4
PENDING_PREFIX = 5
N_JOBS = 6
LONG_VALUES_END = 7
WORD_VALUES_END = 8
GAP_VALUES_END = 9
GAPS_END = 10
NEEDED = 11
TUPLE_PROGRESS_SIZE = 12
"""Places in ``TupleState.progress``: the part at hand; whether a block of it is written; how many of the
words at hand are written; rows in ``rows_out``, and those that were taken out of it before; the prefix
of the word that comes next; how many entries ``jobs`` has; the ends of long_values, word_values and
gap_values; the number of the next new gap; the size that the status speaks of."""

TUPLE_BLOCK = 1024
"""Words that are looked up before the first of them is written."""

WORDS_ROOM = TUPLE_BLOCK + 2 * ROOM_A_BLOCK
"""Entries of starts and ends."""

FIRST_GAP = TUPLE_BLOCK + 3
"""The number of the first gap that is kept."""

MAX_CACHED_NBYTES = 256
"""Longer words and gaps are worked out each time they are met."""

BATCH_NBYTES = BATCH * MAX_CACHED_NBYTES
"""Room in an arena that a batch may take."""

SCRATCH_SLACK = 8
"""Entries of the arrays of scratch that must be there behind those of a word."""

HEAD_WIDTH = 4
PREFIX = 0
SUFFIX = 1
N_PIECES = 2
PIECES = 3
"""Places in what a gap becomes."""

NO_GAP = -1

LONG_WORD = np.uint64(1 << 63)
PLACE_BITS = np.uint64(40)
"""The mark of what stands in ``found`` for a long word; and see COUNT above."""

_WORD = 0
_LONG_WORD = 1
_GAP = 2
_LONG_GAP = 3
_KIND_BITS = 2
_MAX_INLINE = 3
_ROW_MASK = 0xFFFFFFFF
_HALF = np.uint64(32)
_ZERO = np.uint64(0)


class TupleState(NamedTuple):
    """What one thread has of its own.

    words, gaps : WordTable; word_values, gap_values, long_values : (k,) int32
    gap_heads : (HEAD_WIDTH * g,) int32, what gaps become, zeros for gap 0
    ascii_gaps : (128,) int64, the number of the gap that is one byte, NO_GAP if it is not known
    scratch : TupleScratch
    starts, ends : (WORDS_ROOM,) int64, words that were found; scan : (WORD_SCAN_SIZE,) int64
    found : (TUPLE_BLOCK,) uint64, of the words of a block their rows, or LONG_WORD and a place in
        long_values, where their number stands before their pieces
    found_gaps : (TUPLE_BLOCK + 1,) int64, the numbers of the gaps of a block
    jobs : (2 * TUPLE_BLOCK + 1,) int64, ``i << 2 | kind``: the words and gaps of a block to be learned
    progress : (TUPLE_PROGRESS_SIZE,) int64
    """

    words: WordTable
    gaps: WordTable
    word_values: NDArray[np.int32]
    gap_values: NDArray[np.int32]
    long_values: NDArray[np.int32]
    gap_heads: NDArray[np.int32]
    ascii_gaps: NDArray[np.int64]
    scratch: TupleScratch
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    scan: NDArray[np.int64]
    found: NDArray[np.uint64]
    found_gaps: NDArray[np.int64]
    jobs: NDArray[np.int64]
    progress: NDArray[np.int64]


class TupleBlock(NamedTuple):
    """Words of a part, with the gaps before and behind them, all int64.

    n_words : may be 0 where the part has none
    start, stop : of the part
    is_first, is_last : 1 if the part begins with this block, and if it ends with it
    """

    n_words: int
    start: int
    stop: int
    is_first: int
    is_last: int


@njit_inline
def block_find_gap(state: TupleState, block: TupleBlock, i: int) -> tuple[int, int]:
    """Return where gap i of a block begins and ends, int64. Reads only."""
    done = state.progress[N_DONE]
    start = block.start if i == 0 else state.ends[done + i - 1]
    is_end = block.is_last == 1 and i == block.n_words
    return start, block.stop if is_end else state.starts[done + i]


@njit_inline
def table_has_room(table: WordTable) -> bool:
    """Return whether a batch finds room in a table. Reads only."""
    return (
        table.state[N_WORDS] + BATCH <= word_table_capacity(table)
        and table.arena.shape[0] - table.state[ARENA_END] >= BATCH_NBYTES + 64
    )


@njit_inline
def add_job(state: TupleState, kind: int, i: int) -> None:
    """Note that word or gap i of a block is to be learned. kind, i : int64. Writes jobs."""
    state.jobs[state.progress[N_JOBS]] = i << _KIND_BITS | kind
    state.progress[N_JOBS] += 1


@njit
def tuple_probe_words(state: TupleState, text: NDArray[np.uint8], n_words: int) -> int:
    """Look up the next words; return how many, int64: fewer where there is no room for more.

    text : (n,) uint8 with padding; n_words : int64, 0 to TUPLE_BLOCK
    Writes words, found, jobs and progress. About one cache miss a word that is not common.
    """
    table, rows = state.words, state.words.rows
    done = state.progress[N_DONE]
    first = np.int64(0)
    room = state.word_values.shape[0] - state.progress[WORD_VALUES_END]
    while first < n_words and table_has_room(table) and room >= BATCH_NBYTES:
        n_batch = np.int64(min(BATCH, n_words - first))
        # Ask for the rows of all words of the batch before the first is needed.
        for i in range(n_batch):
            start = state.starts[done + first + i]
            word_table_hash(table, text, start, state.ends[done + first + i] - start, np.uint64(i))
        for i in range(n_batch):
            start = state.starts[done + first + i]
            row = word_table_probe(table, text, start, np.uint64(i))
            if rows[row + HIGH] == _ZERO:
                length = state.ends[done + first + i] - start
                if length > MAX_CACHED_NBYTES:
                    add_job(state, _LONG_WORD, first + i)
                else:
                    word_table_enter(table, text, start, np.uint64(i), row, _ZERO)
                    add_job(state, _WORD, first + i)
                    room -= length
            state.found[first + i] = row
        first += n_batch
    return first


@njit_inline
def gaps_have_room(state: TupleState, n_bytes: int) -> bool:
    """Return whether there is room for one more gap and its pieces. Reads only.

    n_bytes : int64, of new gaps whose pieces are not there yet
    """
    table, progress = state.gaps, state.progress
    n_values = state.gap_values.shape[0] - progress[GAP_VALUES_END]
    return (
        table.state[N_WORDS] < word_table_capacity(table)
        and table.arena.shape[0] - table.state[ARENA_END] >= MAX_CACHED_NBYTES + 64
        and n_values >= n_bytes + MAX_CACHED_NBYTES
        and progress[GAPS_END] < state.gap_heads.shape[0] // HEAD_WIDTH
    )


@njit_inline
def probe_edge(state: TupleState, block: TupleBlock, i: int) -> None:
    """Let a gap at an end of a part be learned, unless it is empty.

    i : int64, 0 or n_words of the block. Writes found_gaps, jobs and progress.
    """
    start, stop = block_find_gap(state, block, i)
    state.found_gaps[i] = i + 1 if stop > start else 0
    if stop > start:
        add_job(state, _LONG_GAP, i)


@njit
def tuple_probe_gaps(state: TupleState, text: NDArray[np.uint8], block: TupleBlock) -> int:
    """Look up the gaps of a block; return of how many of its words the gaps behind them, int64.

    text : (n,) uint8 with padding
    Writes gaps, ascii_gaps, found_gaps, jobs and progress. Fewer than there are words where there is no
    room for more. The gap before the first word is looked up if the part begins there.
    """
    table, progress = state.gaps, state.progress
    done = progress[N_DONE]
    if block.is_first == 1:
        probe_edge(state, block, np.int64(0))
    n_inner = block.n_words - block.is_last
    n_pending = np.int64(0)
    for i in range(n_inner):
        start, stop = state.ends[done + i], state.starts[done + i + 1]
        length = stop - start
        number = np.int64(0)
        if length > MAX_CACHED_NBYTES:
            number = i + 2
            add_job(state, _LONG_GAP, i + 1)
        elif length > 0:
            row = _ZERO
            is_short = length == 1 and text[start] < 128
            if is_short:
                number = state.ascii_gaps[text[start]]
            else:
                word_table_hash(table, text, start, length, _ZERO)
                row = word_table_probe(table, text, start, _ZERO)
                is_known = table.rows[row + HIGH] != _ZERO
                number = np.int64(table.rows[row + COUNT]) if is_known else np.int64(NO_GAP)
            if number == NO_GAP:
                if not gaps_have_room(state, n_pending):
                    return i
                number = progress[GAPS_END]
                progress[GAPS_END] += 1
                n_pending += length
                add_job(state, _GAP, i + 1)
                if is_short:
                    state.ascii_gaps[text[start]] = number
                else:
                    word_table_enter(table, text, start, _ZERO, row, np.uint64(number))
        state.found_gaps[i + 1] = number
    if block.is_last == 1 and block.n_words > 0:
        probe_edge(state, block, block.n_words)
    return block.n_words


@njit_inline
def remember_word(state: TupleState, row: np.uint64, n_pieces: int) -> None:
    """Write the pieces in scratch into the row of their word.

    row : uint64; n_pieces : int64, at least 1. Writes the rows of words, word_values and progress.
    """
    rows, pieces = state.words.rows, state.scratch.pieces
    is_long = rows[row + HIGH] >= LONG_MARK
    if n_pieces <= _MAX_INLINE and not is_long:
        second = np.int64(pieces[1]) if n_pieces > 1 else 0
        third = np.int64(pieces[2]) if n_pieces > 2 else 0
        rows[row + COUNT] = np.uint64(pieces[0]) | np.uint64(second) << _HALF
        rows[row + PLACE] = np.uint64(third) | np.uint64(n_pieces) << _HALF
        return
    place = state.progress[WORD_VALUES_END]
    rows[row + COUNT] = np.uint64(place) | np.uint64(n_pieces) << PLACE_BITS
    copy_pieces(state.scratch.pieces, n_pieces, state.word_values, place)
    state.progress[WORD_VALUES_END] = place + n_pieces


@njit_inline
def copy_pieces(
    pieces: NDArray[np.int32], n_pieces: int, values_out: NDArray[np.int32], place: int
) -> None:
    """Write pieces to values_out from ``place`` on.

    pieces : (>= n_pieces,) int32; values_out : (>= place + n_pieces,) int32; n_pieces, place : int64
    """
    for i in range(n_pieces):
        values_out[place + i] = pieces[i]


@njit_inline
def remember_gap(
    state: TupleState, number: int, prefix: int, suffix: int, n_pieces: int, is_kept: bool
) -> None:
    """Write what a gap becomes; its pieces are those in scratch.

    number, prefix, suffix, n_pieces : int64; is_kept : whether the pieces go to gap_values, and not to
    long_values. Writes gap_heads, values and progress.
    """
    end = GAP_VALUES_END if is_kept else LONG_VALUES_END
    values = state.gap_values if is_kept else state.long_values
    place = state.progress[end]
    copy_pieces(state.scratch.pieces, n_pieces, values, place)
    state.progress[end] = place + n_pieces
    head = HEAD_WIDTH * number
    state.gap_heads[head + PREFIX] = np.int32(prefix & _ROW_MASK)
    state.gap_heads[head + SUFFIX] = np.int32(suffix & _ROW_MASK)
    state.gap_heads[head + N_PIECES] = np.int32(n_pieces)
    state.gap_heads[head + PIECES] = np.int32(place)


@njit
def tuple_learn(
    model: TupleModel, state: TupleState, text: NDArray[np.uint8], block: TupleBlock
) -> None:
    """Do the jobs: work out what new words and gaps of a block become, and remember it.

    text : (n,) uint8 with padding. Writes state; there is room for all that is learned.
    """
    done = state.progress[N_DONE]
    state.progress[LONG_VALUES_END] = 0
    for job in range(state.progress[N_JOBS]):
        i, kind = state.jobs[job] >> _KIND_BITS, state.jobs[job] & (1 << _KIND_BITS) - 1
        is_gap = kind >= _GAP
        entries = model.plain if is_gap else model.folded
        # What is merged: a word, or the rests of a gap before its first white space and behind it.
        prefix = suffix = np.int64(0)
        if is_gap:
            start, stop = block_find_gap(state, block, i)
            follows_word = i > 0
            leads_word = block.is_last == 0 or i < block.n_words
            middle = tuple_find_white(model, text, start, stop) if follows_word else start
            suffix = tuple_find_suffix(model, text, start, middle)
            prefix = tuple_find_prefix(model, text, middle, stop) if leads_word else np.int64(0)
            start += suffix >> 32
            stop -= prefix >> 32
        else:
            start, stop = state.starts[done + i], state.ends[done + i]
            middle = stop
        n_pieces = np.int64(0)
        while start < stop:
            end = middle if start < middle else stop
            n_pieces = tuple_encode_run(model, state.scratch, entries, text, start, end, n_pieces)
            start = end
        if is_gap:
            is_kept = kind == _GAP
            remember_gap(state, state.found_gaps[i], prefix, suffix, n_pieces, is_kept)
        elif kind == _WORD:
            remember_word(state, state.found[i], n_pieces)
        else:
            place = state.progress[LONG_VALUES_END]
            state.found[i] = LONG_WORD | np.uint64(place)
            state.long_values[place] = np.int32(n_pieces)
            copy_pieces(state.scratch.pieces, n_pieces, state.long_values, place + 1)
            state.progress[LONG_VALUES_END] = place + 1 + n_pieces
