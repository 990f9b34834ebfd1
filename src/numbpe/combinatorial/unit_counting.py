"""Count what training needs to know of a text: words, what stands around them, and first places.

Text is cut into units, (before, word, behind), and distinct units are counted in a table for each
thread. When such a table is full, and at the end, its units are taken apart, and their parts go to
tables that all threads share. So memory is bounded by the distinct parts, which are far fewer than
the distinct units, and a common unit costs one look-up, not three.

Of equal counts, what came first in the text goes first. So each part has its first place: a number
that grows along the text and does not depend on how the text is cut into chunks.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray
from numbpe.bad_input import BadInput
from numbpe.chunks import Chunk
from numbpe.code_point_sets import END_OF_CODE_POINTS
from numbpe.combinatorial.counted_strings import CountedStrings, CountedTable
from numbpe.corpus import CHUNK_NBYTES, ChunkReader, ErrorPolicy
from numbpe.memory_budget import MemoryBudget
from numbpe.parallel import call_interruptibly, consume_in_threads
from numbpe.patterns import Pattern, compile_pattern
from numbpe.progress import NO_PROGRESS, Progress
from numbpe.scanner_tables import find_family, make_scanner
from numbpe.sources import Source
from numbpe.special_tokens import encode_special_token
from numbpe.unicode_tables import load_unicode_tables
from numbpe.word_counter import ENDS_PER_CALL, SCANS
from numbpe_kernels import counted_table as kernel
from numbpe_kernels.automaton import automaton_find_cut
from numbpe_kernels.scanning import N_ENDS, SCAN_SIZE
from numbpe_kernels.units import units_split

UNIT_PATTERN: Final = (
    r"[^\p{L}\p{M}\p{N}]*(?:[\p{L}\p{M}]+|\p{N}+)[^\s\p{L}\p{M}\p{N}]*|[^\p{L}\p{M}\p{N}]+"
)
PUNCT_TO_NEXT_PATTERN: Final = r"[^\p{L}\p{M}\p{N}]*(?:[\p{L}\p{M}]+|\p{N}+)|[^\p{L}\p{M}\p{N}]+"

MAX_TABLE_NBYTES: Final = 96 << 20
"""What the table of a thread takes at most: larger ones save little and miss every cache."""

_RESERVE_NBYTES: Final = 32 << 20
_BEGINNING: Final = (0, -1, 0)
"""Scan and progress before a chunk is begun."""


class UnitCounts(NamedTuple):
    """The parts of the units of a text, each distinct, in no particular order.

    words, before, behind : parts that are not empty, of units with a word
    alone : units without a word, which are ends of documents
    n_units : all units; n_source_bytes : bytes that were read
    skipped : what ``on_bad="skip"`` left out
    """

    words: CountedStrings
    before: CountedStrings
    behind: CountedStrings
    alone: CountedStrings
    n_units: int
    n_source_bytes: int
    skipped: BadInput


@functools.cache
def find_word_characters() -> NDArray[np.uint8]:
    """Return (0x110000,) uint8: 1 for letters, marks and numbers."""
    tables = load_unicode_tables("16")
    is_word = np.zeros(END_OF_CODE_POINTS, dtype=np.uint8)
    for name in ("L", "M", "N"):
        members = tables.find_property(name)
        assert members is not None
        for start, stop in members.bounds.reshape(-1, 2).tolist():
            is_word[start:stop] = 1
    return is_word


class PartTables:
    """The tables that all threads share; ``add`` takes units apart."""

    def __init__(self, check_growth: Callable[[int], None], *, takes_apart: bool) -> None:
        self._tables = [CountedTable(check_growth) for _ in range(4)]
        self._takes_apart = takes_apart
        self._lock = threading.Lock()
        self._n_units = 0

    def add(self, units: CountedStrings) -> None:
        """Add the parts of some units. Any thread may call this."""
        bounds = np.empty((len(units.counts), 2), dtype=np.int64)
        if self._takes_apart:
            units_split(find_word_characters(), units.contents, units.offsets, bounds)
        else:  # every piece is a word
            bounds[:] = units.bounds
        starts, stops = units.offsets[:-1], units.offsets[1:]
        has_word = bounds[:, 0] < bounds[:, 1]
        words, before, behind, alone = self._tables
        with self._lock:
            self._n_units += int(units.counts.sum())
            for table, begins, ends, chosen in (
                (words, bounds[:, 0], bounds[:, 1], has_word),
                (before, starts, bounds[:, 0], has_word),
                (behind, bounds[:, 1], stops, has_word),
                (alone, starts, stops, ~has_word),
            ):
                chosen = chosen & (begins < ends)
                part = np.column_stack([begins[chosen], ends[chosen]])
                positions = units.positions[chosen] + (begins - starts)[chosen]
                table.add(units.contents, part, units.counts[chosen], positions)

    def __len__(self) -> int:
        """Return the number of distinct words so far."""
        return len(self._tables[0]) if self._tables else 0

    def finish(self, n_source_bytes: int, skipped: BadInput) -> UnitCounts:
        """Return all that was added, and forget it: nothing waits for the garbage collector."""
        words, before, behind, alone = (self._tables.pop(0).export() for _ in range(4))
        return UnitCounts(words, before, behind, alone, self._n_units, n_source_bytes, skipped)


class UnitCounter:
    """One thread's table of distinct units, and what it needs to count a chunk."""

    def __init__(self, pattern: Pattern, parts: PartTables, limit: int) -> None:
        self._parts = parts
        self._limit = limit
        self._units = CountedTable()
        self._latest = 0
        self._scan = SCANS[find_family(pattern)]
        self._scanner = make_scanner(pattern)
        self._level_stops = pattern.new_level_stops()
        self._ends = np.empty(ENDS_PER_CALL, dtype=np.int64)
        self._scan_state = np.zeros(SCAN_SIZE, dtype=np.int64)
        self._progress = np.zeros(kernel.PROGRESS_SIZE, dtype=np.int64)

    def count_chunk(self, chunk: Chunk, base: int) -> None:
        """Count the units of ``chunk``, whose text begins at the position ``base``."""
        is_late = base < self._latest
        self._latest = max(base, self._latest)
        scan, progress = self._scan_state, self._progress
        scan[:] = (*_BEGINNING, 0)
        progress[:] = _BEGINNING
        is_scanned = False
        while not is_scanned:
            is_scanned = self._scan(
                self._scanner, self._level_stops, chunk.text, chunk.documents, scan, self._ends
            )
            progress[kernel.N_COUNTED] = 0
            n_ends = int(scan[N_ENDS])
            while not kernel.counted_table_add_ends(
                self._units.table, self._units.firsts, base, chunk.text, chunk.documents,
                self._ends, n_ends, is_late, progress,
            ):  # fmt: skip
                self._make_room(int(self._ends[n_ends - 1] - max(0, progress[kernel.POSITION])))

    def _make_room(self, n_bytes: int) -> None:
        """Enlarge the table, or take its units apart where it must not grow."""
        if 2 * self._units.nbytes > self._limit and len(self._units):
            self.flush()
        else:
            self._units.make_room(n_bytes)

    def flush(self) -> None:
        """Take the units apart and forget them."""
        self._parts.add(self._units.export())
        self._units.clear()


