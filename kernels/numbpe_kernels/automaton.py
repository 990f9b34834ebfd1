"""Cutting text into pieces with a compiled pattern.

The pattern is an automaton over classes of characters that reports a match one character late: the
transition for a character says whether a match ended before it. A transition is an int32: the
offset of the next row in ``transitions``, shifted by N_FLAG_BITS, and these flags:

- BOUNDARY_FLAG: a piece ends before this character, and the next row is that of a new piece which
  has read it, so that in the usual case no character is read twice.
- RARE_FLAG: something that is better done out of the straight path, namely one of
- MARK_FLAG: a match ended here and a longer one may come, but need not: remember this position.
- FALL_FLAG: no longer match came. The piece ends at the position remembered, if that lies inside
  the piece; if not, nothing matches at its first character, which begins a gap.
- ATTEMPT_FLAG: in a gap, a match may begin at this character, but need not.

Text between matches (a gap) is a piece of its own. A pattern may be a sequence of splits, called
levels: each cuts the pieces of the one before as if every piece were a text of its own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline

BOUNDARY_FLAG = 1
RARE_FLAG = 2
MARK_FLAG = 4
FALL_FLAG = 8
ATTEMPT_FLAG = 16
N_FLAG_BITS = 5

PAGE_BITS = 7
PAGE_SIZE = 1 << PAGE_BITS

REPLACEMENT_CHARACTER = 0xFFFD


class Automaton(NamedTuple):
    """A compiled pattern of one or more levels over common classes of characters.

    The last column of a row of transitions, and of ``safe_pairs`` a missing one, is the end of the
    text. Code point c has the class ``pages[page_numbers[c >> PAGE_BITS] * PAGE_SIZE + c % PAGE_SIZE]``.
    """

    ascii_classes: NDArray[np.uint8]
    """(128,): class of each ASCII character"""
    page_numbers: NDArray[np.uint16]
    """(0x110000 / PAGE_SIZE,)"""
    pages: NDArray[np.uint8]
    """(n pages * PAGE_SIZE,)"""
    transitions: NDArray[np.int32]
    """(n rows * (n classes + 1),)"""
    start_rows: NDArray[np.int64]
    """(n levels,): offset in ``transitions`` of the row at the start of a piece"""
    gap_rows: NDArray[np.int64]
    """(n levels,): offset of the row in a gap"""
    safe_pairs: NDArray[np.uint8]
    """(n classes, n classes): 1 if text may be cut between a character of class i and one of j"""


@njit_inline
def automaton_classify(
    automaton: Automaton, text: NDArray[np.uint8], position: int, stop: int
) -> int:
    """Return ``class << 3 | n_bytes`` of the non-ASCII character at ``position`` < ``stop``.

    text : (> stop + 2,) uint8, as in automaton_split
    A byte that begins no valid character that ends by ``stop`` is one character, classified as
    U+FFFD. Reads at most 3 bytes past ``position``. O(1).
    """
    first = np.int64(text[position])
    second = np.int64(text[position + 1]) ^ 0x80
    third = np.int64(text[position + 2]) ^ 0x80
    code_point = REPLACEMENT_CHARACTER
    n_bytes = 1
    if first >= 0xE0 and first < 0xF0:
        value = (first & 0x0F) << 12 | second << 6 | third
        if (second | third) < 0x40 and value >= 0x800 and (value >> 11) != 0x1B:
            code_point = value
            n_bytes = 3
    elif first < 0xE0:
        value = (first & 0x1F) << 6 | second
        if first >= 0xC2 and second < 0x40:
            code_point = value
            n_bytes = 2
    else:
        fourth = np.int64(text[position + 3]) ^ 0x80
        value = (first & 0x07) << 18 | second << 12 | third << 6 | fourth
        if (second | third | fourth) < 0x40 and first < 0xF5 and 0x10000 <= value < 0x110000:
            code_point = value
            n_bytes = 4
    if position + n_bytes > stop:
        code_point = REPLACEMENT_CHARACTER
        n_bytes = 1
    page = np.int64(automaton.page_numbers[code_point >> PAGE_BITS])
    class_id = np.int64(automaton.pages[page << PAGE_BITS | (code_point & (PAGE_SIZE - 1))])
    return class_id << 3 | n_bytes


@njit_inline
def automaton_classify_any(
    automaton: Automaton, text: NDArray[np.uint8], position: int, stop: int
) -> int:
    """Return ``class << 3 | n_bytes`` of the character at ``position`` < ``stop``, ASCII or not.

    text, stop : as in automaton_classify, which reads as much
    """
    byte = np.int64(text[position])
    if byte < 0x80:
        return np.int64(automaton.ascii_classes[byte]) << 3 | 1
    return automaton_classify(automaton, text, position, stop)


@njit
def automaton_match(
    automaton: Automaton, level: int, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Return the end of the match of ``level`` that begins at ``start``, or -1 if there is none.

    text, stop : as in automaton_split; start < stop
    Reads only, to the end of the longest match that was possible.
    """
    end_class = np.int64(automaton.safe_pairs.shape[0])
    row = automaton.start_rows[level]
    position = start
    end = -1
    while position <= stop:
        class_id = end_class
        n_bytes = 1
        if position < stop:
            character = automaton_classify_any(automaton, text, position, stop)
            class_id = character >> 3
            n_bytes = character & 7
        transition = np.int64(automaton.transitions[row + class_id])
        if transition & FALL_FLAG:
            return end
        if transition & BOUNDARY_FLAG:
            return position
        if transition & MARK_FLAG:
            end = position
        row = transition >> N_FLAG_BITS
        if row == automaton.gap_rows[level]:
            return end
        position += n_bytes
    return end


