"""Corpora to files of token ids: any size of text in bounded memory, each file whole or absent."""

import os
import time
from collections.abc import Collection, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from numbpe.added_tokens import SpecialPolicy
from numbpe.arrays import allocate_text
from numbpe.bad_input import BadInput
from numbpe.corpus import CHUNK_NBYTES, ChunkReader, ErrorPolicy
from numbpe.engines.choice import SourceOptions, split_options
from numbpe.engines.protocol import Engine
from numbpe.errors import ArgumentError
from numbpe.files import FilePath, lock_output
from numbpe.memory_budget import MemoryBudget, open_budget
from numbpe.ordered_work import count_items_in_flight, map_in_order
from numbpe.parallel import resolve_threads
from numbpe.process_memory import measure_peak_rss
from numbpe.progress import Progress
from numbpe.shard_checks import check_paths, measure_text
from numbpe.shard_manifest import (
    Manifest,
    describe_run,
    name_manifest,
    remove_stale_parts,
    require_lasting_inputs,
)
from numbpe.shard_reading import (
    DocumentDealer,
    DocumentEncoder,
    DocumentTask,
    EncodedDocuments,
    plan_reading,
)
from numbpe.shard_report import EncodingReport
from numbpe.shard_settings import (
    DEFAULT_SEPARATOR,
    ROW_SUFFIXES,
    ShardSettings,
    make_settings,
    name_shards,
)
from numbpe.shard_writers import IDS_A_ROW_GROUP, open_writer
from numbpe.sources import ResolvedSource, Source, describe_source, resolve_source

if TYPE_CHECKING:
    from numbpe.engines.encoding import EngineEncodingRun
    from numbpe.tokenizer import Tokenizer

_NBYTES_A_BYTE: Final = 10
"""Memory for a byte of text on its way: itself, an id of 4 bytes, and what it is converted to."""

_LEAST_CHUNK_NBYTES: Final = 1 << 16


def encode_files(
    tokenizer: "Tokenizer",
    source: Source,
    output: FilePath,
    *,
    separator: str | None = DEFAULT_SEPARATOR,
    write_separator: bool | None = None,
    shards: int = 1,
    special: SpecialPolicy = "allow",
    errors: ErrorPolicy = "replace",
    dtype: str | None = None,
    add_special_tokens: bool = False,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: bool | Progress = True,
    resume: bool = False,
    chunk_nbytes: int = CHUNK_NBYTES,
    **options: Unpack[SourceOptions],
) -> EncodingReport:
    """Write the token ids of a corpus to one or several files.

    source: paths, folders, globs, addresses, "-", tables, or iterables; see
        :data:`numbpe.sources.Source`.
    output: the suffix tells the form. ``.bin``: ids and nothing else, little-endian
        (``np.memmap(path, dtype="uint16", mode="r")``); ``.npy``: the same with NumPy's header
        (``np.load(path, mmap_mode="r")``); ``.parquet`` and ``.arrow`` (the file format of Arrow): a
        row for each document, with its ids in the column ``ids``.
    separator: the special token that ends documents. ``"auto"`` takes the tokenizer's end-of-text
        token, ``<|endoftext|>`` or the like, if it has one; None lets files and items alone end them.
    write_separator: whether the separator's id stands behind each document, also behind the last one
        of a file that does not end with it. By default it does in flat files, where nothing else
        marks the ends, and does not in rows.
    shards: how many files to write: NAME-00000-of-00002.bin and so on. Each has successive documents
        and about as much text as the others; there may be empty ones. More than one can be written
        of files and lists, whose size is known.
    special: what becomes of text that spells a special token, the separator included: under
        ``"text"`` it is text and ends no document.
    errors: what becomes of bytes that are not UTF-8, as in ``bytes.decode``.
    dtype: ``"uint16"`` or ``"uint32"``; by default uint16 if all ids of the tokenizer fit.
    add_special_tokens: whether to put the ids of the tokenizer's template around each document.
    threads: how many to use; every core by default. Of an engine: how many each task uses, one by
        default.
    memory: bytes, or text such as "4GiB", that the process may take; by default three quarters of
        what is free.
    progress: whether to show a bar, where stderr is a terminal.
    resume: whether to keep the shards that an earlier run has completed. Its arguments, and the
        files to read, must have been the same.
    options: format, column, on_bad and filesystem, about reading, see
        :class:`numbpe.sources.ReadingOptions`; engine and address, about other machines, see
        :class:`numbpe.engines.choice.SourceOptions`. The files are written here in any case.

    The ids of a document, the text between separators or ends of files, are those of
    ``tokenizer.encode``; they do not depend on threads, memory and shards. Behind a separator at the
    end of a file there is no further document; an empty file or item is an empty document. A row of
    JSON Lines or of a table is an item.

    Memory does not depend on the size of the source where text can be cut: at special tokens, and
    where the pattern or the merges allow it. Under a normalizer it can if that is a Unicode form, or
    replaces single characters. Other normalizers, and added tokens that are ``single_word``,
    ``lstrip`` or ``rstrip``, or are looked for in normalized text, allow no cut; then the longest
    document must fit into memory, as it must where it becomes a row.

    Beside the output, OUTPUT.json says what is in the files: type, separator, numbers of documents
    and tokens, and what they were made from. Every file appears whole or not at all.

    Raises ArgumentError for arguments that cannot be used, DataError and its like for text that
    cannot be read or encoded, and for ``resume`` where the earlier run made something else,
    FolderInUseError where another run writes the same, BudgetError where the memory does not
    suffice, OSError for files that cannot be read or written.

    Example: ``encode_files(tokenizer, "owt/*.txt", "owt.bin", shards=4).n_tokens``
    """
    started = time.perf_counter()
    target = Path(os.fspath(output))
    settings = make_settings(
        tokenizer.definition, target, separator=separator, write_separator=write_separator,
        special=special, errors=errors, dtype=dtype, add_special_tokens=add_special_tokens,
    )  # fmt: skip
    paths = name_shards(target, shards)
    engine, reading = split_options(options)
    resolved = resolve_source(describe_source(source, reading))
    check_paths(paths, resolved)
    n_text_bytes = measure_text(resolved, shards)
    if resume:
        require_lasting_inputs(resolved)
    manifest = Manifest(name_manifest(target), describe_run(tokenizer, settings, resolved, shards))
    run = _make_run(tokenizer, settings, threads, memory, engine)
    with lock_output(target):
        complete = manifest.load_complete() if resume else {}
        kept = {number for number, path in enumerate(paths) if path.name in complete}
        if resume:
            remove_stale_parts(paths)
        totals = Totals(
            sum(entry.n_documents for entry in complete.values()),
            sum(entry.n_tokens for entry in complete.values()),
        )
        if len(kept) < len(paths):
            with run.encode(
                resolved, shards, n_text_bytes, kept, progress, chunk_nbytes
            ) as results:
                _write_shards(results, paths, settings, kept, manifest, totals)
    return _make_report(run, totals, started, tuple(paths), len(kept))


