"""Merging the bytes of one word into tokens: the merge of lowest rank, then leftmost, one at a time.

A merge table maps a pair of token ids to the rank of its merge and the id that the merge makes.
Rank and id are one number, ``rank << 32 | id``, whose order is that of the ranks.

Short words are merged by looking for the lowest rank again and again, which is quickest up to some
tens of tokens. Long ones keep all candidates in a heap and the tokens in a linked list, so
that a word of a million bytes takes n log n steps.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.hashing import hash_key

EMPTY_KEY = np.int64(-1)
NO_MERGE = np.int64(0x7FFFFFFFFFFFFFFF)
"""The value of a pair that no merge joins: above every other."""

MAX_SCANNED = 48
"""Words of more bytes than this are merged with the heap."""

_ID_MASK = np.int64(0xFFFFFFFF)
_RANK_MASK = ~_ID_MASK


class MergeTable(NamedTuple):
    """Open addressing over m slots, m a power of two, at least half of them free.

    keys   : (m,) int64, ``left << 32 | right``, EMPTY_KEY in a free slot
    values : (m,) int64, ``rank << 32 | id``
    byte_ids : (256,) int32, the token id of each byte, -1 for a byte without one
    """

    keys: NDArray[np.int64]
    values: NDArray[np.int64]
    byte_ids: NDArray[np.int32]


class MergeScratch(NamedTuple):
    """Room for words of up to n bytes; what it holds between two calls means nothing.

    tokens : (n + 1,) int64, token ids
    pairs  : (n + 1,) int64, the value of each token with the one after it
    next, previous : (n + 1,) int32, positions of the neighbouring tokens
    heap : (2n + 2,) int64, the pairs that may be merged
    """

    tokens: NDArray[np.int64]
    pairs: NDArray[np.int64]
    next: NDArray[np.int32]
    previous: NDArray[np.int32]
    heap: NDArray[np.int64]


@njit
def merge_table_find(table: MergeTable, left: int, right: int) -> int:
    """Return ``rank << 32 | id`` of the merge that joins two tokens, NO_MERGE if none does.

    left, right : int64, token ids, 0 <= id < 2**31
    Reads only. Expected O(1) probes.
    """
    mask = np.int64(len(table.keys) - 1)
    key = (left << 32) | right
    slot = hash_key(key, np.uint64(32)) & mask
    while table.keys[slot] != EMPTY_KEY:
        if table.keys[slot] == key:
            return table.values[slot]
        slot = (slot + 1) & mask
    return NO_MERGE


@njit
def merge_table_fill(
    table: MergeTable,
    merge_pairs: NDArray[np.int32],
    merge_results: NDArray[np.int32],
    merge_ranks: NDArray[np.int32],
) -> None:
    """Write all merges into an empty table; of merges that join the same pair, the last counts.

    merge_pairs : (n, 2) int32 and merge_results : (n,) int32, token ids, n <= m / 2
    merge_ranks : (n,) int32, not negative; merges of one rank make one token
    Writes keys and values. O(n).
    """
    mask = np.int64(len(table.keys) - 1)
    for merge in range(len(merge_pairs)):
        key = (np.int64(merge_pairs[merge, 0]) << 32) | np.int64(merge_pairs[merge, 1])
        slot = hash_key(key, np.uint64(32)) & mask
        while table.keys[slot] != EMPTY_KEY and table.keys[slot] != key:
            slot = (slot + 1) & mask
        table.keys[slot] = key
        table.values[slot] = (np.int64(merge_ranks[merge]) << 32) | np.int64(merge_results[merge])


@njit
def _merge_by_scanning(table: MergeTable, scratch: MergeScratch, n_tokens: int) -> int:
    """Merge the first ``n_tokens`` of scratch.tokens in place; return how many are left.

    Writes tokens and pairs. O(n_tokens) a merge.
    """
    tokens, pairs = scratch.tokens, scratch.pairs
    for i in range(n_tokens - 1):
        pairs[i] = merge_table_find(table, tokens[i], tokens[i + 1])
    while n_tokens > 1:
        best = 0
        for i in range(1, n_tokens - 1):
            if pairs[i] < pairs[best]:
                best = np.int64(i)
        if pairs[best] == NO_MERGE:
            break
        tokens[best] = pairs[best] & _ID_MASK
        n_tokens -= 1
        for i in range(best + 1, n_tokens):
            tokens[i] = tokens[i + 1]
            pairs[i] = pairs[i + 1]
        if best > 0:
            pairs[best - 1] = merge_table_find(table, tokens[best - 1], tokens[best])
        if best < n_tokens - 1:
            pairs[best] = merge_table_find(table, tokens[best], tokens[best + 1])
    return n_tokens


@njit
def _heap_push(heap: NDArray[np.int64], size: int, entry: int) -> int:
    """Add an entry to a heap of ``size`` entries, of four children each; return the new size."""
    i = size
    while i > 0:
        parent = (i - 1) >> 2
        if heap[parent] < entry:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = entry
    return size + 1


@njit
def _heap_drop_first(heap: NDArray[np.int64], size: int) -> int:
    """Remove the first of ``size`` >= 1 entries; return the new size. O(log size)."""
    size -= 1
    entry = heap[size]
    i = 0
    child = 1
    while child < size:
        least = child
        for other in range(child + 1, min(child + 4, size)):
            if heap[other] < heap[least]:
                least = np.int64(other)
        if entry < heap[least]:
            break
        heap[i] = heap[least]
        i = least
        child = 4 * i + 1
    heap[i] = entry
    return size


@njit
def _link_tokens(table: MergeTable, scratch: MergeScratch, n_tokens: int) -> int:
    """Fill pairs, next, previous and the heap for ``n_tokens`` tokens; return the heap's size."""
    size = 0
    for i in range(n_tokens):
        position = np.int64(i)
        scratch.next[position] = np.int32(position + 1)
        scratch.previous[position] = np.int32(position - 1)
        value = NO_MERGE
        if position < n_tokens - 1:
            value = merge_table_find(table, scratch.tokens[position], scratch.tokens[position + 1])
        scratch.pairs[position] = value
        if value != NO_MERGE:
            size = _heap_push(scratch.heap, size, (value & _RANK_MASK) | position)
    return size


