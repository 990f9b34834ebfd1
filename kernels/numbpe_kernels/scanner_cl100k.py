"""The patterns of cl100k, Llama 3, Qwen 2 and their kin by masks."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.class_masks import class_mask_text
from numbpe_kernels.contractions import contraction_cut_words
from numbpe_kernels.junction_masks import Found, junction_write_ends
from numbpe_kernels.masks import (
    ALL,
    BLOCK_NBYTES,
    CASE_FOLD,
    NO_FOLD,
    ONE,
    ZERO,
    mask_below,
    mask_complete,
    mask_extend,
    mask_start_numbers,
    mask_start_white,
)
from numbpe_kernels.memory import mask_block
from numbpe_kernels.scanner import (
    RULE_CONTRACTIONS,
    RULE_LONG_NUMBERS,
    RULE_MARKS_IN_WORDS,
    Scanner,
)


@njit
def scanner_cut_cl100k(
    scanner: Scanner,
    text: NDArray[np.uint8],
    block: int,
    stop: int,
    ends_out: NDArray[np.int64],
    n_ends: int,
) -> tuple[int, bool]:
    """Do as scanner_gpt2.scanner_cut_gpt2, which see, with a pattern of this family.

    text : (>= stop + TEXT_PADDING,) uint8; ends_out is written
    """
    capacity = ends_out.shape[0] - BLOCK_NBYTES
    contractions = ALL if scanner.rules & RULE_CONTRACTIONS else ZERO
    marks = ALL if scanner.rules & RULE_MARKS_IN_WORDS else ZERO
    are_long = scanner.rules & RULE_LONG_NUMBERS != 0
    letter_before = number_before = other_before = joiner_before = ZERO
    n_numbers = 0
    found = Found(n_ends, n_ends, ZERO, ONE)
    while block < stop and found.n_ends <= capacity:
        masks = class_mask_text(scanner.classes, text, block, min(BLOCK_NBYTES, stop - block))
        n_bytes = masks.n_bytes
        if n_bytes == 0:
            break
        continuation = masks.continuation
        letter = masks.upper | masks.lower | masks.both | (masks.mark & marks)
        other = masks.other | (masks.mark & ~marks)
        # Punctuation takes the space before it. Without one, a single character of it, at which a
        # piece begins, belongs to the letters that follow.
        starts = other & ~(other << ONE | masks.space << ONE | other_before)
        joiner = mask_complete(starts, continuation) | (masks.white & ~masks.newline)
        starts |= letter & ~((letter | joiner) << ONE | letter_before | joiner_before)
        numbers, n_numbers = mask_start_numbers(
            masks.number, continuation, n_bytes, number_before, n_numbers, are_long
        )
        # Newlines directly behind punctuation belong to it.
        tail = mask_extend(masks.newline & (other << ONE | other_before), masks.newline)
        starts |= numbers | mask_start_white(masks.white, masks.newline, tail, ZERO, continuation)
        starts &= mask_below(n_bytes)
        apostrophes = mask_block(text, block, NO_FOLD, np.uint8(ord("'")), np.uint8(0))
        starts, n_bytes, goes_on = contraction_cut_words(
            text, block, n_bytes, stop, CASE_FOLD, starts, apostrophes & starts & contractions
        )
        if n_bytes == 0:
            break
        found = junction_write_ends(
            scanner.junctions, text, block, n_bytes, continuation, starts, ends_out, found
        )
        last = np.uint64(n_bytes - 1)
        letter_before = (letter & goes_on) >> last & ONE
        number_before = (masks.number & goes_on) >> last & ONE
        other_before = (other & goes_on) >> last & ONE
        joiner_before = (joiner & goes_on) >> last & ONE
        block += n_bytes
    return found.n_whole, found.uncut != ZERO
