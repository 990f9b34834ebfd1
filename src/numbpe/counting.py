"""Count the distinct words of a corpus: chunks, threads, and a bound on memory."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from numbpe.arrays import Counts, Offsets, TextArray, allocate_text
from numbpe.bad_input import BadInput, warn_of_skipped
from numbpe.checkpoints import Checkpoint, FileGroups, use_checkpoint
from numbpe.chunks import Chunk
from numbpe.corpus import CHUNK_NBYTES, ChunkReader, ErrorPolicy
from numbpe.engines.choice import SourceOptions, split_options
from numbpe.engines.protocol import Engine
from numbpe.files import FilePath
from numbpe.garbage import paused_collection
from numbpe.memory_budget import MemoryBudget, open_budget
from numbpe.parallel import call_interruptibly, consume_in_threads, resolve_threads
from numbpe.patterns import Pattern, compile_pattern
from numbpe.progress import NO_PROGRESS, Progress, ReadingBar
from numbpe.run_descriptions import describe_files
from numbpe.sources import ResolvedSource, Source, describe_source, resolve_source
from numbpe.special_tokens import check_special_tokens, encode_special_token
from numbpe.spilling import SpilledRuns, export_words
from numbpe.word_counter import FIRST_ARENA_NBYTES, FIRST_SLOTS, ROW_NBYTES, WordCounter
from numbpe.word_counts import WordCounts
from numbpe.word_sums import GatheredWords, TableSum, merge_words
from numbpe_kernels.automaton import automaton_find_cut

__all__ = ["WordCounts", "count_words"]

RESERVE_NBYTES = 48 << 20
"""What is kept free of a budget for the library that writes runs to disk."""


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
    cuts_lines: bool = False,
    checkpoint: FilePath | Checkpoint | None = None,
    resume: bool = False,
    **options: Unpack[SourceOptions],
) -> WordCounts:
    """Return how often each word occurs in ``source``.

    source : paths, folders, globs, addresses, "-", tables, or an iterable of str, bytes or objects with
        a field, each of them a document; see :data:`numbpe.sources.Source`
    pattern : what cuts documents into pieces; see :func:`numbpe.patterns.compile_pattern`
    special_tokens : literal text at which documents end; it is counted nowhere
    threads : how many count at once; every core by default. Of an engine: how many each task uses,
        one by default
    memory : bytes, or text such as "4GiB", that the whole process may take; counts that would pass
        it go to sorted runs in a temporary folder. By default three quarters of what is free. Of an
        engine, each worker may take as much
    errors : what becomes of bytes that are not UTF-8, as in ``bytes.decode``
    progress : whether to show a bar, where stderr is a terminal
    cuts_lines : whether each line of a file is a document, as the recipe "hf" has it
    checkpoint : a folder where what is done is kept about once a minute, between two files, until
        all is done. It is for this run alone
    resume : whether to go on from what an earlier run, which was killed, has left there; its options
        and the files must be the same
    options : format, column, on_bad and filesystem, about reading, see
        :class:`numbpe.sources.ReadingOptions`; engine and address, about other machines, see
        :class:`numbpe.engines.choice.SourceOptions`. What ``on_bad="skip"`` leaves out is told by a
        warning of the class SkippedWarning.

    The result depends on the text, the pattern and the special tokens alone. Raises DataError for
    text that cannot be read, BudgetError where the words do not fit into the budget.

    Example:
        >>> count_words(["a b a"], special_tokens=[]).to_dict()  # doctest: +SKIP
        {b'a': 1, b' b': 1, b' a': 1}
    """
    compiled = compile_pattern(pattern, unicode_version)
    names = check_special_tokens(special_tokens)
    bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)
    engine, reading = split_options(options)
    run = make_run(compiled, names, threads, memory, engine, cuts_lines=cuts_lines)
    described = describe_source(source, reading)
    with use_checkpoint(checkpoint, resume=resume) as kept:
        counts = run.count(
            described, errors=errors, progress=bars, chunk_nbytes=chunk_nbytes, checkpoint=kept
        )
    warn_of_skipped(run.bad)
    return counts


def make_run(
    pattern: Pattern,
    special_tokens: tuple[str, ...],
    threads: int | None,
    memory: int | str | None,
    engine: Engine | None,
    *,
    cuts_lines: bool,
) -> "CountingRun":
    """Return a run in this process, or by the workers of an engine."""
    if engine is None:
        budget = open_budget(memory)
        n_threads = resolve_threads(threads)
        return CountingRun(pattern, special_tokens, n_threads, budget, cuts_lines=cuts_lines)
    from numbpe.engines.counting import EngineCountingRun

    return EngineCountingRun(
        engine, pattern, special_tokens, threads, memory, cuts_lines=cuts_lines
    )


class CountingRun:
    """One pass over a corpus: a reader, a table for each thread, and runs on disk if need be."""

    def __init__(
        self,
        pattern: Pattern,
        special_tokens: tuple[str, ...],
        threads: int,
        budget: MemoryBudget,
        *,
        cuts_lines: bool = False,
    ) -> None:
        self.pattern = pattern
        self.special_tokens = special_tokens
        self.threads = threads
        self.budget = budget
        self.cuts_lines = cuts_lines
        self._counters: list[WordCounter] = []
        self.bad = BadInput()
        self._n_source_bytes = 0

    def count(
        self,
        source: Source | ResolvedSource,
        *,
        errors: ErrorPolicy = "replace",
        progress: Progress = NO_PROGRESS,
        chunk_nbytes: int = CHUNK_NBYTES,
        checkpoint: Checkpoint | None = None,
        allow_empty: bool = False,
    ) -> WordCounts:
        """Read ``source`` and return its counts.

        checkpoint : where to keep what is done, and what to go on from; see numbpe.checkpoints
        allow_empty : whether a source without a single byte is no error
        """
        if checkpoint is not None:
            return self._count_in_groups(source, checkpoint, errors, progress, chunk_nbytes)
        with (
            self._open_reader(source, errors, chunk_nbytes, allow_empty=allow_empty) as reader,
            SpilledRuns() as runs,
            progress.reading(reader.source_nbytes) as bar,
        ):
            self.bad = reader.bad
            self._warm_up(runs)
            self._read_all(reader, runs, self._limit_tables(chunk_nbytes), bar)
            return call_interruptibly(lambda: self._finish(runs))

    def _count_in_groups(
        self,
        source: Source | ResolvedSource,
        checkpoint: Checkpoint,
        errors: ErrorPolicy,
        progress: Progress,
        chunk_nbytes: int,
    ) -> WordCounts:
        """Count some files after others, and say after each group on disk that it is done."""
        resolved = resolve_source(source)
        self.bad = resolved.reading.bad
        checkpoint.begin(self._describe_work(errors, resolved))
        self._n_source_bytes = checkpoint.n_source_bytes
        files = resolved.files or ()
        sizes = [size for size, _ in filter(None, (file.measure() for file in files))]
        runs = checkpoint.runs
        self._warm_up(runs)
        limit = self._limit_tables(chunk_nbytes)
        with progress.reading(sum(sizes)) as bar:
            bar.update(sum(sizes[: checkpoint.n_files]))
            for first, stop in FileGroups(sizes, checkpoint.n_files):
                group = replace(resolved, files=files[first:stop])
                with self._open_reader(group, errors, chunk_nbytes, allow_empty=True) as reader:
                    self._read_all(reader, runs, limit, bar)
                call_interruptibly(self._spill_all)
                checkpoint.commit(stop, self._n_source_bytes)
        if not self._n_source_bytes:
            raise resolved.word_empty()
        return call_interruptibly(lambda: self._gather(runs))

    def _describe_work(self, errors: ErrorPolicy, source: ResolvedSource) -> dict[str, object]:
        """Return what decides the counts, as values that JSON can hold."""
        return {
            "inputs": describe_files(source),
            "reading": source.describe_reading(),
            "pattern": list(self.pattern.sources),
            "unicode_version": self.pattern.unicode_version,
            "special_tokens": list(self.special_tokens),
            "cuts_lines": self.cuts_lines,
            "errors": errors,
        }

    def _open_reader(
        self,
        source: Source | ResolvedSource,
        errors: ErrorPolicy,
        chunk_nbytes: int,
        *,
        allow_empty: bool = False,
    ) -> ChunkReader:
        return ChunkReader(
            source,
            special_tokens=[encode_special_token(name) for name in self.special_tokens],
            find_cut=self._make_find_cut(),
            errors=errors,
            chunk_nbytes=chunk_nbytes,
            on_bytes=self._add_source_bytes,
            allow_empty=allow_empty,
        )

    def _read_all(
        self, reader: ChunkReader, runs: SpilledRuns, limit: int | None, bar: ReadingBar
    ) -> None:
        """Count all chunks, each thread in a table of its own."""
        lock = threading.Lock()

        def make_worker() -> Callable[[Chunk], None]:
            worker = WordCounter(
                self.pattern,
                runs,
                lock,
                limit,
                cuts_lines=self.cuts_lines,
                text_nbytes=(reader.source_nbytes or 0) // self.threads,
            )
            self._counters.append(worker)

            def work(chunk: Chunk) -> None:
                worker.count_chunk(chunk)
                reader.recycle(chunk)

            return work

        def watch() -> Iterator[Chunk]:
            for chunk in reader:
                bar.update(chunk.n_bytes, sum(counter.n_words for counter in self._counters))
                yield chunk

        consume_in_threads(watch(), make_worker, self.threads)

    def _spill_all(self) -> None:
        """Move the words of all threads to disk, and forget the threads."""
        for counter in self._counters:
            counter.spill()
            counter.release()
        self._counters.clear()

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
        with paused_collection():
            lock = threading.Lock()
            worker = WordCounter(self.pattern, runs, lock, None, cuts_lines=self.cuts_lines)
            documents = np.array([[0, 1]], dtype=np.int64)
            worker.count_chunk(Chunk(allocate_text(1), documents, 1, is_file=True))
            TableSum([worker.table]).add_up()
            export_words(worker.table)

    def _limit_tables(self, chunk_nbytes: int) -> int | None:
        """Return how many bytes the table of each thread may take."""
        free = self.budget.free_nbytes()
        if free is None:
            return None
        in_flight = 1 if self.threads == 1 else 2 * self.threads + 1
        n_chunk_bytes = (in_flight + 1) * (chunk_nbytes + (64 << 10))
        least = 2 * ROW_NBYTES * FIRST_SLOTS + FIRST_ARENA_NBYTES
        self.budget.require(
            RESERVE_NBYTES + n_chunk_bytes + self.threads * least,
            f"counting words with {self.threads} threads",
        )
        return (free - RESERVE_NBYTES - n_chunk_bytes) // self.threads

    def _describe(self, contents: TextArray, offsets: Offsets, counts: Counts) -> WordCounts:
        """Return counts of this corpus."""
        return WordCounts(
            contents, offsets, counts, self.pattern.sources, self.special_tokens,
            self.pattern.unicode_version, self._n_source_bytes, self.cuts_lines,
        )  # fmt: skip

    def _finish(self, runs: SpilledRuns) -> WordCounts:
        """Add the tables of all threads up, in memory if that fits, else through runs on disk."""
        if not len(runs):
            if self.threads == 1:
                return self._describe(*export_words(self._counters.pop().table))
            free = self.budget.free_nbytes()
            total = TableSum([counter.table for counter in self._counters], self.threads)
            if free is None or total.nbytes <= free:
                words = total.add_up()
                self._counters.clear()  # and the tables with them
                return self._describe(*words)
        self._spill_all()
        return self._gather(runs)

    def _gather(self, runs: SpilledRuns) -> WordCounts:
        """Merge the runs on disk, a part of the words at a time."""
        most_words, most_bytes = runs.measure()
        gathered = GatheredWords([(most_words, most_bytes)])
        for part in runs.read_parts():
            n_rows = sum(len(numbers) for _, _, numbers in part)
            n_bytes = sum(int(bounds[-1]) for _, bounds, _ in part)
            purpose = (
                f"holding {gathered.n_words:,} distinct words and those of the text that follow"
            )
            self.budget.require(3 * ROW_NBYTES * n_rows + 2 * n_bytes, purpose)
            gathered.add(merge_words(part))
        return self._describe(*gathered.finish())
