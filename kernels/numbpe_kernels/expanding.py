"""Replacing one byte of a short text by several, in its place: spaces by U+2581, as some vocabularies have it."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_brief, njit_inline
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.masks import NO_FOLD, ONE, ZERO, mask_below
from numbpe_kernels.memory import (
    clear_lowest_one,
    count_trailing_zeros,
    load_u64,
    mask_block,
)

RULE_BYTE, RULE_CONTENT, RULE_N_CONTENT, RULE_PREFIX, RULE_N_PREFIX, RULE_SIZE = range(6)
"""Places in ``rule``: the byte; what it becomes, the first byte lowest, and how many bytes that has; what is put
before each part that is not empty, and how many bytes that has."""

MOST_NBYTES = 8
"""Most bytes that a byte becomes, and that are put before a part."""

_BYTE_BITS = np.uint64(8)
_STEP = np.uint64(MOST_NBYTES)


@njit_inline
def expanding_store(text: NDArray[np.uint8], place: np.uint64, word: np.uint64) -> None:
    """Write 8 bytes, the lowest first, in one instruction. text : (>= place + 8,) uint8; place, word : uint64."""
    for _ in range(MOST_NBYTES):
        text[place] = np.uint8(word & np.uint64(0xFF))
        word >>= _BYTE_BITS
        place += ONE


@njit_inline
def expanding_copy(
    source: NDArray[np.uint8],
    start: np.uint64,
    stop: np.uint64,
    text: NDArray[np.uint8],
    place: np.uint64,
) -> np.uint64:
    """Copy source[start:stop] to ``place``, and up to 7 bytes more; return where the copy ends, uint64.

    source : (>= stop + 8,) uint8; text : (>= place + stop - start + 8,) uint8, written; all others uint64
    """
    end = place + (stop - start)
    while start < stop:
        expanding_store(text, place, load_u64(source, start))
        start += _STEP
        place += _STEP
    return end


@njit_brief
def expanding_replace(
    text: NDArray[np.uint8],
    n_bytes: int,
    parts: NDArray[np.int64],
    n_parts: int,
    rule: NDArray[np.uint64],
    source: NDArray[np.uint8],
) -> int:
    """Replace a byte in the parts of a text, and put the prefix before each; return how long it is then, int64.

    text : (n,) uint8, n >= n_bytes + TEXT_PADDING, written: the changed parts, one behind the other
    parts : (>= n_parts, 3) int64, start and stop of each, ascending, written; of a single part, which is all of
        the text, they need not be there before
    rule : (RULE_SIZE,) uint64; source : (n,) uint8, written: the text as it was
    Returns -1, text and parts left as they are, if the changed text with TEXT_PADDING might not fit. Linear.
    """
    byte = np.uint8(rule[RULE_BYTE])
    n_content, n_prefix = rule[RULE_N_CONTENT], rule[RULE_N_PREFIX]
    n_hits = 0
    for i in range(n_bytes):
        source[i] = text[i]
        n_hits += np.int64(text[i] == byte)
    n_most = n_bytes + n_hits * np.int64(n_content) + n_parts * np.int64(n_prefix)
    if n_most + TEXT_PADDING > text.shape[0]:
        return -1
    place = ZERO
    for part in range(n_parts):
        start, stop = ZERO, np.uint64(n_bytes)
        if n_parts > 1:
            start, stop = np.uint64(parts[part, 0]), np.uint64(parts[part, 1])
        parts[part, 0] = np.int64(place)
        if start < stop:
            expanding_store(text, place, rule[RULE_PREFIX])
            place += n_prefix
        for block in range(np.int64(start), np.int64(stop), 64):
            n_here = min(64, np.int64(stop) - block)
            hits = mask_block(source, block, NO_FOLD, byte, np.uint8(0)) & mask_below(n_here)
            while hits != ZERO:
                hit = np.uint64(block + count_trailing_zeros(hits))
                hits = clear_lowest_one(hits)
                place = expanding_copy(source, start, hit, text, place)
                expanding_store(text, place, rule[RULE_CONTENT])
                place += n_content
                start = hit + ONE
        place = expanding_copy(source, start, stop, text, place)
        parts[part, 1] = np.int64(place)
    return np.int64(place)
