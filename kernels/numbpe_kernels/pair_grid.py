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
def grid_count(corpus: WeightedCells, first: int, stop: int, grid_out: NDArray[np.int64]) -> None:
    """Add up how often each pair that ends in a part of the corpus stands there, weighted, and in how many places.

    corpus : cells of 0 to MAX_SYMBOLS - 1, or -1; first, stop : int64, the first cell of the part, and the
        one behind it
    grid_out : (GRID_SIZE,) int64, zeros before; the pairs with what is between words, too, are in it
    Writes grid_out. One pass over the cells of the part.
    """
    cells = corpus.cells
    left = _ZERO if first == 0 else np.uint64(np.int64(cells[first - 1]) + 1)
    for run in range(np.uint64(corpus.run_counts.shape[0])):
        weight = corpus.run_counts[run]
        start = max(corpus.run_starts[run], first)
        end = min(corpus.run_starts[run + _ONE], stop)
        for place in range(np.uint64(start), np.uint64(max(start, end))):
            right = np.uint64(np.int64(cells[place]) + 1)
            row = ((left << _BITS) | right) << _ONE
            grid_out[row] += weight
            grid_out[row + _ONE] += 1
            left = right


@njit
def grid_place(
    grids: NDArray[np.int64], floor: int, table: PairTable, heap: PairHeap
) -> tuple[int, int]:
    """Give each pair at or above the floor its row, its slice of the pool and its entry in the heap.

    grids : (k, GRID_SIZE) int64, see grid_count, of the parts of a corpus in order; the first number of a
        place becomes where in the pool the pair's next occurrence in that part is written, or -1
    floor : int64, at least 1; table : empty, with room for the pairs; heap : too
    Writes grids, table, and heap entries, not in heap order yet. Returns the number of entries and of
    pool places, int64 each.
    """
    n_grids = grids.shape[0]
    n_entries = 0
    pool_end = 0
    for i in range(GRID_SIZE // 2):
        left, right = (i >> GRID_BITS) - 1, (i & ((1 << GRID_BITS) - 1)) - 1
        count = number = 0
        for part in range(n_grids):
            count += grids[part, 2 * i]
            number += grids[part, 2 * i + 1]
        if count < floor or left < 0 or right < 0:
            if number > 0:
                for part in range(n_grids):
                    grids[part, 2 * i] = -1
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
        for part in range(n_grids):
            grids[part, 2 * i] = pool_end
            pool_end += grids[part, 2 * i + 1]
    return n_entries, pool_end


@njit
def grid_list(
    cells: NDArray[np.int32],
    first: int,
    stop: int,
    grid: NDArray[np.int64],
    pool_out: NDArray[np.int32],
) -> None:
    """Write the occurrences of the pairs that have a slice of the pool, ascending, those of one part.

    cells : (n,) int32; first, stop : as in grid_count; grid : (GRID_SIZE,) int64, that of the part, see
        grid_place; pool_out : (p,) int32 with room for all slices
    Writes grid and pool_out. One pass over the cells of the part.
    """
    left = _ZERO if first == 0 else np.uint64(np.int64(cells[first - 1]) + 1)
    for place in range(np.uint64(first), np.uint64(stop)):
        right = np.uint64(np.int64(cells[place]) + 1)
        row = ((left << _BITS) | right) << _ONE
        target = grid[row]
        if target >= 0:
            pool_out[np.uint64(target)] = np.int32(place - _ONE)
            grid[row] = target + 1
        left = right
