"""gigatoken: reads files itself; trained merges are written as JSON, ids as a flat array."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gigatoken
import numpy as np
from jobs import SEPARATOR, Job, write_pairs
from numpy.typing import NDArray

DISTRIBUTIONS = ("gigatoken",)


def train(job: Job) -> dict[str, float]:
    """Train and write the merges. Threads are set by RAYON_NUM_THREADS."""
    _, pairs = gigatoken.train_bpe(
        job.input,
        job.vocab_size,
        [SEPARATOR],
        tie_breaking="raw_token_ids",  # the rule of numbpe's recipe "tiktoken"
        separator=SEPARATOR.encode(),
    )
    write_pairs(job.output, pairs)
    return {}


def load(path: Path) -> gigatoken.Tokenizer:
    """Return the tokenizer of a tokenizer.json."""
    return gigatoken.Tokenizer(path)


def make_encoder(tokenizer: gigatoken.Tokenizer) -> Callable[[str], NDArray[np.uint32]]:
    """Return the encoder of one text: the method of the backend, to which its own one forwards."""
    encode: Callable[[str], NDArray[np.uint32]] = tokenizer.backend.encode
    return encode


def make_batch_encoder(
    tokenizer: gigatoken.Tokenizer, threads: int
) -> Callable[[Sequence[str]], Any]:
    """Return the encoder of many texts, to an array of awkward. RAYON_NUM_THREADS counts too."""

    def encode_batch(texts: Sequence[str]) -> Any:
        return tokenizer.encode_batch(texts, parallel=threads > 1)

    return encode_batch


def list_ids(batch: Any) -> list[NDArray[np.uint32]]:
    """Return the ids of each text."""
    return [np.asarray(row) for row in batch]


def encode_file(tokenizer: gigatoken.Tokenizer, source: Path, output: Path, threads: int) -> None:
    """Encode a file whole; it writes none itself, so NumPy does. Threads as in a batch."""
    files = gigatoken.TextFileSource([source], separator=SEPARATOR)
    batch = tokenizer.encode_files(files, parallel=threads > 1)
    flat: NDArray[np.uint32] = batch.layout.content.data  # all ids, no copy
    flat.astype(np.uint16).tofile(output)
