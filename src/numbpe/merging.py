"""Run the merging kernel: build its arrays, give it room where it asks for more, lower its floor.

Nothing here decides which pair is merged; that is the kernel's, by count and tie rule alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Counts, Offsets, TextArray
from numbpe.pair_listing import MAX_SKETCH_BITS, list_pairs, round_up_to_power
from numbpe.parallel import call_interruptibly
from numbpe.weighted_cells import MAX_CELLS, build_weighted_cells, count_parts
from numbpe_kernels import training_state as kernel
from numbpe_kernels.heap import PairHeap, TokenOrder
from numbpe_kernels.pair_counting import (
    pairs_compact,
)
from numbpe_kernels.pair_table import (
    COUNT,
    FIRST,
    LENGTH,
    ROW_WIDTH,
    make_pair_table,
    pair_table_move,
)
from numbpe_kernels.training import trainer_merge

WORK_PER_CALL = 1_500_000
"""Occurrences that one kernel call looks at: some tens of milliseconds, so that a progress bar
moves and Ctrl-C is answered."""


@dataclass(frozen=True)
class MergeResult:
    """Merges in the order in which they were made.

    pairs : (n, 2) int32, symbols: those of the alphabet first, then one for each merge
    counts : (n,) int64, how often each pair stood in the corpus when it was merged
    stopped_early : no pair was left before all merges that were asked for were made
    """

    pairs: NDArray[np.int32]
    counts: Counts
    stopped_early: bool


class TokenBytes(NamedTuple):
    """Tokens of several bytes that words are made of before anything is merged.

    contents : bytes, one token after another; offsets : (v + 1,) int64. A token that no word has
        may be empty.
    """

    contents: TextArray
    offsets: Offsets


def estimate_merging_nbytes(n_cells: int, n_words: int, n_merges: int) -> int:
    """Return an upper estimate of the bytes that merging takes beside the words themselves."""
    n_cells += n_words + 1
    pool = 4 * max(1 << 16, 3 * n_cells)
    tables = 3 * 32 * round_up_to_power(min(4 * n_cells, 1 << 22)) // 2
    return 4 * n_cells + pool + tables + 8 * n_words * 3 + 60 * n_merges + (8 << MAX_SKETCH_BITS)


def _measure_tokens(tokens: TokenBytes) -> NDArray[np.int32]:
    """Return the length of every token; of one that is empty, and that no word has, 1."""
    return np.maximum(np.diff(tokens.offsets), 1).astype(np.int32)


def _list_prefixes(tokens: TokenBytes) -> NDArray[np.uint64]:
    """Return the first 8 bytes of every token, as heap.TokenOrder has them."""
    starts, stops = tokens.offsets[:-1], tokens.offsets[1:]
    prefixes = np.zeros(len(starts), dtype=np.uint64)
    for i in range(8):
        has_byte = starts + i < stops
        shift = np.uint64(56 - 8 * i)
        prefixes[has_byte] |= tokens.contents[starts[has_byte] + i].astype(np.uint64) << shift
    return prefixes


def _make_token_order(
    tokens: TokenBytes | None, n_symbols: int, symbol_bits: int, n_merges: int, tie_rule: int
) -> TokenOrder:
    """Return what the tie rule looks at, filled for the symbols that there are at first."""
    if tokens is None:
        bounds = np.arange(n_symbols + 1, dtype=np.int64)
        first_prefixes = np.arange(n_symbols, dtype=np.uint64) << np.uint64(64 - symbol_bits)
        symbols = np.arange(n_symbols, dtype=np.int32)
    else:
        bounds = tokens.offsets
        first_prefixes = _list_prefixes(tokens)
        symbols = tokens.contents[: bounds[-1]].astype(np.int32)
    prefixes = np.zeros(n_symbols + n_merges + 1, dtype=np.uint64)
    prefixes[:n_symbols] = first_prefixes
    contents = np.zeros(len(symbols) + 16 * n_merges + 64, dtype=np.int32)
    contents[: len(symbols)] = symbols
    offsets = np.zeros(n_symbols + n_merges + 2, dtype=np.int64)
    offsets[: n_symbols + 1] = bounds
    return TokenOrder(tie_rule, np.uint64(symbol_bits), prefixes, contents, offsets)


class MergeRun:
    """One training run over weighted words; ``advance`` makes some merges a call."""

    def __init__(
        self,
        contents: NDArray[np.uint8] | NDArray[np.int32],
        offsets: Offsets,
        counts: Counts,
        *,
        n_merges: int,
        tie_rule: int,
        n_symbols: int = 256,
        symbol_bits: int = 8,
        min_frequency: int = 1,
        max_cells: int | None = None,
        tokens: TokenBytes | None = None,
        threads: int = 1,
    ) -> None:
        """Lay out the corpus.

        contents, offsets, counts : see build_weighted_cells; symbols are 0 to n_symbols - 1
        tokens : the bytes of the symbols, where these are tokens of several bytes; their number
            is that of symbols, and lengths are those in bytes
        tie_rule : heap.TIE_SMALLEST_IDS or heap.TIE_GREATEST_SYMBOLS
        min_frequency : pairs that stand less often are not merged
        max_cells : the greatest length of a token in symbols
        threads : how many lay words out and list pairs; merges are made by one
        """
        token_lengths = None if tokens is None else _measure_tokens(tokens)
        n_symbols = n_symbols if token_lengths is None else len(token_lengths)
        takes_more = token_lengths is not None and token_lengths.max(initial=1) > 1
        corpus = build_weighted_cells(
            contents, offsets, counts, token_lengths if takes_more else None, threads
        )
        self._n_parts = count_parts(len(corpus.cells), threads)
        self.n_corpus_symbols = int(offsets[-1])
        self.min_floor = max(1, min_frequency)
        self.stopped_early = False
        n_tokens = n_symbols + n_merges
        lengths = np.ones(n_tokens + 1, dtype=np.int32)
        if token_lengths is not None:
            lengths[:n_symbols] = token_lengths
        state = np.zeros(kernel.STATE_SIZE, dtype=np.int64)
        state[kernel.N_TOKENS] = n_symbols
        state[kernel.MAX_CELLS] = MAX_CELLS if max_cells is None else max_cells
        self.trainer = kernel.Trainer(
            corpus=corpus,
            lengths=lengths,
            order=_make_token_order(tokens, n_symbols, symbol_bits, n_merges, tie_rule),
            table=make_pair_table(2),
            heap=PairHeap(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)),
            pool=np.empty(0, dtype=np.int32),
            neighbours=np.zeros((n_tokens + 1) << kernel.NEIGHBOUR_SHIFT, dtype=np.int64),
            touched=np.zeros((2, n_tokens + 1), dtype=np.int32),
            beside=np.empty(0, dtype=np.int32),
            merges=np.zeros((n_merges, 2), dtype=np.int32),
            merge_counts=np.zeros(n_merges, dtype=np.int64),
            state=state,
        )
        self._list_again(self._guess_floor())

    @property
    def n_merges(self) -> int:
        """Merges made so far."""
        return int(self.trainer.state[kernel.N_MERGES])

    def advance(self) -> bool:
        """Make some merges. Returns whether there are more to make."""
        status = trainer_merge(self.trainer, WORK_PER_CALL)
        if status == kernel.STATUS_FINISHED:
            return False
        if status == kernel.STATUS_DRY:
            floor = int(self.trainer.state[kernel.FLOOR])
            if floor <= self.min_floor:
                self.stopped_early = True
                return False
            call_interruptibly(lambda: self._list_again(self._lower_floor(floor)))
        elif status != kernel.STATUS_PAUSED:
            call_interruptibly(lambda: self._make_room(status))
        return True

    def list_token_lengths(self, first: int) -> NDArray[np.int64]:
        """Return the lengths in symbols of the tokens that merge ``first`` and later ones made."""
        order, state = self.trainer.order, self.trainer.state
        stop = int(state[kernel.N_TOKENS])
        return np.diff(order.offsets[stop - (self.n_merges - first) : stop + 1])

    def spell_tokens(self, first: int, stop: int) -> list[bytes]:
        """Return the bytes of the tokens that some merges made, of symbols that are bytes."""
        order, state = self.trainer.order, self.trainer.state
        n_symbols = int(state[kernel.N_TOKENS]) - self.n_merges
        bounds = order.offsets[n_symbols + first : n_symbols + stop + 1].tolist()
        contents = order.contents[bounds[0] : bounds[-1]].astype(np.uint8).tobytes()
        return [contents[i - bounds[0] : j - bounds[0]] for i, j in pairwise(bounds)]

    def spell_merged(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the bytes of what all merges made, of symbols that are bytes, and the lengths."""
        order = self.trainer.order
        stop = int(self.trainer.state[kernel.N_TOKENS])
        offsets = order.offsets[stop - self.n_merges : stop + 1]
        return order.contents[offsets[0] : offsets[-1]].astype(np.uint8), np.diff(offsets)

    def finish(self, on_progress: Callable[[int], None] | None = None) -> MergeResult:
        """Make all merges. ``on_progress`` is called now and then with the number made so far."""
        while self.advance():
            if on_progress is not None:
                on_progress(self.n_merges)
        n = self.n_merges
        if on_progress is not None:
            on_progress(n)
        return self.collect(n)

    def collect(self, n: int) -> MergeResult:
        """Return the first ``n`` merges of those that were made."""
        pairs = self.trainer.merges[:n].copy()
        return MergeResult(pairs, self.trainer.merge_counts[:n].copy(), self.stopped_early)

    def _guess_floor(self) -> int:
        """Guess a little below the count that the last merge will have.

        In natural text the count of the r-th merge falls about as total / (8 r), more slowly at
        first. A guess too high costs a pass over the cells, one too low some memory.
        """
        corpus = self.trainer.corpus
        total = int((np.diff(corpus.run_starts) * corpus.run_counts).sum())
        n_merges = max(1, len(self.trainer.merges))
        return max(self.min_floor, total // (100 * n_merges))

    def _lower_floor(self, floor: int) -> int:
        """Extrapolate from the merges that the old floor gave to the count of the last one."""
        done = max(1, self.n_merges)
        wanted = max(1, len(self.trainer.merges))
        return max(self.min_floor, min(floor // 2, int(0.7 * floor * (done / wanted) ** 1.25)))

    def _list_again(self, floor: int) -> None:
        """List all pairs that stand at least ``floor`` times."""
        self.trainer = list_pairs(self.trainer, self.n_corpus_symbols, floor, self._n_parts)

    def _make_room(self, status: int) -> None:
        """Give the structure that a kernel status names more room."""
        trainer = self.trainer
        floor = int(trainer.state[kernel.FLOOR])
        if status == kernel.STATUS_POOL_FULL:
            self._compact_pool(floor)
        elif status == kernel.STATUS_TABLE_FULL:
            alive = int((trainer.table.rows[COUNT::ROW_WIDTH] >= floor).sum())
            longest = int(trainer.table.rows[LENGTH::ROW_WIDTH].max())
            births = 2 * min(longest, int(trainer.state[kernel.N_TOKENS])) + 1
            grown = make_pair_table(round_up_to_power(4 * (alive + births)))
            trainer.state[kernel.TABLE_FILL] = pair_table_move(trainer.table, grown, floor)
            self.trainer = trainer._replace(table=grown)
        elif status == kernel.STATUS_HEAP_FULL:
            counts = np.concatenate([trainer.heap.counts, np.zeros_like(trainer.heap.counts)])
            keys = np.concatenate([trainer.heap.keys, np.zeros_like(trainer.heap.keys)])
            self.trainer = trainer._replace(heap=PairHeap(counts, keys))
        elif status == kernel.STATUS_CONTENTS_FULL:
            contents = np.concatenate([trainer.order.contents, trainer.order.contents])
            self.trainer = trainer._replace(order=trainer.order._replace(contents=contents))
        else:
            raise AssertionError(f"the merging kernel returned an unknown status {status}")

    def _compact_pool(self, floor: int) -> None:
        """Drop the occurrences of pairs that are done with; enlarge the pool if that gives little."""
        trainer = self.trainer
        counts = trainer.table.rows[COUNT::ROW_WIDTH]
        alive = np.flatnonzero(counts >= floor) * ROW_WIDTH
        order = alive[np.argsort(trainer.table.rows[alive + FIRST])]
        end = pairs_compact(trainer.table, order, trainer.pool)
        trainer.state[kernel.POOL_END] = end
        longest = int(trainer.table.rows[alive + LENGTH].max(initial=0))
        need = end + 2 * longest + kernel.PREFETCH_DISTANCE
        if need > 0.75 * len(trainer.pool):
            more = np.empty(need // 2 + len(trainer.pool) // 4, dtype=np.int32)
            self.trainer = trainer._replace(pool=np.concatenate([trainer.pool, more]))
