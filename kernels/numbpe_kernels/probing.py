"""Looking a block of words up in the cache: the ids of what is known, and a list of the rest.

A batch of words is hashed, and their rows asked for, before the first of them is needed. The two
loops that most words go through stand by themselves, so that what they need stays in registers.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.encoder_arrays import (
    BLOCK,
    BLOCK_IDS_SIZE,
    COPY_STEP,
    LONG_WORD,
    NEEDED,
    PART,
    PART_END,
    POSITION,
    SCRATCH_SLACK,
    SPECIAL_WIDTH,
    EncoderState,
    encoder_list_special,
)
from numbpe_kernels.packed_rows import pairs_agree
from numbpe_kernels.word_cache import (
    INLINE_COUNT,
    MAX_CACHED_NBYTES,
    word_cache_copy_ids,
    word_cache_has_room,
    word_cache_unpack,
)
from numbpe_kernels.word_keys import SHORT_NBYTES
from numbpe_kernels.word_table import (
    BATCH_ROW,
    BATCH_START,
    BATCH_WIDTH,
    COUNT,
    HIGH,
    LONGEST_BATCH,
    PLACE,
    ROW_WIDTH,
    WordTable,
    word_table_enter,
    word_table_hash,
    word_table_hash_short,
    word_table_probe,
)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_ROW_MASK = np.uint64((1 << 64) - ROW_WIDTH)
_ROW = np.uint64(ROW_WIDTH)
_WIDTH = np.uint64(BATCH_WIDTH)
_SHORT = np.uint64(SHORT_NBYTES)
_MAX_CACHED = np.uint64(MAX_CACHED_NBYTES)
_BATCH_SHIFT = np.uint64(2)
_LAST_BLOCK_ID = np.uint64(BLOCK_IDS_SIZE - MAX_CACHED_NBYTES - 5 * BLOCK - 2 * COPY_STEP)
"""Up to here there is room for the ids of any word, and for five of each of those behind it."""


@njit_inline
def encoder_recall_words(
    table: WordTable,
    block_ids: NDArray[np.uint32],
    column: np.uint64,
    last_column: np.uint64,
    n_ids: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Write the ids of words of the batch up to one that is new, or whose ids do not fit into its row.

    block_ids : (BLOCK_IDS_SIZE,) uint32; n_ids : uint64
    column, last_column : uint64, of the next word in the batch, and behind the last
    Returns the column of that word, and how many ids there are then. Writes block_ids.
    """
    rows, batch = table.rows, table.batch
    last = np.uint64(rows.shape[0] - 1)
    while column < last_column:
        row = batch[column + BATCH_ROW]
        # The row of the word, or the free one where it would go: the first, nearly always.
        while not pairs_agree(rows, row, batch, column):
            if rows[row + HIGH] == _ZERO:
                return column, n_ids
            row = (row + _ROW) & last
        n_inline = rows[row + PLACE] >> INLINE_COUNT
        if n_inline == _ZERO:
            break
        word_cache_unpack(rows, row, block_ids, n_ids)
        n_ids += n_inline
        column += _WIDTH
    return column, n_ids


@njit_inline
def encoder_hash_batch(
    state: EncoderState,
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    first: int,
    n_most: int,
    place: int,
    stop: int,
) -> int:
    """Ask for the rows of a batch of words before any is needed; return how many words it has, int64.

    text : (n,) uint8 with padding; ends : (>= first + n_most,) int64; first, n_most, place, stop : int64
    The batch ends with the part, which ends at ``stop``, and before a word too long for the cache.
    Writes the batch of the cache's table.
    """
    table = state.cache.table
    begin, most, last = np.uint64(first), np.uint64(n_most), np.uint64(stop)
    done, start = _ZERO, np.uint64(place)
    while True:
        done, start = word_table_hash_short(table, text, ends, begin, done, most, start, last)
        if done == most or start == last:
            break
        end = np.uint64(ends[begin + done])
        if end - start > _MAX_CACHED:
            break
        length = np.int64(end - start)
        word_table_hash(state.cache.table, text, np.int64(start), length, done)
        done += _ONE
        start = end
    return np.int64(done)


