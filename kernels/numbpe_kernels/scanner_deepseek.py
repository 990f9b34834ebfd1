"""The three splits of DeepSeek-V3 by masks, all at once.

Numbers and Chinese are set apart first, so that the text around them ends where they begin: white
space before them is one piece, as it is at the end of a text.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.class_masks import BlockMasks, class_mask_text
from numbpe_kernels.junction_masks import Found, junction_write_ends
from numbpe_kernels.masks import (
    BLOCK_NBYTES,
    CASE_FOLD,
    NO_FOLD,
    ONE,
    ZERO,
    mask_extend,
    mask_find_leads,
    mask_start_numbers,
    mask_start_white,
    mask_trim,
)
from numbpe_kernels.memory import mask_block
from numbpe_kernels.scanner import Scanner


@njit
def scanner_find_controls(text: NDArray[np.uint8], block: int, masks: BlockMasks) -> np.uint64:
    """Return the characters of a block that are none of L, M, N, P, S and white space.

    text : (>= block + 64,) uint8; block : int64. Reads only.
    """
    controls = mask_block(text, block, NO_FOLD, np.uint8(0), np.uint8(0x1F))
    controls |= mask_block(text, block, NO_FOLD, np.uint8(0x7F), np.uint8(0))
    return (controls | masks.control) & masks.other


@njit
def scanner_cut_deepseek(
    scanner: Scanner,
    text: NDArray[np.uint8],
    block: int,
    stop: int,
    ends_out: NDArray[np.int64],
    n_ends: int,
) -> tuple[int, bool]:
    """Do as scanner_gpt2.scanner_cut_gpt2, which see, with the pattern of DeepSeek-V3.

    text : (>= stop + TEXT_PADDING,) uint8; ends_out is written
    """
    capacity = ends_out.shape[0] - BLOCK_NBYTES
    word_before = number_before = other_before = joiner_before = latin_before = apart_before = ZERO
    n_numbers = 0
    found = Found(n_ends, n_ends, ZERO, ONE)
    while block < stop and found.n_ends <= capacity:
        masks = class_mask_text(scanner.classes, text, block, min(BLOCK_NBYTES, stop - block))
        if masks.n_bytes == 0:
            break
        continuation, apart = masks.continuation, masks.apart
        control = scanner_find_controls(text, block, masks)
        n_bytes = mask_trim(masks.white | control, masks.n_bytes)
        if n_bytes == 0:
            break
        word = masks.upper | masks.lower | masks.both | masks.mark
        other = masks.other & ~control
        # Numbers and Chinese are texts of their own: they begin and end pieces, and so does white
        # space before them.
        edge = apart ^ (apart << ONE | apart_before)
        punctuation = other & (edge | ~(other << ONE | masks.space << ONE | other_before))
        # One character of ASCII punctuation takes Latin letters, and nothing behind these.
        latin = mask_block(text, block, CASE_FOLD, np.uint8(ord("a")), np.uint8(25))
        high = mask_block(text, block, NO_FOLD, np.uint8(0x80), np.uint8(0x7F))
        joiner = punctuation & ~high
        taken = mask_extend((joiner << ONE) | joiner_before | latin_before, latin)
        goes_on = (word | control | (masks.white & ~masks.newline)) << ONE | word_before
        starts = edge | punctuation | (word & ~(taken | goes_on))
        starts |= word & ~latin & (taken << ONE | latin_before)
        # Of characters without a class, the last goes with the letters behind it, others stay.
        starts |= control & ~(control << ONE)
        starts |= mask_find_leads(
            control & ~(control >> ONE) & ((word & ~edge) >> ONE), continuation
        )
        numbers, n_numbers = mask_start_numbers(
            masks.number, continuation, n_bytes, number_before, n_numbers, True
        )
        tail = (other & ~apart) << ONE | (other_before & ~apart_before)
        tail = mask_extend(tail, masks.newline)
        parted = masks.number | apart
        starts |= mask_start_white(masks.white, masks.newline, tail, parted, continuation)
        starts |= numbers
        found = junction_write_ends(
            scanner.junctions, text, block, n_bytes, continuation, starts, ends_out, found
        )
        last = np.uint64(n_bytes - 1)
        word_before = word >> last & ONE
        number_before = masks.number >> last & ONE
        other_before = other >> last & ONE
        joiner_before = joiner >> last & ONE
        latin_before = taken >> last & ONE
        apart_before = apart >> last & ONE
        block += n_bytes
    return found.n_whole, found.uncut != ZERO
