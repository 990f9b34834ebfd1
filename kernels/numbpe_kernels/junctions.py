"""Cutting long words of a vocabulary over bytes where no token can span.

A *junction* is the place between two characters outside ASCII. Merges stay on one side of it unless
some token holds bytes of the end of the first character directly before bytes of the beginning of
the second. Where none does, the word may be cut, and each side merged by itself: in Chinese most
junctions are such, and the parts recur where the whole words never do.

Scanners by masks cut Chinese, Japanese and Korean there while they cut text into words, see
``junction_masks``. Here words are cut one by one: what masks leave, and all words of other patterns.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.bitmaps import bitmap_get
from numbpe_kernels.junction_table import (
    EMPTY,
    IS_THREE,
    LEADS_THREE,
    LOW_THREE,
    LOW_TWO,
    SPECIAL_LEFT,
    SPECIAL_RIGHT,
    JunctionTable,
    junction_hash,
    junction_hash_pair,
    junction_is_special,
    junction_measure,
    junction_pair,
    junction_read,
)
from numbpe_kernels.memory import load_u64, make_opaque
from numbpe_kernels.near_junctions import near_cut

PART = 0
POSITION = 1
N_TAKEN = 2
N_WORDS = 3
REFINE_SIZE = 4
"""Places in ``refine``: the part at hand; where its next word begins, -1 before the part is begun; how
many ends of words are taken; how many ends the last call wrote."""

FIRST_MASKED = 0xE100
NONE_WHOLE = 0x10000
"""For ``first_whole`` of junctions_refine: scanners by masks have cut words that begin with such bytes, see
``junction_masks``; others have cut none."""

LEAST_NBYTES = 16
LEAST_NBYTES_OF_THREE = 5
"""Words of fewer bytes stay whole. The second number is for words that begin with a character of
three bytes: words of Chinese, Japanese, Korean and Thai recur less often than their parts, however
short they are. Of other words, those of up to 15 bytes are cheap to look up; those of the scripts of India,
of three bytes a character too, recur as words of English do."""

_BYTE_BITS = np.uint64(8)
_BYTE = np.uint64(0xFF)
_NOT_ASCII = np.uint8(0x80)
_FIRST_THAI = np.uint64(0xE0B8)
_LEAST = np.uint64(LEAST_NBYTES)
_LESS = np.uint64((LEAST_NBYTES_OF_THREE - LEAST_NBYTES) % (1 << 64))
_THREE = np.uint64(3)
_TWO_BYTES = np.uint64(0xFFFF)
_TWO_BYTE_BITS = np.uint64(16)
_THREE_BYTE_BITS = np.uint64(24)
_SIX_BYTES = np.uint64((1 << 48) - 1)
_SPECIAL_LEFT = np.uint64(SPECIAL_LEFT)
_SPECIAL_RIGHT = np.uint64(SPECIAL_RIGHT)
_ONE = np.uint64(1)


@njit_inline
def junction_is_joined(table: JunctionTable, pair: np.uint64, ends: np.uint64) -> np.uint64:
    """Return whether a token spans a junction by whole characters, or by two that it parts; 1 or 0.

    pair : uint64, the bytes of two characters outside ASCII, see junction_pair
    ends : uint64, the last byte of the first one and, above it, the first byte of the second
    Reads only; uint64. What tokens say of a character and a part of one, ``special``, is not looked at.
    """
    bit = junction_hash_pair(table, pair)
    return bitmap_get(table.joined, bit) | np.uint64(table.ends_and_leads[ends & _TWO_BYTES])


@njit_inline
def junctions_cut_threes(
    table: JunctionTable,
    text: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    words_out: NDArray[np.int64],
    n_words: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Write the junctions from ``position`` on, behind a character of three bytes, as long as such follow.

    See junctions_cut_word; position, stop, n_words : uint64
    Returns where the first other character stands, or what ends the word, and how many entries there are.
    """
    size = np.uint64(words_out.shape[0])
    position, n_words = near_cut(table.near, text, position, stop, words_out, n_words)
    left_filter = np.uint64(
        table.filter[junction_hash(load_u64(text, position - _THREE) & LOW_THREE)]
    )
    while position + _THREE <= stop and n_words < size:
        pair = load_u64(text, position - _THREE) & _SIX_BYTES
        right = pair >> _THREE_BYTE_BITS
        if right & LEADS_THREE != IS_THREE:
            break
        right_filter = np.uint64(table.filter[junction_hash(right)])
        joined = junction_is_joined(table, pair, pair >> _TWO_BYTE_BITS)
        is_special = (left_filter & _SPECIAL_LEFT) | (right_filter & _SPECIAL_RIGHT)
        if make_opaque(np.uint64((joined == EMPTY) & (is_special != EMPTY))) != EMPTY:
            joined = junction_is_special(table, pair & LOW_THREE, right)
        words_out[n_words] = np.int64(position)
        n_words += joined ^ _ONE
        position += _THREE
        left_filter = right_filter
    return position, n_words


