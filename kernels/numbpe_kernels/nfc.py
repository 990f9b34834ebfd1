"""Finding what Unicode's form NFC changes in a text, exactly, without decoding all of it.

A character is *settled in itself* if NFC neither changes it, nor moves it, nor joins it with what
stands before it; most are, and a look at the first byte tells it of many. The others, one after
another, make a *chain*. NFC may change a chain and the one character before it; whatever stands
elsewhere stays, since every other character bars what is before from what is behind.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_brief, njit_inline
from numbpe_kernels.characters import characters_decode
from numbpe_kernels.hashing import hash_key
from numbpe_kernels.masks import NO_FOLD, ONE, TWO, ZERO, mask_below
from numbpe_kernels.memory import (
    clear_lowest_one,
    count_trailing_zeros,
    load_u64,
    mask_block,
)
from numbpe_kernels.utf8 import utf8_measure
from numbpe_kernels.views import view_i64, view_u16

ORDER = 0xFF
"""The bits of a class with the canonical combining class; 0 for a starter."""
JOINS = 0x100
"""It joins some character before it."""
CHANGES = 0x200
"""It is never there in NFC."""

ROW_SIZE = 64
N_ROWS = 1 << 15
"""Rows of 64 code points, by what the bytes of a character but the last may spell: more than there
are, so that bytes need not be tested."""

NO_PAIR = -1
NUMBER_BITS = 21

TOO_MANY = -1
"""Returned where there is no room for more regions."""

REGION_PART, REGION_START, REGION_STOP = range(3)

CHAIN_START, CHAIN_STOP, CHAIN_RUN, CHAIN_ORDER, CHAIN_CHANGES, CHAIN_SIZE = range(6)
"""Places in ``chain``: its first byte and where it ends; where its last run begins, the marks since
the last starter; the combining class of its last character; whether NFC changes it."""

_ORDER = np.uint64(ORDER)
_BORDERS = np.uint64(0xF00000000000000F)
_FOUR = np.uint64(4)
_SIX = np.uint64(6)
_TWELVE = np.uint64(12)
_THREE = np.uint64(3)
_THREE_BITS = np.uint64(0x07)
_FOUR_BITS = np.uint64(0x0F)
_FIVE_BITS = np.uint64(0x1F)
_SIX_BITS = np.uint64(0x3F)
_WHOLE = np.uint64((1 << 62) - 1)
"""Where a character of three bytes may begin that ends in a block."""

_FIRST_OF_THREE = np.uint64(0xE0)
_FIRST_OF_FOUR = np.uint64(0xF0)

_FIRST_VOWEL, _LAST_VOWEL = 0x1161, 0x1175
_FIRST_TAIL, _LAST_TAIL = 0x11A8, 0x11C2
_FIRST_HEAD, _LAST_HEAD = 0x1100, 0x1112
_FIRST_SYLLABLE, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_N_TAILS = 28


class NfcTable(NamedTuple):
    """What NFC does with each character.

    row_offsets : (N_ROWS,) uint16: the code points from 64 r on have their classes from
        ``row_offsets[r]`` on
    classes : (n rows * ROW_SIZE,) uint16: 0 for what is settled in itself, else ORDER | JOINS |
        CHANGES
    pairs : (m,) int64: open addressing, m a power of two, at least half of it NO_PAIR;
        ``first << NUMBER_BITS | second`` of the starters and JOINS, Korean letters apart, that NFC
        changes where they stand together
    """

    row_offsets: NDArray[np.uint16]
    classes: NDArray[np.uint16]
    pairs: NDArray[np.int64]


@njit_inline
def nfc_find_class(table: NfcTable, text: NDArray[np.uint8], position: np.uint64) -> np.uint16:
    """Return the class of the character at ``position``, whose first byte is >= 0xC0.

    text : (> position + 3,) uint8; position : uint64, so that no index is tested for its sign
    Reads only. For what is not UTF-8 the result means nothing.
    """
    first = np.uint64(text[position])
    second = np.uint64(text[position + ONE]) & _SIX_BITS
    if first < _FIRST_OF_THREE:
        row = first & _FIVE_BITS
        return table.classes[np.uint64(table.row_offsets[row]) | second]
    third = np.uint64(text[position + TWO]) & _SIX_BITS
    if first < _FIRST_OF_FOUR:
        row = (first & _FOUR_BITS) << _SIX | second
        return table.classes[np.uint64(table.row_offsets[row]) | third]
    row = (first & _THREE_BITS) << _TWELVE | second << _SIX | third
    fourth = np.uint64(text[position + _THREE]) & _SIX_BITS
    return table.classes[np.uint64(table.row_offsets[row]) | fourth]


@njit
def nfc_find_previous(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return where the character that ends at ``stop`` begins, ``stop`` if it is not UTF-8 or none.

    text : (>= stop + TEXT_PADDING,) uint8; start, stop : int64, no character is looked for before
    start. Reads only.
    """
    for position in range(stop - 1, max(start, stop - 4) - 1, -1):
        if np.int64(text[position]) & 0xC0 != 0x80:
            n_bytes = utf8_measure(load_u64(text, position))
            return position if position + n_bytes == stop else stop
    return stop


