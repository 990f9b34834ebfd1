"""Leftmost-longest search for a few literal byte strings, such as special tokens.

At each position the longest literal wins, whatever the order they were given in; matches do not
overlap, and the search goes on behind the last one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.memory import count_trailing_zeros, load_u64

_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_SEVEN_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)

END_OF_DOCUMENT = -2
"""What stands in the place of a literal's index where a document ends."""


class Literals(NamedTuple):
    """n byte strings, ordered by first byte and among equal ones the longest first.

    contents    : (sum of lengths + TEXT_PADDING,) uint8
    offsets     : (n + 1,) int64, string i is ``contents[offsets[i] : offsets[i + 1]]``, not empty
    buckets     : (257,) int64, those that begin with byte b are ``buckets[b]`` to ``buckets[b+1]-1``
    positions   : (n,) int64, the place of each in the list that the caller gave
    first_bytes : (k,) uint8, the distinct first bytes
    begins      : (256,) uint8, 1 for each of them, else 0
    """

    contents: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    buckets: NDArray[np.int64]
    positions: NDArray[np.int64]
    first_bytes: NDArray[np.uint8]
    begins: NDArray[np.uint8]


@njit
def literals_match_at(literals: Literals, text: NDArray[np.uint8], position: int, stop: int) -> int:
    """Return the index in ``literals`` of the longest that stands at a position, -1 if none does.

    text : (n,) uint8
    position, stop : int64, 0 <= position < stop <= n; the literal must end at stop or before
    Reads only. Cost: the lengths of the literals that share the first byte, at worst.
    """
    first_byte = np.int64(text[position])
    bucket_start = int(literals.buckets[first_byte])
    for candidate in range(bucket_start, int(literals.buckets[first_byte + 1])):
        offset = int(literals.offsets[candidate])
        length = int(literals.offsets[candidate + 1]) - offset
        if position + length > stop:
            continue
        n_equal = 1
        while n_equal < length and literals.contents[offset + n_equal] == text[position + n_equal]:
            n_equal += 1
        if n_equal == length:
            return candidate
    return -1


@njit
def _skip_to_byte(text: NDArray[np.uint8], byte: np.uint64, start: int, stop: int) -> int:
    """Return the position of the first ``byte`` at start or after; stop or more if there is none.

    Reads up to 32 bytes past stop. Cost: 32 bytes a step.
    """
    pattern = byte * _LOW_BITS
    position = start
    while position < stop:
        # Bytes equal to the wanted one become zero; adding 0x7F to the low 7 bits of a byte sets its
        # high bit unless they are zero, and nothing carries over to the next byte.
        x0 = load_u64(text, position) ^ pattern
        x1 = load_u64(text, position + 8) ^ pattern
        x2 = load_u64(text, position + 16) ^ pattern
        x3 = load_u64(text, position + 24) ^ pattern
        z0 = ~(((x0 & _SEVEN_BITS) + _SEVEN_BITS) | x0)
        z1 = ~(((x1 & _SEVEN_BITS) + _SEVEN_BITS) | x1)
        z2 = ~(((x2 & _SEVEN_BITS) + _SEVEN_BITS) | x2)
        z3 = ~(((x3 & _SEVEN_BITS) + _SEVEN_BITS) | x3)
        if (z0 | z1 | z2 | z3) & _HIGH_BITS != np.uint64(0):
            for zeros in (z0, z1, z2, z3):
                if zeros & _HIGH_BITS != np.uint64(0):
                    return position + (count_trailing_zeros(zeros & _HIGH_BITS) >> 3)
                position += 8
        position += 32
    return position


