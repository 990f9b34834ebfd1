"""Where the words of Combinatorial BPE lie in a text, by bit masks over blocks of 64 bytes.

A *word* is a maximal run of letters and marks, or of numbers; where case parts words, ``userName`` is
two. What lies between two words, the *gap*, is all else: punctuation and white space. A byte that is
no part of a well-formed character is such punctuation.

The table of classes is that of ``class_masks`` with flags of its own: FLAG_LETTER and FLAG_UPPER for
Lu, FLAG_LETTER and FLAG_LOWER for Ll, all three for other letters and marks, FLAG_UPPER alone for
numbers, FLAG_LOWER alone for white space.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.characters import NOT_UTF8, characters_decode
from numbpe_kernels.class_masks import (
    FLAG_LETTER,
    FLAG_LOWER,
    FLAG_UPPER,
    ClassTable,
    class_find_flags,
    class_mask_block,
)
from numbpe_kernels.masks import (
    BLOCK_NBYTES,
    CASE_FOLD,
    NO_FOLD,
    ONE,
    ZERO,
    mask_below,
    mask_find_leads,
    mask_write_ends,
)
from numbpe_kernels.memory import count_leading_zeros, mask_block
from numbpe_kernels.utf8 import utf8_find_truncated

POSITION = 0
N_STARTS = 1
N_ENDS = 2
CARRY = 3
WORD_SCAN_SIZE = 4
"""Places in ``scan``: where the next block begins, the stop of the text when it is through; starts
and ends that are written; the classes of the character before the block."""

ROOM_A_BLOCK = BLOCK_NBYTES + 8
"""Entries of starts and ends that a block may write."""

_TWO = np.uint64(2)
_THREE = np.uint64(3)


class WordMasks(NamedTuple):
    """The bytes of a block, by class; each has the bit of every byte of a character.

    n_bytes : int64, the block without a character that is cut off, at least 1
    continuation : uint64, bytes that begin no character
    letter, number, upper, lower : uint64, letters and marks; numbers; Lu and Ll among the letters
    """

    n_bytes: int
    continuation: np.uint64
    letter: np.uint64
    number: np.uint64
    upper: np.uint64
    lower: np.uint64


@njit_inline
def character_find_class(
    classes: ClassTable, text: NDArray[np.uint8], position: int, character: int
) -> int:
    """Return the flags of a character, int64, as the table of classes has them.

    text : (n,) uint8 with padding; position : int64
    character : int64, what characters_decode returned for the position. Reads only.
    """
    code_point = character >> 3
    if code_point >= 0x80:
        if code_point == NOT_UTF8:
            return 0
        return np.int64(class_find_flags(classes, text, np.uint64(position)))
    folded = code_point | 0x20
    if folded >= 0x61 and folded <= 0x7A:
        return FLAG_LETTER | (FLAG_LOWER if code_point == folded else FLAG_UPPER)
    if code_point >= 0x30 and code_point <= 0x39:
        return FLAG_UPPER
    if code_point == 0x20 or (code_point >= 0x09 and code_point <= 0x0D):
        return FLAG_LOWER
    return 0


@njit
def tuple_mask_characters(
    classes: ClassTable, text: NDArray[np.uint8], block: int, stop: int
) -> WordMasks:
    """Return the masks of a block character by character: of any bytes.

    text : (n,) uint8 with padding; block < stop : int64. Reads only.
    """
    continuation = letter = number = upper = lower = ZERO
    n_bytes = 0
    while block + n_bytes < stop:
        character = characters_decode(text, block + n_bytes, stop)
        length = character & 7
        if n_bytes + length > BLOCK_NBYTES:
            break
        flags = character_find_class(classes, text, block + n_bytes, character)
        here = mask_below(length) << np.uint64(n_bytes)
        continuation |= here & (here << ONE)
        if flags & FLAG_LETTER != 0:
            letter |= here
            if flags & FLAG_LOWER == 0:
                upper |= here
            if flags & FLAG_UPPER == 0:
                lower |= here
        elif flags == FLAG_UPPER:
            number |= here
        n_bytes += length
        if n_bytes == BLOCK_NBYTES:
            break
    return WordMasks(n_bytes, continuation, letter, number, upper, lower)


@njit
def tuple_mask_block(
    classes: ClassTable, text: NDArray[np.uint8], block: int, stop: int
) -> WordMasks:
    """Return the masks of a block; bits from its n_bytes on mean nothing.

    text : (n,) uint8 with padding; block < stop : int64, a character begins at ``block``. Reads only.
    """
    n_bytes = min(BLOCK_NBYTES, stop - block)
    letter = mask_block(text, block, CASE_FOLD, np.uint8(ord("a")), np.uint8(25))
    upper = mask_block(text, block, NO_FOLD, np.uint8(ord("A")), np.uint8(25))
    number = mask_block(text, block, NO_FOLD, np.uint8(ord("0")), np.uint8(9))
    high = mask_block(text, block, NO_FOLD, np.uint8(0x80), np.uint8(0x7F)) & mask_below(n_bytes)
    lower = letter & ~upper
    if high == ZERO:
        return WordMasks(n_bytes, ZERO, letter, number, upper, lower)
    masks = class_mask_block(classes, text, block, n_bytes, high)
    if masks.n_bytes == 0:
        return tuple_mask_characters(classes, text, block, stop)
    return WordMasks(
        masks.n_bytes,
        masks.continuation,
        letter | masks.letter,
        number | (masks.upper & ~masks.lower & ~masks.letter),
        upper | (masks.letter & ~masks.lower),
        lower | (masks.letter & ~masks.upper),
    )


@njit_inline
def mask_case_parts(
    masks: WordMasks, upper_before: np.uint64, lower_before: np.uint64
) -> np.uint64:
    """Return the first bytes of characters before which case parts a word.

    upper_before, lower_before : uint64, 1 if the character before the block is in that class
    Between a small letter and a capital, and before a capital that follows one and is followed by a
    small letter, where that one lies in the block. Reads nothing.
    """
    inside = mask_below(masks.n_bytes)
    upper, lower = masks.upper & inside, masks.lower & inside
    after_lower = upper & ~masks.continuation & (lower << ONE | lower_before)
    before_lower = mask_find_leads(upper & (lower >> ONE), masks.continuation)
    return after_lower | (before_lower & (upper << ONE | upper_before))


@njit
def tuple_find_words(
    classes: ClassTable,
    splits_case: bool,
    text: NDArray[np.uint8],
    stop: int,
    scan: NDArray[np.int64],
    starts_out: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> None:
    """Write where the next words begin and end, as many as there is room for.

    splits_case : whether case parts words; text : (n,) uint8 with padding; stop : int64
    scan : (WORD_SCAN_SIZE,) int64; before the first call POSITION is where the text begins, all else 0
    starts_out, ends_out : (k,) int64, k > ROOM_A_BLOCK, written from N_STARTS and N_ENDS on
    Writes scan, starts_out and ends_out. A word that is not through has a start and no end yet; at
    the stop of the text all words have ended. Linear.
    """
    block, carry = scan[POSITION], np.uint64(scan[CARRY])
    n_starts, n_ends = scan[N_STARTS], scan[N_ENDS]
    capacity = starts_out.shape[0] - ROOM_A_BLOCK
    letter_before, number_before = carry & ONE, carry >> ONE & ONE
    upper_before, lower_before = carry >> _TWO & ONE, carry >> _THREE & ONE
    while block < stop and n_starts <= capacity:
        masks = tuple_mask_block(classes, text, block, stop)
        n_bytes = masks.n_bytes
        inside = mask_below(n_bytes)
        letters, numbers = masks.letter & inside, masks.number & inside
        after_letter = letters << ONE | letter_before
        after_number = numbers << ONE | number_before
        starts = (letters & ~after_letter) | (numbers & ~after_number)
        ends = (after_letter & ~letters) | (after_number & ~numbers)
        if splits_case:
            parted = mask_case_parts(masks, upper_before, lower_before)
            if block + n_bytes < stop:
                # The last character is there to be looked at; what is behind it is not UTF-8 if it
                # is the only one.
                first = BLOCK_NBYTES - 1 - count_leading_zeros(~masks.continuation & inside)
                n_bytes = first if first > 0 else n_bytes
                inside = mask_below(n_bytes)
            starts |= parted
            ends |= parted
        n_starts = mask_write_ends(starts & inside, block, starts_out, n_starts)
        n_ends = mask_write_ends(ends & inside, block, ends_out, n_ends)
        last = np.uint64(n_bytes - 1)
        letter_before, number_before = letters >> last & ONE, numbers >> last & ONE
        upper_before, lower_before = masks.upper >> last & ONE, masks.lower >> last & ONE
        block += n_bytes
    if block >= stop and n_ends < n_starts:
        ends_out[n_ends] = stop
        n_ends += 1
    scan[POSITION] = block
    scan[N_STARTS] = n_starts
    scan[N_ENDS] = n_ends
    scan[CARRY] = np.int64(
        letter_before | number_before << ONE | upper_before << _TWO | lower_before << _THREE
    )


@njit
def tuple_find_cut(
    classes: ClassTable,
    punctuation_to_next: bool,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
) -> int:
    """Return the last place inside text[start:stop] where a unit ends, int64, -1 if there is none.

    A unit is a word with the punctuation behind it and all that stands between it and the unit before;
    punctuation_to_next : whether what stands behind a word belongs to the next one
    text : (n,) uint8 with padding, of which ``start`` and ``stop`` may lie inside a character; int64
    Nothing that comes behind changes that a unit ends there. Reads only, backwards from ``stop``.
    """
    stop = utf8_find_truncated(text, start, stop)
    # Where the punctuation ends that stands behind ``here``, and the classes of what follows.
    here = after = np.int64(stop)
    flags_here = flags_after = np.int64(-1)
    while here > start:
        position = here - 1
        while position > start and here - position < 4 and text[position] & 0xC0 == 0x80:
            position -= 1
        character = characters_decode(text, position, here)
        if position + (character & 7) != here:
            position = here - 1
            character = np.int64(NOT_UTF8 << 3 | 1)
        flags = character_find_class(classes, text, position, character)
        is_letter = flags & FLAG_LETTER
        if is_letter != 0 or flags == FLAG_UPPER:
            border = here if punctuation_to_next else after
            following = flags_here if punctuation_to_next else flags_after
            is_same = following & FLAG_LETTER != 0 if is_letter != 0 else following == FLAG_UPPER
            if border < stop and (border > here or not is_same):
                return border
        if flags != 0:
            after, flags_after = position, flags
        here, flags_here = position, flags
    return -1