@njit
def nfc_joins(table: NfcTable, first: int, second: int) -> bool:
    """Return whether NFC changes a starter and a character with JOINS that comes to stand beside it.

    first, second : int64, code points. Reads only. Expected O(1).
    """
    if _FIRST_VOWEL <= second <= _LAST_VOWEL:
        return _FIRST_HEAD <= first <= _LAST_HEAD
    if _FIRST_TAIL <= second <= _LAST_TAIL:
        is_syllable = _FIRST_SYLLABLE <= first <= _LAST_SYLLABLE
        return is_syllable and (first - _FIRST_SYLLABLE) % _N_TAILS == 0
    mask = np.int64(table.pairs.shape[0] - 1)
    key = first << NUMBER_BITS | second
    slot = hash_key(key, np.uint64(32)) & mask
    while table.pairs[slot] != NO_PAIR:
        if table.pairs[slot] == key:
            return True
        slot = (slot + 1) & mask
    return False


@njit_inline
def nfc_extend_chain(
    table: NfcTable,
    text: NDArray[np.uint8],
    start: int,
    position: int,
    character: int,
    chain: NDArray[np.int64],
) -> None:
    """Put a character behind the others of a chain, and see whether NFC changes it there.

    text : (>= position + TEXT_PADDING,) uint8; start : int64, where the text begins
    position, character : int64, where the character is, and its class, not 0
    chain : (CHAIN_SIZE,) int64; CHAIN_STOP is ``position``, and has still to be moved. Written.
    """
    order = character & ORDER
    last_order = chain[CHAIN_ORDER]
    if last_order == 0:
        chain[CHAIN_RUN] = position
    chain[CHAIN_ORDER] = order
    if character & CHANGES != 0 or (order != 0 and last_order > order):
        chain[CHAIN_CHANGES] = 1
    # Marks of the run that stay before it keep it from the starter, if theirs is no lower class.
    elif character & JOINS != 0 and (last_order == 0 or last_order < order):
        run = chain[CHAIN_RUN]
        starter = nfc_find_previous(text, start, run)
        if starter < run:
            first = characters_decode(text, starter, run) >> 3
            second = characters_decode(text, position, position + 4) >> 3
            if nfc_joins(table, first, second):
                chain[CHAIN_CHANGES] = 1


@njit_inline
def nfc_end_chain(
    text: NDArray[np.uint8],
    part: int,
    start: int,
    position: int,
    chain: NDArray[np.int64],
    regions_out: NDArray[np.int64],
    n_regions: int,
) -> int:
    """Begin a chain at ``position``; return how many regions there are with the last one's.

    text : (>= position + TEXT_PADDING,) uint8; part, start, position : int64
    chain : (CHAIN_SIZE,) int64, written; regions_out : (k, 3) int64, its row ``n_regions`` is written
    if NFC changes the chain; TOO_MANY is returned if it has none.
    """
    if chain[CHAIN_CHANGES] != 0:
        if n_regions == regions_out.shape[0]:
            return TOO_MANY
        regions_out[n_regions, REGION_PART] = part
        regions_out[n_regions, REGION_START] = nfc_find_previous(text, start, chain[CHAIN_START])
        regions_out[n_regions, REGION_STOP] = chain[CHAIN_STOP]
        n_regions += 1
    chain[CHAIN_START] = position
    chain[CHAIN_ORDER] = 0
    chain[CHAIN_CHANGES] = 0
    return n_regions


