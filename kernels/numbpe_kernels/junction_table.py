"""Which junctions a token may span, learned from the vocabulary; see ``junctions``.

The tables may take a junction for spanned that is not, which costs a cut and changes nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.bitmaps import bitmap_get, bitmap_set
from numbpe_kernels.memory import load_u64
from numbpe_kernels.near_junctions import NearJunctions

LOG2_BITS = 20
"""Size of the bitmap of pairs while they are learned."""

LEFT_AND_LEAD = 1
LEFT_ALONE = 2
LAST_AND_RIGHT = 3
RIGHT_ALONE = 4
"""Kinds of entries in ``special``: a left character before a lead byte; before anything; the last
byte of a left character before a right one; anything before a right character."""

LOG2_SPECIAL_BITS = 18
"""Size of the bitmap of those entries, which are some thousands."""

SPECIAL_LEFT = 2
SPECIAL_RIGHT = 4
JOINED_LEFT = 8
JOINED_RIGHT = 16
LOG2_FILTER_SIZE = 14
FILTER_SIZE = 1 << LOG2_FILTER_SIZE
"""Flags of a character in ``filter``, and how many characters it tells apart. The lowest bit is left to
``ends_and_leads``, which junction_masks reads together with them."""

EMPTY = np.uint64(0)
LOW_TWO = np.uint64(0xFFFF)
LOW_THREE = np.uint64(0xFFFFFF)
"""The greatest characters of two and of three bytes."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FILTER_SHIFT = np.uint64(64 - LOG2_FILTER_SIZE)
_KIND_SHIFT = np.uint64(56)
_BYTE_BITS = np.uint64(8)
_BYTE = np.uint64(0xFF)
_SPECIAL_SHIFT = np.uint64(64 - LOG2_SPECIAL_BITS)
_LOW_FOUR = np.uint64(0xFFFFFFFF)
# The bits of a word that tell characters of two, three and four bytes, and their values.
_LEADS_TWO, _IS_TWO = np.uint64(0xC0E0), np.uint64(0x80C0)
LEADS_THREE, IS_THREE = np.uint64(0xC0C0F0), np.uint64(0x8080E0)
_LEADS_FOUR, _IS_FOUR = np.uint64(0xC0C0C0F8), np.uint64(0x808080F0)

_FIRST_OF_THREE = np.uint64(0x800)
_NUMBER_BITS, _PAIR_BITS = np.uint64(7), np.uint64(14)
_NUMBER, _SIX_BITS = np.uint64(0x7F), np.uint64(0x3F)
_CONTINUES, _E0 = np.uint64(0x80), np.uint64(0xE0)
_SIX, _TWO_BYTE_BITS = np.uint64(6), np.uint64(16)


class JunctionTable(NamedTuple):
    """Which junctions a token may span. A character is its two to four bytes as a uint64.

    joined : (k / 8,) uint8, a bit for the hash of each pair of whole characters, k a power of two
    shift : uint64, 64 - log2(k)
    ends_and_leads : (65536,) uint8, 1 at ``lead byte << 8 | last byte``, as the two stand in the text, if a
        token holds parts of characters on both sides
    filter : (FILTER_SIZE,) uint8, by the hash of a character, SPECIAL_* if it is in ``special``, JOINED_* if
        it is on that side of a pair in ``joined``
    special : (2**LOG2_SPECIAL_BITS / 8,) uint8, a bit for the hash of each kind, character and byte of what
        holds a part of a character on one side
    near : what is looked at instead of all these for two characters of one block from U+0800 to U+0FFF
    """

    joined: NDArray[np.uint8]
    shift: np.uint64
    ends_and_leads: NDArray[np.uint8]
    filter: NDArray[np.uint8]
    special: NDArray[np.uint8]
    near: NearJunctions


@njit_inline
def junction_measure(character: np.uint64) -> int:
    """Return the number of bytes of a character outside ASCII, int64. character : uint64."""
    if character <= LOW_TWO:
        return 2
    return 3 if character <= LOW_THREE else 4


@njit_inline
def junction_hash_pair(table: JunctionTable, pair: np.uint64) -> np.uint64:
    """Return the bit of a pair of characters, uint64. pair : uint64, their bytes as they stand in the text."""
    return (pair * _FACTOR) >> table.shift


@njit_inline
def junction_pair(left: np.uint64, right: np.uint64) -> np.uint64:
    """Return the bytes of two characters one behind the other, the first byte lowest. All uint64."""
    return left | right << np.uint64(8 * junction_measure(left))


@njit_inline
def junction_hash(character: np.uint64) -> np.uint64:
    """Return the place of a character in ``filter``, uint64. character : uint64."""
    return (character * _FACTOR) >> _FILTER_SHIFT


@njit_inline
def junction_hash_special(kind: int, character: np.uint64, byte: np.uint64) -> np.uint64:
    """Return the bit of an entry of ``special``, uint64. kind : int64; character, byte : uint64."""
    key = np.uint64(kind) << _KIND_SHIFT | character << _BYTE_BITS | byte
    return (key * _FACTOR) >> _SPECIAL_SHIFT


@njit
def junction_add_special(
    table: JunctionTable, kind: int, character: np.uint64, byte: np.uint64
) -> None:
    """Enter what holds a part of a character on one side of a junction.

    kind : int64; character, byte : uint64. Writes filter and special.
    """
    side = SPECIAL_LEFT if kind <= LEFT_ALONE else SPECIAL_RIGHT
    table.filter[junction_hash(character)] |= np.uint8(side)
    bitmap_set(table.special, junction_hash_special(kind, character, byte))


