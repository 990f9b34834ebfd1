"""tokenizers: ByteLevel as gigabpe and numbpe have it, reading the file by itself."""

from collections.abc import Callable, Sequence
from pathlib import Path

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


def load(path: Path) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json."""
    return Tokenizer.from_file(str(path))


def make_encoder(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """Return the encoder of one text, by the call that leaves offsets out."""

    def encode(text: str) -> list[int]:
        return tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids

    return encode


def make_batch_encoder(
    tokenizer: Tokenizer, threads: int
) -> Callable[[Sequence[str]], list[list[int]]]:
    """Return the encoder of many texts. Threads are set by RAYON_NUM_THREADS."""

    def encode_batch(texts: Sequence[str]) -> list[list[int]]:
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    return encode_batch


def list_ids(batch: list[list[int]]) -> list[list[int]]:
    """Return the ids of each text."""
    return batch
