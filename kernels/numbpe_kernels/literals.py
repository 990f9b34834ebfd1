"""Leftmost-longest search for literal byte strings, such as special tokens.

At each position the longest literal wins, whatever the order they were given in; matches do not
overlap, and the search goes on behind the last one. Literals are held as a trie, so that thousands
of them cost no more than a few: a position costs the length of the longest start of a literal there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.memory import count_trailing_zeros, load_u64, mask_block

# From so many ranges on, looking up each byte is quicker than comparing 64 bytes with each range.
_MAX_RANGES = 4
_NO_FOLD = np.uint8(0)

END_OF_DOCUMENT = -2
"""What stands in the place of a literal's index where a document ends."""


class Literals(NamedTuple):
    """n byte strings, sorted, and the trie that they make: a node for each of their starts.

    Nodes are numbered by length of the start, then in the order of the sorted strings, so that the
    children of a node lie side by side with their last bytes ascending. There is no root.

    positions   : (n,) int64, the place of each string in the list that the caller gave
    lengths     : (n,) int64
    first_nodes : (256,) int64, the node of each first byte, -1 if none begins with it
    children    : (k + 1,) int64, those of node i are ``children[i]`` to ``children[i + 1] - 1``
    last_bytes  : (k,) uint8, the last byte of each start
    ends        : (k,) int64, the string that ends at the node, -1 if none does
    begins      : (256,) uint8, 1 for each first byte, else 0
    ranges      : (r, 2) uint8, the first bytes as ranges: the lowest, and the highest less the lowest
    """

    positions: NDArray[np.int64]
    lengths: NDArray[np.int64]
    first_nodes: NDArray[np.int64]
    children: NDArray[np.int64]
    last_bytes: NDArray[np.uint8]
    ends: NDArray[np.int64]
    begins: NDArray[np.uint8]
    ranges: NDArray[np.uint8]


@njit
def _find_child(literals: Literals, node: int, byte: int) -> int:
    """Return the node that is one byte longer, -1 if there is none. Reads only; binary search."""
    low = int(literals.children[node])
    end = int(literals.children[node + 1])
    high = end
    while low < high:
        middle = (low + high) >> 1
        if np.int64(literals.last_bytes[middle]) < byte:
            low = middle + 1
        else:
            high = middle
    if low < end and np.int64(literals.last_bytes[low]) == byte:
        return low
    return -1


@njit
def literals_match_at(literals: Literals, text: NDArray[np.uint8], position: int, stop: int) -> int:
    """Return the index in ``literals`` of the longest that stands at a position, -1 if none does.

    text : (n,) uint8
    position, stop : int64, 0 <= position < stop <= n; the literal must end at stop or before
    Reads only. Cost: the length of the longest start of a literal that stands there.
    """
    node = int(literals.first_nodes[np.int64(text[position])])
    found = -1
    while node >= 0:
        literal = int(literals.ends[node])
        if literal >= 0:
            found = literal
        position += 1
        if position >= stop:
            break
        node = _find_child(literals, node, np.int64(text[position]))
    return found


@njit
def _skip_by_ranges(
    text: NDArray[np.uint8], ranges: NDArray[np.uint8], start: int, stop: int
) -> int:
    """Return the position of the first byte at start or after that lies in one of the ranges.

    It is stop or more if there is none. Reads up to 63 bytes past stop. Cost: 64 bytes a step.
    """
    position = start
    while position < stop:
        found = np.uint64(0)
        for i in range(len(ranges)):
            found |= mask_block(text, position, _NO_FOLD, ranges[i, 0], ranges[i, 1])
        if found != np.uint64(0):
            return position + count_trailing_zeros(found)
        position += 64
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
    n_ranges = len(literals.ranges)
    if n_ranges == 0 or start >= stop:
        return stop
    if literals.begins[np.int64(text[start])] != 0:
        return start
    if n_ranges <= _MAX_RANGES:
        found = _skip_by_ranges(text, literals.ranges, start, stop)
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
        position += int(literals.lengths[literal])
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
            progress[1] = position + literals.lengths[literal] - document_start
        else:
            parts_out[n_parts, 2] = END_OF_DOCUMENT
            progress[0] += 1
            progress[1] = 0
        n_parts += 1
    return n_parts