@njit
def _skip_by_table(
    text: NDArray[np.uint8], begins: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Return the position of the first byte at start or after that begins a literal.

    It is stop or more if there is none. Reads up to 8 bytes past stop. Cost: one load a byte, one
    branch for 8 bytes.
    """
    position = start
    mask = np.uint64(0xFF)
    while position < stop:
        word = load_u64(text, position)
        found = (
            begins[word & mask]
            | begins[(word >> np.uint64(8)) & mask]
            | begins[(word >> np.uint64(16)) & mask]
            | begins[(word >> np.uint64(24)) & mask]
            | begins[(word >> np.uint64(32)) & mask]
            | begins[(word >> np.uint64(40)) & mask]
            | begins[(word >> np.uint64(48)) & mask]
            | begins[word >> np.uint64(56)]
        )
        if found != 0:
            while begins[word & mask] == 0:
                word >>= np.uint64(8)
                position += 1
            return position
        position += 8
    return position


@njit
def literals_skip(literals: Literals, text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the position of the first byte in ``text[start:stop]`` that begins a literal.

    text : (n + TEXT_PADDING,) uint8
    start, stop : int64, 0 <= start <= stop <= n
    Returns stop if there is none, or no literal at all. Reads only.
    """
    n_first_bytes = len(literals.first_bytes)
    if n_first_bytes == 0:
        return stop
    if n_first_bytes == 1:
        found = _skip_to_byte(text, np.uint64(literals.first_bytes[0]), start, stop)
    else:
        found = _skip_by_table(text, literals.begins, start, stop)
    return min(found, stop)


@njit
def literals_find(
    literals: Literals,
    text: NDArray[np.uint8],
    start: int,
    start_limit: int,
    stop: int,
    matches_out: NDArray[np.int64],
) -> int:
    """Find the matches that begin in ``text[start:start_limit]`` and end at stop or before.

    text : (n + TEXT_PADDING,) uint8
    start, start_limit, stop : int64, 0 <= start <= start_limit <= stop <= n. While the text after
        stop is not known, start_limit must leave room for the longest literal before stop.
    matches_out : (m, 3) int64, m >= 1; a row is written for each match: its start, its stop, and the
        index in ``literals``
    Returns the number of rows written. If it is m, the search may go on at the last row's stop.
    """
    n_matches = 0
    position = start
    while n_matches < len(matches_out):
        position = literals_skip(literals, text, position, start_limit)
        if position >= start_limit:
            break
        literal = literals_match_at(literals, text, position, stop)
        if literal < 0:
            position += 1
            continue
        matches_out[n_matches, 0] = position
        position += int(literals.offsets[literal + 1] - literals.offsets[literal])
        matches_out[n_matches, 1] = position
        matches_out[n_matches, 2] = literal
        n_matches += 1
    return n_matches


@njit
def literals_split(
    literals: Literals,
    text: NDArray[np.uint8],
    documents: NDArray[np.int64],
    progress: NDArray[np.int64],
    parts_out: NDArray[np.int64],
) -> int:
    """Cut whole documents at the literals in them, each into one part more than it has literals.

    text : (n + TEXT_PADDING,) uint8
    documents : (d, 2) int64, start and stop of each, 0 <= start <= stop <= n
    progress : (2,) int64, updated in place: the document to go on with, and how many of its bytes
        are done; zeros at first, ``progress[0] == d`` when all is done
    parts_out : (m, 3) int64, m >= 1; a row is written for each part, which may be empty: its start,
        its stop, and the index in ``literals`` of what stands behind it, END_OF_DOCUMENT if nothing
    Returns the number of rows written; call again until ``progress[0] == d``.
    """
    n_parts = 0
    while progress[0] < len(documents) and n_parts < len(parts_out):
        document_start = int(documents[progress[0], 0])
        stop = int(documents[progress[0], 1])
        part_start = document_start + int(progress[1])
        position = literals_skip(literals, text, part_start, stop)
        literal = -1
        while position < stop:
            literal = literals_match_at(literals, text, position, stop)
            if literal >= 0:
                break
            position = literals_skip(literals, text, position + 1, stop)
        parts_out[n_parts, 0] = part_start
        parts_out[n_parts, 1] = position
        if literal >= 0:
            parts_out[n_parts, 2] = literal
            length = literals.offsets[literal + 1] - literals.offsets[literal]
            progress[1] = position + length - document_start
        else:
            parts_out[n_parts, 2] = END_OF_DOCUMENT
            progress[0] += 1
            progress[1] = 0
        n_parts += 1
    return n_parts
