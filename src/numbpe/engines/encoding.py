"""Corpora to token ids by an engine: workers read and encode blocks, this process writes, in order."""

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from numbpe.bad_input import BadInput
from numbpe.engines.blocks import Block, list_blocks
from numbpe.engines.document_encoding import BlockEncoder, EncodedBlock
from numbpe.engines.file_cuts import FileCutter, find_behind_token
from numbpe.engines.protocol import Engine
from numbpe.engines.workers import check_version, get_version
from numbpe.errors import ArgumentError
from numbpe.file_documents import FileReading
from numbpe.parallel import resolve_threads
from numbpe.progress import Progress
from numbpe.shard_reading import EncodedDocuments, choose_shards, plan_reading
from numbpe.shard_settings import ShardSettings
from numbpe.sources import ResolvedSource, Source, resolve_source

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer


@dataclass
class EncodingTask:
    """What workers must know to encode; it stays with each of them from one block to the next."""

    version: str
    tokenizer: "Tokenizer"
    settings: ShardSettings
    reading: FileReading
    chunk_nbytes: int
    threads: int

    @cached_property
    def encoder(self) -> BlockEncoder:
        """The encoder, which a worker makes for its first block."""
        check_version(self.version)
        return BlockEncoder(self.tokenizer, self.settings)


def encode_block(task: EncodingTask, block: Block) -> EncodedBlock:
    """Return the ids of a block. A worker calls this."""
    reading = replace(task.reading, bad=task.reading.bad.begin_anew())
    source = block.resolve(reading)
    try:
        return task.encoder.encode(source, task.chunk_nbytes, task.threads)
    except ArgumentError as error:  # it says where in the text, and this text is but a part
        raise ArgumentError(f"in {source.description}: {error}") from error


class EngineEncodingRun:
    """One pass over a corpus by the workers of an engine; see :class:`numbpe.shards.EncodingRun`.

    threads: how many cores each task uses, one by default.
    """

    def __init__(
        self, engine: Engine, tokenizer: "Tokenizer", settings: ShardSettings, threads: int | None
    ) -> None:
        self.settings = settings
        self.n_source_bytes = 0
        self.bad = BadInput()
        self._engine = engine
        self._tokenizer = tokenizer
        self._threads = resolve_threads(1 if threads is None else threads)

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

        The arguments are those of :meth:`numbpe.shards.EncodingRun.encode`.
        """
        bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)
        resolved = resolve_source(source)
        self.bad = resolved.reading.bad
        blocks = list_blocks(resolved, self._engine.block_nbytes, self._make_cutter())
        task = EncodingTask(
            get_version(),
            self._tokenizer,
            self.settings,
            replace(resolved.reading, bad=self.bad.begin_anew()),
            chunk_nbytes,
            self._threads,
        )
        with self._engine.open() as session, bars.encoding(resolved.n_bytes) as bar:
            n_text = n_tokens = 0

            def deal(results: Iterator[EncodedBlock]) -> Iterator[EncodedDocuments]:
                nonlocal n_text, n_tokens
                for encoded in results:
                    self.n_source_bytes += encoded.n_source_bytes
                    self.bad.add_all(encoded.bad)
                    n_tokens += len(encoded.ids)
                    bar.update(encoded.n_source_bytes, n_tokens)
                    shards = choose_shards(encoded.starts + n_text, n_shards, n_text_bytes)
                    n_text += encoded.n_text_bytes
                    for documents in split_by_shard(encoded, shards.tolist()):
                        if documents.shard not in kept:
                            yield documents
                if not self.n_source_bytes and not allow_empty:
                    raise resolved.word_empty()

            with closing(
                session.map_in_order(encode_block, task, blocks, self._threads)
            ) as results:
                yield deal(results)

    def _make_cutter(self) -> FileCutter | None:
        """Return how to cut files behind separators; None where nothing but their ends marks ends."""
        plan = plan_reading(self._tokenizer, self.settings)
        if plan.separator_place < 0:
            return None
        return FileCutter(plan.literals, find_behind_token(plan.literals[plan.separator_place]))


def split_by_shard(encoded: EncodedBlock, shards: list[int]) -> Iterator[EncodedDocuments]:
    """Yield the documents of a block for one shard after another; ``shards`` never fall."""
    borders = [0, *(place for place, two in enumerate(pairwise(shards), 1) if two[0] != two[1])]
    for first, last in pairwise([*borders, len(shards)]):
        if first == last:
            continue
        begin = int(encoded.ends[first - 1]) if first else 0
        end = int(encoded.ends[last - 1])
        ends = np.ascontiguousarray(encoded.ends[first:last] - begin)
        yield EncodedDocuments(shards[first], encoded.ids[begin:end], ends)
