"""Counting and listing all pairs of a corpus that stand at or above a floor.

Three passes over the cells. The first adds every pair's weight to a sketch, an array of sums
without keys: pairs that share a place only make a sum too great, so a pair whose sum is below the
floor is below it. The second counts exactly, in a table, the pairs that the sketch lets through.
The third writes the occurrences of those that reach the floor.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.hashing import hash_key
from numbpe_kernels.heap import PairHeap
from numbpe_kernels.pair_table import (
    COUNT,
    EMPTY_KEY,
    FIRST,
    KEY,
    LENGTH,
    ROW_WIDTH,
    PairTable,
    pair_key,
    pair_table_find,
)
from numbpe_kernels.training_state import SEPARATOR, WeightedCells


@njit
def pairs_sketch(
    corpus: WeightedCells, lengths: NDArray[np.int32], sketch: NDArray[np.int64], shift: np.uint64
) -> None:
    """Add the weight of every pair to its place in the sketch.

    lengths : (v,) int32, cells of each token; sketch : (m,) int64, zeros before, m a power of
    two; shift : uint64, 64 - log2(m)
    Writes sketch. One pass over the cells.
    """
    cells = corpus.cells
    place = 1
    run = 0
    while place < cells.shape[0]:
        token = np.int64(cells[place])
        if token == SEPARATOR:
            place += 1
            while place >= corpus.run_starts[run + 1] and place < cells.shape[0]:
                run += 1
            continue
        after = place + np.int64(lengths[token])
        if cells[after] != SEPARATOR:
            sketch[hash_key(pair_key(token, np.int64(cells[after])), shift)] += corpus.run_counts[
                run
            ]
        place = after


@njit
def pairs_count(
    corpus: WeightedCells,
    lengths: NDArray[np.int32],
    sketch: NDArray[np.int64],
    shift: np.uint64,
    floor: int,
    max_cells: int,
    table: PairTable,
) -> int:
    """Count, in the empty ``table``, the pairs whose sum in the sketch reaches the floor.

    lengths, sketch, shift : as in pairs_sketch; floor, max_cells : int64, the lowest sum and the
    greatest length of a token that are let through
    Writes table rows: key, count, and length, the number of occurrences. Returns the number of
    rows, int64, or -1 if the table became more than half full; its rows are of no use then.
    """
    cells = corpus.cells
    rows = table.rows
    capacity = rows.shape[0] // (2 * ROW_WIDTH)
    n_rows = 0
    place = 1
    run = 0
    while place < cells.shape[0]:
        token = np.int64(cells[place])
        if token == SEPARATOR:
            place += 1
            while place >= corpus.run_starts[run + 1] and place < cells.shape[0]:
                run += 1
            continue
        after = place + np.int64(lengths[token])
        right = np.int64(cells[after])
        place = after
        if right == SEPARATOR:
            continue
        key = pair_key(token, right)
        if sketch[hash_key(key, shift)] < floor:
            continue
        if np.int64(lengths[token]) + np.int64(lengths[right]) > max_cells:
            continue
        row = pair_table_find(table, key)
        if rows[row + KEY] == EMPTY_KEY:
            if n_rows == capacity:
                return -1
            rows[row + KEY] = key
            n_rows += 1
        rows[row + COUNT] += corpus.run_counts[run]
        rows[row + LENGTH] += 1
    return n_rows


@njit
def pairs_place(table: PairTable, heap: PairHeap) -> tuple[int, int]:
    """Give each pair of the table its slice of the pool and its entry in the heap.

    table : rows at or above the floor only; heap : room for one entry a row
    Writes column FIRST, sets LENGTH to 0 for pairs_list, and writes heap entries, not in heap
    order yet. Returns the number of entries and of pool places, int64 each.
    """
    rows = table.rows
    n_entries = 0
    pool_end = 0
    for row in range(0, rows.shape[0], ROW_WIDTH):
        if rows[row + KEY] != EMPTY_KEY:
            rows[row + FIRST] = pool_end
            pool_end += rows[row + LENGTH]
            rows[row + LENGTH] = 0
            heap.counts[n_entries] = rows[row + COUNT]
            heap.keys[n_entries] = rows[row + KEY]
            n_entries += 1
    return n_entries, pool_end


@njit
def pairs_list(
    corpus: WeightedCells,
    lengths: NDArray[np.int32],
    sketch: NDArray[np.int64],
    shift: np.uint64,
    floor: int,
    table: PairTable,
    pool: NDArray[np.int32],
) -> None:
    """Write the occurrences of the pairs of the table into their slices of the pool, ascending.

    Arguments as in pairs_count; pool : (p,) int32 with room for all slices
    Writes pool and column LENGTH. One pass over the cells.
    """
    cells = corpus.cells
    rows = table.rows
    place = 1
    while place < cells.shape[0]:
        token = np.int64(cells[place])
        if token == SEPARATOR:
            place += 1
            continue
        after = place + np.int64(lengths[token])
        right = np.int64(cells[after])
        if right != SEPARATOR:
            key = pair_key(token, right)
            if sketch[hash_key(key, shift)] >= floor:
                row = pair_table_find(table, key)
                if rows[row + KEY] == key:
                    pool[rows[row + FIRST] + rows[row + LENGTH]] = np.int32(place)
                    rows[row + LENGTH] += 1
        place = after


@njit
def pairs_compact(table: PairTable, order: NDArray[np.int64], pool: NDArray[np.int32]) -> int:
    """Move the slices of some rows to the front of the pool, and return where they end, int64.

    order : (k,) int64, rows in ascending order of their slices; all other slices are lost
    Writes pool and column FIRST. One pass over the slices that are kept.
    """
    rows = table.rows
    target = 0
    for i in range(order.shape[0]):
        row = order[i]
        first = rows[row + FIRST]
        rows[row + FIRST] = target
        for j in range(first, first + rows[row + LENGTH]):
            pool[target] = pool[j]
            target += 1
    return target