def count_files(
    tokenizer: "Tokenizer",
    source: Source,
    *,
    special: SpecialPolicy = "allow",
    errors: ErrorPolicy = "replace",
    threads: int | None = None,
    memory: int | str | None = None,
    progress: bool | Progress = True,
    chunk_nbytes: int = CHUNK_NBYTES,
    **options: Unpack[SourceOptions],
) -> EncodingReport:
    """Return how many tokens the files or items of a corpus have, and write nothing.

    A document is a file or an item here, and no id is added behind it, so that the number of tokens
    is that of ``tokenizer.encode``. The arguments are those of :func:`encode_files`; only under
    ``special="error"`` does text that spells a special token raise.
    """
    started = time.perf_counter()
    settings = make_settings(
        tokenizer.definition, Path("counted.bin"), separator=None, write_separator=None,
        special=special, errors=errors, dtype=None, add_special_tokens=False,
    )  # fmt: skip
    engine, reading = split_options(options)
    run = _make_run(tokenizer, settings, threads, memory, engine)
    totals = Totals(0, 0)
    resolved = resolve_source(describe_source(source, reading))
    with run.encode(resolved, 1, 1, (), progress, chunk_nbytes, allow_empty=True) as results:
        for encoded in results:
            totals.add(encoded)
    return _make_report(run, totals, started, (), 0)


@dataclass
class Totals:
    """How many documents and tokens there are so far."""

    n_documents: int
    n_tokens: int

    def add(self, encoded: EncodedDocuments) -> None:
        """Count what was encoded."""
        self.n_documents += len(encoded.ends)
        self.n_tokens += len(encoded.ids)


def _make_run(
    tokenizer: "Tokenizer",
    settings: ShardSettings,
    threads: int | None,
    memory: int | str | None,
    engine: Engine | None,
) -> "EncodingRun | EngineEncodingRun":
    """Return a run in this process, or by the workers of an engine."""
    if engine is None:
        return EncodingRun(tokenizer, settings, resolve_threads(threads), open_budget(memory))
    from numbpe.engines.encoding import EngineEncodingRun

    if memory is not None:
        raise ArgumentError(
            "memory bounds this process, and with an engine its workers encode; leave it (--memory) out"
        )
    return EngineEncodingRun(engine, tokenizer, settings, threads)


