"""All documents of one block to token ids, in one go: the part of encoding that a worker does."""

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets
from numbpe.bad_input import BadInput
from numbpe.corpus import ChunkReader
from numbpe.ordered_work import map_in_order
from numbpe.shard_reading import (
    DocumentDealer,
    DocumentEncoder,
    DocumentTask,
    EncodedDocuments,
    plan_reading,
)
from numbpe.shard_settings import ShardSettings
from numbpe.sources import ResolvedSource

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer


@dataclass(slots=True)
class EncodedBlock:
    """The documents of a block.

    ids: (n,) uint16 or uint32, the ids of all documents, one after another.
    ends: (d,) int64, where each document ends in ``ids``.
    starts: (d,) int64, where each begins in the text of the block, which has ``n_text_bytes``.
    n_source_bytes, bad: what was read, and what was left out.
    """

    ids: NDArray[Any]
    ends: Offsets
    starts: Offsets
    n_text_bytes: int
    n_source_bytes: int
    bad: BadInput


class BlockEncoder:
    """Encodes blocks with one tokenizer; what the kernels need is made once."""

    def __init__(self, tokenizer: "Tokenizer", settings: ShardSettings) -> None:
        self._plan = plan_reading(tokenizer, settings)
        self._settings = settings
        self._encoder = DocumentEncoder(tokenizer, settings, self._plan)

    def encode(self, source: ResolvedSource, chunk_nbytes: int, threads: int) -> EncodedBlock:
        """Return the ids of all documents of a source."""
        dealer = DocumentDealer(self._plan, 1, 1)
        n_source_bytes = 0

        def count_bytes(n_bytes: int) -> None:
            nonlocal n_source_bytes
            n_source_bytes += n_bytes

        ids: list[NDArray[Any]] = [np.empty(0, self._settings.numpy_type)]
        ends: list[Offsets] = [np.empty(0, np.int64)]
        starts: list[Offsets] = [np.empty(0, np.int64)]
        n_ids = 0
        reader = ChunkReader(
            source,
            special_tokens=self._plan.literals,
            find_cut=self._plan.find_cut,
            errors=self._settings.errors,
            chunk_nbytes=chunk_nbytes,
            on_bytes=count_bytes,
            allow_empty=True,
        )

        def work(task: DocumentTask) -> tuple[EncodedDocuments, Offsets]:
            encoded = self._encoder.encode(task)
            if task.chunk is not None:
                reader.recycle(task.chunk)
            return encoded, task.starts[1:] if task.is_continued else task.starts

        tasks = (task for chunk in reader for task in dealer.deal(chunk))
        with reader, closing(map_in_order(tasks, work, threads)) as results:
            for encoded, begun in results:
                ids.append(encoded.ids)
                ends.append(encoded.ends + n_ids)
                starts.append(begun)
                n_ids += len(encoded.ids)
        return EncodedBlock(
            np.concatenate(ids),
            np.concatenate(ends),
            np.concatenate(starts),
            dealer.n_text_bytes_done,
            n_source_bytes,
            reader.bad,
        )
