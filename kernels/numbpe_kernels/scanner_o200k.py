"""The patterns of o200k, Tekken and Kimi K2 by masks: words are capitals, then small letters."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.class_masks import class_mask_text
from numbpe_kernels.contractions import contraction_join_words
from numbpe_kernels.junction_masks import Found, junction_write_ends
from numbpe_kernels.masks import (
    ALL,
    BLOCK_NBYTES,
    NO_FOLD,
    ONE,
    ZERO,
    mask_below,
    mask_complete,
    mask_extend,
    mask_start_numbers,
    mask_start_white,
)
from numbpe_kernels.memory import clear_lowest_one, count_trailing_zeros, mask_block
from numbpe_kernels.scanner import (
    RULE_CONTRACTIONS,
    RULE_HAN_APART,
    RULE_LONG_NUMBERS,
    RULE_SLASHES,
    Scanner,
)


class Before(NamedTuple):
    """What stands before a block: 1 where the character there is one of these.

    word, number, other, han : uint64, of this class; other that is no tail
    low : a letter that is small, or follows one but for letters of no case
    both : a letter of no case that does not
    joiner : what belongs to the letters behind it
    tail : a slash that belongs to the punctuation before it
    """

    word: np.uint64
    low: np.uint64
    both: np.uint64
    number: np.uint64
    other: np.uint64
    joiner: np.uint64
    tail: np.uint64
    han: np.uint64


@njit
def scanner_carry(last: np.uint64, masks: Before) -> Before:
    """Return which of the masks have the bit ``last``, or none where it is 0. Reads nothing."""
    return Before(
        ONE if masks.word & last != ZERO else ZERO,
        ONE if masks.low & last != ZERO else ZERO,
        ONE if masks.both & last != ZERO else ZERO,
        ONE if masks.number & last != ZERO else ZERO,
        ONE if masks.other & last != ZERO else ZERO,
        ONE if masks.joiner & last != ZERO else ZERO,
        ONE if masks.tail & last != ZERO else ZERO,
        ONE if masks.han & last != ZERO else ZERO,
    )


@njit
def scanner_start_capitals(
    upper: np.uint64, word: np.uint64, undecided: np.uint64, n_bytes: int
) -> tuple[np.uint64, int]:
    """Return which capitals begin a word after letters of no case, where no small letter was.

    undecided : uint64, the capitals in question. Capitals that end the letters are a word of their
    own; what any other letter follows goes on. Reads nothing. The second result is n_bytes, int64,
    less where the capitals go on to the end of the block.
    """
    starts = ZERO
    while undecided != ZERO:
        rest = clear_lowest_one(undecided)
        first = undecided & ~rest
        undecided = rest
        behind = (first + upper) & ~upper
        if behind & mask_below(n_bytes) == ZERO:
            return starts, min(n_bytes, count_trailing_zeros(first))
        if behind & word == ZERO:
            starts |= first
    return starts, n_bytes


@njit
def scanner_start_words(
    upper: np.uint64,
    lower: np.uint64,
    both: np.uint64,
    n_bytes: int,
    low_before: np.uint64,
    both_before: np.uint64,
) -> tuple[np.uint64, np.uint64, int]:
    """Return the capitals at which a word begins among letters.

    upper, lower, both : uint64, capitals; small letters; letters of no case, and marks
    low_before : uint64, 1 if a small letter stands before the block, with nothing but letters of no
        case behind it; both_before : 1 if it ends with letters of no case, but not with those
    Reads nothing. Returns starts; letters that are small, or follow one but for letters of no case;
    and n_bytes, int64, less where it cannot be told yet.
    """
    low = mask_extend(lower | low_before, lower | both)
    starts = upper & (low << ONE | low_before)
    undecided = upper & ((both & ~low) << ONE | both_before) & mask_below(n_bytes)
    if undecided != ZERO:
        capitals, n_bytes = scanner_start_capitals(upper, upper | lower | both, undecided, n_bytes)
        starts |= capitals
    return starts, low, n_bytes


@njit
def scanner_cut_o200k(
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
    slashes = ALL if scanner.rules & RULE_SLASHES else ZERO
    han_apart = ALL if scanner.rules & RULE_HAN_APART else ZERO
    are_long = scanner.rules & RULE_LONG_NUMBERS != 0
    before = Before(ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)
    n_numbers = 0
    found = Found(n_ends, n_ends, ZERO, ONE)
    while block < stop and found.n_ends <= capacity:
        masks = class_mask_text(scanner.classes, text, block, min(BLOCK_NBYTES, stop - block))
        han = masks.han & han_apart
        both = (masks.both | masks.mark) & ~han
        word = masks.upper | masks.lower | both
        # A mark may be punctuation, or Han no letter: leave it to the automaton.
        rare = masks.mark & (masks.other << ONE | before.other) | (han & ~masks.both)
        if masks.n_bytes == 0 or rare & mask_below(masks.n_bytes) != ZERO:
            break
        # Newlines, and slashes behind them, that follow punctuation belong to it.
        slash = mask_block(text, block, NO_FOLD, np.uint8(ord("/")), np.uint8(0)) & slashes
        tail = masks.newline & (masks.other << ONE | before.other) | before.tail
        tail = mask_extend(tail, masks.newline | slash)
        other = masks.other & ~tail
        # Punctuation and words begin as in cl100k; words begin at capitals, too.
        starts = other & ~(other << ONE | masks.space << ONE | before.other)
        joiner = mask_complete(starts, masks.continuation) | (masks.white & ~masks.newline)
        starts |= word & ~((word | joiner) << ONE | before.word | before.joiner)
        starts |= han & ~(han << ONE | before.han)
        capitals, low, n_bytes = scanner_start_words(
            masks.upper, masks.lower, both, masks.n_bytes, before.low, before.both
        )
        if n_bytes == 0:
            break
        numbers, n_numbers = mask_start_numbers(
            masks.number, masks.continuation, n_bytes, before.number, n_numbers, are_long
        )
        starts |= capitals | numbers
        starts |= mask_start_white(masks.white, masks.newline, tail, ZERO, masks.continuation)
        behind_words = (word << ONE | before.word) & contractions
        starts, n_bytes, goes_on = contraction_join_words(
            text, block, n_bytes, stop, starts, behind_words, both
        )
        if n_bytes == 0:
            break
        found = junction_write_ends(
            scanner.junctions, text, block, n_bytes, masks.continuation, starts, ends_out, found
        )
        before = scanner_carry(
            ((ONE << np.uint64(n_bytes - 1)) & goes_on),
            Before(word, low, both & ~low, masks.number, other, joiner, tail, han),
        )
        block += n_bytes
    return found.n_whole, found.uncut != ZERO
