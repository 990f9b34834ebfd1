"""How often a text uses each row of a vocabulary."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numbpe.arrays import Counts
from numbpe.corpus import ErrorPolicy
from numbpe.see.subjects import Subject
from numbpe.see.texts import iterate_blocks


@dataclass(frozen=True)
class TokenUsage:
    """What encoding some texts gave.

    counts: (n,) int64, how often each row came, by its number.
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
    subject: Subject, paths: Iterable[str | Path], errors: ErrorPolicy = "strict"
) -> TokenUsage:
    """Return how often each row comes when files are encoded, each a text of its own.

    Text that spells a special token becomes it. Memory is bounded, whatever the size of the files;
    what is raised is that of :func:`~numbpe.see.texts.iterate_blocks`.
    """
    return add_usages([_count(subject, iterate_blocks(path, errors)) for path in paths])


def count_text(subject: Subject, text: str) -> TokenUsage:
    """Return how often each row comes when one text is encoded."""
    return _count(subject, [text])


def _count(subject: Subject, blocks: Iterable[str]) -> TokenUsage:
    counts = np.zeros(max(subject.contents, default=-1) + 1, dtype=np.int64)
    n_bytes = n_characters = 0

    def tally() -> Iterator[str]:
        nonlocal n_bytes, n_characters
        for block in blocks:
            n_characters += len(block)
            n_bytes += len(block.encode("utf-8"))
            yield block

    for numbers in subject.number_tokens(tally()):
        counts += np.bincount(numbers, minlength=len(counts))
    return TokenUsage(counts, n_bytes, n_characters)


def add_usages(usages: Sequence[TokenUsage]) -> TokenUsage:
    """Return what several texts use together; there must be one at least."""
    counts: Counts = np.vstack([usage.counts for usage in usages]).sum(axis=0)
    n_bytes = sum(usage.n_bytes for usage in usages)
    return TokenUsage(counts, n_bytes, sum(usage.n_characters for usage in usages))