@njit_inline
def junction_read(text: NDArray[np.uint8], position: int, stop: int) -> np.uint64:
    """Return the character outside ASCII that stands whole at ``position``; 0 if none does, uint64.

    text : (>= position + 8,) uint8; position, stop : int64; it must end at ``stop`` or before
    Reads only.
    """
    word = load_u64(text, position)
    character = EMPTY
    n_bytes = 0
    if word & _LEADS_TWO == _IS_TWO:
        character = word & LOW_TWO
        n_bytes = 2
    elif word & LEADS_THREE == IS_THREE:
        character = word & LOW_THREE
        n_bytes = 3
    elif word & _LEADS_FOUR == _IS_FOUR:
        character = word & _LOW_FOUR
        n_bytes = 4
    return character if position + n_bytes <= stop else EMPTY


@njit
def junction_learn_token(
    table: JunctionTable, contents: NDArray[np.uint8], start: int, stop: int
) -> None:
    """Enter what a token says about junctions.

    contents : (>= stop + 8,) uint8; start, stop : int64, the token's bytes. Writes table.
    """
    for place in range(start + 1, stop):
        if contents[place] < 0xC0 or contents[place - 1] < 0x80:
            continue
        lead = np.uint64(contents[place])
        last = np.uint64(contents[place - 1])
        right = junction_read(contents, place, stop)
        # The character before: back over its continuation bytes to its lead byte.
        first = place - 1
        while first > start and contents[first] & 0xC0 == 0x80:
            first -= 1
        left = junction_read(contents, first, place)
        has_left = contents[first] >= 0xC0
        if right == EMPTY and place + 4 <= stop:
            continue  # not UTF-8
        if has_left and (left == EMPTY or first + junction_measure(left) != place):
            continue
        if not has_left and first > start:
            continue
        if has_left and right != EMPTY:
            bitmap_set(table.joined, junction_hash_pair(table, junction_pair(left, right)))
            table.filter[junction_hash(left)] |= np.uint8(JOINED_LEFT)
            table.filter[junction_hash(right)] |= np.uint8(JOINED_RIGHT)
        elif has_left:
            junction_add_special(table, np.int64(LEFT_AND_LEAD), left, lead)
        elif right != EMPTY:
            junction_add_special(table, np.int64(LAST_AND_RIGHT), right, last)
        else:
            table.ends_and_leads[lead << _BYTE_BITS | last] = 1


@njit
def junction_learn_tokens(
    table: JunctionTable,
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> None:
    """Do as junction_learn_token for many tokens.

    contents : (n + 8,) uint8; offsets : (t + 1,) int64, where the bytes of tokens begin and end
    ids : (k,) int64, which tokens to take. Writes table.
    """
    for i in range(ids.shape[0]):
        junction_learn_token(table, contents, offsets[ids[i]], offsets[ids[i] + 1])


@njit
def junction_forbid_cuts(
    table: JunctionTable, contents: NDArray[np.uint8], start: int, stop: int
) -> None:
    """Let no word that is cut have the part contents[start:stop], a token.

    contents : (>= stop + 8,) uint8; start < stop, int64. Writes filter and special.
    """
    first = junction_read(contents, start, stop)
    if first != EMPTY:
        junction_add_special(table, np.int64(RIGHT_ALONE), first, EMPTY)
    place = stop - 1
    while place > start and contents[place] & 0xC0 == 0x80:
        place -= 1
    last = junction_read(contents, place, stop)
    if last != EMPTY and place + junction_measure(last) == stop:
        junction_add_special(table, np.int64(LEFT_ALONE), last, EMPTY)


@njit
def junction_is_special(table: JunctionTable, left: np.uint64, right: np.uint64) -> np.uint64:
    """Return whether a token may hold a part of one of two characters and reach over their junction.

    left, right : uint64, characters. Reads only; uint64, 1 or 0.
    """
    last = left >> np.uint64(8 * (junction_measure(left) - 1))
    lead = right & _BYTE
    return (
        bitmap_get(table.special, junction_hash_special(LEFT_AND_LEAD, left, lead))
        | bitmap_get(table.special, junction_hash_special(LEFT_ALONE, left, EMPTY))
        | bitmap_get(table.special, junction_hash_special(LAST_AND_RIGHT, right, last))
        | bitmap_get(table.special, junction_hash_special(RIGHT_ALONE, right, EMPTY))
    )


@njit_inline
def junction_spell(number: np.uint64) -> np.uint64:
    """Return the three bytes of a character from U+0800 on, the first lowest, uint64.

    number : uint64, from U+0800 on, below 2048. Reads only.
    """
    code = number + _FIRST_OF_THREE
    last = (code & _SIX_BITS | _CONTINUES) << _TWO_BYTE_BITS
    return _E0 | (code >> _SIX | _CONTINUES) << _BYTE_BITS | last


@njit
def junction_fill_near(table: JunctionTable) -> None:
    """Let ``near`` say what ``special`` and ``ends_and_leads`` say, of a quarter of a million pairs; a millisecond.

    Writes near.pairs.
    """
    for number in range(8 * table.near.pairs.shape[0]):
        bit = np.uint64(number)
        block = bit >> _PAIR_BITS << _NUMBER_BITS
        left = junction_spell(block | bit >> _NUMBER_BITS & _NUMBER)
        right = junction_spell(block | bit & _NUMBER)
        ends = left >> _TWO_BYTE_BITS | (right & _BYTE) << _BYTE_BITS
        joined = np.uint64(table.ends_and_leads[ends]) | junction_is_special(table, left, right)
        if joined != EMPTY:
            bitmap_set(table.near.pairs, bit)
