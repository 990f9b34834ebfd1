"""Merging the new words of a block."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.encoder_arrays import DONE, NEEDED, NO_TOKEN, SPECIAL_WIDTH, EncoderState
from numbpe_kernels.lanes import (
    MAX_LANE_NBYTES,
    N_LANES,
    lanes_get_word,
    lanes_load,
    lanes_round,
    lanes_unload,
)
from numbpe_kernels.model import LOOKS_UP_TOKENS, USES_LANES, EncoderModel, model_encode_word
from numbpe_kernels.token_table import token_table_find
from numbpe_kernels.word_cache import word_cache_remember

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_N_LANES = np.uint64(N_LANES)


@njit_inline
def encoder_learn_at_once(
    model: EncoderModel, state: EncoderState, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Write into scratch the ids of a word that needs no lane; return how many, 0 for one that does.

    text : (n,) uint8 with padding; start, stop : int64; int64. Returns -1 - position of a byte or
    character without a token.
    """
    if model.rules[USES_LANES] == 0 or stop - start > MAX_LANE_NBYTES:
        return model_encode_word(model, state.scratch, text, start, stop)
    if model.rules[LOOKS_UP_TOKENS] == 1:
        token = token_table_find(model.tokens, text, start, stop - start)
        if token >= 0:
            state.scratch.tokens[0] = np.int32(token)
            return 1
    return 0


@njit
def encoder_learn_words(
    model: EncoderModel, state: EncoderState, text: NDArray[np.uint8], n_fresh: int
) -> int:
    """Merge the new words of a block, and write their ids into their rows; return a status, int64.

    text : (n,) uint8 with padding; n_fresh : int64
    Writes the cache, scratch and lanes. After NO_TOKEN the cache is not to be used any more.
    """
    lanes, merges, tokens = state.lanes, model.merges, state.scratch.tokens
    active, free, specials = lanes.active, lanes.free, state.specials
    n_active, n_free = _ZERO, _N_LANES
    n_done = 0
    while True:
        # Words into free lanes; those that need none at once.
        while n_free > _ZERO and n_done < n_fresh:
            special = SPECIAL_WIDTH * state.fresh[n_done]
            row, start, stop = specials[special + 1], specials[special + 2], specials[special + 3]
            n_done += 1
            n_tokens = encoder_learn_at_once(model, state, text, np.int64(start), np.int64(stop))
            if n_tokens < 0:
                state.progress[NEEDED] = -1 - n_tokens
                return NO_TOKEN
            if n_tokens > 0:
                word_cache_remember(state.cache, row, tokens, n_tokens)
                continue
            n_free -= _ONE
            lane = free[n_free]
            lanes_load(lanes, merges, lane, row, text, start, stop - start)
            active[n_active] = lane
            n_active += _ONE
        if n_active == _ZERO:
            return DONE
        # The lanes that this round makes free hold words that are done.
        i = n_free
        n_active, n_free = lanes_round(lanes, merges, n_active, n_free)
        while i < n_free:
            lane = free[i]
            i += _ONE
            n_tokens = lanes_unload(lanes, lane, tokens)
            word_cache_remember(state.cache, lanes_get_word(lanes, lane), tokens, n_tokens)
