"""Word counts by an engine: workers count blocks, the engine adds up by word, parts are joined here."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from numbpe.arrays import Counts, Offsets, TextArray, allocate_text
from numbpe.bad_input import BadInput
from numbpe.checkpoints import Checkpoint
from numbpe.corpus import CHUNK_NBYTES, ErrorPolicy
from numbpe.counting import CountingRun
from numbpe.engines.blocks import Block, list_blocks
from numbpe.engines.file_cuts import FileCutter, find_between_pieces
from numbpe.engines.protocol import Engine
from numbpe.engines.workers import check_version, get_version, open_worker_budget
from numbpe.errors import ArgumentError
from numbpe.file_documents import FileReading
from numbpe.memory_budget import open_budget
from numbpe.parallel import resolve_threads
from numbpe.patterns import Pattern, compile_pattern
from numbpe.progress import NO_PROGRESS, Progress
from numbpe.sources import ResolvedSource, Source, resolve_source
from numbpe.special_tokens import encode_special_token
from numbpe.spilling import (
    WORDS_SCHEMA,
    Words,
    export_parts,
    export_words,
    make_batch,
    read_words,
)
from numbpe.word_counts import WordCounts
from numbpe.word_sums import merge_words

_MOST_PARTS: Final = 64
_PARTS_AT_ONCE: Final = 8


@dataclass(frozen=True)
class CountingTask:
    """What workers must know to count; see :func:`numbpe.count_words`.

    n_parts: in how many parts, by a hash of the word, the counts of a block are given back.
    """

    version: str
    pattern: tuple[str, ...]
    unicode_version: str
    special_tokens: tuple[str, ...]
    cuts_lines: bool
    errors: ErrorPolicy
    chunk_nbytes: int
    threads: int
    memory: int | str | None
    reading: FileReading
    n_parts: int


@dataclass(frozen=True)
class BlockReport:
    """What was read of a block, and what was left out."""

    n_source_bytes: int
    bad: BadInput


def count_block(task: CountingTask, block: Block) -> list[Any]:
    """Return a report on a block, and its counts in parts. A worker calls this."""
    check_version(task.version)
    pattern = compile_pattern(task.pattern, task.unicode_version)
    budget = open_worker_budget(task.memory, task.threads)
    run = CountingRun(
        pattern, task.special_tokens, task.threads, budget, cuts_lines=task.cuts_lines
    )
    # What is shared is used for the next block too, so what is counted in it must be new.
    reading = replace(task.reading, bad=task.reading.bad.begin_anew())
    words = run.count(
        block.resolve(reading),
        errors=task.errors,
        chunk_nbytes=task.chunk_nbytes,
        allow_empty=True,
    )
    parts = split_words((words.contents, words.offsets, words.counts), task.n_parts)
    return [BlockReport(words.n_source_bytes, run.bad), *parts]


def split_words(words: Words, n_parts: int) -> Iterator[Any]:
    """Yield words as ``n_parts`` record batches, a power of two, by their hash."""
    import pyarrow as pa

    schema = pa.schema(WORDS_SCHEMA)
    table = merge_words([words])
    for group in export_parts(table, n_parts, min(_PARTS_AT_ONCE, n_parts)):
        for contents, offsets, counts in group:
            first, last = int(offsets[0]), int(offsets[-1])
            # Copied out of what the parts of a group share, so as not to be sent along with it.
            yield make_batch(schema, (contents[first:last].copy(), offsets - first, counts.copy()))


def add_parts(*parts: Any) -> Any:
    """Return the sums by word of record batches of words. A worker calls this."""
    import pyarrow as pa

    table = merge_words([read_words(part) for part in parts])
    return make_batch(pa.schema(WORDS_SCHEMA), export_words(table))


class EngineCountingRun(CountingRun):
    """One pass over a corpus by the workers of an engine.

    threads: how many cores each task uses, one by default.
    memory: what each worker may take; by default its share of three quarters of what is free.
    """

    def __init__(
        self,
        engine: Engine,
        pattern: Pattern,
        special_tokens: tuple[str, ...],
        threads: int | None,
        memory: int | str | None,
        *,
        cuts_lines: bool = False,
    ) -> None:
        budget = open_budget(memory)
        n_threads = resolve_threads(1 if threads is None else threads)
        super().__init__(pattern, special_tokens, n_threads, budget, cuts_lines=cuts_lines)
        self._engine = engine
        self._memory = memory

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
        """Read ``source`` and return its counts; see :meth:`CountingRun.count`."""
        if checkpoint is not None:
            raise ArgumentError(
                "an engine keeps no checkpoint, since it does again what a worker was at that dies; "
                "leave checkpoint and resume (--resume) out, or the engine"
            )
        resolved = resolve_source(source)
        self.bad = resolved.reading.bad
        blocks = list_blocks(resolved, self._engine.block_nbytes, self._make_cutter())
        parts: list[Words] = []
        with self._engine.open() as session, progress.reading(resolved.n_bytes) as bar:

            def note(report: BlockReport) -> None:
                self._add_source_bytes(report.n_source_bytes)
                self.bad.add_all(report.bad)
                bar.update(report.n_source_bytes)

            n_parts = min(_MOST_PARTS, 1 << (session.n_cores - 1).bit_length())
            task = self._describe_task(resolved, errors, chunk_nbytes, n_parts)
            sums = session.map_and_sum(
                count_block, add_parts, task, blocks, n_parts, self.threads, note
            )
            parts += map(read_words, sums)
        if not self._n_source_bytes and not allow_empty:
            raise resolved.word_empty()
        return self._describe(*join_words(parts))

    def _make_cutter(self) -> FileCutter | None:
        find_cut = self._make_find_cut()
        if find_cut is None:
            return None
        literals = [encode_special_token(name) for name in self.special_tokens]
        return FileCutter(literals, find_between_pieces(find_cut))

    def _describe_task(
        self, source: ResolvedSource, errors: ErrorPolicy, chunk_nbytes: int, n_parts: int
    ) -> CountingTask:
        reading = source.reading
        return CountingTask(
            version=get_version(),
            pattern=self.pattern.sources,
            unicode_version=self.pattern.unicode_version,
            special_tokens=self.special_tokens,
            cuts_lines=self.cuts_lines,
            errors=errors,
            chunk_nbytes=chunk_nbytes,
            threads=self.threads,
            memory=self._memory,
            reading=replace(reading, bad=reading.bad.begin_anew()),
            n_parts=n_parts,
        )


def join_words(parts: list[Words]) -> tuple[TextArray, Offsets, Counts]:
    """Return words that are all distinct, one part after another."""
    n_bytes = sum(int(offsets[-1]) for _, offsets, _ in parts)
    contents = allocate_text(n_bytes)
    offsets = np.zeros(sum(len(counts) for _, _, counts in parts) + 1, dtype=np.int64)
    first = n_done = 0
    for text, bounds, _ in parts:
        last = first + int(bounds[-1])
        contents[first:last] = text[: int(bounds[-1])]
        offsets[n_done : n_done + len(bounds)] = bounds + first
        first, n_done = last, n_done + len(bounds) - 1
    counts = np.concatenate([np.empty(0, np.int64), *(numbers for _, _, numbers in parts)])
    return contents, offsets, counts
