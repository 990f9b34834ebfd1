"""List the pairs of a corpus that stand at or above a floor, in fresh structures for the trainer."""

import functools
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from numbpe.parallel import call_side_by_side, cut_evenly
from numbpe_kernels import training_state as kernel
from numbpe_kernels.heap import PairHeap, heap_order_all
from numbpe_kernels.pair_counting import pairs_count, pairs_list, pairs_place, pairs_sketch
from numbpe_kernels.pair_grid import GRID_SIZE, MAX_SYMBOLS, grid_count, grid_list, grid_place
from numbpe_kernels.pair_table import (
    COUNT,
    LENGTH,
    ROW_WIDTH,
    PairTable,
    make_pair_table,
    pair_table_move,
)
from numbpe_kernels.training_state import Trainer

MAX_SKETCH_BITS = 22
"""The sketch takes at most 32 MB."""

FEW_PAIRS = 1 << 17
"""If there are no more pairs than this, all are counted exactly, without a sketch."""

LEAST_SIZE = 1 << 14
"""Rows of the smallest table, and entries of the smallest heap."""


def round_up_to_power(n: int) -> int:
    """Return the smallest power of two that is at least ``n`` and at least 2."""
    return 1 << max(1, (n - 1).bit_length())


def list_pairs(trainer: Trainer, n_corpus_symbols: int, floor: int, n_parts: int = 1) -> Trainer:
    """Return ``trainer`` with all pairs that stand at least ``floor`` times.

    n_corpus_symbols : of all words together; there are no more pairs
    n_parts : how many parts of the corpus may be gone through at the same time, each by a thread
    """
    state = trainer.state
    are_symbols = trainer.lengths[: state[kernel.N_TOKENS]].max(initial=1) == 1
    if are_symbols and state[kernel.N_TOKENS] <= MAX_SYMBOLS and state[kernel.MAX_CELLS] > 1:
        listed, n_entries, pool_end = _list_in_grid(trainer, floor, n_parts)
    else:
        listed, n_entries, pool_end = _list_in_table(trainer, n_corpus_symbols, floor)
    # No slice of a newborn pair is longer than that of the pair from whose merge it is born.
    longest = int(listed.table.rows[LENGTH::ROW_WIDTH].max())
    listed = listed._replace(beside=np.empty(2 * longest, dtype=np.int32))
    heap_order_all(listed.heap, listed.order, n_entries)
    state[kernel.HEAP_SIZE] = n_entries
    state[kernel.TABLE_FILL] = n_entries
    state[kernel.POOL_END] = pool_end
    state[kernel.FLOOR] = floor
    return listed


def _list_in_grid(trainer: Trainer, floor: int, n_parts: int) -> tuple[Trainer, int, int]:
    """List pairs of single symbols; return the number of entries and of places in the pool, too."""
    corpus = trainer.corpus
    parts = list(pairwise(cut_evenly(len(corpus.cells), n_parts)))
    grids = np.zeros((n_parts, GRID_SIZE), dtype=np.int64)
    call_side_by_side(
        [
            functools.partial(grid_count, corpus, first, stop, grid)
            for (first, stop), grid in zip(parts, grids, strict=True)
        ]
    )
    table, heap = _make_structures(int((grids[:, ::2].sum(axis=0) >= floor).sum()))
    n_entries, pool_end = grid_place(grids, floor, table, heap)
    pool = _make_pool(trainer, pool_end)
    call_side_by_side(
        [
            functools.partial(grid_list, corpus.cells, first, stop, grid, pool)
            for (first, stop), grid in zip(parts, grids, strict=True)
        ]
    )
    return trainer._replace(table=table, heap=heap, pool=pool), n_entries, pool_end


def _list_in_table(trainer: Trainer, n_corpus_symbols: int, floor: int) -> tuple[Trainer, int, int]:
    """List pairs of any tokens; return the number of entries and of places in the pool, too."""
    state, corpus, lengths = trainer.state, trainer.corpus, trainer.lengths
    # No more places than there can be pairs; else enough that few pairs share one.
    most_pairs = min(int(state[kernel.N_TOKENS]) ** 2, n_corpus_symbols)
    bits = min(most_pairs.bit_length(), MAX_SKETCH_BITS)
    shift = np.uint64(64 - bits)
    if most_pairs > FEW_PAIRS:
        sketch = np.zeros(1 << bits, dtype=np.int64)
        pairs_sketch(corpus, lengths, sketch, shift)
    else:  # All may have a row: a sketch that lets every pair through.
        sketch = np.full(2, np.iinfo(np.int64).max)
        shift = np.uint64(63)
    n_slots = max(LEAST_SIZE, min(round_up_to_power(2 * most_pairs), 4 * FEW_PAIRS))
    while True:
        counted = make_pair_table(n_slots)
        max_cells = int(state[kernel.MAX_CELLS])
        if pairs_count(corpus, lengths, sketch, shift, floor, max_cells, counted) >= 0:
            break
        n_slots *= 4
    table, heap = _make_structures(int((counted.rows[COUNT::ROW_WIDTH] >= floor).sum()))
    pair_table_move(counted, table, floor)
    del counted
    n_entries, pool_end = pairs_place(table, heap)
    pool = _make_pool(trainer, pool_end)
    pairs_list(corpus, lengths, sketch, shift, floor, table, pool)
    return trainer._replace(table=table, heap=heap, pool=pool), n_entries, pool_end


def _make_structures(n_pairs: int) -> tuple[PairTable, PairHeap]:
    """Return an empty table and a heap with room for so many pairs and those that are born of them."""
    table = make_pair_table(round_up_to_power(max(LEAST_SIZE, 6 * n_pairs)))
    size = max(LEAST_SIZE, 3 * n_pairs)
    return table, PairHeap(np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))


def _make_pool(trainer: Trainer, pool_end: int) -> NDArray[np.int32]:
    """Return a pool with room for so many occurrences and those of newborn pairs."""
    size = max(2 * pool_end, 2 * len(trainer.corpus.cells), 1 << 12)
    return trainer.pool if len(trainer.pool) >= size else np.empty(size, dtype=np.int32)
