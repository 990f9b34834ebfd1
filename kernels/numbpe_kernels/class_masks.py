"""The classes of characters outside ASCII, as masks over a block of 64 bytes.

One table for each version of Unicode serves all patterns: its flags tell apart what any of them
does. It is looked up by the bytes of a character rather than by its code point, so that what is not
UTF-8 has rows of its own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit_inline
from numbpe_kernels.masks import NO_FOLD, ONE, TWO, ZERO, mask_below, mask_complete, mask_trim
from numbpe_kernels.memory import (
    clear_lowest_one,
    count_trailing_zeros,
    make_block,
    mask_bit,
    mask_block,
)

FLAG_LETTER = 1
FLAG_UPPER = 2
FLAG_LOWER = 4
FLAG_APART = 8
FLAG_HAN = 16
FLAG_CONTROL = 32
"""Flags of a class. The first three tell the kind of a character:

======  =====  =====  ==================================
letter  upper  lower
======  =====  =====  ==================================
yes     yes    no     Lu, Lt
yes     no     yes    Ll
yes     yes    yes    Lm, Lo
no      yes    yes    M
no      yes    no     N
no      no     yes    white space
no      no     no     all else
yes     no     no     not UTF-8
======  =====  =====  ==================================

FLAG_APART: Chinese and Japanese as DeepSeek's pattern sets them apart. FLAG_HAN: the script Han.
FLAG_CONTROL: of "all else", what is neither P nor S.
"""

ROW_SIZE = 64
TWO_BYTES = 0x1000
FOUR_BYTES = 0x1100
N_PLACES = FOUR_BYTES + (0x110000 >> 6)
"""Places of rows by the bytes of a character but the last: of three bytes, the low half of the first
and all of the second; of two bytes, the first; of four bytes, the code point without its last six
bits. A byte from 0x80 to 0xBF is the last one, so the first 0x80 entries of ``rows`` are void."""

_THREE = np.uint64(3)
_SIX = np.uint64(6)
_EIGHT = np.uint64(8)
_TWELVE = np.uint64(12)
_LOW_HALF = np.uint64(0x0F)
_SIX_BITS = np.uint64(0x3F)
_FIRST_OF_THREE = np.uint64(0xE0)
_FIRST_OF_FOUR = np.uint64(0xF0)
_TWO_BYTES = np.uint64(TWO_BYTES)
_FOUR_BYTES = np.uint64(FOUR_BYTES)
_FIRST_PLACE_OF_FOUR = np.uint64(0x10000 >> 6)
_END_OF_PLACES = np.uint64(0x110000 >> 6)


class ClassTable(NamedTuple):
    """The class of every character outside ASCII, in two stages.

    row_offsets : (N_PLACES,) int32, for each place the offset of its row, less 0x80
    rows : (n rows * ROW_SIZE + 0x100,) uint8, flags
    """

    row_offsets: NDArray[np.int32]
    rows: NDArray[np.uint8]


class ClassMasks(NamedTuple):
    """The bytes outside ASCII of a block, by class.

    n_bytes : int64, the block without a character that is cut off; 0 if it is not UTF-8 or nothing
        is left
    continuation : uint64, bytes that begin no character
    letter, upper, lower, apart, han, control : uint64, see FLAG_LETTER and so on
    """

    n_bytes: int
    continuation: np.uint64
    letter: np.uint64
    upper: np.uint64
    lower: np.uint64
    apart: np.uint64
    han: np.uint64
    control: np.uint64


class BlockMasks(NamedTuple):
    """The bytes of a block, by class; each has one of the first seven masks.

    n_bytes, continuation, apart, han, control : as in ClassMasks
    upper, lower, both, mark, number, white : uint64, Lu and Lt; Ll; Lm and Lo; M; N; white space
    other : uint64, all else, and what lies behind n_bytes
    newline, space : uint64, of white space, CR and LF; U+0020
    """

    n_bytes: int
    continuation: np.uint64
    upper: np.uint64
    lower: np.uint64
    both: np.uint64
    mark: np.uint64
    number: np.uint64
    white: np.uint64
    other: np.uint64
    newline: np.uint64
    space: np.uint64
    apart: np.uint64
    han: np.uint64
    control: np.uint64


@njit_inline
def class_find_flags(table: ClassTable, text: NDArray[np.uint8], position: np.uint64) -> np.uint8:
    """Return the flags of the character at ``position``, whose first byte is >= 0xC0.

    text : (> position + 3,) uint8; position : uint64, so that no index is tested for its sign
    Reads only. Bytes that must lie in 0x80 to 0xBF are not tested.
    """
    first = np.uint64(text[position])
    second = np.uint64(text[position + ONE])
    if first < _FIRST_OF_THREE:
        return table.rows[np.uint64(table.row_offsets[_TWO_BYTES | first]) + second]
    third = np.uint64(text[position + TWO])
    if first < _FIRST_OF_FOUR:
        place = (first & _LOW_HALF) << _EIGHT | second
        return table.rows[np.uint64(table.row_offsets[place]) + third]
    place = (first & _LOW_HALF) << _TWELVE | (second & _SIX_BITS) << _SIX | (third & _SIX_BITS)
    if place < _FIRST_PLACE_OF_FOUR or place >= _END_OF_PLACES:
        return np.uint8(FLAG_LETTER)
    offset = np.uint64(table.row_offsets[_FOUR_BYTES + place])
    return table.rows[offset + np.uint64(text[position + _THREE])]


@njit_inline
def class_end_block(
    n_bytes: int, leads: np.uint64, three: np.uint64, four: np.uint64, continuation: np.uint64
) -> int:
    """Return where the last whole character of a block ends, int64, or 0 if it is not UTF-8.

    n_bytes : int64, 1 to 64
    leads, three, four : uint64, bytes from 0xC0 on, from 0xE0 on, from 0xF0 on
    continuation : uint64, bytes from 0x80 to 0xBF; bits behind n_bytes do not matter
    Reads nothing.
    """
    last = ONE << np.uint64(n_bytes - 1)
    cut_off = (leads & last) | (three & (last >> ONE)) | (four & (last >> TWO))
    if cut_off != ZERO:
        n_bytes = count_trailing_zeros(cut_off)
        if n_bytes == 0:
            return 0
    inside = mask_below(n_bytes)
    leads, three, four = leads & inside, three & inside, four & inside
    # A character before the one that is cut off must not want bytes of it: that is not UTF-8.
    expected = leads << ONE | three << TWO | four << _THREE
    return n_bytes if expected == continuation & inside else 0


@njit_inline
def class_mask_block(
    table: ClassTable, text: NDArray[np.uint8], block: int, n_bytes: int, high: np.uint64
) -> ClassMasks:
    """Return the masks of what is not ASCII in a block.

    text : (>= block + 67,) uint8; block, n_bytes : int64, a character begins at ``block``
    high : uint64, the bytes from 0x80 on, of the first n_bytes
    Reads only. Half a dozen cycles a character.
    """
    leads = high & mask_block(text, block, NO_FOLD, np.uint8(0xC0), np.uint8(0x3F))
    three = high & mask_block(text, block, NO_FOLD, np.uint8(0xE0), np.uint8(0x1F))
    four = high & mask_block(text, block, NO_FOLD, np.uint8(0xF0), np.uint8(0x0F))
    continuation = high & ~leads
    n_bytes = class_end_block(n_bytes, leads, three, four, continuation)
    if n_bytes == 0:
        return ClassMasks(0, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)
    inside = mask_below(n_bytes)
    leads &= inside
    continuation &= inside
    # U+5000 to U+8FFF are Han and U+B000 to U+CFFF Hangul, letters all of them.
    han = leads & mask_block(text, block, NO_FOLD, np.uint8(0xE5), np.uint8(3))
    letter = han | (leads & mask_block(text, block, NO_FOLD, np.uint8(0xEB), np.uint8(1)))
    leads &= ~letter
    # The flags of each other character go where it begins, and are gathered into masks.
    flags = make_block()
    rest = leads
    while rest != ZERO:
        bit = np.uint64(count_trailing_zeros(rest))
        rest = clear_lowest_one(rest)
        flags[bit] = class_find_flags(table, text, np.uint64(block) + bit)
    upper = letter | (leads & mask_bit(flags, 1))
    lower = letter | (leads & mask_bit(flags, 2))
    letter |= leads & mask_bit(flags, 0)
    apart = han | (leads & mask_bit(flags, 3))
    han |= leads & mask_bit(flags, 4)
    control = leads & mask_bit(flags, 5)
    if letter & ~(upper | lower) != ZERO:
        n_bytes = 0
    return ClassMasks(
        n_bytes,
        continuation,
        mask_complete(letter, continuation),
        mask_complete(upper, continuation),
        mask_complete(lower, continuation),
        mask_complete(apart, continuation),
        mask_complete(han, continuation),
        mask_complete(control, continuation),
    )


@njit_inline
def class_mask_text(
    table: ClassTable, text: NDArray[np.uint8], block: int, n_bytes: int
) -> BlockMasks:
    """Return the masks of a block; its n_bytes is 0 where masks cannot tell.

    table, text, block, n_bytes : as in class_mask_block; 1 to 64 bytes
    White space at the end of the block is left to the next. Reads only.
    """
    upper = mask_block(text, block, NO_FOLD, np.uint8(ord("A")), np.uint8(25))
    lower = mask_block(text, block, NO_FOLD, np.uint8(ord("a")), np.uint8(25))
    number = mask_block(text, block, NO_FOLD, np.uint8(ord("0")), np.uint8(9))
    space = mask_block(text, block, NO_FOLD, np.uint8(0x20), np.uint8(0))
    newline = mask_block(text, block, NO_FOLD, np.uint8(0x0A), np.uint8(0))
    newline |= mask_block(text, block, NO_FOLD, np.uint8(0x0D), np.uint8(0))
    white = space | mask_block(text, block, NO_FOLD, np.uint8(0x09), np.uint8(4))
    high = mask_block(text, block, NO_FOLD, np.uint8(0x80), np.uint8(0x7F)) & mask_below(n_bytes)
    both = mark = continuation = apart = han = control = ZERO
    if high != ZERO:
        masks = class_mask_block(table, text, block, n_bytes, high)
        n_bytes = masks.n_bytes
        continuation = masks.continuation
        apart = masks.apart
        han = masks.han
        control = masks.control
        upper |= masks.letter & ~masks.lower
        lower |= masks.letter & ~masks.upper
        both = masks.letter & masks.upper & masks.lower
        mark = masks.upper & masks.lower & ~masks.letter
        number |= masks.upper & ~masks.lower & ~masks.letter
        white |= masks.lower & ~masks.upper & ~masks.letter
    other = ~(upper | lower | both | mark | number | white)
    if n_bytes > 0:
        n_bytes = mask_trim(white, n_bytes)
    return BlockMasks(
        n_bytes, continuation, upper, lower, both, mark, number, white, other, newline, space,
        apart, han, control,
    )  # fmt: skip