@njit_inline
def encoder_probe_batch(
    state: EncoderState,
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    first: int,
    n_batch: int,
    n_block_ids: np.uint64,
    n_specials: int,
    n_fresh: int,
) -> tuple[np.uint64, int, int]:
    """Write the ids of the words of a batch that was just hashed, and list the specials among them.

    text : (n,) uint8 with padding; ends : (>= first + n_batch,) int64
    n_block_ids : uint64; first, n_batch, n_specials, n_fresh : int64
    Returns what the last three are then, but for n_batch. Enters new words into the cache, without
    their ids. Writes block_ids, specials and fresh.
    """
    table = state.cache.table
    column, last_column = _ZERO, np.uint64(n_batch) << _BATCH_SHIFT
    while True:
        column, n_block_ids = encoder_recall_words(
            table, state.block_ids, column, last_column, n_block_ids
        )
        if column == last_column:
            return n_block_ids, n_specials, n_fresh
        # Of a long word the bytes are compared, too.
        i = column >> _BATCH_SHIFT
        start = np.int64(table.batch[column + BATCH_START])
        end = ends[np.uint64(first) + i]
        row = word_table_probe(table, text, start, i)
        if table.rows[row + HIGH] == _ZERO:
            word_table_enter(table, text, start, i, row, _ZERO)
            state.fresh[n_fresh] = n_specials
            n_fresh += 1
        elif table.rows[row + COUNT] != _ZERO and n_block_ids < _LAST_BLOCK_ID:
            # Its ids are there, in the array behind the rows.
            n_block_ids = word_cache_copy_ids(state.cache, row, state.block_ids, n_block_ids)
            column += _WIDTH
            continue
        n_specials = encoder_list_special(state, n_specials, n_block_ids, row, start, end)
        column += _WIDTH


@njit
def encoder_probe_block(
    state: EncoderState,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> tuple[int, np.uint64, int, int]:
    """Look up the words of a block; return how many, their ids in block_ids, the specials among
    them, and how many of those are new words.

    text : (n,) uint8 with padding; parts : (p, 3) int64; ends : (k,) int64, those of words that are
    not done; at most BLOCK of them are looked up, and fewer where the cache or scratch has no room:
    none and NEEDED 0 where the cache is full, none and NEEDED > 0 where scratch is too small.
    Writes cache, block_ids, specials and fresh. About one cache miss a word that is not common.
    """
    limit = min(BLOCK, ends.shape[0])
    part, place = state.progress[PART], state.progress[POSITION]
    stop = parts[part, 1]
    state.progress[NEEDED] = 0
    n_block_ids = _ZERO
    n_words = n_specials = n_fresh = n_pending = 0
    while n_words < limit and word_cache_has_room(state.cache, n_pending):
        n_most = min(LONGEST_BATCH, limit - n_words)
        n_batch = encoder_hash_batch(state, text, ends, n_words, n_most, place, stop)
        if n_batch == 0:
            # A word that is too long for the cache. There must be room to merge it.
            end = ends[n_words]
            if end - place > state.scratch.tokens.shape[0] - SCRATCH_SLACK:
                state.progress[NEEDED] = 0 if n_words > 0 else end - place
                break
            n_specials = encoder_list_special(state, n_specials, n_block_ids, LONG_WORD, place, end)
            n_batch = 1
        else:
            n_before = n_fresh
            n_block_ids, n_specials, n_fresh = encoder_probe_batch(
                state, text, ends, n_words, n_batch, n_block_ids, n_specials, n_fresh
            )
            for i in range(n_before, n_fresh):
                special = SPECIAL_WIDTH * state.fresh[i]
                n_pending += np.int64(state.specials[special + 3] - state.specials[special + 2])
        n_words += n_batch
        place = ends[n_words - 1]
        if place == stop:
            n_specials = encoder_list_special(
                state, n_specials, n_block_ids, PART_END, place, place
            )
            part += 1
            while part < parts.shape[0] and parts[part, 0] >= parts[part, 1]:
                part += 1
            if part < parts.shape[0]:
                place = parts[part, 0]
                stop = parts[part, 1]
    return n_words, n_block_ids, n_specials, n_fresh
