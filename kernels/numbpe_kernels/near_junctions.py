"""Junctions between characters of one script of India, or of Thai, Lao and Tibetan: where tokens span them.

Those characters are few to a script, and many tokens of some vocabularies are made of several, so that
most pairs of them stand in some token. But of the tokens that hold two characters few stand where these do:
one begins with a character that does not precede them, another goes on with one that does not follow.
So each character is looked up with up to four that follow it; a longer token is entered as each five
characters in a row of it. What no token spans that stands there is a junction where words may be cut.

A *block* is 128 code points, from a multiple of 128 on; a character's *number* is its place in it.
Tokens that hold anything but characters of one block, and a byte of ASCII before them, such as the space
before a word, join each two characters that they hold, whatever stands beside these.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.bitmaps import bitmap_get
from numbpe_kernels.memory import load_u64

N_BLOCKS = 16
"""The blocks from U+0800 to U+0FFF. Their characters begin with the same byte, so that the blocks are told apart by
four bits of the second."""

N_NEAR = N_BLOCKS << 11
"""Bytes of ``pairs``."""

MOST_CHARACTERS = 5
"""Characters that are looked up together."""

_NEAR_MASK, _IS_NEAR = np.uint64(0xC0E0FF), np.uint64(0x80A0E0)
"""What tells a character of the blocks; one with a lower second byte is a form that UTF-8 forbids."""

SAME_BLOCK = np.uint64(0xFEFF)
_CONTINUES_MASK = np.uint64(0xC00000)
_CONTINUES = np.uint64(0x800000)
"""The bits that are the same in all characters of a block, and those that tell that the last byte is of one."""

NUMBER_BITS, PAIR_BITS, _THREE_BITS = np.uint64(7), np.uint64(14), np.uint64(21)
_WINDOW_BITS = np.uint64(7 * MOST_CHARACTERS)
_WINDOW = np.uint64((1 << 7 * MOST_CHARACTERS) - 1)
_SEVENTH = np.uint64(0x40)
"""Of the number of a character, whose other bits are in its last byte; here it is in the second."""

_SIX_BITS = np.uint64(0x3F)
_LOW_FOUR = np.uint64(0x0F)
_ASCII_SHIFT = np.uint64(42)
ASCII_BIT = np.uint64(0x80)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FIRST_BIT, _SECOND_BIT = np.uint64(38), np.uint64(32)
_BIT_OF_NUMBER = np.uint64(63)
"""Which parts of a hash say which bits of a number stand for it; the number is said by its highest bits."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_FOUR = np.uint64(4)
_NINE = np.uint64(9)
_SIXTEEN = np.uint64(16)


class NearJunctions(NamedTuple):
    """What tokens span among characters of one block; some bits are set that need not be.

    pairs : (N_NEAR,) uint8, a bit for each two characters of one block, in their order, the first one's number
        the higher: whether they are joined whatever stands beside them
    spans : (k,) uint64, k a power of two, two bits of a number for each three to five characters in a row that are
        a token or stand in a longer one, see near_key and near_has
    shift : uint64, 64 - log2(k)
    is_deep : (N_BLOCKS,) uint8, 1 where ``spans`` is to be looked at: elsewhere ``pairs`` says all
    """

    pairs: NDArray[np.uint8]
    spans: NDArray[np.uint64]
    shift: np.uint64
    is_deep: NDArray[np.uint8]


@njit_inline
def near_is_character(word: np.uint64) -> bool:
    """Return whether a character of the blocks stands at the low end of a uint64. Reads only."""
    return word & _NEAR_MASK == _IS_NEAR


@njit_inline
def near_get_block(word: np.uint64) -> np.uint64:
    """Return the block of the character at the low end of a uint64, below N_BLOCKS. Reads only; uint64."""
    return word >> _NINE & _LOW_FOUR


@njit_inline
def near_get_number(word: np.uint64) -> np.uint64:
    """Return the number of the character at the low end of a uint64; of anything else, one too. Reads only; uint64."""
    return word >> _TWO & _SEVENTH | word >> _SIXTEEN & _SIX_BITS


@njit_inline
def near_key(block: np.uint64, numbers: np.uint64, count: int) -> np.uint64:
    """Return the key of some characters in a row; where the block stands tells it from that of fewer.

    block, numbers : uint64, their block, and their numbers, the last one lowest
    count : int64, how many they are. Reads only; uint64.
    """
    return block << np.uint64(7 * count) | numbers


@njit_inline
def near_key_behind(key: np.uint64, byte: np.uint64) -> np.uint64:
    """Return the key of characters that stand behind a byte of ASCII. key, byte : uint64. Reads only; uint64."""
    return (byte | ASCII_BIT) << _ASCII_SHIFT | key


@njit_inline
def near_has(table: NearJunctions, key: np.uint64) -> np.uint64:
    """Return whether characters are in ``spans``, 1 or 0, uint64. key : uint64. Reads only."""
    mixed = key * _FACTOR
    bits = table.spans[mixed >> table.shift]
    return (
        bits >> (mixed >> _FIRST_BIT & _BIT_OF_NUMBER)
        & bits >> (mixed >> _SECOND_BIT & _BIT_OF_NUMBER)
        & _ONE
    )


