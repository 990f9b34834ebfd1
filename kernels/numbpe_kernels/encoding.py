"""Words to token ids: look each up in a cache, merge those that are new.

Ids of words that were met before stand in a cache: the table of ``word_table`` with other contents.
Of a short word with up to three ids, COUNT holds the first two and PLACE the third and, in its upper
half, their number. All other words have their ids in ``cached_ids``: COUNT is ``n << 40 | place``,
and the upper half of PLACE is 0; of a long word PLACE says where its bytes are, as ever.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.model import EncoderModel, model_encode_word
from numbpe_kernels.ranks import MergeScratch
from numbpe_kernels.word_table import (
    ARENA_END,
    BATCH,
    COUNT,
    HIGH,
    LONG_MARK,
    N_WORDS,
    PLACE,
    WordTable,
    word_table_capacity,
    word_table_enter,
    word_table_hash,
    word_table_probe,
)

PART = 0
POSITION = 1
N_DONE = 2
N_IDS = 3
CACHED_IDS_END = 4
NEEDED = 5
PROGRESS_SIZE = 6
"""Places in ``EncoderState.progress``: the part at hand; where its next word begins, -1 before the
part is begun; how many of the ends are done; ids written; ids in ``cached_ids``; the position or the
size that the status speaks of."""

DONE = 0
CACHE_IS_FULL = 1
SCRATCH_IS_SMALL = 2
NO_TOKEN = 3
"""What ``encode_words`` returns. After CACHE_IS_FULL and SCRATCH_IS_SMALL it is called again."""

BLOCK = 1024
"""Words that are looked up before the first of them is written out."""

MAX_CACHED_NBYTES = 256
"""Longer words are merged each time they are met."""

BATCH_NBYTES = BATCH * MAX_CACHED_NBYTES
"""Room in the arena, and ids in ``cached_ids``, that a batch may take."""

ID_SLACK = 3
"""Entries of ``ids_out`` that must be there behind the last id."""

SCRATCH_SLACK = 8
"""Entries of the arrays of scratch that must be there behind those of a word."""

NO_ROW = np.uint64(0xFFFFFFFFFFFFFFFF)

_MAX_INLINE_IDS = 3
_PLACE_BITS = np.uint64(40)
_PLACE_MASK = np.uint64((1 << 40) - 1)
_HALF = np.uint64(32)
_ZERO = np.uint64(0)


class EncoderState(NamedTuple):
    """What one thread has of its own.

    cache : WordTable; cached_ids : (k,) uint32
    scratch : MergeScratch, for words of some length
    ends : (k,) int64, where words end, and scan : (SCAN_SIZE,) int64, see scanning
    words : (k,) int64, where parts of words end, and refine : (REFINE_SIZE,) int64, see junctions
    starts : (BLOCK,) int64 and found : (BLOCK,) uint64, of the words of a block where they begin and
        their rows, NO_ROW for a word too long for the cache
    fresh : (BLOCK,) int64, the words of a block that are new
    level_stops : (levels,) int64, see automaton.automaton_split
    progress : (PROGRESS_SIZE,) int64
    """

    cache: WordTable
    cached_ids: NDArray[np.uint32]
    scratch: MergeScratch
    ends: NDArray[np.int64]
    scan: NDArray[np.int64]
    words: NDArray[np.int64]
    refine: NDArray[np.int64]
    starts: NDArray[np.int64]
    found: NDArray[np.uint64]
    fresh: NDArray[np.int64]
    level_stops: NDArray[np.int64]
    progress: NDArray[np.int64]


@njit_inline
def encoder_remember(state: EncoderState, row: np.uint64, n_tokens: int) -> None:
    """Write the ids in scratch.tokens into the row of their word, which was just entered.

    row : uint64; n_tokens : int64, at least 1. Writes cache rows, cached_ids and progress.
    """
    rows, tokens = state.cache.rows, state.scratch.tokens
    is_long = rows[row + HIGH] >= LONG_MARK
    if n_tokens <= _MAX_INLINE_IDS and not is_long:
        second = np.int64(tokens[1]) if n_tokens > 1 else 0
        third = np.int64(tokens[2]) if n_tokens > 2 else 0
        rows[row + COUNT] = np.uint64(tokens[0]) | np.uint64(second) << _HALF
        rows[row + PLACE] = np.uint64(third) | np.uint64(n_tokens) << _HALF
        return
    place = state.progress[CACHED_IDS_END]
    for i in range(n_tokens):
        state.cached_ids[place + i] = np.uint32(tokens[i])
    rows[row + COUNT] = np.uint64(place) | np.uint64(n_tokens) << _PLACE_BITS
    state.progress[CACHED_IDS_END] = place + n_tokens


@njit_inline
def encoder_has_room(state: EncoderState, n_pending: int) -> bool:
    """Return whether a batch finds room in the cache. Reads only.

    n_pending : int64, bytes of new words whose ids are not there yet
    """
    cache = state.cache
    return (
        cache.state[N_WORDS] + BATCH <= word_table_capacity(cache)
        and cache.arena.shape[0] - cache.state[ARENA_END] >= BATCH_NBYTES + 64
        and state.cached_ids.shape[0] - state.progress[CACHED_IDS_END] - n_pending >= BATCH_NBYTES
    )


@njit_inline
def encoder_probe_batch(
    state: EncoderState,
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    first: int,
    n_batch: int,
    n_fresh: int,
) -> int:
    """Write the rows of a batch of words that was just hashed; return how many words are fresh, int64.

    text : (n,) uint8 with padding; ends : (>= n_batch,) int64, where the words of the batch end
    first : int64, the place of the batch in the block; n_batch, n_fresh : int64
    Enters new words into the cache, without their ids. Writes cache, found and fresh.
    """
    rows, starts, found = state.cache.rows, state.starts, state.found
    for i in range(n_batch):
        start = starts[first + i]
        row = word_table_probe(state.cache, text, start, np.uint64(i))
        if rows[row + HIGH] == _ZERO:
            if ends[i] - start > MAX_CACHED_NBYTES:
                row = NO_ROW
            else:
                word_table_enter(state.cache, text, start, np.uint64(i), row, _ZERO)
                state.fresh[n_fresh] = first + i
                n_fresh += 1
        found[first + i] = row
    return n_fresh


@njit
def encoder_probe_block(
    state: EncoderState,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> tuple[int, int]:
    """Look up the words of a block; return how many, and how many of them are new, int64.

    text : (n,) uint8 with padding; parts : (p, 3) int64; ends : (k,) int64, those of words that are
    not done; at most BLOCK of them are looked up, and fewer where the cache has no room
    Writes cache, starts, found and fresh. About one cache miss a word that is not common.
    """
    limit = min(BLOCK, ends.shape[0])
    part, place = state.progress[PART], state.progress[POSITION]
    stop = parts[part, 1]
    starts = state.starts
    n_words = n_fresh = n_pending = 0
    while n_words < limit and encoder_has_room(state, n_pending):
        n_batch = min(BATCH, limit - n_words)
        # Ask for the rows of all words of the batch before the first is needed.
        for i in range(n_batch):
            while place >= stop:
                part += 1
                place = parts[part, 0]
                stop = parts[part, 1]
            end = ends[n_words + i]
            starts[n_words + i] = place
            word_table_hash(state.cache, text, place, end - place, np.uint64(i))
            place = end
        n_before = n_fresh
        batch_ends = ends[n_words : n_words + n_batch]
        n_fresh = encoder_probe_batch(state, text, batch_ends, n_words, n_batch, n_fresh)
        for i in range(n_before, n_fresh):
            word = state.fresh[i]
            n_pending += ends[word] - state.starts[word]
        n_words += n_batch
    return n_words, n_fresh


@njit
def encoder_learn_words(
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    n_fresh: int,
) -> int:
    """Merge the new words of a block, and write their ids into their rows; return a status, int64.

    text : (n,) uint8 with padding; ends : (k,) int64, those of the block; n_fresh : int64
    Writes the cache and scratch. After NO_TOKEN the cache is not to be used any more.
    """
    for i in range(n_fresh):
        word = state.fresh[i]
        start = state.starts[word]
        n_tokens = model_encode_word(model, state.scratch, text, start, ends[word])
        if n_tokens < 0:
            state.progress[NEEDED] = -1 - n_tokens
            return NO_TOKEN
        encoder_remember(state, state.found[word], n_tokens)
    return DONE


@njit
def encoder_write_long_word(
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    ids_out: NDArray[np.uint32],
) -> int:
    """Merge a word that is too long for the cache, and write its ids; return a status, int64.

    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64; ids_out : (m,) uint32, written from
    N_IDS on. Writes scratch and progress.
    """
    length = stop - start
    if length > state.scratch.tokens.shape[0] - SCRATCH_SLACK:
        state.progress[NEEDED] = length
        return SCRATCH_IS_SMALL
    n_tokens = model_encode_word(model, state.scratch, text, start, stop)
    if n_tokens < 0:
        state.progress[NEEDED] = -1 - n_tokens
        return NO_TOKEN
    n_ids = state.progress[N_IDS]
    for i in range(n_tokens):
        ids_out[n_ids + i] = np.uint32(state.scratch.tokens[i])
    state.progress[N_IDS] = n_ids + n_tokens
    return DONE


@njit_inline
def encoder_recall(
    state: EncoderState, row: np.uint64, ids_out: NDArray[np.uint32], n_ids: int
) -> int:
    """Write the ids of the word in a row behind the first ``n_ids``; return how many there are then.

    row : uint64; ids_out : (>= n_ids + ids of the word + ID_SLACK,) uint32; n_ids : int64
    """
    first = state.cache.rows[row + COUNT]
    last = state.cache.rows[row + PLACE]
    n_inline = np.int64(last >> _HALF)
    if n_inline > 0:
        ids_out[n_ids] = np.uint32(first)
        ids_out[n_ids + 1] = np.uint32(first >> _HALF)
        ids_out[n_ids + 2] = np.uint32(last)
        return n_ids + n_inline
    source = np.int64(first & _PLACE_MASK)
    n_tokens = np.int64(first >> _PLACE_BITS)
    for j in range(n_tokens):
        ids_out[n_ids + j] = state.cached_ids[source + j]
    return n_ids + n_tokens


@njit
def encoder_finish_parts(
    state: EncoderState,
    parts: NDArray[np.int64],
    ids_out: NDArray[np.uint32],
    offsets_out: NDArray[np.int64],
) -> None:
    """End the part at hand if all its words are done, and begin the next one that has words.

    parts, ids_out, offsets_out : see encode_words. Writes progress, the ids behind parts and offsets.
    """
    progress = state.progress
    while progress[PART] < parts.shape[0]:
        part = progress[PART]
        if progress[POSITION] < 0:
            progress[POSITION] = parts[part, 0]
        if progress[POSITION] < parts[part, 1]:
            return
        if parts[part, 2] >= 0:
            ids_out[progress[N_IDS]] = np.uint32(parts[part, 2])
            progress[N_IDS] += 1
        offsets_out[part + 1] = progress[N_IDS]
        progress[PART] = part + 1
        progress[POSITION] = -1


@njit
def encoder_write_block(
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    ends: NDArray[np.int64],
    n_words: int,
    ids_out: NDArray[np.uint32],
    offsets_out: NDArray[np.int64],
) -> int:
    """Write the ids of the words of a block whose rows are known; return a status, int64.

    ends : (>= n_words,) int64, those of the block; n_words : int64, at least 1
    text, parts, ids_out, offsets_out : see encode_words. Writes those and progress.
    """
    progress = state.progress
    stop = parts[progress[PART], 1]
    position = progress[POSITION]
    n_ids = progress[N_IDS]
    found = state.found
    for word in range(n_words):
        row = found[word]
        if row != NO_ROW:
            n_ids = encoder_recall(state, row, ids_out, n_ids)
        else:
            progress[N_IDS] = n_ids
            start = state.starts[word]
            status = encoder_write_long_word(model, state, text, start, ends[word], ids_out)
            if status != DONE:
                progress[N_DONE] += word
                progress[POSITION] = start
                return status
            n_ids = progress[N_IDS]
        position = ends[word]
        if position == stop:
            progress[POSITION] = stop
            progress[N_IDS] = n_ids
            encoder_finish_parts(state, parts, ids_out, offsets_out)
            n_ids = progress[N_IDS]
            position = progress[POSITION]
            if progress[PART] < parts.shape[0]:
                stop = parts[progress[PART], 1]
    progress[N_DONE] += n_words
    progress[N_IDS] = n_ids
    progress[POSITION] = position
    return DONE


@njit
def encode_words(
    model: EncoderModel,
    state: EncoderState,
    ends: NDArray[np.int64],
    n_ends: int,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    ids_out: NDArray[np.uint32],
    offsets_out: NDArray[np.int64],
) -> int:
    """Write the ids of the words whose ends were found; return a status, int64: DONE and so on.

    ends : (>= n_ends,) int64, ends of words, which follow one another, part for part; n_ends : int64
    text : (n,) uint8 with padding
    parts : (p, 3) int64, starts, stops and the ids behind them, -1 for none
    ids_out : (>= bytes of the parts + p + ID_SLACK,) uint32
    offsets_out : (p + 1,) int64; entry i + 1 is the number of ids when part i is done
    Writes state, ids_out and offsets_out. progress: PART 0, POSITION -1, N_IDS 0 before the first
    call, and N_DONE 0 before each that has other ends; CACHED_IDS_END is that of the cache.

    A block of words is looked up, then what is new in it is merged, then its ids are written: each
    loop is short, and none waits for what another one decides.
    """
    encoder_finish_parts(state, parts, ids_out, offsets_out)
    while state.progress[N_DONE] < n_ends:
        rest = ends[state.progress[N_DONE] : n_ends]
        n_words, n_fresh = encoder_probe_block(state, text, parts, rest)
        if n_words == 0:
            return CACHE_IS_FULL
        status = encoder_learn_words(model, state, text, rest, n_fresh)
        if status == DONE:
            status = encoder_write_block(
                model, state, text, parts, rest, n_words, ids_out, offsets_out
            )
        if status != DONE:
            return status
    return DONE
