"""rustbpe: takes an iterator of documents and gives ranks of tokens, which are written as JSON."""

import rustbpe
from jobs import GPT2_PATTERN, Job, iterate_documents, write_tokens

DISTRIBUTIONS = ("rustbpe",)


def train(job: Job) -> dict[str, float]:
    """Train and write the tokens in order. It knows no special tokens: one token fewer is made."""
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(
        iterate_documents(job.input), job.vocab_size - 1, pattern=GPT2_PATTERN
    )
    ranks = sorted(tokenizer.get_mergeable_ranks(), key=lambda item: item[1])
    write_tokens(job.output, [bytes(token) for token, _ in ranks[256:]])
    return {}
