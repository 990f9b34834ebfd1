"""Count the distinct words of a corpus: chunks, threads, and a bound on memory."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from numbpe.arrays import Counts, Offsets, TextArray, allocate_text
from numbpe.chunks import Chunk
from numbpe.corpus import CHUNK_NBYTES, ChunkReader, ErrorPolicy
from numbpe.errors import BudgetError
from numbpe.memory_budget import MemoryBudget, open_budget
from numbpe.parallel import consume_in_threads, resolve_threads
from numbpe.patterns import Pattern, compile_pattern
from numbpe.progress import NO_PROGRESS, Progress
from numbpe.sizes import format_nbytes
from numbpe.sources import Source
from numbpe.special_tokens import check_special_tokens, encode_special_token
from numbpe.spilling import SpilledRuns
from numbpe.word_counts import WordCounts
from numbpe_kernels import counting as kernel
from numbpe_kernels.automaton import automaton_find_cut
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.scanner import KIND_AUTOMATON, KIND_GPT2, Scanner
from numbpe_kernels.word_table import (
    BATCH,
    N_WORDS,
    ROW_WIDTH,
    make_word_table,
    word_table_absorb,
    word_table_add,
    word_table_capacity,
    word_table_export,
    word_table_measure,
    word_table_rehash,
)

__all__ = ["WordCounts", "count_words"]

FIRST_SLOTS = 1 << 15
FIRST_ARENA_NBYTES = 1 << 16
ENDS_PER_CALL = 1024
ROW_NBYTES = 8 * ROW_WIDTH

SPILL_FACTOR = 3
"""Bytes that sorting and writing a table takes beside it, as a multiple of the table."""

RESERVE_NBYTES = 48 << 20
"""What is kept free of a budget for the libraries that write runs to disk."""

_GPT2_SOURCES = (
    (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",),
    (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",),
)
"""Two forms of one pattern that the scanner by masks knows."""


def count_words(
    source: Source,
    *,
    pattern: str | Sequence[str] = "gpt2",
    special_tokens: Iterable[str | bytes] = ("<|endoftext|>",),
    threads: int | None = None,
    memory: int | str | None = None,
    errors: ErrorPolicy = "replace",
    progress: bool | Progress = False,
    unicode_version: str = "16",
    chunk_nbytes: int = CHUNK_NBYTES,
) -> WordCounts:
    """Return how often each word occurs in ``source``.

    source : paths, globs, "-", or an iterable of str or bytes, each of them a document
    pattern : what cuts documents into pieces; see :func:`numbpe.patterns.compile_pattern`
    special_tokens : literal text at which documents end; it is counted nowhere
    threads : how many count at once; every core by default
    memory : bytes, or text such as "4GiB", that the whole process may take; counts that would pass
        it go to sorted runs in a temporary folder. By default three quarters of what is free.
    errors : what becomes of bytes that are not UTF-8, as in ``bytes.decode``
    progress : whether to show a bar, where stderr is a terminal

    The result depends on the text, the pattern and the special tokens alone. Raises DataError for
    text that cannot be read, BudgetError where the words do not fit into the budget.

    Example:
        >>> count_words(["a b a"], special_tokens=[]).to_dict()  # doctest: +SKIP
        {b'a': 1, b' b': 1, b' a': 1}
    """
    compiled = compile_pattern(pattern, unicode_version)
    names = check_special_tokens(special_tokens)
    bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)
    run = CountingRun(compiled, names, resolve_threads(threads), open_budget(memory))
    return run.count(source, errors=errors, progress=bars, chunk_nbytes=chunk_nbytes)


class CountingRun:
    """One pass over a corpus: a reader, a table for each thread, and runs on disk if need be."""

    def __init__(
        self, pattern: Pattern, special_tokens: tuple[str, ...], threads: int, budget: MemoryBudget
    ) -> None:
        self.pattern = pattern
        self.special_tokens = special_tokens
        self.threads = threads
        self.budget = budget
        self._workers: list[_Worker] = []
        self._n_source_bytes = 0

    def count(
        self,
        source: Source,
        *,
        errors: ErrorPolicy = "replace",
        progress: Progress = NO_PROGRESS,
        chunk_nbytes: int = CHUNK_NBYTES,
    ) -> WordCounts:
        """Read ``source`` and return its counts."""
        with (
            ChunkReader(
                source,
                special_tokens=[encode_special_token(name) for name in self.special_tokens],
                find_cut=self._make_find_cut(),
                errors=errors,
                chunk_nbytes=chunk_nbytes,
                on_bytes=self._add_source_bytes,
            ) as reader,
            SpilledRuns() as runs,
            progress.reading(reader.source_nbytes) as bar,
        ):
            self._warm_up(runs)
            limit = self._limit_tables(chunk_nbytes)
            lock = threading.Lock()

            def make_worker() -> Callable[[Chunk], None]:
                worker = _Worker(self.pattern, runs, lock, limit)
                self._workers.append(worker)

                def work(chunk: Chunk) -> None:
                    worker.count_chunk(chunk)
                    reader.recycle(chunk)

                return work

            def watch() -> Iterator[Chunk]:
                for chunk in reader:
                    bar.update(chunk.n_bytes, sum(worker.n_words for worker in self._workers))
                    yield chunk

            consume_in_threads(watch(), make_worker, self.threads)
            return self._finish(runs)

    def _add_source_bytes(self, n_bytes: int) -> None:
        self._n_source_bytes += n_bytes

    def _make_find_cut(self) -> Callable[[TextArray, int, int], int] | None:
        automaton = self.pattern.automaton
        if automaton is None:
            return None

        def find_cut(text: TextArray, start: int, stop: int) -> int:
            return automaton_find_cut(automaton, text, start, stop)

        return find_cut

    def _warm_up(self, runs: SpilledRuns) -> None:
        """Compile the kernels, or load them, before memory is measured and threads begin."""
        worker = _Worker(self.pattern, runs, threading.Lock(), None)
        worker.count_chunk(Chunk(allocate_text(1), np.array([[0, 1]], dtype=np.int64), 1))
        word_table_absorb(make_word_table(64, 128), worker.table, 0)
        worker.export(self._describe)

    def _limit_tables(self, chunk_nbytes: int) -> int | None:
        """Return how many bytes the table of each worker may take, spilling it included."""
        free = self.budget.free_nbytes()
        if free is None:
            return None
        in_flight = 1 if self.threads == 1 else 2 * self.threads + 2
        n_chunk_bytes = (in_flight + 1) * (chunk_nbytes + (64 << 10))
        least = SPILL_FACTOR * ROW_NBYTES * FIRST_SLOTS + FIRST_ARENA_NBYTES
        self.budget.require(
            RESERVE_NBYTES + n_chunk_bytes + self.threads * least,
            f"counting words with {self.threads} threads",
        )
        return (free - RESERVE_NBYTES - n_chunk_bytes) // self.threads

    def _describe(self, contents: TextArray, offsets: Offsets, counts: Counts) -> WordCounts:
        """Return counts of this corpus."""
        return WordCounts(
            contents, offsets, counts, self.pattern.sources, self.special_tokens,
            self.pattern.unicode_version, self._n_source_bytes,
        )  # fmt: skip

    def _finish(self, runs: SpilledRuns) -> WordCounts:
        """Add the tables of all workers up, in memory if that fits, else through runs on disk."""
        tables_nbytes = sum(worker.nbytes for worker in self._workers)
        free = self.budget.free_nbytes()
        if not len(runs) and (free is None or 2 * tables_nbytes + RESERVE_NBYTES <= free):
            first, *others = sorted(self._workers, key=lambda worker: -worker.n_words)
            while others:
                first.absorb(others.pop())
            return first.export(self._describe)
        for worker in self._workers:
            worker.spill()
            worker.release()
        return self._gather(runs)

    def _gather(self, runs: SpilledRuns) -> WordCounts:
        """Merge the runs on disk into one WordCounts, as long as it fits."""
        parts = []
        for table in runs.merge():
            part = WordCounts.from_arrow(table)
            # Joining the parts takes as much again as the largest array.
            self.budget.require(2 * part_nbytes(part), "holding all distinct words")
            parts.append(part)
        sizes = [int(part.offsets[-1]) for part in parts]
        contents = np.concatenate(
            [part.contents[:size] for part, size in zip(parts, sizes, strict=True)]
            + [np.zeros(TEXT_PADDING, dtype=np.uint8)]
        )
        starts = np.cumsum([0, *sizes])
        offsets = np.concatenate(
            [part.offsets[:-1] + start for part, start in zip(parts, starts, strict=False)]
            + [starts[-1:]]
        ).astype(np.int64)
        return self._describe(contents, offsets, np.concatenate([part.counts for part in parts]))


def part_nbytes(counts: WordCounts) -> int:
    """Return the bytes that the arrays of ``counts`` take."""
    return counts.contents.nbytes + counts.offsets.nbytes + counts.counts.nbytes


class _Worker:
    """One thread's table, and what it needs to count a chunk."""

    def __init__(
        self, pattern: Pattern, runs: SpilledRuns, lock: threading.Lock, limit: int | None
    ) -> None:
        self._pattern = pattern
        self._runs = runs
        self._lock = lock
        self._limit = limit
        self._level_stops = pattern.new_level_stops()
        self._ends = np.empty(ENDS_PER_CALL, dtype=np.int64)
        self._progress = np.zeros(kernel.PROGRESS_SIZE, dtype=np.int64)
        self.table = make_word_table(FIRST_SLOTS, FIRST_ARENA_NBYTES)
        self._scanner: Scanner | None = None
        if pattern.automaton is not None:
            kind = KIND_GPT2 if pattern.sources in _GPT2_SOURCES else KIND_AUTOMATON
            self._scanner = Scanner(kind, pattern.automaton)

    @property
    def n_words(self) -> int:
        """Distinct words in the table."""
        return int(self.table.state[N_WORDS])

    @property
    def _n_slots(self) -> int:
        return len(self.table.rows) // ROW_WIDTH

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self.table.rows.nbytes + self.table.arena.nbytes

    def count_chunk(self, chunk: Chunk) -> None:
        """Add the pieces of ``chunk`` to the table."""
        if self._scanner is None:
            self._count_slowly(chunk)
            return
        self._progress[:] = 0
        self._progress[kernel.POSITION] = -1
        while not kernel.count_documents(
            self._scanner, self._level_stops, self.table, chunk.text, chunk.documents,
            self._ends, self._progress,
        ):  # fmt: skip
            self._make_room()

    def _count_slowly(self, chunk: Chunk) -> None:
        """Count with a pattern that does not run as an automaton."""
        for start, stop in chunk.documents.tolist():
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
        n_slots = self._n_slots * (2 if rows_are_full else 1)
        arena_nbytes = len(table.arena) * (1 if rows_are_full else 2)
        if self._limit is not None:
            need = SPILL_FACTOR * (n_slots * ROW_NBYTES + arena_nbytes)
            if need > self._limit:
                if self.n_words > FIRST_SLOTS // 2:
                    self.spill()
                    return
                if need > 2 * self._limit:
                    raise BudgetError(
                        f"counting needs about {format_nbytes(need)} more of memory for one piece "
                        "of text that the pattern does not cut; raise memory= (--memory), or use "
                        "a pattern that cuts text into shorter pieces"
                    )
        self._grow(n_slots, arena_nbytes)

    def _grow(self, n_slots: int, arena_nbytes: int) -> None:
        """Move the words to larger arrays."""
        if n_slots > self._n_slots:
            grown = make_word_table(n_slots, 0)._replace(arena=self.table.arena)
            word_table_rehash(self.table.rows, grown)
            grown.state[:] = self.table.state
            self.table = grown
        if arena_nbytes > len(self.table.arena):
            arena = np.zeros(arena_nbytes, dtype=np.uint8)
            arena[: len(self.table.arena)] = self.table.arena
            self.table = self.table._replace(arena=arena)

    def absorb(self, other: "_Worker") -> None:
        """Add the counts of ``other``, and free its table."""
        row = 0
        while (row := word_table_absorb(self.table, other.table, row)) < other._n_slots:
            if self.n_words >= word_table_capacity(self.table):
                self._grow(2 * self._n_slots, 0)
            else:
                self._grow(0, 2 * len(self.table.arena))
        other.release()

    def export(self, describe: Callable[[TextArray, Offsets, Counts], WordCounts]) -> WordCounts:
        """Return the words of the table, and free it."""
        contents = allocate_text(word_table_measure(self.table))
        offsets = np.zeros(self.n_words + 1, dtype=np.int64)
        counts = np.zeros(self.n_words, dtype=np.int64)
        word_table_export(self.table, contents, offsets, counts)
        self.release()
        return describe(contents, offsets, counts)

    def spill(self) -> None:
        """Write the words of the table to a run on disk, and empty it."""
        if not self.n_words:
            return
        with self._lock:
            path = self._runs.reserve()
        n_slots, arena_nbytes = self._n_slots, len(self.table.arena)
        counts = self.export(WordCounts)
        self._runs.write(path, counts)
        del counts
        self.table = make_word_table(n_slots, arena_nbytes)

    def release(self) -> None:
        """Free the table."""
        self.table = make_word_table(2, 0)
