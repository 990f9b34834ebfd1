"""Contractions such as ``'s`` and ``'ll``, in blocks that are cut by masks."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.masks import ALL, CASE_FOLD, NO_FOLD, ONE, TWO, ZERO, mask_below
from numbpe_kernels.memory import clear_lowest_one, count_trailing_zeros, mask_block


@njit
def contraction_length(text: NDArray[np.uint8], position: int, stop: int, fold: np.uint8) -> int:
    """Return the length of 's 't 'm 'd 're 've 'll after an apostrophe at ``position``, or 0.

    text : (>= stop + TEXT_PADDING,) uint8; position < stop, int64
    fold : uint8, CASE_FOLD for letters of any case, with U+017F for s, else NO_FOLD
    Reads only; int64.
    """
    n_after = stop - position - 1
    if n_after < 1:
        return 0
    first = text[position + 1] | fold
    if first == ord("s") or first == ord("t") or first == ord("m") or first == ord("d"):
        return 2
    if n_after < 2:
        return 0
    if fold != 0 and text[position + 1] == 0xC5:
        return 3 if text[position + 2] == 0xBF else 0
    second = text[position + 2] | fold
    if second == ord("e") and (first == ord("r") or first == ord("v")):
        return 3
    if second == ord("l") and first == ord("l"):
        return 3
    return 0


@njit
def contraction_cut_words(
    text: NDArray[np.uint8],
    block: int,
    n_bytes: int,
    stop: int,
    fold: np.uint8,
    starts: np.uint64,
    apostrophes: np.uint64,
) -> tuple[np.uint64, int, np.uint64]:
    """Make a piece of each contraction that begins a piece.

    text, stop, fold : as in contraction_length; block, n_bytes : int64
    starts : uint64, of pieces in the block; apostrophes : uint64, those of an apostrophe
    Reads only. Returns starts; n_bytes, int64, less where a contraction goes on behind the block;
    and uint64, all ones or, where the block ends with a piece, 0.
    """
    while apostrophes != ZERO:
        bit = count_trailing_zeros(apostrophes)
        apostrophes = clear_lowest_one(apostrophes)
        length = contraction_length(text, block + bit, stop, fold)
        if length == 0:
            continue
        if bit + length > n_bytes:
            return starts, bit, ZERO
        # The letters after the apostrophe begin no piece; what comes behind them does.
        shift = np.uint64(bit)
        size = np.uint64(length)
        starts &= ~(((ONE << size) - TWO) << shift)
        if bit + length == n_bytes:
            return starts, n_bytes, ZERO
        starts |= ONE << size << shift
    return starts, n_bytes, ALL


@njit
def contraction_join_words(
    text: NDArray[np.uint8],
    block: int,
    n_bytes: int,
    stop: int,
    starts: np.uint64,
    behind_words: np.uint64,
    both: np.uint64,
) -> tuple[np.uint64, int, np.uint64]:
    """Join each contraction of letters of any case to the word before it.

    text, block, n_bytes, stop, starts : as in contraction_cut_words
    behind_words : uint64, what follows a letter; both : uint64, letters that are of no case
    Reads only. Returns what contraction_cut_words does.
    """
    apostrophes = mask_block(text, block, NO_FOLD, np.uint8(ord("'")), np.uint8(0))
    apostrophes &= behind_words & mask_below(n_bytes)
    end = -1
    while apostrophes != ZERO:
        bit = count_trailing_zeros(apostrophes)
        apostrophes = clear_lowest_one(apostrophes)
        # What ended with a contraction is no word that another could follow.
        length = 0 if bit == end else contraction_length(text, block + bit, stop, CASE_FOLD)
        if length == 0:
            continue
        end = bit + length
        if end > n_bytes:
            return starts, bit, ALL
        starts &= ~(((ONE << np.uint64(length)) - ONE) << np.uint64(bit))
        if end == n_bytes:
            return starts, n_bytes, ZERO
        if both >> np.uint64(end) & ONE != ZERO:
            # The letter would seem to belong to a word that began before it.
            return starts, end, ZERO
        starts |= ONE << np.uint64(end)
    return starts, n_bytes, ALL
