"""Cutting a block of text at junctions while its pieces are cut: one bit for each byte of 64.

See ``junctions``. Here are the junctions between characters of three bytes from U+1000 on, Chinese, Japanese
and Korean above all: their words recur less often than the parts of them, however short they are.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.bitmaps import bitmap_get
from numbpe_kernels.junction_table import (
    IS_THREE,
    LEADS_THREE,
    LOW_THREE,
    JunctionTable,
    junction_hash,
    junction_hash_pair,
    junction_is_special,
)
from numbpe_kernels.masks import ALL, NO_FOLD, ONE, ZERO, mask_below, mask_write_ends
from numbpe_kernels.memory import (
    clear_lowest_one,
    count_leading_zeros,
    count_ones,
    count_trailing_zeros,
    load_u64,
    make_block,
    mask_bit,
    mask_block,
)

_THREE = np.uint64(3)
_BYTE = np.uint64(0xFF)
_BYTE_BITS = np.uint64(8)
_TWO_BYTES = np.uint64(0xFFFF)
_TWO_BYTE_BITS = np.uint64(16)
_SIX_BYTES = np.uint64((1 << 48) - 1)
_THREE_BYTE_BITS = np.uint64(24)
_FIRST_LEAD = np.uint64(0xE1)


class Found(NamedTuple):
    """What a scanner by masks has found up to a block.

    n_ends : int64, entries there; n_whole : int64, those up to the end of the last whole piece
    uncut : uint64, not 0 if there are junctions inside pieces that were not looked at
    reported : uint64, 1 before the first block, whose start is the end of no other piece, else 0
    """

    n_ends: int
    n_whole: int
    uncut: np.uint64
    reported: np.uint64


@njit_inline
def junction_find_left(text: NDArray[np.uint8], block: int) -> np.uint64:
    """Return the character of three bytes from U+1000 on that ends at ``block``; 0 if none does, uint64.

    text : (>= block + 5,) uint8; block : int64. Reads only.
    """
    if block < 3:
        return ZERO
    left = load_u64(text, block - 3) & LOW_THREE
    return left if (left & LEADS_THREE == IS_THREE) & (left & _BYTE >= _FIRST_LEAD) else ZERO


@njit
def junction_test_pairs(
    table: JunctionTable,
    text: NDArray[np.uint8],
    block: int,
    pairs: np.uint64,
    specials: np.uint64,
) -> np.uint64:
    """Return which junctions of a block a token may span.

    text : (>= block + 72,) uint8; block : int64; pairs, specials : uint64, the junctions of which the
    characters on both sides, or of which one, may be in a token that does; three bytes each
    Reads only; uint64.
    """
    joined = ZERO
    while pairs != ZERO:
        lowest = pairs & (ZERO - pairs)
        position = np.uint64(block) + np.uint64(count_trailing_zeros(pairs)) - _THREE
        pairs = clear_lowest_one(pairs)
        pair = load_u64(text, position) & _SIX_BYTES
        hit = bitmap_get(table.joined, junction_hash_pair(table, pair))
        joined |= lowest & (ZERO - hit)
    specials &= ~joined
    while specials != ZERO:
        lowest = specials & (ZERO - specials)
        position = np.uint64(block) + np.uint64(count_trailing_zeros(specials)) - _THREE
        specials = clear_lowest_one(specials)
        pair = load_u64(text, position) & _SIX_BYTES
        hit = junction_is_special(table, pair & LOW_THREE, pair >> _THREE_BYTE_BITS)
        joined |= lowest & (ZERO - hit)
    return joined


@njit_inline
def junction_mask_threes(
    table: JunctionTable, text: NDArray[np.uint8], block: int, three: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Return the junctions of characters of three bytes with the one before, and those that may be cut.

    text : (>= block + 72,) uint8; block : int64; three : uint64, where such characters begin
    Reads only. Both uint64; see junction_mask_block.
    """
    left = junction_find_left(text, block)
    before = ONE if left != ZERO else ZERO
    # The flags of each character go where it begins, and are gathered into masks: bit 0 says that a part of
    # it and one of the next are in a token, bits 1 to 4 are SPECIAL_LEFT to JOINED_RIGHT.
    flags = make_block()
    rest = three
    while rest != ZERO:
        bit = np.uint64(count_trailing_zeros(rest))
        rest = clear_lowest_one(rest)
        two = load_u64(text, np.uint64(block) + bit)
        ends = two >> _TWO_BYTE_BITS & _TWO_BYTES
        flags[bit] = table.filter[junction_hash(two & LOW_THREE)] | table.ends_and_leads[ends]
    ends = np.uint64(text[block]) << _BYTE_BITS | left >> _TWO_BYTE_BITS
    first = np.uint64(table.filter[junction_hash(left)] | table.ends_and_leads[ends])
    junctions = three & (three << _THREE | before)
    # What is said of a left character belongs to the junction behind it.
    cuts = junctions & ~((mask_bit(flags, 0) & three) << _THREE | (first & before))
    special = (mask_bit(flags, 1) & three) << _THREE | (first >> ONE & before)
    special |= mask_bit(flags, 2)
    pairs = (mask_bit(flags, 3) & three) << _THREE | (first >> _THREE & before)
    pairs &= mask_bit(flags, 4)
    if (pairs | special) & cuts != ZERO:
        cuts &= ~junction_test_pairs(table, text, block, pairs & cuts, special & cuts)
    return junctions, cuts


