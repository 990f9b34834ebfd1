"""What training reads and writes: the corpus as weighted cells, and the arrays around it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.heap import PairHeap, TokenOrder
from numbpe_kernels.pair_table import PairTable

SEPARATOR = -1
SWALLOWED = -2
BLOCK_SHIFT = 6
"""A block is 2**BLOCK_SHIFT cells; the run of its first cell is known without a search."""

STATUS_PAUSED = 0
STATUS_FINISHED = 1
STATUS_DRY = 2
STATUS_POOL_FULL = 3
STATUS_TABLE_FULL = 4
STATUS_HEAP_FULL = 5
STATUS_CONTENTS_FULL = 6
"""Why ``trainer_merge`` returned: it was asked to pause; it has done all merges; no pair at or
above the floor is left; the structure named has no room for the next merge."""

N_TOKENS = 0
N_MERGES = 1
HEAP_SIZE = 2
TABLE_FILL = 3
POOL_END = 4
FLOOR = 5
MAX_CELLS = 6
N_LEFT = 7
N_RIGHT = 8
STATE_SIZE = 9
"""Places in ``Trainer.state``: tokens known; merges done; entries in the heap; rows in use;
numbers in the pool; the lowest count that is listed; the greatest length of a new token; lengths
of the two lists in ``touched``."""

NEIGHBOUR_SHIFT = 2
LEFT_WEIGHT = np.uint64(0)
LEFT_PLACE = np.uint64(1)
RIGHT_WEIGHT = np.uint64(2)
RIGHT_PLACE = np.uint64(3)
"""Columns of ``Trainer.neighbours``, 2**NEIGHBOUR_SHIFT a token, all 0 between merges. A place is
first a number of occurrences, then where in the pool the next occurrence is written, or -1."""

PREFETCH_DISTANCE = 12
"""Occurrences between the one at hand and the one whose cells are asked for."""

_ONE = np.uint64(1)
_BLOCK_SHIFT = np.uint64(BLOCK_SHIFT)


class WeightedCells(NamedTuple):
    """A corpus of words with their counts.

    cells : (n,) int32, words of tokens with SEPARATOR before, between and after them
    run_starts : (r + 1,) int64, ascending; the words in cells run_starts[i]:run_starts[i + 1]
        have the same count; run_starts[0] == 0 and run_starts[r] == n
    run_counts : (r,) int64, that count
    block_runs : (n // 64 + 1,) int32, the run of the first cell of each block
    """

    cells: NDArray[np.int32]
    run_starts: NDArray[np.int64]
    run_counts: NDArray[np.int64]
    block_runs: NDArray[np.int32]


class Trainer(NamedTuple):
    """All that merging reads and writes.

    corpus : see WeightedCells
    lengths : (v,) int32, the cells of each token
    order : see heap.TokenOrder; filled for the tokens known so far
    table, heap : see pair_table.PairTable and heap.PairHeap
    pool : (p,) int32, first cells of occurrences, and behind them PREFETCH_DISTANCE numbers more
    neighbours : (v * 4,) int64, all 0 between merges
    touched : (2, v) int32, scratch
    beside : (2 * l,) int32, scratch, l being the length of the longest slice of the pool: the tokens
        before and after each occurrence that was merged
    merges : (m, 2) int32, the pairs merged so far
    merge_counts : (m,) int64, how often each pair stood in the corpus when it was merged
    state : (STATE_SIZE,) int64
    """

    corpus: WeightedCells
    lengths: NDArray[np.int32]
    order: TokenOrder
    table: PairTable
    heap: PairHeap
    pool: NDArray[np.int32]
    neighbours: NDArray[np.int64]
    touched: NDArray[np.int32]
    beside: NDArray[np.int32]
    merges: NDArray[np.int32]
    merge_counts: NDArray[np.int64]
    state: NDArray[np.int64]


@njit
def cells_run_at(corpus: WeightedCells, position: np.uint64, run: np.uint64) -> np.uint64:
    """Return the run that holds ``position``, given one that does not begin after it.

    position : uint64, a cell; run : uint64, 0 or the run of an earlier cell
    Reads only; uint64. O(1) but for blocks with many runs.
    """
    run = max(run, np.uint64(corpus.block_runs[position >> _BLOCK_SHIFT]))
    while np.uint64(corpus.run_starts[run + _ONE]) <= position:
        run += _ONE
    return run