def count_units(
    source: Source,
    pattern: str,
    *,
    takes_apart: bool = True,
    special_tokens: tuple[str, ...] = (),
    threads: int,
    budget: MemoryBudget,
    errors: ErrorPolicy = "replace",
    progress: Progress = NO_PROGRESS,
    chunk_nbytes: int = CHUNK_NBYTES,
) -> UnitCounts:
    """Return the parts of the units of ``source``, which ``pattern`` cuts.

    source : see :data:`numbpe.sources.Source`
    takes_apart : whether units are taken apart; otherwise each is a word as it stands
    special_tokens : literal text at which documents end; it is counted nowhere

    The result depends on the text, the pattern and the special tokens alone. Raises DataError for
    text that cannot be read, BudgetError where the parts do not fit into the budget.
    """
    run = _CountingRun(compile_pattern(pattern), takes_apart, threads, budget)
    with ChunkReader(
        source,
        special_tokens=[encode_special_token(name) for name in special_tokens],
        find_cut=run.find_cut,
        errors=errors,
        chunk_nbytes=chunk_nbytes,
        on_bytes=run.add_bytes,
    ) as reader:
        run.read(reader, progress, _limit_table(budget, threads, chunk_nbytes))
        return call_interruptibly(run.finish)


class _CountingRun:
    """One pass over a text: a table for each thread, and those that all share."""

    def __init__(
        self, pattern: Pattern, takes_apart: bool, threads: int, budget: MemoryBudget
    ) -> None:
        self._pattern = pattern
        self._threads = threads
        self._budget = budget
        self._parts = PartTables(self._check_growth, takes_apart=takes_apart)
        self._counters: list[UnitCounter] = []
        self._n_source_bytes = 0
        self._skipped = BadInput()

    def find_cut(self, text: TextArray, start: int, stop: int) -> int:
        """Return the last place inside where a unit ends whatever stands around it."""
        assert self._pattern.automaton is not None
        return int(automaton_find_cut(self._pattern.automaton, text, start, stop))

    def add_bytes(self, n_bytes: int) -> None:
        """Say that ``n_bytes`` more were read."""
        self._n_source_bytes += n_bytes

    def read(self, reader: ChunkReader, progress: Progress, limit: int) -> None:
        """Count all chunks, in threads whose tables take ``limit`` bytes each."""
        self._skipped = reader.bad
        with progress.reading(reader.source_nbytes) as bar:

            def make_worker() -> Callable[[tuple[Chunk, int]], None]:
                counter = UnitCounter(self._pattern, self._parts, limit)
                self._counters.append(counter)

                def work(item: tuple[Chunk, int]) -> None:
                    chunk, base = item
                    counter.count_chunk(chunk, base)
                    reader.recycle(chunk)

                return work

            def watch() -> Iterator[tuple[Chunk, int]]:
                base = 0
                for chunk in reader:
                    bar.update(chunk.n_bytes, len(self._parts))
                    length = len(chunk.text)
                    yield chunk, base
                    base += length

            consume_in_threads(watch(), make_worker, self._threads)

    def finish(self) -> UnitCounts:
        """Take all units apart, and return the parts."""
        while self._counters:
            self._counters.pop().flush()
        return self._parts.finish(self._n_source_bytes, self._skipped)

    def _check_growth(self, n_bytes: int) -> None:
        purpose = f"counting {len(self._parts):,} distinct words and what stands beside them"
        self._budget.require(n_bytes, purpose)


def _limit_table(budget: MemoryBudget, threads: int, chunk_nbytes: int) -> int:
    """Return how many bytes the table of each thread may take: half of what is free in all."""
    free = budget.free_nbytes()
    if free is None:
        return MAX_TABLE_NBYTES
    in_flight = (1 if threads == 1 else 2 * threads + 1) * (chunk_nbytes + (64 << 10))
    least = 1 << 20
    budget.require(
        _RESERVE_NBYTES + in_flight + 2 * threads * least, f"counting words with {threads} threads"
    )
    return min(MAX_TABLE_NBYTES, (free - _RESERVE_NBYTES - in_flight) // (2 * threads))
