"""Merging the tokens of one word: the merge of lowest rank, then leftmost, one at a time.

A merge table maps a pair of token ids to the rank of its merge. A slot is one number: the pair and,
in the lowest bits, the rank. Pairs of single bytes, with which every word begins, have a table of
their own without probing.

Short words are merged by looking for the lowest rank again and again. Every token has an entry
``rank << 6 | place``, so that the least number of a short array says all: LLVM makes vector
instructions of that search. Long words keep all candidates in a heap and the tokens in a linked
list, so that a word of a million bytes takes n log n steps.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.memory import make_opaque

ID_BITS = 21
RANK_BITS = 22
MAX_MERGED_ID = (1 << ID_BITS) - 2
"""Greatest id of a token that a merge joins or makes."""

MAX_RANK = (1 << RANK_BITS) - 2
NO_RANK = (1 << RANK_BITS) - 1
"""The rank of a pair that no merge joins: above every other."""

EMPTY_SLOT = np.uint64(0xFFFFFFFFFFFFFFFF)

MAX_SCANNED = 48
"""Words of more tokens than this are merged with the heap."""

_PLACE_BITS = 6
_PLACE_MASK = (1 << _PLACE_BITS) - 1
_LANES = 8
_NO_ENTRY = NO_RANK << _PLACE_BITS | _PLACE_MASK
_SLOT_KEY = np.uint64(RANK_BITS)
_SLOT_RANK = np.uint64(NO_RANK)
_LEFT_SHIFT = np.uint64(RANK_BITS + ID_BITS)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_POSITION_MASK = 0xFFFFFFFF


class MergeTable(NamedTuple):
    """Which merge joins two tokens.

    slots : (m,) uint64, ``left << 43 | right << 22 | rank``, EMPTY_SLOT in a free one; open
        addressing in buckets of two slots, m a power of two, at least half of it free. Where a merge did
        not find room in a bucket, and stands behind it, the greater slot of the two comes first
    shift : uint64, 65 - log2(m)
    results : (ranks + 1,) int32, the token that the merge of a rank makes; the last means nothing
    byte_ids : (256,) int32, the token of each byte, -1 for a byte without one
    byte_ranks : (65536,) int32, at ``first byte << 8 | second`` the rank that joins their tokens
    """

    slots: NDArray[np.uint64]
    shift: np.uint64
    results: NDArray[np.int32]
    byte_ids: NDArray[np.int32]
    byte_ranks: NDArray[np.int32]


def count_merge_slots(n_merges: int) -> int:
    """Return how many slots a table of ``n_merges`` merges has.

    Two for a merge or more: few buckets are full then, and a larger table is farther away.
    """
    return 1 << max(4, (2 * n_merges).bit_length())


def make_merge_slots(n_merges: int) -> tuple[NDArray[np.uint64], np.uint64]:
    """Return free slots for ``n_merges`` merges, and the shift of a MergeTable with them."""
    n_slots = count_merge_slots(n_merges)
    shift = np.uint64(65 - (n_slots.bit_length() - 1))
    return np.full(n_slots, EMPTY_SLOT, dtype=np.uint64), shift


class MergeScratch(NamedTuple):
    """Room for words of up to n tokens; what it holds between two calls means nothing.

    tokens : (n + 8,) int32, token ids
    entries : (n + 8,) int32, of each token the rank of its pair with the next one
    products : (n + 8,) int32, the token that this merge makes: fetched when the pair is found, not when
        it is merged, which would wait for it
    next, previous : (n + 8,) int32, positions of the neighbouring tokens
    heap : (2n + 16,) int64, the pairs that may be merged
    """

    tokens: NDArray[np.int32]
    entries: NDArray[np.int32]
    products: NDArray[np.int32]
    next: NDArray[np.int32]
    previous: NDArray[np.int32]
    heap: NDArray[np.int64]


@njit_inline
def merge_table_key(left: np.uint64, right: np.uint64) -> np.uint64:
    """Return the key of a pair of tokens, whose ids are at most MAX_MERGED_ID + 1: as in a slot of rank 0.

    left, right : uint64; uint64
    """
    return left << _LEFT_SHIFT | right << _SLOT_KEY


@njit_inline
def merge_table_hash(table: MergeTable, key: np.uint64) -> np.uint64:
    """Return the first slot of the bucket in which a pair is sought first. key : uint64; uint64."""
    return ((key >> _SLOT_KEY) * _FACTOR >> table.shift) << _ONE


@njit_inline
def merge_table_read(table: MergeTable, key: np.uint64, place: np.uint64) -> np.uint64:
    """Return the rank of a pair, whose bucket is known, NO_RANK if no merge joins it.

    key, place : uint64; uint64. Reads only. Expected O(1) buckets, nearly always one.

    What is left of a slot without the key is the rank if it is that of the key, and more than any rank
    if not. Whether a pair is there, and in which slot, cannot be foreseen. So both slots are looked at,
    and one jump is left, which is made opaque to stay one: whether the next bucket must be looked at.
    """
    last = np.uint64(table.slots.shape[0] - 1)
    while True:
        first, second = table.slots[place], table.slots[place | _ONE]
        rank = min(min(first ^ key, second ^ key), _SLOT_RANK)
        if make_opaque(np.uint64((rank == _SLOT_RANK) & (first > second))) == _ZERO:
            return rank
        place = (place + _TWO) & last


@njit_inline
def merge_table_find(table: MergeTable, left: int, right: int) -> int:
    """Return the rank of the merge that joins two tokens, NO_RANK if none does, int64.

    left, right : int64, token ids, 0 to MAX_MERGED_ID; larger ones are joined by no merge
    Reads only. Expected O(1) probes.
    """
    if (left | right) > MAX_MERGED_ID:
        return NO_RANK
    key = merge_table_key(np.uint64(left), np.uint64(right))
    return np.int64(merge_table_read(table, key, merge_table_hash(table, key)))


@njit_inline
def merge_table_get_product(table: MergeTable, rank: int) -> np.int32:
    """Return the token that the merge of a rank makes, anything for NO_RANK. rank : int64; int32."""
    place = np.int64(table.results.shape[0] - 1)
    place = min(place, rank)
    return table.results[place]


@njit
def merge_table_enter(table: MergeTable, slot: np.uint64, place: np.uint64) -> None:
    """Write a slot into the first bucket with room, from the one at ``place`` on.

    slot, place : uint64. Writes slots: also the order in a full bucket that is passed.
    """
    last = np.uint64(table.slots.shape[0] - 1)
    while True:
        first, second = table.slots[place], table.slots[place | _ONE]
        if first == EMPTY_SLOT or first ^ slot <= _SLOT_RANK:
            table.slots[place] = slot
            return
        if second ^ slot <= _SLOT_RANK:
            table.slots[place | _ONE] = slot
            return
        if second == EMPTY_SLOT:
            table.slots[place] = min(first, slot)
            table.slots[place | _ONE] = max(first, slot)
            return
        table.slots[place] = max(first, second)
        table.slots[place | _ONE] = min(first, second)
        place = (place + _TWO) & last


@njit
def merge_table_fill(
    table: MergeTable,
    merge_pairs: NDArray[np.int32],
    merge_ranks: NDArray[np.int32],
) -> None:
    """Write all merges into a table of empty slots; of merges of the same pair the last counts.

    merge_pairs : (n, 2) int32, token ids up to MAX_MERGED_ID, n <= m / 2
    merge_ranks : (n,) int32, 0 to MAX_RANK
    Writes slots and byte_ranks; byte_ids are there. O(n).
    """
    for merge in range(merge_pairs.shape[0]):
        key = merge_table_key(np.uint64(merge_pairs[merge, 0]), np.uint64(merge_pairs[merge, 1]))
        merge_table_enter(table, key | np.uint64(merge_ranks[merge]), merge_table_hash(table, key))
    for pair in range(table.byte_ranks.shape[0]):
        left = np.int64(table.byte_ids[pair >> 8])
        right = np.int64(table.byte_ids[pair & 0xFF])
        rank = NO_RANK
        if left >= 0 and right >= 0:
            rank = merge_table_find(table, left, right)
        table.byte_ranks[pair] = np.int32(rank)


@njit
def merge_table_rank_pairs(
    table: MergeTable, ids: NDArray[np.int64], ranks_out: NDArray[np.int64]
) -> None:
    """Write the ranks of all neighbours, NO_RANK for those that no merge joins.

    ids : (n, k) int64, tokens up to MAX_MERGED_ID, or -1; ranks_out : (n, k - 1) int64
    """
    for i in range(ids.shape[0]):
        for j in range(ids.shape[1] - 1):
            left, right = ids[i, j], ids[i, j + 1]
            is_pair = left >= 0 and right >= 0
            ranks_out[i, j] = merge_table_find(table, left, right) if is_pair else NO_RANK


@njit_inline
def _merge_by_scanning(table: MergeTable, scratch: MergeScratch, n_tokens: int) -> int:
    """Merge ``n_tokens`` <= MAX_SCANNED tokens in place; return how many are left.

    Takes the ranks of scratch.entries. Writes all but the heap.
    O(n_tokens / 8) a merge.
    """
    tokens, entries, products = scratch.tokens, scratch.entries, scratch.products
    following, previous = scratch.next, scratch.previous
    for i in range(n_tokens - 1):
        rank = np.int64(entries[i])
        products[i] = merge_table_get_product(table, rank)
        entries[i] = np.int32(rank << _PLACE_BITS | i)
    for i in range(n_tokens):
        following[i] = np.int32(i + 1)
        previous[i] = np.int32(i - 1)
    n_padded = (n_tokens + _LANES - 1) // _LANES * _LANES
    for i in range(n_tokens - 1, n_padded):
        entries[i] = np.int32(_NO_ENTRY)
    while True:
        least = np.int32(_NO_ENTRY)
        for i in range(n_padded):
            least = min(least, entries[i])
        if np.int64(least) >> _PLACE_BITS == NO_RANK:
            break
        place = np.int64(least) & _PLACE_MASK
        token = np.int64(products[place])
        tokens[place] = np.int32(token)
        absorbed = np.int64(following[place])
        after = np.int64(following[absorbed])
        before = np.int64(previous[place])
        entries[absorbed] = np.int32(_NO_ENTRY)
        following[place] = np.int32(after)
        rank = NO_RANK
        if after < n_tokens:
            previous[after] = np.int32(place)
            rank = merge_table_find(table, token, np.int64(tokens[after]))
        entries[place] = np.int32(rank << _PLACE_BITS | place)
        products[place] = merge_table_get_product(table, rank)
        if before >= 0:
            rank = merge_table_find(table, np.int64(tokens[before]), token)
            entries[before] = np.int32(rank << _PLACE_BITS | before)
            products[before] = merge_table_get_product(table, rank)
    n_left = 0
    place = 0
    while place < n_tokens:
        tokens[n_left] = tokens[place]
        n_left += 1
        place = np.int64(following[place])
    return n_left


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
def _heap_offer(scratch: MergeScratch, size: int, rank: int, position: int) -> int:
    """Note the rank of a token with the next one, as a candidate if a merge joins them."""
    scratch.entries[position] = np.int32(rank)
    if rank == NO_RANK:
        return size
    return _heap_push(scratch.heap, size, rank << 32 | position)


@njit
def _merge_by_heap(table: MergeTable, scratch: MergeScratch, n_tokens: int) -> int:
    """Merge ``n_tokens`` tokens in place in O(n log n); return how many are left.

    Takes the ranks of scratch.entries; writes all of scratch. A candidate is
    ``rank << 32 | position``. It is out of date if the rank of its position has changed since;
    tokens only grow, so no pair comes back. A merge takes one candidate away and adds two at most.
    """
    tokens, entries = scratch.tokens, scratch.entries
    following, previous, heap = scratch.next, scratch.previous, scratch.heap
    size = 0
    for i in range(n_tokens):
        following[i] = np.int32(i + 1)
        previous[i] = np.int32(i - 1)
        rank = np.int64(entries[i]) if i + 1 < n_tokens else NO_RANK
        size = _heap_offer(scratch, size, rank, np.int64(i))
    while size > 0:
        candidate = heap[0]
        size = _heap_drop_first(heap, size)
        place = candidate & _POSITION_MASK
        rank = candidate >> 32
        if entries[place] != rank:
            continue
        token = np.int64(table.results[rank])
        tokens[place] = np.int32(token)
        absorbed = np.int64(following[place])
        after = np.int64(following[absorbed])
        before = np.int64(previous[place])
        entries[absorbed] = np.int32(NO_RANK)
        following[place] = np.int32(after)
        rank = NO_RANK
        if after < n_tokens:
            previous[after] = np.int32(place)
            rank = merge_table_find(table, token, np.int64(tokens[after]))
        size = _heap_offer(scratch, size, rank, place)
        if before >= 0:
            rank = merge_table_find(table, np.int64(tokens[before]), token)
            size = _heap_offer(scratch, size, rank, before)
    n_left = 0
    place = 0
    while place < n_tokens:
        tokens[n_left] = tokens[place]
        n_left += 1
        place = np.int64(following[place])
    return n_left


@njit
def merge_rank_pairs(table: MergeTable, scratch: MergeScratch, n_tokens: int) -> None:
    """Write the ranks of all neighbours among the first ``n_tokens`` of scratch.tokens.

    n_tokens : int64. Writes entries.
    """
    for i in range(n_tokens - 1):
        rank = merge_table_find(table, np.int64(scratch.tokens[i]), np.int64(scratch.tokens[i + 1]))
        scratch.entries[i] = np.int32(rank)


@njit_inline
def merge_tokens(table: MergeTable, scratch: MergeScratch, n_tokens: int) -> int:
    """Merge the first ``n_tokens`` of scratch.tokens in place; return how many are left, int64.

    n_tokens : int64, at least 1; scratch.entries has the ranks of neighbours
    Writes scratch. O(n * n / 8) up to MAX_SCANNED tokens, above that O(n log n).
    """
    if n_tokens <= MAX_SCANNED:
        return _merge_by_scanning(table, scratch, n_tokens)
    return _merge_by_heap(table, scratch, n_tokens)
