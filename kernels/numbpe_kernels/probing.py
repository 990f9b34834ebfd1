"""Looking a block of words up in the cache: the ids of what is known, and a list of the rest.

A batch of words is hashed, and their rows asked for, before the first of them is needed. The two
loops that most words go through stand by themselves, so that what they need stays in registers.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.encoder_arrays import (
    BLOCK,
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
from numbpe_kernels.memory import make_opaque, prefetch
from numbpe_kernels.word_cache import HALF, MAX_CACHED_NBYTES, word_cache_has_room
from numbpe_kernels.word_table import (
    BATCH_HIGH,
    BATCH_ROW,
    BATCH_START,
    BATCH_WIDTH,
    COUNT,
    HIGH,
    LONGEST_BATCH,
    LOW,
    PLACE,
    ROW_WIDTH,
    SHORT_NBYTES,
    word_key_short,
    word_table_enter,
    word_table_first_row,
    word_table_hash,
    word_table_probe,
)

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_ROW = np.uint64(ROW_WIDTH)
_WIDTH = np.uint64(BATCH_WIDTH)
_SHORT = np.uint64(SHORT_NBYTES)
_MAX_CACHED = np.uint64(MAX_CACHED_NBYTES)
_BATCH_SHIFT = np.uint64(2)


@njit_inline
def encoder_hash_short_words(
    state: EncoderState,
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    first: np.uint64,
    n_done: np.uint64,
    n_most: np.uint64,
    start: np.uint64,
    stop: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Ask for the rows of words up to the first that is long, or to ``stop``, where the part ends.

    text : (n,) uint8 with padding; ends : (>= first + n_most,) int64, those of the batch from first on
    n_done, n_most : uint64, words of the batch that are done and that it may have; start, stop : uint64
    Returns how many words are done then, and where the next one begins. Writes the batch.
    """
    table = state.cache.table
    rows, batch = table.rows, table.batch
    while n_done < n_most and start != stop:
        end = np.uint64(ends[first + n_done])
        length = end - start
        if length > _SHORT:
            break
        low, high = word_key_short(text, start, length)
        row = word_table_first_row(table, low, high)
        column = n_done << _BATCH_SHIFT
        batch[column] = low
        batch[column + BATCH_HIGH] = high
        batch[column + BATCH_ROW] = row
        batch[column + BATCH_START] = start
        prefetch(rows, row)
        n_done += _ONE
        start = end
    return n_done, start


@njit_inline
def encoder_recall_words(
    state: EncoderState, column: np.uint64, last_column: np.uint64, n_ids: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Write the ids of words of the batch up to the first special.

    column, last_column : uint64, of the next word in the batch, and behind the last
    n_ids : uint64. Returns the column of the special, and how many ids there are then. Writes block_ids.
    """
    block_ids = state.block_ids
    rows, batch = state.cache.table.rows, state.cache.table.batch
    last = np.uint64(rows.shape[0] - 1)
    while column < last_column:
        low, high = batch[column], batch[column + BATCH_HIGH]
        row = batch[column + BATCH_ROW]
        # The row of the word, or the free one where it would go: the first, nearly always.
        found = rows[row + HIGH]
        while make_opaque(
            np.uint64(((rows[row + LOW] ^ low) | (found ^ high) != _ZERO) & (found != _ZERO))
        ):
            row = (row + _ROW) & last
            found = rows[row + HIGH]
        tail = rows[row + PLACE]
        n_inline = tail >> HALF
        if n_inline == _ZERO:
            break
        head = rows[row + COUNT]
        block_ids[n_ids] = np.uint32(head)
        block_ids[n_ids + _ONE] = np.uint32(head >> HALF)
        block_ids[n_ids + _TWO] = np.uint32(tail)
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
    begin, most, last = np.uint64(first), np.uint64(n_most), np.uint64(stop)
    done, start = _ZERO, np.uint64(place)
    while True:
        done, start = encoder_hash_short_words(state, text, ends, begin, done, most, start, last)
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
        column, n_block_ids = encoder_recall_words(state, column, last_column, n_block_ids)
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
