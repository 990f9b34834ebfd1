"""A binary max-heap of pairs, ordered by count and, among equal counts, by a recipe's tie rule.

The heap is lazy: an entry keeps the count that its pair had when it was pushed. A pair's count
never rises after its birth, so an entry is never too low, and the caller compares the entry on
top with the pair's present count before it believes it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.pair_table import pair_left, pair_right

TIE_SMALLEST_IDS = 0
TIE_GREATEST_SYMBOLS = 1
"""Tie rules: the pair with the smallest (left, right) numbers first, or the pair whose tokens,
as two strings of alphabet symbols, are the greatest (left, right) first."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class TokenOrder(NamedTuple):
    """What the tie rule looks at.

    rule : int64, TIE_SMALLEST_IDS or TIE_GREATEST_SYMBOLS
    symbol_bits : uint64, the width of a symbol in a prefix: 8 over bytes, else 32
    prefixes : (v,) uint64, the first symbols of each token, the first one in the highest bits,
        zero where the token is shorter: equal prefixes decide nothing, unequal ones do
    contents : (k,) int32, the symbols of all tokens one after another
    offsets : (v + 1,) int64, where each token begins in ``contents``
    """

    rule: int
    symbol_bits: np.uint64
    prefixes: NDArray[np.uint64]
    contents: NDArray[np.int32]
    offsets: NDArray[np.int64]


class PairHeap(NamedTuple):
    """Parallel arrays of entries; how many are in use is kept by the caller.

    counts : (h,) int64
    keys : (h,) int64, see pair_table.pair_key
    """

    counts: NDArray[np.int64]
    keys: NDArray[np.int64]


@njit
def token_compare(order: TokenOrder, one: int, other: int) -> int:
    """Return -1, 0 or 1 as token ``one`` is a smaller, equal or greater string than ``other``.

    one, other : int64, tokens that ``order`` knows
    Reads only. Usually two loads; as long as the common prefix at worst.
    """
    first, second = np.uint64(one), np.uint64(other)
    if order.prefixes[first] != order.prefixes[second]:
        return -1 if order.prefixes[first] < order.prefixes[second] else 1
    i, i_stop = np.uint64(order.offsets[first]), np.uint64(order.offsets[first + _ONE])
    j, j_stop = np.uint64(order.offsets[second]), np.uint64(order.offsets[second + _ONE])
    while i < i_stop and j < j_stop:
        if order.contents[i] != order.contents[j]:
            return -1 if order.contents[i] < order.contents[j] else 1
        i += _ONE
        j += _ONE
    if i < i_stop:
        return 1
    return -1 if j < j_stop else 0


@njit
def pair_precedes(order: TokenOrder, key: int, other: int) -> bool:
    """Return whether the pair ``key`` is merged before the pair ``other`` at equal counts.

    key, other : int64, see pair_table.pair_key
    Reads only.
    """
    if order.rule == TIE_SMALLEST_IDS:
        return key < other
    left = token_compare(order, pair_left(key), pair_left(other))
    if left != 0:
        return left > 0
    return token_compare(order, pair_right(key), pair_right(other)) > 0


@njit
def heap_sift_up(heap: PairHeap, order: TokenOrder, start: int) -> None:
    """Move the entry at ``start`` up to where its parent comes before it.

    start : int64, an entry whose ancestors are in order. Writes the heap; O(log n).
    """
    counts, keys = heap.counts, heap.keys
    i = np.uint64(start)
    count, key = counts[i], keys[i]
    while i > _ZERO:
        parent = (i - _ONE) >> _ONE
        if counts[parent] > count:
            break
        if counts[parent] == count and pair_precedes(order, keys[parent], key):
            break
        counts[i] = counts[parent]
        keys[i] = keys[parent]
        i = parent
    counts[i] = count
    keys[i] = key


@njit
def heap_sift_down(heap: PairHeap, order: TokenOrder, start: int, size: int) -> None:
    """Move the entry at ``start`` down to where it comes before its children.

    start, size : int64; the entries below ``start`` are in order. Writes the heap; O(log n).
    """
    counts, keys = heap.counts, heap.keys
    i, stop = np.uint64(start), np.uint64(size)
    count, key = counts[i], keys[i]
    while True:
        child = (i << _ONE) + _ONE
        if child >= stop:
            break
        right = child + _ONE
        if right < stop and (
            counts[right] > counts[child]
            or (counts[right] == counts[child] and pair_precedes(order, keys[right], keys[child]))
        ):
            child = right
        if count > counts[child]:
            break
        if count == counts[child] and pair_precedes(order, key, keys[child]):
            break
        counts[i] = counts[child]
        keys[i] = keys[child]
        i = child
    counts[i] = count
    keys[i] = key


@njit
def heap_order_all(heap: PairHeap, order: TokenOrder, size: int) -> None:
    """Put the first ``size`` entries, in any order before, into heap order. O(size)."""
    for i in range(size // 2 - 1, -1, -1):
        heap_sift_down(heap, order, i, size)
