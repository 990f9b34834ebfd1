"""The audit of a vocabulary: rows that spell a word again, rows that are never given, and their cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from numbpe.errors import ArgumentError
from numbpe.see.reachability import UnreachableRows, find_unreachable
from numbpe.see.spellings import Family, SpellingAudit, audit_spellings
from numbpe.see.usage import TokenUsage
from numbpe.token_display import show_token
from numbpe.tokenizer import Tokenizer

BYTE_ROWS: Final = {byte: bytes([byte]) for byte in range(256)}
"""The rows of single bytes that come first in a table of cores."""

RARE: Final = 10
"""A spelling that a text has less often than this is called rare."""


if TYPE_CHECKING:
    from numbpe.combinatorial.definition import CombinatorialVocabulary


@dataclass(frozen=True)
class VocabularyAudit:
    """What an audit found; made by :func:`audit`.

    contents: the bytes that each row stands for, by id.
    n_rows: all rows, special tokens and parts of characters included.
    n_ordinary: the ids of rows that text is merged to.
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
    tokenizer: Tokenizer, *, width: int = 4096, usage: TokenUsage | None = None
) -> VocabularyAudit:
    """Return what the rows of a vocabulary are spent on.

    width: how many numbers a row of the embedding has.
    usage: what :func:`~numbpe.see.usage.count_tokens` found in a text, for the figures about use.

    Raises ArgumentError for a width below 1.

    Example: ``audit(numbpe.load("llama3/tokenizer.json")).spellings.rows_saved`` is 31,285.
    """
    check_width(width)
    definition = tokenizer.definition
    left_out = {token.id for token in definition.added_tokens} | tokenizer._decoder.byte_token_ids
    if definition.rules.unk_id is not None:
        left_out |= {definition.rules.unk_id}
    contents = tokenizer.vocab
    ordinary = {i: content for i, content in contents.items() if i not in left_out}
    return VocabularyAudit(
        contents=contents,
        n_rows=len(contents),
        ordinary_ids=tuple(ordinary),
        spellings=audit_spellings(ordinary),
        unreachable=find_unreachable(tokenizer),
        width=width,
        usage=usage,
    )


def audit_tables(
    vocabulary: "CombinatorialVocabulary", *, width: int = 4096, text: str | None = None
) -> VocabularyAudit:
    """Return what the rows of combinatorial tables are spent on; ids are those of cores.

    Space and case are in tables of their own there, so that hardly a core should spell a word again.

    text: for the figures about use.

    Raises ArgumentError for a width below 1.
    """
    from numbpe.combinatorial.reference import ReferenceTokenizer, make_ranks, split_core

    check_width(width)
    first, stop = len(BYTE_ROWS), vocabulary.first_special_id
    contents = {i: vocabulary.core_strings[i].encode() for i in range(first, stop)}
    ranks = make_ranks(vocabulary.merges)
    unmade = tuple(
        i
        for i, content in contents.items()
        if vocabulary.core_ids[content.decode()] != i
        or len(split_core(content.decode(), ranks)) > 1
    )
    usage = None
    if text is not None:
        rows = ReferenceTokenizer(vocabulary).encode(text)
        cores = np.fromiter((core for _, _, core, _ in rows), dtype=np.int64, count=len(rows))
        counts = np.bincount(cores, minlength=vocabulary.n_cores)
        usage = TokenUsage(counts, len(text.encode()), len(text))
    return VocabularyAudit(
        contents=BYTE_ROWS | contents,
        n_rows=vocabulary.vocab_size,
        ordinary_ids=tuple(contents),
        spellings=audit_spellings(contents),
        unreachable=UnreachableRows(unmade, ()),
        width=width,
        usage=usage,
    )
