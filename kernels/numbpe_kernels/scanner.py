"""Cutting text into pieces by bit masks over blocks of 64 bytes, where a pattern allows it.

A pattern of the GPT-2 family is decided by the classes of adjacent characters. For 64 bytes at
once each class is one uint64 with a bit for every byte, and the starts of pieces are boolean
algebra on these words; what crosses the border of a block is carried in single bits. Blocks with
bytes outside ASCII, the end of a text and patterns of other kinds are cut by the automaton, whose
pieces these equal.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.automaton import Automaton, automaton_split
from numbpe_kernels.memory import count_trailing_zeros, mask_block

KIND_AUTOMATON = 0
KIND_GPT2 = 1
"""Which scanner is exact for a pattern."""

BLOCK_NBYTES = 64
FEWEST_PIECES = 8
MOST_PIECES = 128
"""Pieces that the automaton cuts before the next 64 bytes are tried by masks again: the fewest
after a trial that went well, twice as many after each that did not, so that text outside ASCII is
not tried in vain."""

_ONE = np.uint64(1)
_TOP = np.uint64(1 << 63)
_LAST_BIT = np.uint64(63)
_ZERO = np.uint64(0)
_BLOCK_BITS = np.uint64(BLOCK_NBYTES)
_NO_FOLD = np.uint8(0)
_CASE_FOLD = np.uint8(0x20)


class Scanner(NamedTuple):
    """A pattern, ready to cut: the kind of scanner, and the automaton that knows all cases.

    kind : int64, one of KIND_*
    automaton : see automaton.Automaton
    """

    kind: int
    automaton: Automaton


@njit
def scanner_is_ascii(text: NDArray[np.uint8], position: int) -> bool:
    """Return whether the 65 bytes from ``position`` are ASCII.

    text : (>= position + 65,) uint8; position : int64. Reads only.
    """
    high = mask_block(text, position, _NO_FOLD, np.uint8(0x80), np.uint8(0x7F))
    return high == _ZERO and text[position + BLOCK_NBYTES] < 0x80


@njit
def scanner_contraction_length(text: NDArray[np.uint8], position: int, stop: int) -> int:
    """Return the length of 's 't 'm 'd 're 've 'll after an apostrophe at ``position``, or 0.

    text : (>= stop + TEXT_PADDING,) uint8; position < stop, int64. Reads only; int64.
    """
    n_after = stop - position - 1
    first = text[position + 1]
    second = text[position + 2]
    if n_after < 1:
        return 0
    if first == ord("s") or first == ord("t") or first == ord("m") or first == ord("d"):
        return 2
    if n_after < 2:
        return 0
    if second == ord("e") and (first == ord("r") or first == ord("v")):
        return 3
    if second == ord("l") and first == ord("l"):
        return 3
    return 0


@njit
def scanner_join_contractions(
    text: NDArray[np.uint8], block: int, stop: int, starts: np.uint64, apostrophe: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Join letters to the apostrophes that make a contraction with them.

    text : (>= stop + TEXT_PADDING,) uint8; block, stop : int64
    starts : uint64, starts of pieces in the block; apostrophe : uint64, those of an apostrophe
    Reads only. Returns starts, and for the block that follows those to set and those to clear.
    """
    set_ahead = _ZERO
    cleared_ahead = _ZERO
    while apostrophe != _ZERO:
        bit = count_trailing_zeros(apostrophe)
        apostrophe &= apostrophe - _ONE
        length = scanner_contraction_length(text, block + bit, stop)
        if length == 0:
            continue
        # The letter after the apostrophe begins no piece; what comes behind the contraction does.
        end = np.uint64(bit + length)
        if bit == 63:
            cleared_ahead = _ONE
        else:
            starts &= ~(_ONE << np.uint64(bit + 1))
        if end < _BLOCK_BITS:
            starts |= _ONE << end
        else:
            set_ahead = _ONE << (end - _BLOCK_BITS)
    return starts, set_ahead, cleared_ahead


