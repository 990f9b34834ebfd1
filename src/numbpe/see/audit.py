"""The audit of a vocabulary: rows that spell a word again, rows that are never given, and their cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from numbpe.errors import ArgumentError
from numbpe.see.reachability import UnreachableRows
from numbpe.see.spellings import Family, SpellingAudit, audit_spellings
from numbpe.see.subjects import Subject
from numbpe.see.usage import TokenUsage
from numbpe.token_display import show_token

RARE: Final = 10
"""A spelling that a text has less often than this is called rare."""


@dataclass(frozen=True)
class VocabularyAudit:
    """What an audit found; made by :func:`audit`.

    contents: the bytes that each row stands for, by id; a core is one's number in combinatorial tables.
    n_rows: all rows, special tokens and parts of characters included.
    ordinary_ids: the rows that text is merged to.
    usage: how often a text uses the rows, None without one.
    width: numbers in one row of an embedding.
    """

    contents: Mapping[int, bytes]
    n_rows: int
    ordinary_ids: tuple[int, ...]
    spellings: SpellingAudit
    unreachable: UnreachableRows
    width: int
    usage: TokenUsage | None = None

    @property
    def share_saved(self) -> float:
        """Rows that spell a word again, as a share of all rows."""
        return self.spellings.rows_saved / self.n_rows

    @property
    def parameters(self) -> dict[str, int]:
        """What the saved rows cost: with embedding and output tied, and as tables of their own."""
        tied = self.spellings.rows_saved * self.width
        return {"tied": tied, "untied": 2 * tied}

    def count_spellings(self, family: Family) -> list[int]:
        """Return how often the text has each spelling of a family, in its order."""
        if self.usage is None:
            return []
        return [int(self.usage.counts[spelling.id]) for spelling in family.spellings]

    @cached_property
    def most_used(self) -> list[Family]:
        """The families of several rows that come most often in the text, the first the most."""
        families = self.spellings.repeated
        return sorted(families, key=lambda family: -sum(self.count_spellings(family)))

    @cached_property
    def n_rare(self) -> int:
        """Rows that are not the most frequent spelling of their word, and rare in the text."""
        n_rare = 0
        for family in self.spellings.repeated:
            counts = sorted(self.count_spellings(family))
            n_rare += sum(count < RARE for count in counts[:-1])
        return n_rare

    @cached_property
    def never_used(self) -> tuple[int, ...]:
        """The ids of ordinary rows that do not come in the text, ascending."""
        if self.usage is None:
            return ()
        ids = np.array(self.ordinary_ids, dtype=np.int64)
        return tuple(ids[self.usage.counts[ids] == 0].tolist())

    def to_dict(self, n_families: int = 20) -> dict[str, Any]:
        """Return the figures as values that JSON can hold; ids are listed whole."""
        found = self.spellings
        figures: dict[str, Any] = {
            "n_rows": self.n_rows,
            "n_spelling_rows": found.n_rows,
            "n_words": len(found.families),
            "rows_saved": found.rows_saved,
            "share_saved": round(self.share_saved, 6),
            "n_mixed_case_rows": found.n_mixed_case,
            "mixed_case_rows_saved": found.n_mixed_case_saved,
            "kinds": {
                kind: {"rows": rows, "saved": saved}
                for kind, (rows, saved) in found.count_kinds().items()
            },
            "width": self.width,
            "parameters_saved": self.parameters,
            "largest_families": self._list_families(found.repeated[:n_families]),
            "unreachable_by_merging": list(self.unreachable.by_merging),
            "unreachable_by_pattern": list(self.unreachable.by_pattern),
        }
        if self.usage is not None:
            figures["text"] = {
                "n_bytes": self.usage.n_bytes,
                "n_characters": self.usage.n_characters,
                "n_tokens": self.usage.n_tokens,
                "most_used_families": self._list_families(self.most_used[:n_families]),
                "n_rare_spellings": self.n_rare,
                "never_used": list(self.never_used),
            }
        return figures

    def _list_families(self, families: Sequence[Family]) -> list[dict[str, Any]]:
        return [
            {"word": family.word, "spellings": self._list_spellings(family)} for family in families
        ]

    def _list_spellings(self, family: Family) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = [
            {"kind": row.kind, "id": row.id, "token": show_token(self.contents[row.id])}
            for row in family.spellings
        ]
        for row, count in zip(rows, self.count_spellings(family), strict=False):
            row["count"] = count
        return rows


def check_width(width: int) -> None:
    """Raise ArgumentError unless ``width`` is 1 or more."""
    if width < 1:
        raise ArgumentError(
            f"width must be 1 or more, not {width}: it is how many numbers a row of the embedding has"
        )


def audit(
    subject: Subject, *, width: int = 4096, usage: TokenUsage | None = None
) -> VocabularyAudit:
    """Return what the rows of a vocabulary are spent on.

    Space and case are in tables of their own in a combinatorial vocabulary, so that hardly one of
    its cores should spell a word again.

    width: how many numbers a row of the embedding has.
    usage: what :func:`~numbpe.see.usage.count_tokens` found in a text, for the figures about use.

    Raises ArgumentError for a width below 1.

    Example: with ``subject = as_subject(numbpe.load("llama3/tokenizer.json"))``,
    ``audit(subject).spellings.rows_saved`` is 31,285.
    """
    check_width(width)
    contents, ordinary = subject.contents, subject.ordinary_numbers
    return VocabularyAudit(
        contents=contents,
        n_rows=subject.n_rows,
        ordinary_ids=ordinary,
        spellings=audit_spellings({i: contents[i] for i in ordinary}),
        unreachable=subject.find_unreachable(),
        width=width,
        usage=usage,
    )
