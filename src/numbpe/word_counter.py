"""Count the words of chunks in one thread: a table that grows, or goes to disk when it must not."""

import threading

import numpy as np
from numpy.typing import NDArray

from numbpe.chunks import Chunk
from numbpe.errors import BudgetError
from numbpe.patterns import Pattern
from numbpe.scanner_tables import (
    AUTOMATON,
    CL100K,
    DEEPSEEK,
    GPT2,
    O200K,
    find_family,
    make_scanner,
)
from numbpe.sizes import format_nbytes
from numbpe.spilling import SpilledRuns
from numbpe.word_tables import empty_words, grow_arena, grow_rows
from numbpe_kernels import counting as kernel
from numbpe_kernels.lines import lines_count, lines_split
from numbpe_kernels.scanning import (
    N_ENDS,
    SCAN_SIZE,
    scan_by_automaton,
    scan_cl100k,
    scan_deepseek,
    scan_gpt2,
    scan_o200k,
)
from numbpe_kernels.word_table import (
    BATCH,
    N_WORDS,
    ROW_WIDTH,
    make_word_table,
    word_table_add,
    word_table_capacity,
)

FIRST_SLOTS = 1 << 15
FIRST_ARENA_NBYTES = 1 << 16
MOST_FIRST_SLOTS = 1 << 18
TEXT_NBYTES_A_SLOT = 32
MUCH_TEXT_NBYTES = 1 << 26
"""A table begins with FIRST_SLOTS rows, or with a row for so many bytes of text, but not more than
MOST_FIRST_SLOTS, 8 MB, and twice as many for much text. Each time that a table is doubled it takes 5 ms and
new memory, which is up to ten times as slow where a virtual machine gives what is free back to its host."""

ENDS_PER_CALL = 1 << 13
"""Words that are cut before they are counted: their ends fit in the nearest cache but one."""

ROW_NBYTES = 8 * ROW_WIDTH

SCANS = {
    AUTOMATON: scan_by_automaton,
    CL100K: scan_cl100k,
    DEEPSEEK: scan_deepseek,
    GPT2: scan_gpt2,
    O200K: scan_o200k,
}
_BEGINNING = np.array([0, -1, 0, 0], dtype=np.int64)
"""``scan``, and the first of ``progress``, before a chunk is begun: all zeros but for POSITION."""


def list_lines(chunk: Chunk) -> NDArray[np.int64]:
    """Return the (n, 2) starts and stops of the lines of the documents of ``chunk``."""
    lines = np.empty((lines_count(chunk.text, chunk.documents), 2), dtype=np.int64)
    lines_split(chunk.text, chunk.documents, lines)
    return lines


class WordCounter:
    """One thread's table, and what it needs to count a chunk."""

    def __init__(
        self,
        pattern: Pattern,
        runs: SpilledRuns,
        lock: threading.Lock,
        limit: int | None,
        *,
        cuts_lines: bool = False,
        text_nbytes: int = 0,
    ) -> None:
        """Begin with an empty table.

        limit : bytes that the table may take; None for any
        text_nbytes : about how much will be counted, 0 if that is not known
        """
        self._pattern = pattern
        self._cuts_lines = cuts_lines
        self._runs = runs
        self._lock = lock
        self._limit = limit
        self._level_stops = pattern.new_level_stops()
        self._ends = np.empty(ENDS_PER_CALL, dtype=np.int64)
        self._progress = np.zeros(kernel.PROGRESS_SIZE, dtype=np.int64)
        n_slots = FIRST_SLOTS
        most_slots = MOST_FIRST_SLOTS << (text_nbytes >= MUCH_TEXT_NBYTES)
        if limit is not None:
            most_slots = min(most_slots, limit // (4 * ROW_NBYTES))
        while n_slots < min(most_slots, text_nbytes // TEXT_NBYTES_A_SLOT):
            n_slots *= 2
        self.table = make_word_table(
            n_slots, FIRST_ARENA_NBYTES, will_be_full=n_slots > FIRST_SLOTS
        )
        self._scan_state = np.zeros(SCAN_SIZE, dtype=np.int64)
        self._scanner = make_scanner(pattern)
        self._scan = SCANS[find_family(pattern)]

    @property
    def n_words(self) -> int:
        """Distinct words in the table."""
        return int(self.table.state[N_WORDS])

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self.table.rows.nbytes + self.table.arena.nbytes

    def count_chunk(self, chunk: Chunk) -> None:
        """Add the pieces of ``chunk`` to the table."""
        parts = list_lines(chunk) if self._cuts_lines and chunk.is_file else chunk.documents
        if self._pattern.automaton is None:
            self._count_slowly(chunk, parts)
            return
        scan, progress = self._scan_state, self._progress
        scan[:] = _BEGINNING
        progress[: kernel.N_COUNTED] = _BEGINNING[: kernel.N_COUNTED]
        is_scanned = False
        while not is_scanned:
            is_scanned = self._scan(
                self._scanner, self._level_stops, chunk.text, parts, scan, self._ends
            )
            # Lines follow one another without a gap, so that their words are those of the documents.
            progress[kernel.N_COUNTED] = 0
            while not kernel.count_words(
                self.table, chunk.text, chunk.documents, self._ends, int(scan[N_ENDS]), progress
            ):
                self._make_room()

    def _count_slowly(self, chunk: Chunk, parts: NDArray[np.int64]) -> None:
        """Count with a pattern that does not run as an automaton."""
        for start, stop in parts.tolist():
            ends = self._pattern.find_ends(chunk.text, start, stop)
            done = 0
            while True:
                done = word_table_add(self.table, chunk.text, start, ends, done, len(ends))
                if done == len(ends):
                    break
                start = int(ends[done - 1]) if done else start
                self._make_room()

    def _make_room(self) -> None:
        """Double the part of the table that is full, or move its words to disk."""
        table = self.table
        rows_are_full = self.n_words + BATCH > word_table_capacity(table)
        if self._limit is not None:
            # While words move to a larger table, both are there.
            part = table.rows if rows_are_full else table.arena
            need = self.nbytes + 2 * part.nbytes
            if need > self._limit:
                if self.n_words:
                    self.spill()
                    return
                raise BudgetError(
                    f"counting needs about {format_nbytes(need)} more of memory for one piece of "
                    "text that the pattern does not cut; raise memory= (--memory), or use a "
                    "pattern that cuts text into shorter pieces"
                )
        self.table = grow_rows(table) if rows_are_full else grow_arena(table)

    def spill(self) -> None:
        """Write the words of the table to a run on disk, and empty it."""
        if not self.n_words:
            return
        with self._lock:
            path = self._runs.reserve()
        self._runs.write(path, self.table)
        empty_words(self.table)

    def release(self) -> None:
        """Free the table."""
        self.table = make_word_table(2, 0)
