"""Token ids to bytes: measure and check first, then copy."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.memory import load_u64

WORD_NBYTES = 8
"""What write_word writes at once."""

_BYTE = np.uint64(0xFF)


@njit
def decoding_measure(
    ids: NDArray[np.int64],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    is_token: NDArray[np.uint8],
    is_left_out: NDArray[np.uint8],
    row_ends_out: NDArray[np.int64],
) -> int:
    """Return -1, or the position of the first id that no token has.

    ids : (n,) int64, any values; rows : (r + 1,) int64, not decreasing, from 0 to n: row i is
        ids[rows[i]:rows[i + 1]]
    offsets : (n_ids + 1,) int64, where the bytes of each token lie
    is_token, is_left_out : (n_ids,) uint8, 1 for ids in use, and for those that stand for nothing
    row_ends_out : (r + 1,) int64; written: where the bytes of each row begin, and the total
    Reads all but row_ends_out. One pass.
    """
    n_ids = is_token.shape[0]
    place = 0
    row_ends_out[0] = 0
    for row in range(rows.shape[0] - 1):
        for i in range(rows[row], rows[row + 1]):
            token_id = ids[i]
            if token_id < 0 or token_id >= n_ids or is_token[token_id] == 0:
                return i
            if is_left_out[token_id] == 0:
                place += offsets[token_id + 1] - offsets[token_id]
        row_ends_out[row + 1] = place
    return -1


@njit_inline
def write_word(text_out: NDArray[np.uint8], place: np.uint64, word: np.uint64) -> None:
    """Write the 8 bytes of a uint64, lowest first, at ``place``, uint64. text_out : (n,) uint8.

    Written out, with indices that cannot be negative: LLVM makes one store of it.
    """
    text_out[place] = np.uint8(word & _BYTE)
    text_out[place + np.uint64(1)] = np.uint8((word >> np.uint64(8)) & _BYTE)
    text_out[place + np.uint64(2)] = np.uint8((word >> np.uint64(16)) & _BYTE)
    text_out[place + np.uint64(3)] = np.uint8((word >> np.uint64(24)) & _BYTE)
    text_out[place + np.uint64(4)] = np.uint8((word >> np.uint64(32)) & _BYTE)
    text_out[place + np.uint64(5)] = np.uint8((word >> np.uint64(40)) & _BYTE)
    text_out[place + np.uint64(6)] = np.uint8((word >> np.uint64(48)) & _BYTE)
    text_out[place + np.uint64(7)] = np.uint8((word >> np.uint64(56)) & _BYTE)


@njit
def decoding_copy(
    ids: NDArray[np.int64],
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    is_left_out: NDArray[np.uint8],
    text_out: NDArray[np.uint8],
) -> None:
    """Write the bytes of tokens one after another.

    ids : (n,) int64, all of which decoding_measure has accepted
    contents : (c,) uint8, readable 8 bytes past the last token; offsets, is_left_out : as for
        decoding_measure
    text_out : (total + 8,) uint8; written, the last 8 bytes with anything
    Eight bytes at a time: most tokens are shorter. One pass.
    """
    place = 0
    for i in range(ids.shape[0]):
        token_id = ids[i]
        if is_left_out[token_id] != 0:
            continue
        start = offsets[token_id]
        length = offsets[token_id + 1] - start
        for done in range(0, length, WORD_NBYTES):
            write_word(text_out, np.uint64(place + done), load_u64(contents, start + done))
        place += length
