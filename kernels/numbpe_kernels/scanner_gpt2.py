"""The pattern of GPT-2 by masks: classes of adjacent characters decide nearly all."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.class_masks import class_mask_block
from numbpe_kernels.contractions import contraction_cut_words
from numbpe_kernels.junction_masks import Found, junction_write_ends
from numbpe_kernels.masks import (
    BLOCK_NBYTES,
    CASE_FOLD,
    NO_FOLD,
    ONE,
    ZERO,
    mask_below,
    mask_find_leads,
    mask_trim,
)
from numbpe_kernels.memory import mask_block
from numbpe_kernels.scanner import Scanner


@njit
def scanner_cut_gpt2(
    scanner: Scanner,
    text: NDArray[np.uint8],
    block: int,
    stop: int,
    ends_out: NDArray[np.int64],
    n_ends: int,
) -> tuple[int, bool]:
    """Cut blocks of text[block:stop], of which the first begins where a piece does.

    scanner, text : as in scanning.scan_by_automaton; block < stop, int64
    ends_out : (n,) int64, written from n_ends on while BLOCK_NBYTES more would fit
    Stops before a block that masks cannot tell and before the last piece of the text. Returns
    n_ends plus the number of ends written, int64; the last is the end of a piece, and may lie before
    what was looked at. Pieces are cut at junctions, see Scanner; the second result is whether there
    were others, at which they are not.
    """
    capacity = ends_out.shape[0] - BLOCK_NBYTES
    letter_before = number_before = other_before = ZERO
    found = Found(n_ends, n_ends, ZERO, ONE)
    while block < stop and found.n_ends <= capacity:
        n_bytes = min(BLOCK_NBYTES, stop - block)
        # Classes: letters, numbers, white space and, among it, the space itself; all else.
        letter = mask_block(text, block, CASE_FOLD, np.uint8(ord("a")), np.uint8(25))
        number = mask_block(text, block, NO_FOLD, np.uint8(ord("0")), np.uint8(9))
        space = mask_block(text, block, NO_FOLD, np.uint8(0x20), np.uint8(0))
        white = space | mask_block(text, block, NO_FOLD, np.uint8(0x09), np.uint8(4))
        high = mask_block(text, block, NO_FOLD, np.uint8(0x80), np.uint8(0x7F)) & mask_below(
            n_bytes
        )
        continuation = ZERO
        if high != ZERO:
            masks = class_mask_block(scanner.classes, text, block, n_bytes, high)
            n_bytes = masks.n_bytes
            if n_bytes == 0:
                break
            continuation = masks.continuation
            letter |= masks.letter
            number |= masks.upper & ~masks.lower & ~masks.letter
            white |= masks.lower & ~masks.upper & ~masks.letter
        other = ~(letter | number | white)
        n_bytes = mask_trim(white, n_bytes)
        if n_bytes == 0:
            break
        # A piece goes on where the class does, and after the one space that it may begin with.
        goes_on = letter & (letter << ONE | letter_before)
        goes_on |= number & (number << ONE | number_before)
        goes_on |= other & (other << ONE | other_before)
        starts = ~(white | goes_on | space << ONE)
        # White space: its first character begins a piece, and so does its last before other text.
        starts |= white & ~(white << ONE) | mask_find_leads(white & ~(white >> ONE), continuation)
        starts &= mask_below(n_bytes)
        apostrophes = starts & mask_block(text, block, NO_FOLD, np.uint8(ord("'")), np.uint8(0))
        starts, n_bytes, goes_on = contraction_cut_words(
            text, block, n_bytes, stop, NO_FOLD, starts, apostrophes
        )
        if n_bytes == 0:
            break
        found = junction_write_ends(
            scanner.junctions, text, block, n_bytes, continuation, starts, ends_out, found
        )
        last = np.uint64(n_bytes - 1)
        letter_before = (letter & goes_on) >> last & ONE
        number_before = (number & goes_on) >> last & ONE
        other_before = (other & goes_on) >> last & ONE
        block += n_bytes
    return found.n_whole, found.uncut != ZERO
