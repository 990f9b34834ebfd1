"""Vocabularies over characters: which token a character is, and where no token can span.

A *junction* is a place between two characters. Merges join whole characters, so a token spans a
junction only if both characters stand together, in this order, inside some token that a merge makes.
Where they do not, text may be cut and each side merged by itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.hashing import hash_key
from numbpe_kernels.memory import load_u64
from numbpe_kernels.utf8 import utf8_measure

CHARACTER_PAGE_BITS = 8
NOT_UTF8 = 0x110000
"""Stands for a byte that is no part of a well-formed character; it has no token."""

N_CODE_POINTS = NOT_UTF8 + 1
EMPTY_PAIR = -1

_NUMBER_BITS = 21
_PAGE_MASK = (1 << CHARACTER_PAGE_BITS) - 1


class CharacterTable(NamedTuple):
    """Token ids of characters, and the pairs of characters that stand together inside tokens.

    page_numbers : (N_CODE_POINTS / 256 + 1,) uint16
    pages : (n pages * 256,) int32: code point c has the token
        ``pages[page_numbers[c >> 8] << 8 | c & 255]``, -1 for none
    ascii_pairs : (128 * 128,) uint8: 1 at ``left << 7 | right`` if both stand together, or
        unknown_joins is 1 and neither has a token
    pairs : (m,) int64: open addressing, m a power of two, at least half of it EMPTY_PAIR;
        ``left << 21 | right`` of all pairs that stand together
    unknown_joins : int64: 1 if two characters without tokens may become one token, else 0
    """

    page_numbers: NDArray[np.uint16]
    pages: NDArray[np.int32]
    ascii_pairs: NDArray[np.uint8]
    pairs: NDArray[np.int64]
    unknown_joins: int


@njit_inline
def characters_decode(text: NDArray[np.uint8], position: int, stop: int) -> int:
    """Return ``code point << 3 | n_bytes`` of the character at ``position`` < ``stop``, int64.

    text : (>= stop + TEXT_PADDING,) uint8; position, stop : int64
    A byte that begins no well-formed character within ``stop`` is NOT_UTF8, of one byte. Reads only.
    """
    first = np.int64(text[position])
    if first < 0x80:
        return first << 3 | 1
    n_bytes = utf8_measure(load_u64(text, position))
    if n_bytes == 0 or position + n_bytes > stop:
        return NOT_UTF8 << 3 | 1
    code_point = first & (0x7F >> n_bytes)
    for i in range(1, n_bytes):
        code_point = code_point << 6 | (np.int64(text[position + i]) & 0x3F)
    return code_point << 3 | n_bytes


@njit_inline
def characters_find_token(table: CharacterTable, code_point: int) -> int:
    """Return the token id of a character, -1 if it has none. code_point : int64. Reads only."""
    page = np.int64(table.page_numbers[code_point >> CHARACTER_PAGE_BITS])
    return np.int64(table.pages[page << CHARACTER_PAGE_BITS | (code_point & _PAGE_MASK)])


@njit_inline
def characters_may_join(table: CharacterTable, left: int, right: int) -> bool:
    """Return whether a token may span the junction between two characters.

    left, right : int64, code points, NOT_UTF8 included. Reads only. Expected O(1).
    """
    if (left | right) < 0x80:
        return table.ascii_pairs[left << 7 | right] != 0
    mask = np.int64(table.pairs.shape[0] - 1)
    key = left << _NUMBER_BITS | right
    slot = hash_key(key, np.uint64(32)) & mask
    while table.pairs[slot] != EMPTY_PAIR:
        if table.pairs[slot] == key:
            return True
        slot = (slot + 1) & mask
    if table.unknown_joins == 0:
        return False
    return characters_find_token(table, left) < 0 and characters_find_token(table, right) < 0


@njit
def characters_fill_pairs(table: CharacterTable, keys: NDArray[np.int64]) -> None:
    """Write pairs of characters into an empty table.

    keys : (n,) int64, ``left << 21 | right``, n <= m / 2
    Writes pairs and ascii_pairs. O(n).
    """
    mask = np.int64(table.pairs.shape[0] - 1)
    for i in range(keys.shape[0]):
        key = keys[i]
        left = key >> _NUMBER_BITS
        right = key & ((1 << _NUMBER_BITS) - 1)
        if (left | right) < 0x80:
            table.ascii_pairs[left << 7 | right] = 1
        slot = hash_key(key, np.uint64(32)) & mask
        while table.pairs[slot] != EMPTY_PAIR and table.pairs[slot] != key:
            slot = (slot + 1) & mask
        table.pairs[slot] = key


@njit
def characters_cut(
    table: CharacterTable,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    ends_out: NDArray[np.int64],
) -> int:
    """Cut text[start:stop] at every junction that no token spans; return how many ends were written.

    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64, characters begin and end there
    ends_out : (>= 1,) int64, written until ``stop`` or full; to go on, pass its last entry as start
    Linear.
    """
    n_ends = 0
    position = np.int64(start)
    left = np.int64(-1)
    while position < stop and n_ends < ends_out.shape[0]:
        character = characters_decode(text, position, stop)
        right = character >> 3
        if left >= 0 and not characters_may_join(table, left, right):
            ends_out[n_ends] = position
            n_ends += 1
        left = right
        position += character & 7
    if position >= stop and n_ends < ends_out.shape[0]:
        ends_out[n_ends] = stop
        n_ends += 1
    return n_ends


@njit
def characters_find_cut(
    table: CharacterTable, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Return the last junction inside text[start:stop] that no token spans, -1 if there is none.

    text : (>= stop + TEXT_PADDING,) uint8, UTF-8, of which ``start`` and ``stop`` may lie inside a
    character; start, stop : int64. Reads only, backwards from ``stop`` to the junction found.
    """
    right = np.int64(-1)
    right_start = np.int64(stop)
    position = np.int64(stop) - 1
    while position >= start:
        if np.int64(text[position]) & 0xC0 != 0x80:
            character = characters_decode(text, position, stop)
            left = character >> 3
            if left == NOT_UTF8:
                right = -1  # Cut off by ``stop``, or not UTF-8.
            else:
                is_neighbour = right >= 0 and position + (character & 7) == right_start
                if is_neighbour and not characters_may_join(table, left, right):
                    return right_start
                right = left
            right_start = position
        position -= 1
    return -1
