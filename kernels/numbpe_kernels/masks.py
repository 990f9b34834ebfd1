"""Blocks of 64 bytes as words of 64 bits: one bit a byte, and what scanners do with such masks.

A mask has the bit of every byte of a character, so that the neighbour of a byte tells the class of
the neighbour of a character. A block begins where a character does and ends so that no answer lies
behind it: before a character that is cut off, before white space that goes on to the end, before a
contraction that does. Hence its length, ``n_bytes``, is 64 or somewhat less. All masks are uint64,
and only bits below ``n_bytes`` mean anything.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.memory import (
    clear_lowest_one,
    count_leading_zeros,
    count_ones,
    count_trailing_zeros,
)

BLOCK_NBYTES = 64

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
NO_FOLD = np.uint8(0)
CASE_FOLD = np.uint8(0x20)
"""Typed constants: uint64 meets uint64 only, and a cast in a kernel costs time to compile."""

_EIGHT = np.uint64(8)


@njit
def mask_below(n_bytes: int) -> np.uint64:
    """Return a mask of the first ``n_bytes`` bytes, 1 to 64. Reads nothing."""
    return ALL >> np.uint64(BLOCK_NBYTES - n_bytes)


@njit
def mask_trim(run: np.uint64, n_bytes: int) -> int:
    """Return ``n_bytes``, int64, 1 to 64, less the bytes of ``run`` that end there. Reads nothing."""
    return n_bytes - count_leading_zeros(~(run << np.uint64(BLOCK_NBYTES - n_bytes)))


@njit
def mask_extend(markers: np.uint64, through: np.uint64) -> np.uint64:
    """Return the bits of ``through`` that a marker reaches upwards without leaving it.

    Adding a marker to a run of ones carries to its end, which is what tells the two apart. Reads
    nothing.
    """
    markers &= through
    return (((markers + through) ^ through) | markers) & through


@njit
def mask_complete(leads: np.uint64, continuation: np.uint64) -> np.uint64:
    """Return all bytes of the characters that begin at ``leads``.

    continuation : uint64, bytes that begin no character. Reads nothing.
    """
    markers = (leads << ONE) & continuation
    return (((markers + continuation) ^ continuation) & continuation) | leads


@njit
def mask_find_leads(last_bytes: np.uint64, continuation: np.uint64) -> np.uint64:
    """Return the first bytes of the characters that end at ``last_bytes``.

    continuation : uint64, bytes that begin no character. Reads nothing.
    """
    if continuation != ZERO:
        last_bytes = (last_bytes & ~continuation) | ((last_bytes & continuation) >> ONE)
        last_bytes = (last_bytes & ~continuation) | ((last_bytes & continuation) >> ONE)
        last_bytes = (last_bytes & ~continuation) | ((last_bytes & continuation) >> ONE)
    return last_bytes


@njit
def mask_write_ends(starts: np.uint64, block: int, ends_out: NDArray[np.int64], n_ends: int) -> int:
    """Write the positions of the starts of pieces, which are the ends of those before them.

    ends_out : (>= n_ends + 64,) int64, written from n_ends on, up to 7 entries more than there are
    starts. Eight are written without a test between them: what decides is how many eights there
    are, which is nearly always the same. Returns n_ends plus the number of starts, int64.
    """
    place = np.uint64(n_ends)
    n_ends += count_ones(starts)
    while starts != ZERO:
        for i in range(_EIGHT):
            ends_out[place + i] = block + count_trailing_zeros(starts)
            starts = clear_lowest_one(starts)
        place += _EIGHT
    return n_ends


@njit
def mask_start_numbers(
    number: np.uint64,
    continuation: np.uint64,
    n_bytes: int,
    number_before: np.uint64,
    n_before: int,
    are_long: bool,
) -> tuple[np.uint64, int]:
    """Return starts of pieces at every number or, if they ``are_long``, every third of each run.

    number_before : uint64, 1 if the character before the block is a number, the ``n_before``-th (0
        to 2) of its piece, int64
    Reads nothing. The second result is the number of the block's last character in its piece,
    int64, if it is one.
    """
    if not are_long:
        return number & ~continuation, 0
    goes_on = number & (number << ONE | number_before)
    starts = number & ~goes_on
    four = goes_on & (goes_on << ONE)
    four &= four << ONE
    at_end = number >> np.uint64(n_bytes - 1) & ONE
    if four | at_end | (number & number_before) == ZERO:
        return starts, 0
    leads = number & ~continuation & mask_below(n_bytes)
    while leads != ZERO:
        rest = clear_lowest_one(leads)
        lead = leads & ~rest
        leads = rest
        n_before += 1
        if goes_on & lead == ZERO or n_before == 3:
            n_before = 0
            starts |= lead
    return starts, n_before


@njit
def mask_start_white(
    white: np.uint64,
    newline: np.uint64,
    taken: np.uint64,
    parted: np.uint64,
    continuation: np.uint64,
) -> np.uint64:
    r"""Return starts of pieces in white space as ``\s*[\r\n]+|\s+(?!\S)|\s+`` cuts it.

    A run begins a piece, but for newlines that are ``taken`` by the piece before; what follows its
    last newline begins one; and so does its last character if that is no newline, and what follows
    is not ``parted``. No run may end with the block. Reads nothing.
    """
    blank = white & ~newline
    run = white & ~taken
    starts = run & ~(run << ONE)
    starts |= mask_find_leads(blank & ~((white | parted) >> ONE), continuation)
    behind = blank & ((newline & ~taken) << ONE)
    if behind != ZERO:
        # Not the last newline: blanks lead to another.
        again = (behind + blank) & ~blank & newline
        while again != ZERO:
            below = behind & ((again & ~clear_lowest_one(again)) - ONE)
            behind &= ~(ONE << np.uint64(BLOCK_NBYTES - 1 - count_leading_zeros(below)))
            again = clear_lowest_one(again)
    return starts | behind
