"""What the bytes of tokens merge to, told from the merges alone: of which two tokens each is made.

Where two tokens stand side by side that were made of their bytes, nothing was merged across the borders
of the two until then. So the same merges were made as if their bytes were a word of their own. That
word becomes one thing, in one way. It follows that of all the merges that make a token only one is
ever used, if the token is what its own bytes become: the last one of these.

That merge joins the two halves of the token's *split*. It is the last one if both halves are made themselves,
by merges of lower ranks, and if nothing is merged across the border between them before both are whole.
Only what stands at the border counts: the tokens that the left half ends with while it grows, and those
that the right half begins with. Each pair of them that ever stands side by side is looked at, from the
last one back to the two bytes.

A few tokens are made by merges whose ranks do not ascend. Of these nothing is told, as of those that are
not made.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit, njit_inline
from numbpe_kernels.memory import prefetch
from numbpe_kernels.ranks import (
    MergeTable,
    merge_table_hash,
    merge_table_key,
    merge_table_read,
)

LEFT = np.uint64(0)
RIGHT = np.uint64(1)
RANK = np.uint64(2)
"""Columns of a row of ``splits``: the two halves of a token, and the rank of the merge that joins them."""

ROW_WIDTH = 4

IS_BYTE = -1
NOT_KNOWN = -2
"""What stands for the rank of a single byte, and of a token of which nothing is told."""

_AHEAD = 16
"""So many merges ahead memory is asked for: without that a merge takes 1.5 times as long."""

_ROW_SHIFT = np.uint64(2)


@njit_inline
def token_splits_row(token: int) -> np.uint64:
    """Return where the row of a token begins, uint64. token : int32."""
    return np.uint64(token) << _ROW_SHIFT


@njit_inline
def token_splits_ask(splits: NDArray[np.int32], table: MergeTable, left: int, right: int) -> None:
    """Ask for the slots of two tokens, and of the first pair that token_splits_meet looks up.

    splits : (t * ROW_WIDTH,) int32; left, right : int32, any tokens. Reads only.
    """
    key = merge_table_key(np.uint64(left), np.uint64(right))
    prefetch(table.slots, merge_table_hash(table, key))
    left_row, right_row = token_splits_row(left), token_splits_row(right)
    if splits[left_row + RANK] > splits[right_row + RANK]:
        left = splits[left_row + RIGHT]
    else:
        right = splits[right_row + LEFT]
    key = merge_table_key(np.uint64(left), np.uint64(right))
    prefetch(table.slots, merge_table_hash(table, key))


@njit_inline
def token_splits_rank(table: MergeTable, left: int, right: int) -> int:
    """Return the rank that joins two tokens, NO_RANK if none does. left, right : int32; int32."""
    key = merge_table_key(np.uint64(left), np.uint64(right))
    return np.int32(merge_table_read(table, key, merge_table_hash(table, key)))


@njit_inline
def token_splits_meet(splits: NDArray[np.int32], table: MergeTable, left: int, right: int) -> bool:
    """Return whether two tokens are made side by side: nothing is merged across their border before.

    splits : (t * ROW_WIDTH,) int32; left, right : int32, bytes or tokens with a split
    Reads only. Cost: a look-up for each merge at the border.
    """
    left_row, right_row = token_splits_row(left), token_splits_row(right)
    while True:
        # The later of the two merges is taken back; of merges of one rank that on the right is later.
        # What it joined stood beside the border until then, and the leftmost of equal ranks is first.
        left_rank, right_rank = splits[left_row + RANK], splits[right_row + RANK]
        if left_rank > right_rank:
            left = splits[left_row + RIGHT]
            left_row = token_splits_row(left)
            if token_splits_rank(table, left, right) < left_rank:
                return False
        elif right_rank != IS_BYTE:
            right = splits[right_row + LEFT]
            right_row = token_splits_row(right)
            if token_splits_rank(table, left, right) <= right_rank:
                return False
        else:
            return True


@njit
def token_splits_find(
    splits: NDArray[np.int32],
    table: MergeTable,
    merge_pairs: NDArray[np.int32],
    merge_ranks: NDArray[np.int32],
    order: NDArray[np.int64],
) -> None:
    """Find the splits of all tokens that are made by merges of ascending ranks.

    splits : (t * ROW_WIDTH,) int32, a row for each token; before, the ranks are IS_BYTE for the tokens of
        bytes and NOT_KNOWN for all others
    table : of all merges, in which every byte has a token; its results are by rank
    merge_pairs : (n, 2) int32; merge_ranks : (n,) int32; order : (n,) int64, the merges by ascending rank
    Writes splits.
    """
    n_merges = order.shape[0]
    for i in range(n_merges):
        ahead = order[min(i + _AHEAD, n_merges - 1)]
        token_splits_ask(splits, table, merge_pairs[ahead, 0], merge_pairs[ahead, 1])
        merge = order[i]
        left, right = merge_pairs[merge, 0], merge_pairs[merge, 1]
        rank = merge_ranks[merge]
        row = token_splits_row(table.results[rank])
        if splits[row + RANK] != NOT_KNOWN:
            continue
        left_rank = splits[token_splits_row(left) + RANK]
        right_rank = splits[token_splits_row(right) + RANK]
        if left_rank == NOT_KNOWN or right_rank == NOT_KNOWN:
            continue
        # Of merges of the same pair only one counts.
        is_listed = token_splits_rank(table, left, right) == rank
        if is_listed and token_splits_meet(splits, table, left, right):
            splits[row + LEFT], splits[row + RIGHT] = left, right
            splits[row + RANK] = rank
