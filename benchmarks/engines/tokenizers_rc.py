"""tokenizers 1.0, of which release candidates are out; in an environment of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

DISTRIBUTIONS = {"tokenizers (candidate)": "tokenizers"}


def load(path: Path) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json."""
    return Tokenizer.from_file(path)


def make_encoder(tokenizer: Tokenizer) -> Callable[[str], NDArray[np.uint32]]:
    """Return the encoder of one text. The array is made quicker than a list."""

    def encode(text: str) -> NDArray[np.uint32]:
        return tokenizer.encode(text, add_special_tokens=False).ids_array

    return encode


def make_batch_encoder(
    tokenizer: Tokenizer, threads: int
) -> Callable[[Sequence[str]], list[NDArray[np.uint32]]]:
    """Return the encoder of many texts. Threads are set by RAYON_NUM_THREADS."""

    def encode_batch(texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        encodings: list[Encoding] = tokenizer.encode_batch(texts, add_special_tokens=False)
        return [encoding.ids_array for encoding in encodings]

    return encode_batch


def list_ids(batch: list[NDArray[np.uint32]]) -> list[NDArray[np.uint32]]:
    """Return the ids of each text."""
    return batch
