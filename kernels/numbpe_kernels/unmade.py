"""Which tokens of a vocabulary merging never makes."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.lanes import (
    MAX_LANE_NBYTES,
    N_LANES,
    MergeLanes,
    lanes_get_word,
    lanes_load,
    lanes_round,
    lanes_unload,
)
from numbpe_kernels.model import USES_LANES, EncoderModel, model_encode_word
from numbpe_kernels.ranks import MergeScratch

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_N_LANES = np.uint64(N_LANES)


@njit
def model_find_unmade(
    model: EncoderModel,
    lanes: MergeLanes,
    scratch: MergeScratch,
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    ids: NDArray[np.int64],
    unmade_out: NDArray[np.uint8],
) -> None:
    """Tell which tokens the bytes of which do not become them.

    model : one that looks no tokens up; scratch : for the longest token, and MAX_LANE_NBYTES at least
    contents : (n + TEXT_PADDING,) uint8; offsets : (t + 1,) int64, where the bytes of tokens begin and
    end; ids : (k,) int64
    unmade_out : (k,) uint8, 1 is written for a token that is not made, else 0. Writes lanes and scratch.
    """
    tokens, active, free = scratch.tokens, lanes.active, lanes.free
    n_active, n_free = _ZERO, _N_LANES
    n_done = 0
    while True:
        # Tokens into free lanes; those that fit into none at once.
        while n_free > _ZERO and n_done < ids.shape[0]:
            start, stop = offsets[ids[n_done]], offsets[ids[n_done] + 1]
            if model.rules[USES_LANES] == 0 or stop - start > MAX_LANE_NBYTES:
                n_tokens = model_encode_word(model, scratch, contents, start, stop)
                is_made = n_tokens == 1 and np.int64(tokens[0]) == ids[n_done]
                unmade_out[n_done] = 0 if is_made else 1
            else:
                n_free -= _ONE
                lane = free[n_free]
                begin, length = np.uint64(start), np.uint64(stop - start)
                lanes_load(lanes, model.merges, lane, np.uint64(n_done), contents, begin, length)
                active[n_active] = lane
                n_active += _ONE
            n_done += 1
        if n_active == _ZERO:
            return
        # The lanes that this round makes free hold words that are done.
        i = n_free
        n_active, n_free = lanes_round(lanes, model.merges, n_active, n_free)
        while i < n_free:
            lane = free[i]
            i += _ONE
            n_tokens = lanes_unload(lanes, lane, tokens)
            word = lanes_get_word(lanes, lane)
            is_made = n_tokens == 1 and np.int64(tokens[0]) == ids[word]
            unmade_out[word] = 0 if is_made else 1