class EncodingRun:
    """One pass over a corpus: a reader, encoders in threads, and ids in order."""

    def __init__(
        self, tokenizer: "Tokenizer", settings: ShardSettings, threads: int, budget: MemoryBudget
    ) -> None:
        self.settings = settings
        self.n_source_bytes = 0
        self.bad = BadInput()
        self._threads = threads
        self._budget = budget
        self._plan = plan_reading(tokenizer, settings)
        self._encoder = DocumentEncoder(tokenizer, settings, self._plan)
        # Kernels are loaded before memory is measured and threads begin.
        tokenizer._encoder.encode_parts(allocate_text(0), np.array([[0, 0, -1]], dtype=np.int64))

    @contextmanager
    def encode(
        self,
        source: Source | ResolvedSource,
        n_shards: int,
        n_text_bytes: int,
        kept: Collection[int],
        progress: bool | Progress,
        chunk_nbytes: int,
        *,
        allow_empty: bool = False,
    ) -> Iterator[Iterator[EncodedDocuments]]:
        """Return the ids of a source in the order of the text, those of shards in ``kept`` left out.

        n_text_bytes: how long the text is, for dealing it to shards.
        allow_empty: whether a source without a single byte is no error.
        """
        bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)
        dealer = DocumentDealer(self._plan, n_shards, n_text_bytes)
        shown = Totals(0, 0)
        chunk_nbytes = self._limit_chunks(chunk_nbytes)
        with (
            ChunkReader(
                source,
                special_tokens=self._plan.literals,
                find_cut=self._plan.find_cut,
                errors=self.settings.errors,
                chunk_nbytes=chunk_nbytes,
                on_bytes=self._add_source_bytes,
                allow_empty=allow_empty,
            ) as reader,
            bars.encoding(reader.source_nbytes) as bar,
        ):
            self.bad = reader.bad

            def read_tasks() -> Iterator[DocumentTask]:
                for chunk in reader:
                    bar.update(chunk.n_bytes, shown.n_tokens)
                    self._require_memory(len(chunk.text), chunk_nbytes)
                    for task in dealer.deal(chunk):
                        if task.shard not in kept:
                            yield task
                bar.update(0, shown.n_tokens)  # an interrupt that was lost ends the run here, too

            def work(task: DocumentTask) -> EncodedDocuments:
                encoded = self._encoder.encode(task)
                if task.chunk is not None:
                    reader.recycle(task.chunk)
                return encoded

            def watch(results: Iterator[EncodedDocuments]) -> Iterator[EncodedDocuments]:
                for encoded in results:
                    shown.add(encoded)
                    yield encoded

            with closing(map_in_order(read_tasks(), work, self._threads)) as results:
                yield watch(results)

    def _add_source_bytes(self, n_bytes: int) -> None:
        self.n_source_bytes += n_bytes

    def _limit_chunks(self, chunk_nbytes: int) -> int:
        """Return a size of chunks, at most ``chunk_nbytes``, that the budget has room for."""
        free = self._budget.free_nbytes()
        if free is None:
            return chunk_nbytes
        reserve = 6 * 4 * IDS_A_ROW_GROUP if self.settings.form in ROW_SUFFIXES else 0
        n_chunks = count_items_in_flight(self._threads) + 2
        n_bytes = (free - reserve) // (n_chunks * _NBYTES_A_BYTE)
        least = min(chunk_nbytes, _LEAST_CHUNK_NBYTES)
        self._budget.require(
            reserve + n_chunks * _NBYTES_A_BYTE * least,
            f"encoding with {self._threads} threads",
        )
        return max(least, min(chunk_nbytes, n_bytes))

    def _require_memory(self, n_bytes: int, chunk_nbytes: int) -> None:
        if n_bytes > 4 * chunk_nbytes + (1 << 20):
            purpose = f"encoding a text of {n_bytes:,} bytes that cannot be cut"
            self._budget.require((_NBYTES_A_BYTE - 1) * n_bytes, purpose)


def _write_shards(
    results: Iterator[EncodedDocuments],
    paths: list[Path],
    settings: ShardSettings,
    kept: Collection[int],
    manifest: Manifest,
    totals: Totals,
) -> None:
    """Write one shard after another, each with the results that are for it."""
    waiting: list[EncodedDocuments] = []
    for number, path in enumerate(paths):
        if number in kept:
            continue
        here = Totals(0, 0)
        with open_writer(path, settings) as writer:
            for encoded in _take_shard(results, number, waiting):
                writer.write(encoded.ids, encoded.ends)
                here.add(encoded)
                totals.add(encoded)
        manifest.add(path, here.n_documents, here.n_tokens)


def _take_shard(
    results: Iterator[EncodedDocuments], number: int, waiting: list[EncodedDocuments]
) -> Generator[EncodedDocuments, None, None]:
    """Yield the results for a shard; the first for another is put into ``waiting``, and is taken
    from there first."""
    while True:
        encoded = waiting.pop() if waiting else next(results, None)
        if encoded is None:
            return
        if encoded.shard != number:
            waiting.append(encoded)
            return
        yield encoded


def _make_report(
    run: "EncodingRun | EngineEncodingRun",
    totals: Totals,
    started: float,
    paths: tuple[Path, ...],
    n_kept: int,
) -> EncodingReport:
    return EncodingReport(
        n_documents=totals.n_documents,
        n_tokens=totals.n_tokens,
        n_source_bytes=run.n_source_bytes,
        seconds=time.perf_counter() - started,
        files=paths,
        id_type=run.settings.id_type,
        n_kept=n_kept,
        skipped=run.bad,
        peak_rss_nbytes=measure_peak_rss(),
    )
