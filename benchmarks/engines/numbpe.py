"""numbpe itself: ``recipe`` is an option of the job; the rest is what its commands do."""

import gc
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from jobs import SEPARATOR, Job
from numpy.typing import NDArray

import numbpe
from numbpe.batches import TokenBatch
from numbpe.counting import count_words
from numbpe.training import train_with_report

DISTRIBUTIONS = ("numbpe", "numba", "llvmlite", "numpy")

PREFIX_NBYTES = 1_000_000


def train(job: Job) -> dict[str, float]:
    """Train and write the files of ``numbpe train``; return seconds by stage."""
    gc.disable()  # as the command does
    tokenizer, report = train_with_report(
        job.input,
        job.vocab_size,
        special_tokens=[SEPARATOR],
        recipe=job.options.get("recipe", "cs336"),
        threads=job.threads,
        progress=False,
    )
    started = time.perf_counter()
    tokenizer.save(job.output / "tokenizer.json")
    tokenizer.save(job.output / "tokenizer.pkl")  # two files: _vocab.pkl and _merges.pkl
    return {**report.seconds, "writing": time.perf_counter() - started}


def count(job: Job) -> dict[str, float]:
    """Count the words of the input, kernels loaded before; return seconds and sizes."""
    prefix = job.output / "prefix.txt"
    with job.input.open("rb") as text:
        prefix.write_bytes(text.read(PREFIX_NBYTES))
    for path in (prefix, job.input):
        started = time.perf_counter()
        words = count_words(path, special_tokens=[SEPARATOR], threads=job.threads)
        seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "n_distinct_words": len(words),
        "n_pieces": words.n_pieces,
    }


def load(path: Path) -> numbpe.Tokenizer:
    """Return the tokenizer of a tokenizer.json."""
    return numbpe.load(path)


def make_encoder(tokenizer: numbpe.Tokenizer) -> Callable[[str], NDArray[np.uint32]]:
    """Return the encoder of one text."""
    return tokenizer.encode


def make_batch_encoder(
    tokenizer: numbpe.Tokenizer, threads: int
) -> Callable[[Sequence[str]], TokenBatch]:
    """Return the encoder of many texts."""

    def encode_batch(texts: Sequence[str]) -> TokenBatch:
        return tokenizer.encode_batch(texts, threads=threads)

    return encode_batch


def list_ids(batch: TokenBatch) -> list[NDArray[np.uint32]]:
    """Return the ids of each text."""
    ends = batch.offsets.tolist()
    return [batch.values[a:b] for a, b in itertools.pairwise(ends)]


def encode_file(tokenizer: numbpe.Tokenizer, source: Path, output: Path, threads: int) -> None:
    """Encode a file as ``numbpe encode`` does, but without the ids of separators."""
    tokenizer.encode_files(
        source, output, separator=SEPARATOR, write_separator=False, threads=threads, progress=False
    )