@njit_inline
def nfc_mask_settled(text: NDArray[np.uint8], block: int, leads: np.uint64) -> np.uint64:
    """Return the characters of a block of which their bytes tell that they are settled in themselves.

    text : (>= block + 64,) uint8; block : int64; leads : uint64, where characters begin
    Reads only. Told are nearly all of Devanagari, Thai, Japanese and Korean, and the wide forms: looking each
    up in the table takes twice as long or more.
    """
    # Of the last characters the rest lies in the next block.
    leads &= _WHOLE
    settled = ZERO
    in_e0 = leads & mask_block(text, block, NO_FOLD, np.uint8(0xE0), np.uint8(0))
    if in_e0 != ZERO:
        # U+0900 to U+093F but the nukta, U+0940 to U+097F but the virama, accents and composites.
        in_a4 = in_e0 & mask_block(text, block, NO_FOLD, np.uint8(0xA4), np.uint8(0)) >> ONE
        in_a5 = in_e0 & mask_block(text, block, NO_FOLD, np.uint8(0xA5), np.uint8(0)) >> ONE
        settled |= in_a4 & ~mask_block(text, block, NO_FOLD, np.uint8(0xBC), np.uint8(0)) >> TWO
        others = mask_block(text, block, NO_FOLD, np.uint8(0x8D), np.uint8(0)) >> TWO
        others |= mask_block(text, block, NO_FOLD, np.uint8(0x90), np.uint8(0x0F)) >> TWO
        settled |= in_a5 & ~others
        # U+0E00 to U+0E3F but the vowels below, U+0E40 to U+0E7F but the tones.
        in_b8 = in_e0 & mask_block(text, block, NO_FOLD, np.uint8(0xB8), np.uint8(0)) >> ONE
        in_b9 = in_e0 & mask_block(text, block, NO_FOLD, np.uint8(0xB9), np.uint8(0)) >> ONE
        settled |= in_b8 & ~mask_block(text, block, NO_FOLD, np.uint8(0xB8), np.uint8(2)) >> TWO
        settled |= in_b9 & ~mask_block(text, block, NO_FOLD, np.uint8(0x88), np.uint8(3)) >> TWO
    in_e3 = leads & mask_block(text, block, NO_FOLD, np.uint8(0xE3), np.uint8(0))
    if in_e3 != ZERO:
        # U+3000 to U+3FFF but U+302A to U+302F, U+3099, U+309A, and what ends like these.
        others = mask_block(text, block, NO_FOLD, np.uint8(0x99), np.uint8(1)) >> TWO
        others |= mask_block(text, block, NO_FOLD, np.uint8(0xAA), np.uint8(5)) >> TWO
        settled |= in_e3 & ~others
    # U+AC00 to U+AFFF, Hangul, and U+FF00 to U+FFFF, the wide forms.
    in_ea = leads & mask_block(text, block, NO_FOLD, np.uint8(0xEA), np.uint8(0))
    in_ef = leads & mask_block(text, block, NO_FOLD, np.uint8(0xEF), np.uint8(0))
    if in_ea | in_ef != ZERO:
        settled |= in_ea & mask_block(text, block, NO_FOLD, np.uint8(0xB0), np.uint8(0x0F)) >> ONE
        settled |= in_ef & mask_block(text, block, NO_FOLD, np.uint8(0xBC), np.uint8(0x03)) >> ONE
    return settled


@njit_inline
def nfc_mask_chains(
    table: NfcTable, text: NDArray[np.uint8], block: int, n_bytes: int
) -> np.uint64:
    """Return where in a block the characters of chains begin that NFC may change.

    text : (>= block + TEXT_PADDING + 3,) uint8; block, n_bytes : int64, n_bytes at most 64
    Reads only. Left out are marks that are alone and join nothing, which stay; unless they are at a
    border of the block. Some bits may be of bytes that are no characters.
    """
    # Up to U+02FF all are settled, as are U+0400 to U+047F, U+4000 to U+9FFF, U+B000 to U+EFFF.
    leads = mask_block(text, block, NO_FOLD, np.uint8(0xCC), np.uint8(0x33)) & mask_below(n_bytes)
    if leads == ZERO:
        return ZERO
    leads &= ~mask_block(text, block, NO_FOLD, np.uint8(0xD0), np.uint8(0x01))
    leads &= ~mask_block(text, block, NO_FOLD, np.uint8(0xE4), np.uint8(0x05))
    leads &= ~mask_block(text, block, NO_FOLD, np.uint8(0xEB), np.uint8(0x03))
    leads &= ~nfc_mask_settled(text, block, leads)
    unsettled = ZERO
    others = ZERO
    while leads != ZERO:
        bit = np.uint64(count_trailing_zeros(leads))
        leads = clear_lowest_one(leads)
        character = np.uint64(nfc_find_class(table, text, np.uint64(block) + bit))
        # No branches: marks come too often for that, and nothing foretells them.
        unsettled |= np.uint64(character != ZERO) << bit
        others |= np.uint64(character > _ORDER) << bit
    # Of characters of two to four bytes, those with another one directly before or behind.
    second = unsettled & (unsettled << TWO | unsettled << _THREE | unsettled << _FOUR)
    first = second >> TWO | second >> _THREE | second >> _FOUR
    return others | (unsettled & (second | first | _BORDERS))


