"""Cutting long words of a vocabulary over bytes where no token can span.

A *junction* is the place between two characters outside ASCII. Merges stay on one side of it unless
some token holds bytes of the end of the first character directly before bytes of the beginning of
the second. Where none does, the word may be cut, and each side merged by itself: in Chinese most
junctions are such, and the parts recur where the whole words never do.

The tables may take a junction for spanned that is not, which costs a cut and changes nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.memory import load_u64

LOG2_BITS = 20
"""Size of the bitmap of pairs: half a million bits stay in a core's own cache."""

PART = 0
POSITION = 1
N_TAKEN = 2
N_WORDS = 3
REFINE_SIZE = 4
"""Places in ``refine``: the part at hand; where its next word begins, -1 before the part is begun; how
many ends of words are taken; how many ends the last call wrote."""

LEAST_NBYTES = 16
LEAST_NBYTES_OF_THREE = 5
"""Words of fewer bytes stay whole. The second number is for words that begin with a character of
three bytes: words of Chinese, Japanese, Korean and Thai recur less often than their parts, however
short they are. Of other words, those of up to 15 bytes are cheap to look up."""

LEFT_AND_LEAD = 1
LEFT_ALONE = 2
LAST_AND_RIGHT = 3
RIGHT_ALONE = 4
"""Kinds of entries in ``special``: a left character before a lead byte; before anything; the last
byte of a left character before a right one; anything before a right character."""

SPECIAL_LEFT = 1
SPECIAL_RIGHT = 2
FILTER_SIZE = 4096
EMPTY = np.uint64(0)

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_PAIR_SHIFT = np.uint64(64 - LOG2_BITS)
_LEFT_SHIFT = np.uint64(32)
_BIT_MASK = np.uint64(7)
_BYTE_SHIFT = np.uint64(3)
_KIND_SHIFT = np.uint64(56)
_BYTE_BITS = np.uint64(8)
_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW_TWO = np.uint64(0xFFFF)
_LOW_THREE = np.uint64(0xFFFFFF)
_LOW_FOUR = np.uint64(0xFFFFFFFF)
# The bits of a word that tell characters of two, three and four bytes, and their values.
_LEADS_TWO, _IS_TWO = np.uint64(0xC0E0), np.uint64(0x80C0)
_LEADS_THREE, _IS_THREE = np.uint64(0xC0C0F0), np.uint64(0x8080E0)
_LEADS_FOUR, _IS_FOUR = np.uint64(0xC0C0C0F8), np.uint64(0x808080F0)


class JunctionTable(NamedTuple):
    """Which junctions a token may span. A character is its two to four bytes as a uint64.

    joined : (2**LOG2_BITS / 8,) uint8, a bit for the hash of each pair of whole characters
    ends_and_leads : (4096,) uint8, 1 at ``last byte & 63 << 6 | lead byte & 63`` if a token holds
        parts of characters on both sides
    filter : (FILTER_SIZE,) uint8, SPECIAL_* by the hash of a character that is in ``special``
    special : (m,) uint64, open addressing, EMPTY in a free slot: ``kind << 56 | character << 8 | byte``
        of what holds a part of a character on one side
    """

    joined: NDArray[np.uint8]
    ends_and_leads: NDArray[np.uint8]
    filter: NDArray[np.uint8]
    special: NDArray[np.uint64]


@njit_inline
def junction_hash_pair(left: np.uint64, right: np.uint64) -> np.uint64:
    """Return the bit of a pair of characters, uint64. left, right : uint64."""
    return ((left * _FACTOR ^ (right << _LEFT_SHIFT | right)) * _FACTOR) >> _PAIR_SHIFT


@njit_inline
def junction_hash(character: np.uint64) -> np.uint64:
    """Return the place of a character in ``filter``, uint64. character : uint64."""
    return (character * _FACTOR) >> np.uint64(52)


@njit
def junction_find_special(table: JunctionTable, key: np.uint64) -> np.uint64:
    """Return the slot of an entry of ``special``, or the free one for it. key : uint64. Reads only."""
    last = np.uint64(table.special.shape[0] - 1)
    slot = ((key * _FACTOR) >> _HALF) & last
    while table.special[slot] != EMPTY and table.special[slot] != key:
        slot = (slot + _ONE) & last
    return slot