@njit
def automaton_run_level(
    automaton: Automaton,
    level: int,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    ends_out: NDArray[np.int64],
    n_ends: int,
    capacity: int,
) -> int:
    """Cut text[start:stop] by one level; return ``n_ends`` plus the number of pieces found.

    text : see automaton_split
    ends_out : (>= capacity,) int64; entries from n_ends to the result are written, and the one
        behind them may be
    capacity : n_ends < capacity; the run ends when this many entries are used
    Reads a character again only after a match that was hoped for did not come.
    """
    end_class = np.int64(automaton.safe_pairs.shape[0])
    start_row = automaton.start_rows[level]
    first_end = n_ends
    row = start_row
    position = np.int64(start)
    mark = np.int64(start)
    n_bytes = 1
    while n_ends < capacity:
        class_id = end_class
        if position < stop:
            byte = np.int64(text[position])
            if byte < 0x80:
                class_id = np.int64(automaton.ascii_classes[byte])
                n_bytes = 1
            else:
                character = automaton_classify(automaton, text, position, stop)
                class_id = character >> 3
                n_bytes = character & 7
        transition = np.int64(automaton.transitions[row + class_id])
        if transition & RARE_FLAG:
            if transition & MARK_FLAG:
                mark = position
            elif transition & FALL_FLAG:
                piece_start = ends_out[n_ends - 1] if n_ends > first_end else np.int64(start)
                row = start_row
                if mark > piece_start:
                    ends_out[n_ends] = mark
                    n_ends += 1
                    position = mark
                else:
                    character = automaton_classify_any(automaton, text, piece_start, stop)
                    position = piece_start + (character & 7)
                    row = automaton.gap_rows[level]
                continue
            else:
                row = automaton.gap_rows[level]
                if automaton_match(automaton, level, text, position, stop) < 0:
                    position += n_bytes
                else:
                    ends_out[n_ends] = position
                    n_ends += 1
                    row = start_row
                continue
        ends_out[n_ends] = position
        n_ends += transition & BOUNDARY_FLAG
        row = transition >> N_FLAG_BITS
        if position >= stop:
            break
        position += n_bytes
    return n_ends