@njit_inline
def near_add(table: NearJunctions, key: np.uint64) -> None:
    """Enter characters into ``spans``. key : uint64. Writes spans."""
    mixed = key * _FACTOR
    bits = _ONE << (mixed >> _FIRST_BIT & _BIT_OF_NUMBER) | _ONE << (
        mixed >> _SECOND_BIT & _BIT_OF_NUMBER
    )
    table.spans[mixed >> table.shift] |= bits


@njit_inline
def near_cut_pairs(
    table: NearJunctions,
    text: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    words_out: NDArray[np.int64],
    n_words: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Write the junctions from ``position`` on that tokens do not span, by one look at each two characters.

    See near_cut. Writes words_out.
    """
    size = np.uint64(words_out.shape[0])
    left = load_u64(text, position - _THREE)
    same = left & SAME_BLOCK | _CONTINUES
    first = near_get_block(left) << PAIR_BITS
    number = near_get_number(left)
    while position + _THREE <= stop and n_words < size:
        right = load_u64(text, position)
        if right & (SAME_BLOCK | _CONTINUES_MASK) != same:
            break
        next_number = near_get_number(right)
        joined = bitmap_get(table.pairs, first | number << NUMBER_BITS | next_number)
        words_out[n_words] = np.int64(position)
        n_words += joined ^ _ONE
        position += _THREE
        number = next_number
    return position, n_words


@njit
def near_cut_spans(
    table: NearJunctions,
    text: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    words_out: NDArray[np.int64],
    n_words: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Write the junctions from ``position`` on that tokens do not span, by a look at up to five characters.

    See near_cut. Writes words_out. A function of its own, so that all it needs finds room in registers.

    The lowest bit of ``joined`` says whether a token spans the next junction, those above whether
    one spans the junctions behind it. Behind the last character of the block anything may follow:
    what is looked up with it is in no token, and the bits that it may set by chance are not looked at.
    """
    size = np.uint64(words_out.shape[0])
    left = load_u64(text, position - _THREE)
    same = left & SAME_BLOCK | _CONTINUES
    block = near_get_block(left) << _WINDOW_BITS
    window = near_get_number(left)
    for i in range(MOST_CHARACTERS - 1):
        word = load_u64(text, position + np.uint64(3 * i))
        window = window << NUMBER_BITS | near_get_number(word)
    window |= block
    joined = near_join_ascii(table, text, position, window)
    while position + _THREE <= stop and n_words < size:
        if load_u64(text, position) & (SAME_BLOCK | _CONTINUES_MASK) != same:
            break
        five = near_has(table, window)
        four = near_has(table, window >> NUMBER_BITS) | five
        three = near_has(table, window >> PAIR_BITS) | four
        two = bitmap_get(table.pairs, window >> _THREE_BITS) | three
        joined |= two | three << _ONE | four << _TWO | five << _THREE
        words_out[n_words] = np.int64(position)
        n_words += ~joined & _ONE
        joined >>= _ONE
        position += _THREE
        word = load_u64(text, position + _NINE)
        window = (window << NUMBER_BITS | near_get_number(word)) & _WINDOW | block
    return position, n_words


@njit_inline
def near_join_ascii(
    table: NearJunctions,
    text: NDArray[np.uint8],
    position: np.uint64,
    window: np.uint64,
) -> np.uint64:
    """Return which junctions are spanned by tokens that begin with a byte of ASCII before the first character.

    text : (n,) uint8 with padding; position : uint64, behind the first character
    window : uint64, the key of five characters from that one on. Reads only; uint64, see near_cut_spans.
    """
    joined = _ZERO
    if position > _THREE and text[position - _FOUR] < ASCII_BIT:
        byte = np.uint64(text[position - _FOUR])
        for count in range(2, MOST_CHARACTERS + 1):
            shift = np.uint64(7 * (MOST_CHARACTERS - count))
            key = near_key_behind(window >> shift, byte)
            joined |= near_has(table, key) * np.uint64((1 << (count - 1)) - 1)
    return joined


@njit_inline
def near_cut(
    table: NearJunctions,
    text: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    words_out: NDArray[np.int64],
    n_words: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Write the junctions from ``position`` on that tokens do not span, as long as one block goes on.

    text : (>= stop + TEXT_PADDING,) uint8; words_out : (k,) int64
    position, stop : uint64, behind the first character of three bytes in a row, and where the word ends
    n_words : uint64, entries written before
    Returns where another character stands, or what ends the word, and how many entries there are.
    """
    left = load_u64(text, position - _THREE)
    if not near_is_character(left):
        return position, n_words
    if table.is_deep[near_get_block(left)] != 0:
        return near_cut_spans(table, text, position, stop, words_out, n_words)
    return near_cut_pairs(table, text, position, stop, words_out, n_words)