@njit
def junction_make_key(kind: int, character: np.uint64, byte: np.uint64) -> np.uint64:
    """Return an entry of ``special``, uint64. kind : int64; character, byte : uint64."""
    return np.uint64(kind) << _KIND_SHIFT | character << _BYTE_BITS | byte


@njit
def junction_add_special(
    table: JunctionTable, kind: int, character: np.uint64, byte: np.uint64
) -> None:
    """Enter what holds a part of a character on one side of a junction; ``special`` has room.

    kind : int64; character, byte : uint64. Writes filter and special.
    """
    side = SPECIAL_LEFT if kind <= LEFT_ALONE else SPECIAL_RIGHT
    table.filter[junction_hash(character)] |= np.uint8(side)
    key = junction_make_key(kind, character, byte)
    table.special[junction_find_special(table, key)] = key


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
        character = word & _LOW_TWO
        n_bytes = 2
    elif word & _LEADS_THREE == _IS_THREE:
        character = word & _LOW_THREE
        n_bytes = 3
    elif word & _LEADS_FOUR == _IS_FOUR:
        character = word & _LOW_FOUR
        n_bytes = 4
    return character if position + n_bytes <= stop else EMPTY


@njit_inline
def junction_measure(character: np.uint64) -> int:
    """Return the number of bytes of a character outside ASCII, int64. character : uint64."""
    if character <= _LOW_TWO:
        return 2
    return 3 if character <= _LOW_THREE else 4


@njit
def junction_learn_token(
    table: JunctionTable, contents: NDArray[np.uint8], start: int, stop: int, counts_only: bool
) -> int:
    """Enter what a token says about junctions; return how many special entries it has, int64.

    contents : (>= stop + 8,) uint8; start, stop : int64, the token's bytes
    counts_only : whether to write nothing. Writes joined, ends_and_leads, filter and special.
    """
    n_special = 0
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
            bit = junction_hash_pair(left, right)
            if not counts_only:
                table.joined[bit >> _BYTE_SHIFT] |= np.uint8(_ONE << (bit & _BIT_MASK))
        elif has_left or right != EMPTY:
            n_special += 1
            if not counts_only and has_left:
                junction_add_special(table, LEFT_AND_LEAD, left, lead)
            elif not counts_only:
                junction_add_special(table, LAST_AND_RIGHT, right, last)
        elif not counts_only:
            pair = (last & np.uint64(63)) << np.uint64(6) | lead & np.uint64(63)
            table.ends_and_leads[pair] = 1
    return n_special


@njit
def junction_learn_tokens(
    table: JunctionTable,
    contents: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    ids: NDArray[np.int64],
    counts_only: bool,
) -> int:
    """Do as junction_learn_token for many tokens; return the sum, int64.

    contents : (n + 8,) uint8; offsets : (t + 1,) int64, where the bytes of tokens begin and end
    ids : (k,) int64, which tokens to take; counts_only : whether to write nothing, else writes table
    """
    n_special = 0
    for i in range(ids.shape[0]):
        start, stop = offsets[ids[i]], offsets[ids[i] + 1]
        n_special += junction_learn_token(table, contents, start, stop, counts_only)
    return n_special


@njit
def junction_forbid_cuts(
    table: JunctionTable, contents: NDArray[np.uint8], start: int, stop: int
) -> None:
    """Let no word that is cut have the part contents[start:stop], a token.

    contents : (>= stop + 8,) uint8; start < stop, int64. Writes filter and special, which has room.
    """
    first = junction_read(contents, start, stop)
    if first != EMPTY:
        junction_add_special(table, RIGHT_ALONE, first, EMPTY)
    place = stop - 1
    while place > start and contents[place] & 0xC0 == 0x80:
        place -= 1
    last = junction_read(contents, place, stop)
    if last != EMPTY and place + junction_measure(last) == stop:
        junction_add_special(table, LEFT_ALONE, last, EMPTY)


@njit
def junction_is_special(
    table: JunctionTable, left: np.uint64, last: np.uint64, right: np.uint64, lead: np.uint64
) -> bool:
    """Return whether a token may hold a part of one of two characters and reach over their junction.

    left, right : uint64, characters; last, lead : uint64, the byte before and that behind. Reads only.
    """
    zero = np.uint64(0)
    return (
        table.special[junction_find_special(table, junction_make_key(LEFT_AND_LEAD, left, lead))]
        != EMPTY
        or table.special[junction_find_special(table, junction_make_key(LEFT_ALONE, left, zero))]
        != EMPTY
        or table.special[
            junction_find_special(table, junction_make_key(LAST_AND_RIGHT, right, last))
        ]
        != EMPTY
        or table.special[junction_find_special(table, junction_make_key(RIGHT_ALONE, right, zero))]
        != EMPTY
    )


