"""Words to token ids: look each up in a cache, merge those that are new.

A block of words goes through three loops, of which none waits for what another one decides. The first
looks words up, and writes the ids of nearly all of them one behind the other. What else comes up, the
specials, it lists: words that are new, those too long for the cache, and the ends of parts. The second loop
merges the new words. The third copies the ids to where they belong, the specials between them.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.encoder_arrays import (
    CACHE_IS_FULL,
    COPY_STEP,
    DONE,
    LONG_WORD,
    N_DONE,
    N_IDS,
    NEEDED,
    NO_TOKEN,
    PART,
    PART_END,
    POSITION,
    SCRATCH_IS_SMALL,
    SPECIAL_WIDTH,
    EncoderState,
)
from numbpe_kernels.learning import encoder_learn_words
from numbpe_kernels.model import EncoderModel, model_encode_word
from numbpe_kernels.probing import encoder_probe_block
from numbpe_kernels.word_cache import word_cache_recall

_ZERO = np.uint64(0)


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


@njit_inline
def encoder_copy_ids(
    block_ids: NDArray[np.uint32],
    start: np.uint64,
    stop: np.uint64,
    ids_out: NDArray[np.uint32],
    n_ids: np.uint64,
) -> np.uint64:
    """Copy ``block_ids[start:stop]`` behind the first ``n_ids``; return how many there are then.

    block_ids : (>= stop + COPY_STEP,) uint32; ids_out : (>= n_ids + stop - start + COPY_STEP,) uint32,
    written 8 ids a step, up to 7 more than there are; start, stop, n_ids : uint64
    """
    place = start
    target = n_ids
    while place < stop:
        for i in range(COPY_STEP):
            ids_out[target + np.uint64(i)] = block_ids[place + np.uint64(i)]
        place += np.uint64(COPY_STEP)
        target += np.uint64(COPY_STEP)
    return n_ids + stop - start


@njit
def encoder_write_block(
    model: EncoderModel,
    state: EncoderState,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    n_block_ids: np.uint64,
    n_specials: int,
    ids_out: NDArray[np.uint32],
    offsets_out: NDArray[np.int64],
) -> int:
    """Write the ids of a block, those of its specials between the others; return a status, int64.

    n_block_ids : uint64; n_specials : int64, whose rows have their ids
    text, parts, ids_out, offsets_out : see encode_words. Writes those and progress.
    """
    progress, block_ids, specials = state.progress, state.block_ids, state.specials
    n_ids = progress[N_IDS]
    place = _ZERO
    for i in range(n_specials):
        special = SPECIAL_WIDTH * i
        stop, row = specials[special], specials[special + 1]
        n_ids = np.int64(encoder_copy_ids(block_ids, place, stop, ids_out, np.uint64(n_ids)))
        place = stop
        if row == PART_END:
            progress[POSITION] = np.int64(specials[special + 3])
            progress[N_IDS] = n_ids
            encoder_finish_parts(state, parts, ids_out, offsets_out)
            n_ids = progress[N_IDS]
        elif row == LONG_WORD:
            begin, end = np.int64(specials[special + 2]), np.int64(specials[special + 3])
            n_tokens = model_encode_word(model, state.scratch, text, begin, end)
            if n_tokens < 0:
                progress[NEEDED] = -1 - n_tokens
                return NO_TOKEN
            for j in range(n_tokens):
                ids_out[n_ids + j] = np.uint32(state.scratch.tokens[j])
            n_ids += n_tokens
        else:
            n_ids = np.int64(word_cache_recall(state.cache, row, ids_out, np.uint64(n_ids)))
    n_ids = np.int64(encoder_copy_ids(block_ids, place, n_block_ids, ids_out, np.uint64(n_ids)))
    progress[N_IDS] = n_ids
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
    call, and N_DONE 0 before each that has other ends.
    """
    progress = state.progress
    encoder_finish_parts(state, parts, ids_out, offsets_out)
    while progress[N_DONE] < n_ends:
        rest = ends[progress[N_DONE] : n_ends]
        n_words, n_block_ids, n_specials, n_fresh = encoder_probe_block(state, text, parts, rest)
        if n_words == 0:
            return SCRATCH_IS_SMALL if progress[NEEDED] > 0 else CACHE_IS_FULL
        status = encoder_learn_words(model, state, text, n_fresh)
        if status == DONE:
            status = encoder_write_block(
                model, state, text, parts, n_block_ids, n_specials, ids_out, offsets_out
            )
        if status != DONE:
            return status
        # The end of the last word, unless it ended a part: then the next one is begun.
        last = SPECIAL_WIDTH * max(n_specials - 1, 0)
        ends_part = n_specials > 0 and state.specials[last + 1] == PART_END
        if not ends_part or np.int64(state.specials[last + 3]) != rest[n_words - 1]:
            progress[POSITION] = rest[n_words - 1]
        progress[N_DONE] += n_words
    return DONE
