"""The classes of characters outside ASCII, as masks over a block of 64 bytes.

One table for each version of Unicode serves all patterns: its flags tell apart what any of them
does. It is looked up by the bytes of a character rather than by its code point, so that what is not
UTF-8 has rows of its own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.masks import NO_FOLD, ONE, TWO, ZERO, mask_below, mask_trim
from numbpe_kernels.memory import clear_lowest_one, count_trailing_zeros, mask_block

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

ROW_BITS = 6
ROW_SIZE = 1 << ROW_BITS
TWO_BYTE_ROW = 0x110000 >> ROW_BITS
N_ROWS = TWO_BYTE_ROW + 32
"""Rows of the table: for three and four bytes that of the code point, then 32 for two bytes."""

_THREE = np.uint64(3)
_FOUR = np.uint64(4)
_FIVE = np.uint64(5)


class ClassTable(NamedTuple):
    """The class of every character outside ASCII, in two stages.

    row_numbers : (N_ROWS,) uint16, rows of 64 characters that share all bytes but the last
    rows : (n rows * ROW_SIZE,) uint8, flags
    """

    row_numbers: NDArray[np.uint16]
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


@njit
def class_find_row(text: NDArray[np.uint8], position: int) -> tuple[int, int]:
    """Return the row number's place for the character at ``position``, and its length in bytes.

    text : (> position + 3,) uint8; a byte >= 0xC0 stands at position, int64. Reads only. What is
    not UTF-8 has the place of a character that does not exist.
    """
    first = np.int64(text[position])
    second = np.int64(text[position + 1]) & 0x3F
    if first < 0xE0:
        return TWO_BYTE_ROW | (first & 0x1F), 2
    if first < 0xF0:
        return (first & 0x0F) << 6 | second, 3
    row = (first & 0x0F) << 12 | second << 6 | (np.int64(text[position + 2]) & 0x3F)
    if row < 0x10000 >> ROW_BITS or row >= TWO_BYTE_ROW:
        row = 0
    return row, 4


@njit
def class_mask_block(
    table: ClassTable, text: NDArray[np.uint8], block: int, n_bytes: int, high: np.uint64
) -> ClassMasks:
    """Return the masks of what is not ASCII in a block.

    text : (>= block + 67,) uint8; block, n_bytes : int64, a character begins at ``block``
    high : uint64, the bytes from 0x80 on, of the first n_bytes
    Reads only. A dozen cycles a character.
    """
    leads = high & mask_block(text, block, NO_FOLD, np.uint8(0xC0), np.uint8(0x3F))
    continuation = high & ~leads
    letter = upper = lower = apart = han = control = tails = ZERO
    while leads != ZERO:
        bit = count_trailing_zeros(leads)
        leads = clear_lowest_one(leads)
        place, length = class_find_row(text, block + bit)
        if bit + length > n_bytes:
            n_bytes = bit
            break
        row = np.int64(table.row_numbers[place]) << ROW_BITS
        last = np.int64(text[block + bit + length - 1]) & 0x3F
        flags = np.uint64(table.rows[row | last])
        shift = np.uint64(bit)
        tail = ((ONE << np.uint64(length)) - TWO) << shift
        span = tail | ONE << shift
        tails |= tail
        letter |= span * (flags & ONE)
        upper |= span * (flags >> ONE & ONE)
        lower |= span * (flags >> TWO & ONE)
        apart |= span * (flags >> _THREE & ONE)
        han |= span * (flags >> _FOUR & ONE)
        control |= span * (flags >> _FIVE & ONE)
    if n_bytes > 0:
        continuation &= mask_below(n_bytes)
        if tails != continuation or letter & ~(upper | lower) != ZERO:
            n_bytes = 0
    return ClassMasks(n_bytes, continuation, letter, upper, lower, apart, han, control)


@njit
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
