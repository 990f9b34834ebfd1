"""numbpe itself: ``recipe`` is an option of the job; the rest is what ``numbpe train`` does."""

import gc
import time

from jobs import SEPARATOR, Job

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
