"""Cutting texts at added tokens: literals with rules for what may stand beside them.

The rules are those of the ``tokenizers`` library. A match that breaks one is passed over, text and
all: nothing is looked for within it. White space that a token takes away on its right may still
begin the next token.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.literals import Literals, literals_match_at, literals_skip
from numbpe_kernels.memory import load_u64
from numbpe_kernels.utf8 import utf8_measure
from numbpe_kernels.views import view_i32, view_i64, view_u8, view_u8_matrix

SINGLE_WORD = 1
"""Only where no word character stands before or behind it."""
TAKES_LEFT = 2
"""With the white space before it."""
TAKES_RIGHT = 4
"""With the white space behind it."""
IGNORED = 8
"""Found like any other, but left in the text."""
REFUSED = 16
"""The text must not hold it."""


class AddedTokens(NamedTuple):
    """n added tokens, in the order of ``literals``.

    ids             : (n,) int64
    rules           : (n,) uint8, a sum of the constants above
    word_characters : (2 w,) int32, bounds of intervals: code points from the first to below the
        second are in the set, from the third to below the fourth, and so on
    white_space     : (2 s,) int32, the same
    """

    literals: Literals
    ids: NDArray[np.int64]
    rules: NDArray[np.uint8]
    word_characters: NDArray[np.int32]
    white_space: NDArray[np.int32]


@njit
def _measure_member(
    bounds: NDArray[np.int32], text: NDArray[np.uint8], position: int, stop: int
) -> int:
    """Return the length of the character at a position if its code point lies in the set, else 0.

    Reads only. What is no well-formed character that ends at stop or before is in no set.
    """
    if position >= stop:
        return 0
    n_bytes = utf8_measure(load_u64(text, position))
    if n_bytes == 0 or position + n_bytes > stop:
        return 0
    code_point = np.int64(text[position])
    if n_bytes > 1:
        code_point &= 0x7F >> n_bytes
    for i in range(1, n_bytes):
        code_point = code_point << 6 | (np.int64(text[position + i]) & 0x3F)
    low = 0
    high = len(bounds)
    while low < high:
        middle = (low + high) >> 1
        if np.int64(bounds[middle]) <= code_point:
            low = middle + 1
        else:
            high = middle
    return n_bytes if low & 1 else 0


@njit
def _measure_member_before(
    bounds: NDArray[np.int32], text: NDArray[np.uint8], start: int, position: int
) -> int:
    """Return the length of the character that ends at a position if it lies in the set, else 0.

    Reads only. The character must begin at start or behind it.
    """
    first = position - 1
    lowest = max(start, position - 4)
    while first > lowest and np.int64(text[first]) & 0xC0 == 0x80:
        first -= 1
    if first < start:
        return 0
    n_bytes = _measure_member(bounds, text, first, position)
    return n_bytes if first + n_bytes == position else 0


@njit
def _stands_alone(
    words: NDArray[np.int32],
    text: NDArray[np.uint8],
    row: NDArray[np.int64],
    start: int,
    stop: int,
) -> bool:
    """Return whether no word character stands beside text[start:stop] in its row. Reads only."""
    if _measure_member_before(words, text, row[0], start) > 0:
        return False
    return _measure_member(words, text, stop, row[1]) == 0


@njit
def _find_next(
    tokens: AddedTokens, text: NDArray[np.uint8], row: NDArray[np.int64], position: int
) -> tuple[int, int]:
    """Return where the next token begins at a position of a row or behind it, and its index.

    The index is -1 if there is none. Tokens that stand in words they must not stand in, and ignored
    ones, are passed over. Reads only.
    """
    literals = tokens.literals
    stop = int(row[1])
    while position < stop:
        position = literals_skip(literals, text, position, stop)
        if position >= stop:
            break
        literal = literals_match_at(literals, text, position, stop)
        if literal < 0:
            position += 1
            continue
        rules = np.int64(tokens.rules[literal])
        behind = position + int(literals.lengths[literal])
        if rules & IGNORED == 0:
            is_free = rules & SINGLE_WORD == 0
            if is_free or _stands_alone(tokens.word_characters, text, row, position, behind):
                return position, literal
        position = behind
    return stop, -1


@njit
def added_tokens_cut(
    tokens: AddedTokens,
    text: NDArray[np.uint8],
    rows: NDArray[np.int64],
    progress: NDArray[np.int64],
    parts_out: NDArray[np.int64],
    first_parts_out: NDArray[np.int64],
) -> int:
    """Cut texts at the tokens in them, each into one part more than it has tokens.

    text : (n + TEXT_PADDING,) uint8
    rows : (t, 2) int64, start and stop of each text, 0 <= start <= stop <= n
    progress : (4,) int64, read and updated in place: the row to go on with, how many of its bytes
        are searched, how many of them lie in parts or tokens, and the number of parts written; zeros
        at first
    parts_out : (m, 3) int64, start and stop of each part, which may be empty, and the id of the
        token behind it, -1 behind the last of a text. A token stands from the stop of its part to
        the start of the next.
    first_parts_out : (t + 1,) int64, ``first_parts_out[0]`` is 0 already; the number of parts up to
        each row's end is written behind that

    Returns -1 when all is done; -2 when parts_out is full and nothing else of progress is lost; else
    the index of a refused token, which begins at the byte of the row that ``progress[1]`` tells.
    """
    lengths = tokens.literals.lengths
    while progress[0] < len(rows):
        row = rows[progress[0]]
        position = int(row[0] + progress[1])
        part_start = int(row[0] + progress[2])
        n_parts = int(progress[3])
        literal = 0
        # The end of the last white space that was taken, so that none is walked twice.
        space_stop = position
        while n_parts < len(parts_out) and literal >= 0:
            position, literal = _find_next(tokens, text, row, position)
            part_stop = position
            behind = int(row[1])
            token_id = -1
            if literal >= 0:
                position += int(lengths[literal])
                behind = position
                token_id = int(tokens.ids[literal])
                rules = np.int64(tokens.rules[literal])
                if rules & REFUSED != 0:
                    progress[1] = part_stop - row[0]
                    return literal
                if rules & TAKES_RIGHT != 0:
                    if behind >= space_stop:
                        white_space = tokens.white_space
                        space_stop = _skip_white_space(white_space, text, behind, int(row[1]))
                    behind = space_stop
                if rules & TAKES_LEFT != 0:
                    part_stop = _skip_white_space_before(
                        tokens.white_space, text, part_start, part_stop
                    )
                    if part_stop >= behind:
                        # All of it is white space that the token before has taken.
                        continue
            parts_out[n_parts, 0] = min(part_start, part_stop)
            parts_out[n_parts, 1] = part_stop
            parts_out[n_parts, 2] = token_id
            n_parts += 1
            part_start = behind
        progress[3] = n_parts
        if literal >= 0:
            progress[1] = position - row[0]
            progress[2] = part_start - row[0]
            return -2
        first_parts_out[progress[0] + 1] = n_parts
        progress[0] += 1
        progress[1] = 0
        progress[2] = 0
    return -1


@njit
def added_tokens_view(d: NDArray[np.int64]) -> AddedTokens:
    """Return the added tokens of a descriptor, see ``views``. Reads only.

    d : (25,) int64, addresses and lengths in the order of the fields, those of literals first
    """
    literals = Literals(
        view_i64(d[0], d[1]),
        view_i64(d[2], d[3]),
        view_i64(d[4], d[5]),
        view_i64(d[6], d[7]),
        view_u8(d[8], d[9]),
        view_i64(d[10], d[11]),
        view_u8(d[12], d[13]),
        view_u8_matrix(d[14], d[15], d[16]),
    )
    return AddedTokens(
        literals,
        view_i64(d[17], d[18]),
        view_u8(d[19], d[20]),
        view_i32(d[21], d[22]),
        view_i32(d[23], d[24]),
    )


@njit
def added_tokens_run(
    descriptor: NDArray[np.int64],
    text: NDArray[np.uint8],
    rows: NDArray[np.int64],
    progress: NDArray[np.int64],
    parts_out: NDArray[np.int64],
    first_parts_out: NDArray[np.int64],
) -> int:
    """Do as added_tokens_cut with what a descriptor describes; return its status, int64.

    descriptor : (25,) int64, see added_tokens_view; its arrays are alive
    text, rows, progress, parts_out, first_parts_out : as for added_tokens_cut, and so what is
        written
    """
    tokens = added_tokens_view(descriptor)
    return added_tokens_cut(tokens, text, rows, progress, parts_out, first_parts_out)


@njit
def _skip_white_space(
    white_space: NDArray[np.int32], text: NDArray[np.uint8], position: int, stop: int
) -> int:
    """Return where the white space that begins at a position ends. Reads only."""
    n_bytes = 1
    while n_bytes > 0:
        n_bytes = _measure_member(white_space, text, position, stop)
        position += n_bytes
    return position


@njit
def _skip_white_space_before(
    white_space: NDArray[np.int32], text: NDArray[np.uint8], start: int, position: int
) -> int:
    """Return where the white space that ends at a position begins, but nothing before start.

    Reads only. It is start if that lies behind the position.
    """
    n_bytes = 1
    while position > start and n_bytes > 0:
        n_bytes = _measure_member_before(white_space, text, start, position)
        position -= n_bytes
    return max(start, position)