@njit
def nfc_scan_part(
    table: NfcTable,
    text: NDArray[np.uint8],
    part: int,
    start: int,
    stop: int,
    chain: NDArray[np.int64],
    regions_out: NDArray[np.int64],
    n_regions: int,
) -> int:
    """Write the regions that NFC changes in text[start:stop]; return how many there are then.

    text : (>= stop + TEXT_PADDING,) uint8; bytes that are no UTF-8 are characters that stay
    part, start, stop, n_regions : int64, n_regions of ``regions_out`` are there already
    chain : (CHAIN_SIZE,) int64, written
    regions_out : (k, 3) int64, REGION_PART and so on, written
    Returns TOO_MANY if they are more than k.
    """
    chain[CHAIN_STOP] = -1
    chain[CHAIN_CHANGES] = 0
    for block in range(start, stop, 64):
        characters = nfc_mask_chains(table, text, block, min(64, stop - block))
        while characters != ZERO:
            position = block + count_trailing_zeros(characters)
            characters = clear_lowest_one(characters)
            n_bytes = utf8_measure(load_u64(text, position))
            if n_bytes == 0 or position + n_bytes > stop:
                continue
            if position != chain[CHAIN_STOP]:
                n_regions = nfc_end_chain(
                    text, part, start, position, chain, regions_out, n_regions
                )
                if n_regions == TOO_MANY:
                    return TOO_MANY
            character = np.int64(nfc_find_class(table, text, np.uint64(position)))
            nfc_extend_chain(table, text, start, position, character, chain)
            chain[CHAIN_STOP] = position + n_bytes
    return nfc_end_chain(text, part, start, stop, chain, regions_out, n_regions)


@njit
def nfc_find_regions(
    descriptor: NDArray[np.int64],
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    chain: NDArray[np.int64],
    regions_out: NDArray[np.int64],
) -> int:
    """Write what NFC changes in each of some parts of a text; return how many regions there are.

    descriptor : (6,) int64, of an NfcTable whose arrays are alive
    text : (>= last stop + TEXT_PADDING,) uint8
    parts : (p, 3) int64, start and stop of each, each a text of its own
    chain : (CHAIN_SIZE,) int64, written
    regions_out : (k, 3) int64, REGION_PART and so on, written; ascending, they do not overlap. NFC
        of a text is the text with NFC of each region in its place, and changes each.
    Returns TOO_MANY if they are more than k.
    """
    table = NfcTable(
        view_u16(descriptor[0], descriptor[1]),
        view_u16(descriptor[2], descriptor[3]),
        view_i64(descriptor[4], descriptor[5]),
    )
    n_regions = 0
    for part in range(parts.shape[0]):
        start, stop = parts[part, 0], parts[part, 1]
        n_regions = nfc_scan_part(table, text, part, start, stop, chain, regions_out, n_regions)
        if n_regions == TOO_MANY:
            return TOO_MANY
    return n_regions


@njit_brief
def nfc_find_in_text(
    descriptor: NDArray[np.int64],
    text: NDArray[np.uint8],
    n_bytes: int,
    chain: NDArray[np.int64],
    regions_out: NDArray[np.int64],
) -> int:
    """Do as nfc_find_regions with one short part, text[:n_bytes]; where it has no region, no part of it has.

    text : (>= n_bytes + TEXT_PADDING,) uint8; n_bytes : int64
    descriptor, chain, regions_out : as there; the last two are written
    """
    table = NfcTable(
        view_u16(descriptor[0], descriptor[1]),
        view_u16(descriptor[2], descriptor[3]),
        view_i64(descriptor[4], descriptor[5]),
    )
    return nfc_scan_part(table, text, 0, 0, n_bytes, chain, regions_out, 0)