@njit_inline
def junctions_cut_word(
    table: JunctionTable,
    text: NDArray[np.uint8],
    start: np.uint64,
    stop: np.uint64,
    words_out: NDArray[np.int64],
    n_words: np.uint64,
) -> np.uint64:
    """Write the junctions inside the word text[start:stop] that no token spans, and its end.

    text : (>= stop + TEXT_PADDING,) uint8; start < stop, uint64; n_words : uint64, entries written before
    Returns how many entries there are then, uint64; the last of them is ``stop``, or less where words_out
    is full. A byte that is no part of a character outside ASCII joins what is beside it.

    Every junction is written; whether it is kept is added to the number of entries, which no branch
    has to foresee.
    """
    size = np.uint64(words_out.shape[0])
    position = start
    left = EMPTY
    while position < stop and n_words < size:
        right = junction_read(text, np.int64(position), np.int64(stop))
        if right == EMPTY:
            position += _ONE
            left = EMPTY
            continue
        if left != EMPTY:
            pair = junction_pair(left, right)
            ends = np.uint64(text[position - _ONE]) | (right & _BYTE) << _BYTE_BITS
            joined = junction_is_joined(table, pair, ends)
            is_special = np.uint64(table.filter[junction_hash(left)]) & _SPECIAL_LEFT
            is_special |= np.uint64(table.filter[junction_hash(right)]) & _SPECIAL_RIGHT
            if (joined == EMPTY) & (is_special != EMPTY):
                joined = junction_is_special(table, left, right)
            words_out[n_words] = np.int64(position)
            n_words += joined ^ _ONE
        position += np.uint64(junction_measure(right))
        left = right
        if right > LOW_TWO and right <= LOW_THREE:
            position, n_words = junctions_cut_threes(
                table, text, position, stop, words_out, n_words
            )
            left = load_u64(text, position - _THREE) & LOW_THREE
    if n_words < size:
        words_out[n_words] = np.int64(stop)
        n_words += _ONE
    return n_words


@njit_inline
def junctions_find_least(
    text: NDArray[np.uint8], start: np.uint64, first_whole: np.uint64
) -> np.uint64:
    """Return how many bytes a word must have to be worth cutting, see LEAST_NBYTES; uint64.

    text : (>= start + 2,) uint8; start, first_whole : uint64, see junctions_refine. Reads only.
    """
    two = np.uint64(text[start]) << _BYTE_BITS | np.uint64(text[start + _ONE])
    is_short = (two >= _FIRST_THAI) & (two < first_whole)
    return np.uint64(is_short) * _LESS + _LEAST


@njit_inline
def junctions_copy_words(
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    n_taken: np.uint64,
    n_ends: np.uint64,
    position: np.uint64,
    stop: np.uint64,
    first_whole: np.uint64,
    words_out: NDArray[np.int64],
    n_words: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Copy the ends of words up to the first that may be worth cutting, or to ``stop``, a part's end.

    text : (n,) uint8 with padding; ends : (>= n_ends,) int64; words_out : (k,) int64
    first_whole : uint64, see junctions_refine
    n_taken, position, n_words : uint64, ends taken, where the next word begins, ends written
    Returns those three as they are then. Writes words_out.
    """
    last = min(n_ends, n_taken + np.uint64(words_out.shape[0]) - n_words)
    while n_taken < last:
        end = np.uint64(ends[n_taken])
        is_long = end - position >= junctions_find_least(text, position, first_whole)
        if is_long and text[end - _ONE] >= _NOT_ASCII:
            break
        words_out[n_words] = np.int64(end)
        n_words += _ONE
        n_taken += _ONE
        position = end
        if end == stop:
            break
    return n_taken, position, n_words


@njit
def junctions_refine(
    table: JunctionTable,
    text: NDArray[np.uint8],
    parts: NDArray[np.int64],
    ends: NDArray[np.int64],
    n_ends: int,
    first_whole: int,
    refine: NDArray[np.int64],
    words_out: NDArray[np.int64],
) -> bool:
    """Write the ends of words, and those of the parts of long ones; return whether that was all.

    text : (n,) uint8 with padding; parts : (p, 3) int64, starts, stops and anything
    ends : (>= n_ends,) int64, ends of words that follow one another, part for part
    first_whole : int64, the least two bytes, of which the first is the higher, with which a word begins that
        was cut before where LEAST_NBYTES_OF_THREE would have it cut
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
        copied = junctions_copy_words(
            text,
            ends,
            np.uint64(n_taken),
            np.uint64(n_ends),
            np.uint64(position),
            np.uint64(stop),
            np.uint64(first_whole),
            words_out,
            np.uint64(n_words),
        )
        n_taken, position, n_words = np.int64(copied[0]), np.int64(copied[1]), np.int64(copied[2])
        if position != stop and n_taken < n_ends:
            end = ends[n_taken]
            n_words = np.int64(
                junctions_cut_word(
                    table, text, np.uint64(position), np.uint64(end), words_out, np.uint64(n_words)
                )
            )
            # Where there was no room for a junction, the word goes on behind the last one.
            position = words_out[n_words - 1]
            n_taken += np.int64(position == end)
        if position == stop:
            part += 1
            position = np.int64(-1)
    refine[PART] = part
    refine[POSITION] = position
    refine[N_TAKEN] = n_taken
    refine[N_WORDS] = n_words
    return n_taken == n_ends