@njit
def automaton_find_piece_end(
    automaton: Automaton,
    level: int,
    text: NDArray[np.uint8],
    start: int,
    stop: int,
) -> int:
    """Return the end of the first piece of ``level`` in text[start:stop], start < stop.

    text, stop : as in automaton_split; reads only

    As automaton_run_level would find it, but gaps, which make up most of the text for a split such
    as ``\\p{N}``, are skipped without a chain of states to wait for.
    """
    row = automaton.gap_rows[level]
    stays = row << N_FLAG_BITS
    character = automaton_classify_any(automaton, text, start, stop)
    start_row = automaton.start_rows[level]
    if np.int64(automaton.transitions[start_row + (character >> 3)]) != stays:
        end = automaton_match(automaton, level, text, start, stop)
        if end >= 0:
            return end
    position = start + (character & 7)
    while position < stop:
        # Written out so that the next position does not wait for the class of an ASCII character.
        byte = np.int64(text[position])
        if byte < 0x80:
            class_id = np.int64(automaton.ascii_classes[byte])
            n_bytes = 1
        else:
            character = automaton_classify(automaton, text, position, stop)
            class_id = character >> 3
            n_bytes = character & 7
        transition = np.int64(automaton.transitions[row + class_id])
        if transition != stays:
            if transition & BOUNDARY_FLAG:
                return position
            if automaton_match(automaton, level, text, position, stop) >= 0:
                return position
        position += n_bytes
    return position


@njit
def automaton_split(
    automaton: Automaton,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    ends_out: NDArray[np.int64],
) -> int:
    """Cut text[start:stop] into pieces; return how many ends were written to ``ends_out``.

    level_stops : (n levels,) int64, state between calls: all -1 before a text is begun, and left so
        when its last piece is written; one for each thread
    text : (>= stop + TEXT_PADDING,) uint8; UTF-8, of which a stray byte counts as one character like
        U+FFFD
    start, stop : a text, or a part of it that begins and ends where pieces do; the end counts as
        the end of the text. To go on after ``ends_out`` was full, pass its last entry as start.
    ends_out : (>= 1,) int64; the ends of successive pieces are written, until ``stop`` or full
    Linear in stop - start for patterns that look ahead a bounded number of characters.
    """
    last_level = np.int64(automaton.start_rows.shape[0] - 1)
    capacity = np.int64(ends_out.shape[0])
    n_ends = 0
    position = np.int64(start)
    level = 0
    while level < last_level and level_stops[level + 1] > position:
        level += 1
    level_stops[0] = stop
    while position < stop and n_ends < capacity:
        level_stop = level_stops[level]
        if level < last_level:
            level += 1
            level_stops[level] = automaton_find_piece_end(
                automaton, level - 1, text, position, level_stop
            )
        else:
            n_ends = automaton_run_level(
                automaton, level, text, position, level_stop, ends_out, n_ends, capacity
            )
            position = ends_out[n_ends - 1]
            while level > 0 and level_stops[level] <= position:
                level -= 1
    if position >= stop:
        level_stops[:] = -1
    return n_ends


@njit
def automaton_find_cut(automaton: Automaton, text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the last position inside text[start:stop] where cutting changes no piece, or -1.

    text : (>= stop + TEXT_PADDING,) uint8; valid UTF-8, but ``start`` and ``stop`` may lie inside a
        character
    The characters on both sides of the position lie inside text[start:stop]. Reads only, backwards
    from ``stop`` to the position found.
    """
    right_class = -1
    right_start = np.int64(stop)
    position = np.int64(stop) - 1
    while position >= start:
        byte = np.int64(text[position])
        if byte < 0x80 or byte >= 0xC0:
            character = automaton_classify_any(automaton, text, position, stop)
            n_bytes = character & 7
            class_id = character >> 3
            if byte >= 0xC0 and n_bytes == 1:
                right_class = -1  # Cut off by ``stop``, or not UTF-8.
            else:
                is_neighbour = right_class >= 0 and position + n_bytes == right_start
                if is_neighbour and automaton.safe_pairs[class_id, right_class]:
                    return right_start
                right_class = class_id
            right_start = position
        position -= 1
    return -1
