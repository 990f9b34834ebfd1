"""bpeasy: takes an iterator of documents and gives ranks of tokens, which are written as JSON."""

import bpeasy
from jobs import GPT2_PATTERN, Job, iterate_documents, write_tokens

DISTRIBUTIONS = ("bpeasy",)

# Longer than any piece: no token is refused.
MAX_TOKEN_LENGTH = 1 << 20


def train(job: Job) -> dict[str, float]:
    """Train and write the tokens in order. It knows no special tokens: one token fewer is made."""
    ranks = bpeasy.train_bpe(
        iterate_documents(job.input), GPT2_PATTERN, MAX_TOKEN_LENGTH, job.vocab_size - 1
    )
    write_tokens(job.output, sorted(ranks, key=ranks.__getitem__)[256:])
    return {}