@njit
def _merge_by_heap(table: MergeTable, scratch: MergeScratch, n_tokens: int) -> int:
    """Do as _merge_by_scanning, in O(n log n).

    An entry of the heap is ``rank << 32 | position``. It is out of date if the rank of its position
    has changed since; tokens only grow, so no pair comes back. A merge takes one entry away and
    adds two at most: 2n are enough.
    """
    tokens, pairs, heap = scratch.tokens, scratch.pairs, scratch.heap
    size = _link_tokens(table, scratch, n_tokens)
    while size > 0:
        entry = heap[0]
        size = _heap_drop_first(heap, size)
        position = entry & _ID_MASK
        if (pairs[position] ^ entry) & _RANK_MASK != 0:
            continue
        absorbed = np.int64(scratch.next[position])
        following = np.int64(scratch.next[absorbed])
        tokens[position] = pairs[position] & _ID_MASK
        pairs[absorbed] = NO_MERGE
        scratch.next[position] = np.int32(following)
        pairs[position] = NO_MERGE
        if following < n_tokens:
            scratch.previous[following] = np.int32(position)
            value = merge_table_find(table, tokens[position], tokens[following])
            pairs[position] = value
            if value != NO_MERGE:
                size = _heap_push(heap, size, (value & _RANK_MASK) | position)
        before = np.int64(scratch.previous[position])
        if before >= 0:
            value = merge_table_find(table, tokens[before], tokens[position])
            pairs[before] = value
            if value != NO_MERGE:
                size = _heap_push(heap, size, (value & _RANK_MASK) | before)
    n_left = 0
    position = 0
    while position < n_tokens:
        tokens[n_left] = tokens[position]
        n_left += 1
        position = np.int64(scratch.next[position])
    return n_left


@njit
def merge_tokens(table: MergeTable, scratch: MergeScratch, n_tokens: int) -> int:
    """Merge the first ``n_tokens`` of scratch.tokens in place; return how many are left, int64.

    n_tokens : int64. Writes scratch. O(n * n) up to MAX_SCANNED tokens, above that O(n log n).
    """
    if n_tokens <= MAX_SCANNED:
        return _merge_by_scanning(table, scratch, n_tokens)
    return _merge_by_heap(table, scratch, n_tokens)


@njit
def merge_words(
    table: MergeTable,
    text: NDArray[np.uint8],
    start: int,
    ends: NDArray[np.int64],
    scratch: MergeScratch,
    ids_out: NDArray[np.uint32],
) -> int:
    """Merge successive words of ``text`` into token ids, each word by itself.

    start : int64, where the first word begins
    ends  : (n,) int64, where each word ends and the next begins; not decreasing
    scratch : for the longest word
    ids_out : uint32, as long as the words together at least
    Writes ids_out; returns how many ids it wrote, or -1 - position of a byte without a token id.
    Words of n bytes cost O(n * n) up to MAX_SCANNED bytes, above that O(n log n).
    """
    n_ids = 0
    for word in range(len(ends)):
        stop = ends[word]
        n_tokens = 0
        for position in range(start, stop):
            token = np.int64(table.byte_ids[text[position]])
            if token < 0:
                return -1 - np.int64(position)
            scratch.tokens[n_tokens] = token
            n_tokens += 1
        n_tokens = merge_tokens(table, scratch, n_tokens)
        for i in range(n_tokens):
            ids_out[n_ids] = np.uint32(scratch.tokens[i])
            n_ids += 1
        start = stop
    return n_ids
