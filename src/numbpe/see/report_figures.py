"""What a report says of each tokenizer, as numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from numbpe.see.audit import VocabularyAudit, audit
from numbpe.see.subjects import Subject
from numbpe.see.texts import NamedText
from numbpe.see.token_kinds import DIGITS, PART, WHITE_SPACE, count_token_kinds, find_token_kind
from numbpe.see.usage import TokenUsage, add_usages, count_text

LONGEST_SHOWN = 24
"""Rows of this many bytes or more stand together in histograms."""


@dataclass(frozen=True)
class TextFigures:
    """How one tokenizer encodes one text.

    n_fallback: tokens that are a part of a character, or a byte in place of one.
    """

    text: NamedText
    usage: TokenUsage
    n_fallback: int

    @property
    def n_tokens(self) -> int:
        """Tokens of the text."""
        return self.usage.n_tokens

    @property
    def ratios(self) -> tuple[float, float, float]:
        """Bytes, characters and words for each token."""
        n_tokens = max(1, self.n_tokens)
        text = self.text
        return text.n_text_bytes / n_tokens, len(text.text) / n_tokens, text.n_words / n_tokens

    @property
    def fallback_share(self) -> float:
        """Parts of characters, as a share of all tokens."""
        return self.n_fallback / max(1, self.n_tokens)


@dataclass(frozen=True)
class TokenizerFigures:
    """What a report says of one tokenizer; made by :func:`collect_figures`."""

    subject: Subject
    texts: tuple[TextFigures, ...]
    audit: VocabularyAudit

    @property
    def name(self) -> str:
        """What the page calls the tokenizer."""
        return self.subject.name

    @cached_property
    def usage(self) -> TokenUsage:
        """The use that all texts together make of the rows."""
        return add_usages([figures.usage for figures in self.texts])

    @cached_property
    def kinds(self) -> Counter[str]:
        """Rows by script, or what else they are made of."""
        return count_token_kinds(self.audit.contents[i] for i in self.audit.ordinary_ids)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Rows by bytes: (LONGEST_SHOWN + 1,) int64, longer ones in the last place."""
        lengths = [len(self.audit.contents[i]) for i in self.audit.ordinary_ids]
        return np.bincount(np.minimum(lengths, LONGEST_SHOWN), minlength=LONGEST_SHOWN + 1)

    @cached_property
    def sorted_counts(self) -> NDArray[np.int64]:
        """How often rows are used, the most used first; those that are not are left out."""
        counts = self.usage.counts[self.usage.counts > 0]
        return np.sort(counts)[::-1]

    def list_longest(self, number: int = 10) -> list[int]:
        """Return the ids of the longest rows."""
        contents = self.audit.contents
        return sorted(self.audit.ordinary_ids, key=lambda i: -len(contents[i]))[:number]

    def list_wasteful(self, number: int = 10) -> list[int]:
        """Return the ids of the longest rows that no text uses."""
        contents = self.audit.contents
        return sorted(self.audit.never_used, key=lambda i: -len(contents[i]))[:number]

    @cached_property
    def digit_rows(self) -> Counter[int]:
        """Rows of digits alone, by how many digits they have."""
        contents = (self.audit.contents[i] for i in self.audit.ordinary_ids)
        return Counter(
            len(content.decode().strip())
            for content in contents
            if content.strip().isdigit() and find_token_kind(content) == DIGITS
        )

    @cached_property
    def white_space_rows(self) -> tuple[int, int]:
        """How many rows are white space alone, and the bytes of the longest."""
        contents = self.audit.contents
        lengths = [
            len(contents[i])
            for i in self.audit.ordinary_ids
            if not contents[i].strip() or find_token_kind(contents[i]) == WHITE_SPACE
        ]
        return len(lengths), max(lengths, default=0)


def collect_figures(subject: Subject, texts: Sequence[NamedText], width: int) -> TokenizerFigures:
    """Encode the texts with a tokenizer, and return what a report says of it."""
    parts = {i for i, content in subject.contents.items() if find_token_kind(content) == PART}
    falls_back = np.array(sorted(parts | subject.byte_numbers), dtype=np.int64)
    figures = []
    for text in texts:
        usage = count_text(subject, text.text)
        figures.append(TextFigures(text, usage, int(usage.counts[falls_back].sum())))
    usage = add_usages([one.usage for one in figures])
    return TokenizerFigures(subject, tuple(figures), audit(subject, width=width, usage=usage))
