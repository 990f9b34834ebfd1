"""Where pieces end in text that goes on: only what no later character can change.

Like ``automaton_run_level`` for the outermost level of a pattern, but behind the text at hand lies
more. A run stops where it would need that, and goes on from there when more has come, so that the
whole is linear, however small the portions are in which a long piece comes.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.automaton import (
    BOUNDARY_FLAG,
    FALL_FLAG,
    MARK_FLAG,
    N_FLAG_BITS,
    RARE_FLAG,
    Automaton,
    automaton_classify_any,
    automaton_find_piece_end,
)

# The entries of a run's state. All positions move with the text.
ROW = 0
"""Offset in ``transitions`` of the row that reads the next character."""
POSITION = 1
"""The next character."""
MARK = 2
"""The end of the last match that a longer one may replace."""
PIECE_START = 3
"""Where the piece begins that is not yet decided."""
RETRY = 4
"""A match in a gap is tried again when the text reaches this position."""
STATE_SIZE = 5

UNDECIDED = -2


@njit
def automaton_match_decided(
    automaton: Automaton, text: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Return the end of the outermost level's match at ``start``, -1 if none, or UNDECIDED.

    text, stop : as in automaton_find_decided; start < stop
    Reads only, to the end of the longest match that was possible.
    """
    row = automaton.start_rows[0]
    position = start
    end = -1
    while position < stop:
        character = automaton_classify_any(automaton, text, position, stop)
        transition = np.int64(automaton.transitions[row + (character >> 3)])
        if transition & FALL_FLAG:
            return end
        if transition & BOUNDARY_FLAG:
            return position
        if transition & MARK_FLAG:
            end = position
        row = transition >> N_FLAG_BITS
        if row == automaton.gap_rows[0]:
            return end
        position += character & 7
    return UNDECIDED


@njit
def automaton_find_decided(
    automaton: Automaton,
    text: NDArray[np.uint8],
    stop: int,
    state: NDArray[np.int64],
    ends_out: NDArray[np.int64],
) -> int:
    """Go on cutting text by the outermost level; return how many ends were written.

    text : (>= stop + TEXT_PADDING,) uint8, readable from state[PIECE_START]; what lies behind stop
        is not known yet
    stop : no character lies across it
    state : (STATE_SIZE,) int64, read and written; to begin a text at p: the level's start row, p, p,
        p, p
    ends_out : (>= 1,) int64; the ends of pieces are written that do not depend on what follows. If
        it is full there may be more: call again
    """
    start_row = automaton.start_rows[0]
    gap_row = automaton.gap_rows[0]
    row, position = state[ROW], state[POSITION]
    mark, piece_start = state[MARK], state[PIECE_START]
    n_ends = 0
    while position < stop and n_ends < ends_out.shape[0]:
        character = automaton_classify_any(automaton, text, position, stop)
        transition = np.int64(automaton.transitions[row + (character >> 3)])
        ends_piece = transition & BOUNDARY_FLAG != 0
        next_row = transition >> N_FLAG_BITS
        next_position = position + (character & 7)
        if transition & RARE_FLAG:
            if transition & MARK_FLAG:
                mark = position
            elif transition & FALL_FLAG:
                ends_piece = mark > piece_start
                if ends_piece:
                    position = mark
                    next_row, next_position = start_row, mark
                else:
                    first = automaton_classify_any(automaton, text, piece_start, stop)
                    next_row, next_position = gap_row, piece_start + (first & 7)
            else:
                end = UNDECIDED
                if stop >= state[RETRY]:
                    end = automaton_match_decided(automaton, text, position, stop)
                if end == UNDECIDED:
                    # A long match is tried a few times only, not with every portion.
                    state[RETRY] = max(state[RETRY], 2 * stop - position)
                    break
                state[RETRY] = 0
                ends_piece = end >= 0
                next_row = gap_row
                if ends_piece:
                    next_row, next_position = start_row, position
        if ends_piece:
            ends_out[n_ends] = position
            n_ends += 1
            piece_start = position
        row, position = next_row, next_position
    state[ROW], state[POSITION] = row, position
    state[MARK], state[PIECE_START] = mark, piece_start
    return n_ends


@njit
def automaton_count_separable(
    automaton: Automaton,
    text: NDArray[np.uint8],
    start: int,
    ends: NDArray[np.int64],
    n_ends: int,
) -> int:
    """Return how many of the first pieces are the same piece when each is a text of its own.

    text : (>= last end + TEXT_PADDING,) uint8; ends : (>= n_ends,) int64, of the pieces from start
    Reads only. A piece may end where it does because of what follows, as in ``ab(?=c)``.
    """
    for i in range(n_ends):
        if automaton_find_piece_end(automaton, 0, text, start, ends[i]) != ends[i]:
            return i
        start = ends[i]
    return n_ends