@njit_inline
def junction_may_join(table: JunctionTable, left: np.uint64, right: np.uint64) -> bool:
    """Return whether a token may span the junction between two characters.

    left, right : uint64, the bytes of characters outside ASCII, the first byte lowest. Reads only.
    """
    bit = junction_hash_pair(left, right)
    if np.uint64(table.joined[bit >> _BYTE_SHIFT]) >> (bit & _BIT_MASK) & _ONE != EMPTY:
        return True
    last = left >> np.uint64(24)
    if last == EMPTY:
        last = left >> np.uint64(16)
    if last == EMPTY:
        last = left >> _BYTE_BITS
    lead = right & np.uint64(0xFF)
    if table.ends_and_leads[(last & np.uint64(63)) << np.uint64(6) | lead & np.uint64(63)] != 0:
        return True
    is_special = np.int64(table.filter[junction_hash(left)]) & SPECIAL_LEFT
    is_special |= np.int64(table.filter[junction_hash(right)]) & SPECIAL_RIGHT
    return is_special != 0 and junction_is_special(table, left, last, right, lead)


@njit_inline
def junction_find(table: JunctionTable, text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the first junction inside the word text[start:stop] that no token spans, or stop.

    text : (>= stop + TEXT_PADDING,) uint8; start < stop, int64
    A byte that is no part of a character outside ASCII joins what is beside it. Reads only; int64.
    """
    position = np.int64(start)
    left = EMPTY
    while position < stop:
        right = junction_read(text, position, stop)
        if right == EMPTY:
            position += 1
        else:
            if left != EMPTY and not junction_may_join(table, left, right):
                return position
            position += junction_measure(right)
        left = right
    return stop


@njit_inline
def junction_is_worth_a_look(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Return whether a word is long enough to be cut.

    text : (>= stop,) uint8; start < stop, int64. Reads only.
    """
    n_bytes = stop - start
    return n_bytes >= LEAST_NBYTES or (n_bytes >= LEAST_NBYTES_OF_THREE and text[start] >= 0xE0)


@njit
def junctions_refine(
    table: JunctionTable,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    ends: NDArray[np.int64],
    n_ends: int,
    refine: NDArray[np.int64],
    words_out: NDArray[np.int64],
) -> bool:
    """Write the ends of words, and those of the parts of long ones; return whether that was all.

    text : (n,) uint8 with padding; parts : (p, 3) int64, starts, stops and anything
    ends : (>= n_ends,) int64, ends of words that follow one another, part for part
    refine : (REFINE_SIZE,) int64, PART 0 and POSITION -1 before the first call, N_TAKEN 0 before each
        that has other ends
    words_out : (k,) int64
    Writes refine and words_out. Linear.
    """
    n_words = 0
    part, position, n_taken = refine[PART], refine[POSITION], refine[N_TAKEN]
    while n_taken < n_ends and n_words < words_out.shape[0]:
        while position < 0:
            position = parts[part, 0]
            if position == parts[part, 1]:  # An empty part has no word.
                part += 1
                position = np.int64(-1)
        stop = parts[part, 1]
        end = ends[n_taken]
        cut = end
        if text[end - 1] >= 0x80 and junction_is_worth_a_look(text, position, end):
            cut = junction_find(table, text, position, end)
        words_out[n_words] = cut
        n_words += 1
        position = cut
        if cut == end:
            n_taken += 1
            # Words that end in ASCII, of which most texts have many, are only copied.
            while end < stop and n_taken < n_ends and n_words < words_out.shape[0]:
                end = ends[n_taken]
                if text[end - 1] >= 0x80:
                    break
                words_out[n_words] = end
                n_words += 1
                n_taken += 1
                position = end
            if position == stop:
                part += 1
                position = np.int64(-1)
    refine[PART] = part
    refine[POSITION] = position
    refine[N_TAKEN] = n_taken
    refine[N_WORDS] = n_words
    return n_taken == n_ends
