"""Counting and listing the pairs of a corpus whose tokens are single symbols, few of them.

Before the first merge each cell is a token, and a pair of bytes is its own place in a square array:
no table is searched, and no pair is too rare to be counted. A symbol stands there as its number and
one more, what stands between words as 0.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.heap import PairHeap
from numbpe_kernels.pair_table import (
    COUNT,
    FIRST,
    KEY,
    LENGTH,
    PairTable,
    pair_key,
    pair_table_find,
)
from numbpe_kernels.training_state import WeightedCells

MAX_SYMBOLS = 511
"""The most symbols for which a grid is worth its memory, 4 MB, of which little is used."""

GRID_BITS = 9
GRID_SIZE = 2 << 2 * GRID_BITS
"""A grid has 2**GRID_BITS rows and columns, and two numbers in each place."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_BITS = np.uint64(GRID_BITS)


@njit
def grid_count(corpus: WeightedCells, grid_out: NDArray[np.int64]) -> None:
    """Add up how often each pair stands in the corpus, weighted, and in how many places.

    corpus : cells of 0 to MAX_SYMBOLS - 1, or -1
    grid_out : (GRID_SIZE,) int64, zeros before; the pairs with what is between words, too, are in it
    Writes grid_out. One pass over the cells.
    """
    cells = corpus.cells
    left = _ZERO
    for run in range(np.uint64(corpus.run_counts.shape[0])):
        weight = corpus.run_counts[run]
        start, stop = corpus.run_starts[run], corpus.run_starts[run + _ONE]
        for place in range(np.uint64(start), np.uint64(stop)):
            right = np.uint64(np.int64(cells[place]) + 1)
            row = ((left << _BITS) | right) << _ONE
            grid_out[row] += weight
            grid_out[row + _ONE] += 1
            left = right


@njit
def grid_place(
    grid: NDArray[np.int64], floor: int, table: PairTable, heap: PairHeap
) -> tuple[int, int]:
    """Give each pair at or above the floor its row, its slice of the pool and its entry in the heap.

    grid : (GRID_SIZE,) int64, see grid_count; the first number of a place becomes where in the pool the
        pair's next occurrence is written, or -1
    floor : int64, at least 1; table : empty, with room for the pairs; heap : too
    Writes grid, table, and heap entries, not in heap order yet. Returns the number of entries and of
    pool places, int64 each.
    """
    n_entries = 0
    pool_end = 0
    for i in range(GRID_SIZE // 2):
        left, right = (i >> GRID_BITS) - 1, (i & ((1 << GRID_BITS) - 1)) - 1
        count, number = grid[2 * i], grid[2 * i + 1]
        if count < floor or left < 0 or right < 0:
            grid[2 * i] = -1
            continue
        key = pair_key(left, right)
        row = pair_table_find(table, key)
        table.rows[row + KEY] = key
        table.rows[row + COUNT] = count
        table.rows[row + FIRST] = pool_end
        table.rows[row + LENGTH] = number
        heap.counts[n_entries] = count
        heap.keys[n_entries] = key
        n_entries += 1
        grid[2 * i] = pool_end
        pool_end += number
    return n_entries, pool_end


@njit
def grid_list(corpus: WeightedCells, grid: NDArray[np.int64], pool_out: NDArray[np.int32]) -> None:
    """Write the occurrences of the pairs that have a slice of the pool, ascending.

    grid : (GRID_SIZE,) int64, see grid_place; pool_out : (p,) int32 with room for all slices
    Writes grid and pool_out. One pass over the cells.
    """
    cells = corpus.cells
    left = _ZERO
    for place in range(np.uint64(cells.shape[0])):
        right = np.uint64(np.int64(cells[place]) + 1)
        row = ((left << _BITS) | right) << _ONE
        target = grid[row]
        if target >= 0:
            pool_out[np.uint64(target)] = np.int32(place - _ONE)
            grid[row] = target + 1
        left = right
