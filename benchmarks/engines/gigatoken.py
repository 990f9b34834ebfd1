"""gigatoken: reads the file itself and gives merges, which are written as JSON."""

import gigatoken
from jobs import SEPARATOR, Job, write_pairs

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
