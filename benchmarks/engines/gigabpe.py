"""gigabpe: writes a tokenizer.json itself. Pieces are those of GPT-2, as with numbpe."""

import gigabpe
from jobs import SEPARATOR, Job

DISTRIBUTIONS = ("gigabpe",)


def train(job: Job) -> dict[str, float]:
    """Train and write tokenizer.json. It has no stages to report."""
    gigabpe.train_tokenizer(
        [str(job.input)],
        job.vocab_size,
        str(job.output / "tokenizer.json"),
        special_tokens=[SEPARATOR],
        pretokenizer="bytelevel",
        threads=job.threads,
    )
    return {}
