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

MAX_CACHED_NBYTES = 256
"""Longer words are merged each time they are met."""

BATCH_NBYTES = BATCH * MAX_CACHED_NBYTES
"""Room in the arena, and ids in ``cached_ids``, that a batch may take."""

ID_SLACK = 3
"""Entries of ``ids_out`` that must be there behind the last id."""

SCRATCH_SLACK = 8
"""Entries of the arrays of scratch that must be there behind those of a word."""

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
def encoder_learn_word(
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    i: np.uint64,
    row: np.uint64,
) -> int:
    """Write the ids of a word that the cache lacks into scratch.tokens; return how many, int64.

    text : (>= stop + TEXT_PADDING,) uint8; start < stop, int64
    i, row : uint64, the word's place in its batch and the free row for it
    Writes scratch, and the cache if the word is not too long. Returns a status, negated, where it
    cannot go on: -SCRATCH_IS_SMALL or -NO_TOKEN.
    """
    length = stop - start
    if length > state.scratch.tokens.shape[0] - SCRATCH_SLACK:
        state.progress[NEEDED] = length
        return -SCRATCH_IS_SMALL
    n_tokens = model_encode_word(model, state.scratch, text, start, stop)
    if n_tokens < 0:
        state.progress[NEEDED] = -1 - n_tokens
        return -NO_TOKEN
    if length <= MAX_CACHED_NBYTES:
        word_table_enter(state.cache, text, start, i, row, _ZERO)
        encoder_remember(state, row, n_tokens)
    return n_tokens


@njit_inline
def encoder_hash_batch(
    state: EncoderState,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    ends: NDArray[np.int64],
    n_ends: int,
) -> int:
    """Hash words that begin at ``start`` and end at ends[N_DONE] and so on; return how many, int64.

    text : (n,) uint8 with padding; start, stop, n_ends : int64; ends : (>= n_ends,) int64
    There are BATCH of them at most, up to the one that ends at ``stop``. Writes scratch of the cache,
    and asks for the rows of all words before the first is needed.
    """
    first = state.progress[N_DONE]
    n_batch = min(BATCH, n_ends - first)
    place = start
    for i in range(n_batch):
        end = ends[first + i]
        word_table_hash(state.cache, text, place, end - place, np.uint64(i))
        place = end
        if end == stop:
            return np.int64(i + 1)
    return n_batch


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


@njit_inline
def encoder_encode_batch(
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    n_batch: int,
    ids_out: NDArray[np.uint32],
) -> int:
    """Write the ids of a batch of words that was just hashed; return a status, int64.

    text : (n,) uint8 with padding; ends : (k,) int64, those of the batch from N_DONE on
    n_batch : int64; ids_out : (m,) uint32, written from N_IDS on
    Writes state; progress says which words are done, whatever the status.
    """
    rows, progress = state.cache.rows, state.progress
    done = progress[N_DONE]
    place = progress[POSITION]
    n_ids = progress[N_IDS]
    status = DONE
    for i in range(n_batch):
        end = ends[done]
        row = word_table_probe(state.cache, text, place, np.uint64(i))
        if rows[row + HIGH] == _ZERO:
            n_tokens = encoder_learn_word(model, state, text, place, end, np.uint64(i), row)
            if n_tokens < 0:
                status = -n_tokens
                break
            for j in range(n_tokens):
                ids_out[n_ids + j] = np.uint32(state.scratch.tokens[j])
            n_ids += n_tokens
        else:
            n_ids = encoder_recall(state, row, ids_out, n_ids)
        place = end
        done += 1
    progress[N_DONE] = done
    progress[POSITION] = place
    progress[N_IDS] = n_ids
    return status


@njit_inline
def encoder_cache_is_full(state: EncoderState) -> bool:
    """Return whether a batch might not find room in the cache. Reads only."""
    cache = state.cache
    return (
        cache.state[N_WORDS] + BATCH > word_table_capacity(cache)
        or cache.arena.shape[0] - cache.state[ARENA_END] < BATCH_NBYTES + 64
        or state.cached_ids.shape[0] - state.progress[CACHED_IDS_END] < BATCH_NBYTES
    )


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
    Cost: about one cache miss a word that is not common, and merging what is new.
    """
    progress = state.progress
    while progress[PART] < parts.shape[0]:
        part = progress[PART]
        stop = parts[part, 1]
        if progress[POSITION] < 0:
            progress[POSITION] = parts[part, 0]
        while progress[POSITION] < stop:
            if progress[N_DONE] == n_ends:
                return DONE
            if encoder_cache_is_full(state):
                return CACHE_IS_FULL
            start = progress[POSITION]
            n_batch = encoder_hash_batch(state, text, start, stop, ends, n_ends)
            status = encoder_encode_batch(model, state, text, ends, n_batch, ids_out)
            if status != DONE:
                return status
        if parts[part, 2] >= 0:
            ids_out[progress[N_IDS]] = np.uint32(parts[part, 2])
            progress[N_IDS] += 1
        offsets_out[part + 1] = progress[N_IDS]
        progress[PART] = part + 1
        progress[POSITION] = -1
    return DONE
