"""Merging the new words of a block."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.encoder_arrays import DONE, NEEDED, NO_TOKEN, SPECIAL_WIDTH, EncoderState
from numbpe_kernels.lanes import (
    MAX_FOLDED_NBYTES,
    MAX_LANE_NBYTES,
    N_LANES,
    lanes_get_word,
    lanes_load,
    lanes_load_folded,
    lanes_load_tokens,
    lanes_rank,
    lanes_round,
    lanes_unload,
)
from numbpe_kernels.model import (
    CHARACTERS_USE_LANES,
    NO_TOKENS,
    SHORTEST_TOKEN,
    USES_LANES,
    EncoderModel,
    model_encode_word,
    model_list_characters,
)
from numbpe_kernels.ranks import merge_rank_pairs, merge_tokens
from numbpe_kernels.token_table import token_table_find
from numbpe_kernels.whole_words import (
    whole_words_ask,
    whole_words_bucket,
    whole_words_get_token,
    whole_words_read,
)
from numbpe_kernels.word_cache import INLINE_COUNT, word_cache_remember
from numbpe_kernels.word_table import COUNT, HIGH, LOW, PLACE

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_N_LANES = np.uint64(N_LANES)
_MAX_IN_LANE = np.uint64(MAX_LANE_NBYTES)
_MAX_FOLDED = np.uint64(MAX_FOLDED_NBYTES)
_NOT_ASCII = np.uint8(0x80)


@njit_inline
def encoder_load_word(
    model: EncoderModel,
    state: EncoderState,
    lane: np.uint64,
    row: np.uint64,
    text: NDArray[np.uint8],
    start: np.uint64,
    stop: np.uint64,
) -> int:
    """Lay a word into a lane, or write the ids of one that needs none into scratch; return how many.

    text : (n,) uint8 with padding; lane, row, start, stop : uint64
    Returns int64: 0 if it stands in the lane, -1 - position of a byte or character without a token.
    """
    rules, length = model.rules, stop - start
    if rules[USES_LANES] == 1:
        if np.int64(length) >= rules[SHORTEST_TOKEN]:
            token = token_table_find(model.tokens, text, np.int64(start), np.int64(length))
            if token >= 0:
                state.scratch.tokens[0] = np.int32(token)
                return 1
        may_fold = model.folds.alone.shape[0] > 0 and length <= _MAX_FOLDED
        if may_fold and text[stop - _ONE] >= _NOT_ASCII:
            merges, folds = model.merges, model.folds
            if lanes_load_folded(state.lanes, merges, folds, lane, row, text, start, length):
                return 0
        if length <= _MAX_IN_LANE:
            lanes_load(state.lanes, model.merges, lane, row, text, start, length)
            return 0
    elif rules[CHARACTERS_USE_LANES] == 1 and rules[SHORTEST_TOKEN] == NO_TOKENS:
        scratch = state.scratch
        n_tokens = model_list_characters(model, scratch, text, np.int64(start), np.int64(stop))
        if n_tokens < 2:
            return n_tokens
        if n_tokens <= MAX_LANE_NBYTES:
            n = np.uint64(n_tokens)
            lanes_load_tokens(state.lanes, model.merges, lane, row, scratch.tokens, n)
            return 0
        merge_rank_pairs(model.merges, scratch, n_tokens)
        return merge_tokens(model.merges, scratch, n_tokens)
    return np.int64(model_encode_word(model, state.scratch, text, np.int64(start), np.int64(stop)))


@njit_inline
def encoder_learn_whole(model: EncoderModel, state: EncoderState, n_fresh: int) -> int:
    """Write the ids of new words that are one token; return how many words are left, int64.

    n_fresh : int64. Writes the rows of the cache, and fresh, in which the words that are left come first.
    """
    rows, specials, fresh, whole = state.cache.table.rows, state.specials, state.fresh, model.whole
    for i in range(n_fresh):
        row = specials[np.uint64(SPECIAL_WIDTH * fresh[np.uint64(i)] + 1)]
        whole_words_ask(whole, rows[row + LOW], rows[row + HIGH])
    n_left = _ZERO
    for i in range(n_fresh):
        special = fresh[np.uint64(i)]
        row = specials[np.uint64(SPECIAL_WIDTH * special + 1)]
        low, high = rows[row + LOW], rows[row + HIGH]
        found = whole_words_read(whole, whole_words_bucket(whole, low, high), low, high)
        is_left = np.uint64(found == _ZERO)
        rows[row + COUNT] = whole_words_get_token(found)
        rows[row + PLACE] |= (_ONE - is_left) << INLINE_COUNT
        fresh[n_left] = special
        n_left += is_left
    return np.int64(n_left)


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
    # After an error lanes were left as they stood.
    for i in range(N_LANES):
        free[np.uint64(i)] = np.uint64(i)
    n_active, n_waiting, n_free = _ZERO, _ZERO, _N_LANES
    n_done = 0
    if model.whole.rows.shape[0] > 0:
        n_fresh = encoder_learn_whole(model, state, n_fresh)
    while True:
        # Words into free lanes, where they wait for a round; those that need none at once.
        while n_free > _ZERO and n_done < n_fresh:
            special = SPECIAL_WIDTH * state.fresh[n_done]
            row, start, stop = specials[special + 1], specials[special + 2], specials[special + 3]
            n_done += 1
            lane = free[n_free - _ONE]
            n_tokens = encoder_load_word(model, state, lane, row, text, start, stop)
            if n_tokens < 0:
                state.progress[NEEDED] = -1 - n_tokens
                return NO_TOKEN
            if n_tokens > 0:
                word_cache_remember(state.cache, row, tokens, n_tokens)
                continue
            n_free -= _ONE
            active[n_active + n_waiting] = lane
            n_waiting += _ONE
        if n_active + n_waiting == _ZERO:
            return DONE
        # The lanes that this round makes free hold words that are done.
        first_free, first_waiting = n_free, n_active
        n_active, n_free = lanes_round(lanes, merges, n_active, n_free)
        for i in range(n_waiting):
            lane = active[first_waiting + np.uint64(i)]
            lanes_rank(lanes, merges, lane)
            active[n_active] = lane
            n_active += _ONE
        n_waiting = _ZERO
        for i in range(first_free, n_free):
            lane = free[np.uint64(i)]
            n_tokens = lanes_unload(lanes, lane, tokens)
            word_cache_remember(state.cache, lanes_get_word(lanes, lane), tokens, n_tokens)
