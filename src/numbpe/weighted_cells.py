"""Words laid out as cells for the trainer: the most frequent first, each with its count."""

import functools
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Counts, Offsets
from numbpe.errors import BudgetError
from numbpe.parallel import call_side_by_side, cut_evenly
from numbpe_kernels.csr import (
    csr_count_cells,
    csr_order_by_weight,
    csr_write_cells,
    csr_write_tokens,
)
from numbpe_kernels.training_state import BLOCK_SHIFT, SWALLOWED, WeightedCells

CELLS_PER_PART = 1 << 18
"""Words are laid out and their first pairs listed by a thread for so many cells: a millisecond's work."""

MOST_PARTS = 4
"""At most by so many: each counts pairs in 1 to 4 MB of its own."""

HEAVY = 1 << 14
"""Words that stand so often or more, some hundred, are sorted one by one, all others by counting."""

MAX_CELLS = 2**31 - 1
"""Occurrences are int32 numbers of cells."""


class OrderedWords(NamedTuple):
    """The words that hold a pair, the most frequent first.

    order : (k,) int64; words with the same count may come in any order: no sum depends on it
    run_counts : (r,) int64, the counts that words have, descending
    run_cells : (r,) int64, how many cells the words of each count take
    """

    order: NDArray[np.int64]
    run_counts: Counts
    run_cells: NDArray[np.int64]


def order_words(offsets: Offsets, cell_offsets: Offsets, counts: Counts) -> OrderedWords:
    """Return the order in which words are laid out.

    offsets, cell_offsets : (n + 1,), of the symbols of words, and of the cells that these take
    """
    order = np.empty(len(counts), dtype=np.int64)
    bounds, cells = np.zeros((2, HEAVY + 1), dtype=np.int64)
    n_listed, n_heavy = csr_order_by_weight(offsets, cell_offsets, counts, bounds, cells, order)
    heavy = order[:n_heavy]
    heavy[:] = heavy[np.argsort(-counts[heavy])]
    light = np.flatnonzero(cells[:HEAVY])[::-1]
    all_counts = np.concatenate([counts[heavy], light])
    all_cells = np.concatenate([cell_offsets[heavy + 1] - cell_offsets[heavy] + 1, cells[light]])
    firsts = np.flatnonzero(np.diff(all_counts, prepend=0))
    run_cells = np.add.reduceat(all_cells, firsts) if len(firsts) else all_cells
    return OrderedWords(order[:n_listed], all_counts[firsts], run_cells)


def build_weighted_cells(
    contents: NDArray[np.uint8] | NDArray[np.int32],
    offsets: Offsets,
    counts: Counts,
    token_lengths: NDArray[np.int32] | None = None,
    threads: int = 1,
) -> WeightedCells:
    """Lay out words, the most frequent first, as the trainer wants them.

    contents : symbols of all words; offsets : (n + 1,); counts : (n,) int64, positive
    token_lengths : the cells that each symbol takes, one by default; contents are int32 then
    Raises BudgetError where there are more cells than an int32 can number.
    """
    cell_offsets = offsets
    write = functools.partial(csr_write_cells, contents, offsets)
    if token_lengths is not None:
        ends = np.zeros(len(contents) + 1, dtype=np.int64)
        np.cumsum(token_lengths[contents], out=ends[1:])
        cell_offsets = ends[offsets]
        tokens = contents.astype(np.int32, copy=False)
        write = functools.partial(csr_write_tokens, tokens, offsets, token_lengths, SWALLOWED)
    order, run_counts, run_cells = order_words(offsets, cell_offsets, counts)
    n_cells = 1 + int(run_cells.sum())
    if n_cells > MAX_CELLS:
        raise BudgetError(
            f"cannot train on {len(order):,} distinct words of {n_cells:,} symbols in all: at most "
            f"{MAX_CELLS:,} can be numbered; train on a sample, or use a pattern that cuts text "
            "into shorter pieces"
        )
    cells = np.empty(n_cells, dtype=np.int32)
    cuts = cut_evenly(len(order), count_parts(n_cells, threads))
    starts = [0]
    for first, stop in pairwise(cuts):
        starts.append(starts[-1] + csr_count_cells(cell_offsets, order[first:stop]))
    call_side_by_side(
        [
            # What ends one part, between two words, begins the next.
            functools.partial(write, order[first:stop], cells[start : end + 1])
            for (first, stop), (start, end) in zip(pairwise(cuts), pairwise(starts), strict=True)
        ]
    )
    return weigh_cells(cells, run_counts, run_cells)


def weigh_cells(
    cells: NDArray[np.int32], run_counts: Counts, run_cells: NDArray[np.int64]
) -> WeightedCells:
    """Return cells with the counts of the words in them, see OrderedWords."""
    n_cells = len(cells)
    if len(run_counts):
        run_starts = np.concatenate([[1], 1 + np.cumsum(run_cells)])
        run_starts[0] = 0
    else:
        run_counts, run_starts = np.zeros(1, dtype=np.int64), np.array([0, n_cells])
    blocks = np.arange(0, n_cells, 1 << BLOCK_SHIFT, dtype=np.int64)
    block_runs = (np.searchsorted(run_starts, blocks, side="right") - 1).astype(np.int32)
    return WeightedCells(cells, run_starts, run_counts, block_runs)


def count_parts(n_cells: int, threads: int) -> int:
    """Return by how many threads cells are written or gone through."""
    return max(1, min(threads, MOST_PARTS, n_cells // CELLS_PER_PART))
