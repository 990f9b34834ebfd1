"""Distinct strings of a text with their counts and first places: a table that grows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Counts, Offsets, TextArray
from numbpe.spilling import export_words
from numbpe.word_tables import empty_words, grow_arena, grow_rows
from numbpe_kernels.counted_table import counted_table_add, counted_table_rehash
from numbpe_kernels.word_table import (
    BATCH,
    HIGH,
    N_WORDS,
    ROW_WIDTH,
    make_word_table,
    word_table_capacity,
)

FIRST_SLOTS = 1 << 12
FIRST_ARENA_NBYTES = 1 << 14

_SLOT_NBYTES = 8 * ROW_WIDTH + 8

CheckGrowth = Callable[[int], None]
"""Called with the bytes that a table is about to take more; raises if it must not."""


class CountedStrings(NamedTuple):
    """Distinct strings, in no particular order.

    contents : bytes of all strings one after another, UTF-8, with padding
    offsets : (n + 1,) int64, where each begins in ``contents``
    counts : (n,) int64, how often each occurs
    positions : (n,) int64, where each stands first: no two alike
    """

    contents: TextArray
    offsets: Offsets
    counts: Counts
    positions: NDArray[np.int64]

    @property
    def bounds(self) -> NDArray[np.int64]:
        """(n, 2) int64: where each string begins and ends in ``contents``."""
        return np.column_stack([self.offsets[:-1], self.offsets[1:]])

    def list_strings(self, numbers: NDArray[np.int64] | None = None) -> list[str]:
        """Return the strings of these numbers, or all."""
        bounds = self.bounds if numbers is None else self.bounds[numbers]
        text = self.contents.tobytes()
        return [text[i:j].decode() for i, j in bounds.tolist()]


class CountedTable:
    """A word table with first positions, that grows as it must."""

    def __init__(self, check_growth: CheckGrowth | None = None) -> None:
        self.table = make_word_table(FIRST_SLOTS, FIRST_ARENA_NBYTES)
        self.firsts = np.zeros(FIRST_SLOTS, dtype=np.int64)
        self._check_growth = check_growth

    def __len__(self) -> int:
        """Return the number of distinct strings."""
        return int(self.table.state[N_WORDS])

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self.table.rows.nbytes + self.table.arena.nbytes + self.firsts.nbytes

    def add(
        self,
        text: TextArray,
        bounds: NDArray[np.int64],
        counts: Counts,
        positions: NDArray[np.int64],
    ) -> None:
        """Add strings with their counts and positions; empty ones are left out.

        bounds : (n, 2) int64, where each string begins and ends in ``text``
        """
        done = 0
        while True:
            done = counted_table_add(self.table, self.firsts, text, bounds, counts, positions, done)
            if done == len(counts):
                return
            self.make_room(int(bounds[done, 1] - bounds[done, 0]))

    def make_room(self, n_bytes: int) -> None:
        """Double the part of the table that is full, or give the arena room for ``n_bytes`` more."""
        if len(self) + BATCH > word_table_capacity(self.table):
            self._grow_rows()
        else:
            self._grow_arena(n_bytes)

    def _grow_rows(self) -> None:
        n_slots = 2 * len(self.firsts)
        if self._check_growth is not None:
            self._check_growth(n_slots * _SLOT_NBYTES)
        firsts = np.zeros(n_slots, dtype=np.int64)
        self.table = grow_rows(
            self.table,
            lambda rows, grown: counted_table_rehash(rows, self.firsts, grown, firsts),
        )
        self.firsts = firsts

    def _grow_arena(self, n_bytes: int) -> None:
        if self._check_growth is not None:
            self._check_growth(2 * max(len(self.table.arena), n_bytes))
        self.table = grow_arena(self.table, n_bytes)

    def export(self) -> CountedStrings:
        """Return what was counted."""
        contents, offsets, counts = export_words(self.table)
        positions = self.firsts[self.table.rows[int(HIGH) :: ROW_WIDTH] != 0]
        return CountedStrings(contents, offsets, counts, positions)

    def clear(self) -> None:
        """Forget all strings; the table keeps its size."""
        empty_words(self.table)
