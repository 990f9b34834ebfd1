"""tokenizers: ByteLevel as gigabpe and numbpe have it, reading the file by itself."""

from jobs import SEPARATOR, Job
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

DISTRIBUTIONS = ("tokenizers",)


def train(job: Job) -> dict[str, float]:
    """Train and write tokenizer.json. Threads are set by RAYON_NUM_THREADS."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=job.vocab_size,
        special_tokens=[SEPARATOR],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(job.input)], trainer)
    tokenizer.save(str(job.output / "tokenizer.json"))
    return {}
