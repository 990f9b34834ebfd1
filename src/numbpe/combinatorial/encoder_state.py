"""What one thread of a combinatorial encoder has of its own: two caches, and room for rows."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets, TextArray
from numbpe.encoder_state import describe_arrays, make_scratch
from numbpe.word_tables import empty_words, grow_arena, grow_array, grow_rows
from numbpe_kernels import tuple_cache as cache
from numbpe_kernels import tuple_encoding as kernel
from numbpe_kernels.tuple_model import TupleModel, TupleScratch
from numbpe_kernels.tuple_words import WORD_SCAN_SIZE
from numbpe_kernels.word_cache import CACHE_SALT
from numbpe_kernels.word_table import (
    ARENA_END,
    BATCH,
    N_WORDS,
    ROW_WIDTH,
    WordTable,
    make_word_table,
    word_table_capacity,
)

MAX_CACHE_NBYTES: Final = 64 << 20
"""Most bytes of each of the two caches; it is emptied when it would grow beyond."""

_FIRST_SLOTS: Final = 1 << 16
_FIRST_GAP_SLOTS: Final = 1 << 12
_FIRST_NBYTES: Final = 4 * cache.BATCH_NBYTES
_KEPT_ROWS: Final = 1 << 15
_KEPT_SCRATCH: Final = 1 << 15
"""Rows, and bytes of a word, for which there is always room."""

_NO_ROWS: Final = np.empty((0, 4), dtype=np.int32)


class RowState:
    """The arrays of one thread; used by one thread at a time."""

    def __init__(self, model: TupleModel, max_cache_nbytes: int | None = None) -> None:
        self._model = model
        self._max_cache_nbytes = max_cache_nbytes or MAX_CACHE_NBYTES
        self._rows = _make_rows(_KEPT_ROWS)
        progress = np.zeros(cache.TUPLE_PROGRESS_SIZE, dtype=np.int64)
        progress[cache.GAPS_END] = cache.FIRST_GAP
        self._set_arrays(
            cache.TupleState(
                words=make_word_table(_FIRST_SLOTS, _FIRST_NBYTES, CACHE_SALT),
                gaps=make_word_table(_FIRST_GAP_SLOTS, _FIRST_NBYTES, CACHE_SALT),
                word_values=np.empty(_FIRST_NBYTES, dtype=np.int32),
                gap_values=np.empty(_FIRST_NBYTES, dtype=np.int32),
                long_values=_make_long_values(_KEPT_ROWS),
                gap_heads=_make_gap_heads(_FIRST_GAP_SLOTS),
                ascii_gaps=np.full(128, cache.NO_GAP, dtype=np.int64),
                scratch=_make_scratch(_KEPT_SCRATCH),
                starts=np.empty(cache.WORDS_ROOM, dtype=np.int64),
                ends=np.empty(cache.WORDS_ROOM, dtype=np.int64),
                scan=np.zeros(WORD_SCAN_SIZE, dtype=np.int64),
                found=np.empty(cache.TUPLE_BLOCK, dtype=np.uint64),
                found_gaps=np.empty(cache.TUPLE_BLOCK + 1, dtype=np.int64),
                jobs=np.empty(2 * cache.TUPLE_BLOCK + 1, dtype=np.int64),
                progress=progress,
            )
        )

    def _set_arrays(self, arrays: cache.TupleState) -> None:
        """Take ``arrays``, and describe them and the model for the kernel."""
        self.arrays = arrays
        self._descriptor = describe_arrays((self._model, arrays))

    def encode(
        self, text: TextArray, parts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], Offsets]:
        """Return the rows of parts of a text; see ``RowEncoder.encode_parts``."""
        progress = self.arrays.progress
        progress[: cache.PENDING_PREFIX] = 0
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        found: list[NDArray[np.int32]] = []
        while status := kernel.tuple_encode(self._descriptor, text, parts, self._rows, offsets):
            if status == kernel.ROWS_ARE_FULL and progress[cache.N_ROWS] > 0:
                found.append(self._take_rows())
            else:
                self._make_room(status)
        last = self._take_rows()
        return (np.concatenate([*found, last]) if found else last), offsets

    def _take_rows(self) -> NDArray[np.int32]:
        """Return a copy of the rows that were written, and begin again with none."""
        progress = self.arrays.progress
        n_rows = int(progress[cache.N_ROWS])
        progress[cache.N_TAKEN] += n_rows
        progress[cache.N_ROWS] = 0
        return self._rows[: 2 * n_rows].view(np.int32).reshape(-1, 4).copy() if n_rows else _NO_ROWS

    def _make_room(self, status: int) -> None:
        """Do what the kernel returned for."""
        arrays = self.arrays
        needed = int(arrays.progress[cache.NEEDED])
        if status == kernel.ROWS_ARE_FULL:
            self._set_rows(2 * needed)
        elif status == kernel.SCRATCH_IS_SMALL:
            self._set_arrays(arrays._replace(scratch=_make_scratch(2 * needed)))
        elif status == kernel.WORDS_ARE_FULL:
            grown = self._grow(arrays.words, arrays.word_values, cache.WORD_VALUES_END)
            if grown is None:
                self._empty_words()
            else:
                self._set_arrays(arrays._replace(words=grown[0], word_values=grown[1]))
        else:
            grown = self._grow(arrays.gaps, arrays.gap_values, cache.GAP_VALUES_END)
            if grown is None:
                self._empty_gaps()
                return
            heads = _make_gap_heads(len(grown[0].rows) // ROW_WIDTH)
            heads[: len(arrays.gap_heads)] = arrays.gap_heads
            self._set_arrays(arrays._replace(gaps=grown[0], gap_values=grown[1], gap_heads=heads))

    def _set_rows(self, n_rows: int) -> None:
        """Make room for ``n_rows`` rows at once."""
        self._rows = _make_rows(n_rows)
        self._set_arrays(self.arrays._replace(long_values=_make_long_values(n_rows)))

    def _grow(
        self, table: WordTable, values: NDArray[np.int32], values_end: int
    ) -> tuple[WordTable, NDArray[np.int32]] | None:
        """Return a cache in which what is full is twice as large; None if that is too much.

        values_end: the place in ``progress`` of where values end.
        """
        rows_are_full = table.state[N_WORDS] + BATCH > word_table_capacity(table)
        arena_is_full = len(table.arena) - table.state[ARENA_END] < cache.BATCH_NBYTES + 64
        values_are_full = len(values) - self.arrays.progress[values_end] < cache.BATCH_NBYTES
        n_bytes = table.rows.nbytes * (1 + rows_are_full) + values.nbytes * (1 + values_are_full)
        if n_bytes + len(table.arena) * (1 + arena_is_full) > self._max_cache_nbytes:
            return None
        if rows_are_full:
            table = grow_rows(table)
        if arena_is_full:
            table = grow_arena(table)
        if values_are_full:
            values = grow_array(values, 2 * len(values))
        return table, values

    def _empty_words(self) -> None:
        empty_words(self.arrays.words)
        self.arrays.progress[cache.WORD_VALUES_END] = 0

    def _empty_gaps(self) -> None:
        empty_words(self.arrays.gaps)
        self.arrays.ascii_gaps[:] = cache.NO_GAP
        self.arrays.progress[cache.GAP_VALUES_END] = 0
        self.arrays.progress[cache.GAPS_END] = cache.FIRST_GAP

    def shrink(self) -> None:
        """Give back the room that a long word took."""
        if len(self._rows) > 2 * _KEPT_ROWS:
            self._set_rows(_KEPT_ROWS)
        if len(self.arrays.scratch.flags) > _KEPT_SCRATCH + cache.SCRATCH_SLACK:
            self._set_arrays(self.arrays._replace(scratch=_make_scratch(_KEPT_SCRATCH)))


def _make_rows(n_rows: int) -> NDArray[np.uint64]:
    return np.empty(2 * n_rows, dtype=np.uint64)


def _make_long_values(n_rows: int) -> NDArray[np.int32]:
    # A piece for each byte of what is written at once, and their number for each word.
    return np.empty(2 * n_rows, dtype=np.int32)


def _make_gap_heads(n_slots: int) -> NDArray[np.int32]:
    """Return room for the gaps that a table of ``n_slots`` takes, and for those that it has not."""
    return np.zeros(cache.HEAD_WIDTH * (n_slots + 128 + cache.FIRST_GAP), dtype=np.int32)


def _make_scratch(longest: int) -> TupleScratch:
    """Return room for words and gaps of up to ``longest`` bytes."""
    n = longest + cache.SCRATCH_SLACK
    return TupleScratch(
        merging=make_scratch(longest),
        flags=np.empty(n, dtype=np.uint8),
        pieces=np.empty(n, dtype=np.int32),
    )