@njit
def scanner_run_gpt2(
    text: NDArray[np.uint8], start: int, stop: int, ends_out: NDArray[np.int64], n_ends: int
) -> int:
    """Cut ASCII blocks from the piece start ``start`` on with the GPT-2 pattern.

    text : (>= stop + TEXT_PADDING,) uint8; start < stop, int64
    ends_out : (n,) int64, written from n_ends on while 64 more would fit
    Stops before a block with other bytes and before the last 65 bytes of the text. Returns
    n_ends plus the number of ends written, int64; the last end may lie before what was looked at.
    """
    block = start
    capacity = ends_out.shape[0] - BLOCK_NBYTES
    letter_before = digit_before = other_before = white_before = space_before = _ZERO
    # The piece that begins at ``start`` was reported before: its start is no end of another.
    cleared_ahead = _ONE
    set_ahead = _ZERO
    while block + BLOCK_NBYTES < stop and n_ends <= capacity and scanner_is_ascii(text, block):
        # Classes: letters, digits, white space and, among it, the space itself; all else.
        letter = mask_block(text, block, _CASE_FOLD, np.uint8(ord("a")), np.uint8(25))
        digit = mask_block(text, block, _NO_FOLD, np.uint8(ord("0")), np.uint8(9))
        space = mask_block(text, block, _NO_FOLD, np.uint8(0x20), np.uint8(0))
        white = space | mask_block(text, block, _NO_FOLD, np.uint8(0x09), np.uint8(4))
        other = ~(letter | digit | white)
        following = text[block + BLOCK_NBYTES]
        white_after = _ZERO
        if following == 0x20 or (following >= 0x09 and following <= 0x0D):
            white_after = _TOP
        # A piece goes on where the class does, and after the one space that it may begin with.
        goes_on = letter & (letter << _ONE | letter_before)
        goes_on |= digit & (digit << _ONE | digit_before)
        goes_on |= other & (other << _ONE | other_before)
        starts = ~white & ~goes_on & ~(space << _ONE | space_before)
        # White space: its first character begins a piece, and so does its last before other text.
        starts |= white & (~(white << _ONE | white_before) | ~(white >> _ONE | white_after))
        starts = (starts | set_ahead) & ~cleared_ahead
        apostrophe = starts & mask_block(text, block, _NO_FOLD, np.uint8(ord("'")), np.uint8(0))
        if block == start and text[start] == ord("'"):
            apostrophe |= _ONE
        starts, set_ahead, cleared_ahead = scanner_join_contractions(
            text, block, stop, starts, apostrophe
        )
        while starts != _ZERO:
            ends_out[n_ends] = block + count_trailing_zeros(starts)
            n_ends += 1
            starts &= starts - _ONE
        letter_before = letter >> _LAST_BIT
        digit_before = digit >> _LAST_BIT
        other_before = other >> _LAST_BIT
        white_before = white >> _LAST_BIT
        space_before = space >> _LAST_BIT
        block += BLOCK_NBYTES
    return n_ends


@njit
def scanner_split(
    scanner: Scanner,
    level_stops: NDArray[np.int64],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    ends_out: NDArray[np.int64],
) -> int:
    """Cut text[start:stop] into pieces; return how many ends were written to ``ends_out``, int64.

    level_stops, text, start, stop : as in automaton.automaton_split
    ends_out : (>= 1,) int64; at least 128 for full speed. The ends of successive pieces are
    written, until ``stop`` or full; to go on after it was full, pass its last entry as start.
    """
    capacity = ends_out.shape[0]
    position = start
    n_ends = 0
    n_pieces = FEWEST_PIECES
    while position < stop and n_ends < capacity:
        limit = capacity
        if scanner.kind == KIND_GPT2:
            n_before = n_ends
            if n_ends + BLOCK_NBYTES <= capacity:
                n_ends = scanner_run_gpt2(text, position, stop, ends_out, n_ends)
            if n_ends > n_before:
                position = ends_out[n_ends - 1]
                n_pieces = FEWEST_PIECES
            limit = min(capacity, n_ends + n_pieces)
            n_pieces = min(2 * n_pieces, MOST_PIECES)
        rest = ends_out[n_ends:limit]
        n_ends += automaton_split(scanner.automaton, level_stops, text, position, stop, rest)
        position = ends_out[n_ends - 1]
    return n_ends