@njit_inline
def junction_mask_block(
    table: JunctionTable,
    text: NDArray[np.uint8],
    block: int,
    n_bytes: int,
    continuation: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Return where a block may be cut between characters of three bytes from U+1000 on.

    text : (>= block + 72,) uint8; block, n_bytes : int64, the first n_bytes, 1 to 64, are UTF-8
    continuation : uint64, bytes that begin no character
    Reads only. Returns the cuts, of which one at ``block`` itself means nothing where no text lies before
    it; and the junctions of other characters outside ASCII, which were not looked at. Both uint64.
    """
    inside = mask_below(n_bytes)
    continuation &= inside
    three = mask_block(text, block, NO_FOLD, np.uint8(0xE1), np.uint8(0x0E)) & inside
    junctions = cuts = ZERO
    if three != ZERO:
        junctions, cuts = junction_mask_threes(table, text, block, three)
    high_before = ONE if block > 0 and text[block - 1] >= np.uint8(0x80) else ZERO
    leads = (continuation >> ONE) & ~continuation
    return cuts, leads & (continuation << ONE | high_before) & ~junctions


@njit_inline
def junction_write_ends(
    table: JunctionTable,
    text: NDArray[np.uint8],
    block: int,
    n_bytes: int,
    continuation: np.uint64,
    starts: np.uint64,
    ends_out: NDArray[np.int64],
    found: Found,
) -> Found:
    """Write the ends of pieces in a block and, if the table is not empty, cuts inside them; see mask_write_ends.

    text : (>= block + 72,) uint8; block, n_bytes : int64, 1 to 64; ends_out : (>= n_ends + 64,) int64
    continuation : uint64, bytes that begin no character; starts : uint64, bytes that begin a piece
    Writes ends_out. Returns what was found up to here.
    """
    inside = mask_below(n_bytes) & ~found.reported
    n_whole, uncut = found.n_whole, found.uncut
    starts &= inside
    every = starts
    if table.joined.shape[0] > 0 and continuation != ZERO:
        cuts, others = junction_mask_block(table, text, block, n_bytes, continuation)
        uncut |= others & inside & ~starts
        every |= cuts & inside
    if starts != ZERO:
        last = np.uint64(count_leading_zeros(starts))
        n_whole = found.n_ends + count_ones(every & (ALL >> last))
    return Found(mask_write_ends(every, block, ends_out, found.n_ends), n_whole, uncut, ZERO)
