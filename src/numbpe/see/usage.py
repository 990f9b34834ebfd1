"""How often a text uses each row of a vocabulary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numbpe.arrays import Counts
from numbpe.corpus import ErrorPolicy
from numbpe.see.texts import iterate_blocks
from numbpe.tokenizer import Tokenizer


@dataclass(frozen=True)
class TokenUsage:
    """What encoding some texts gave.

    counts: (n_ids,) int64, how often each id came.
    n_bytes, n_characters: of the texts.
    """

    counts: Counts
    n_bytes: int
    n_characters: int

    @property
    def n_tokens(self) -> int:
        """The number of all tokens."""
        return int(self.counts.sum())


def count_tokens(
    tokenizer: Tokenizer, paths: Iterable[str | Path], errors: ErrorPolicy = "strict"
) -> TokenUsage:
    """Return how often each row comes when files are encoded, each a text of its own.

    Text that spells a special token becomes it. Memory is bounded, whatever the size of the files;
    what is raised is that of :func:`~numbpe.see.texts.iterate_blocks`.
    """
    n_ids = tokenizer.vocabulary.n_ids
    counts = np.zeros(n_ids, dtype=np.int64)
    n_bytes = n_characters = 0

    def tally(path: str | Path) -> Iterable[str]:
        nonlocal n_bytes, n_characters
        for block in iterate_blocks(path, errors):
            n_characters += len(block)
            n_bytes += len(block.encode("utf-8"))
            yield block

    for path in paths:
        for ids in tokenizer.encode_iterable(tally(path)):
            counts += np.bincount(ids, minlength=n_ids)
    return TokenUsage(counts, n_bytes, n_characters)


def count_text(tokenizer: Tokenizer, text: str) -> TokenUsage:
    """Return how often each row comes when one text is encoded."""
    n_ids = tokenizer.vocabulary.n_ids
    counts = np.zeros(n_ids, dtype=np.int64)
    for ids in tokenizer.encode_iterable([text]):
        counts += np.bincount(ids, minlength=n_ids)
    return TokenUsage(counts, len(text.encode("utf-8")), len(text))


def add_usages(usages: Sequence[TokenUsage]) -> TokenUsage:
    """Return what several texts use together; there must be one at least."""
    counts: Counts = np.vstack([usage.counts for usage in usages]).sum(axis=0)
    n_bytes = sum(usage.n_bytes for usage in usages)
    return TokenUsage(counts, n_bytes, sum(usage.n_characters for usage in usages))
