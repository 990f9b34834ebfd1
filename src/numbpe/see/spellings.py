"""Which rows of a vocabulary spell the same word: with or without a space, in small or capital letters.

The rule. A row counts if it is made of letters alone, after one leading space is taken off, and if
its case can be made again from its lower-case form: it is that form, or that form with its first
letter in upper case, or all of it in upper case. Rows of one lower-case form are a *family*; all but
one of a family are rows that a vocabulary which stores case and space apart would not need.

A row of mixed case, such as ``McC``, is none of the three and left out: no rule restores it, and it
is counted apart. So Llama 3 has 31,285 rows that spell a word again; with those of mixed case that
differ by a space alone it has 31,977, and with mixed case put into lower case too 32,638. What a
letter is and how its case changes is what Python's ``str`` says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

KINDS: Final = ("bare", "space", "Capitalised", "space Capitalised", "UPPER", "space UPPER")
"""How a row spells its word. One capital letter is Capitalised; letters without case are bare."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One row of a family: its kind, one of :data:`KINDS`, and its token id."""

    kind: str
    id: int


@dataclass(frozen=True, slots=True)
class Family:
    """The rows that spell one word, in the order of :data:`KINDS`, then of ids."""

    word: str
    spellings: tuple[Spelling, ...]


@dataclass(frozen=True)
class SpellingAudit:
    """What was found of spellings in a vocabulary.

    families: all words that rows spell, also those with one row, in the order of their first row.
    n_mixed_case: rows of letters that are left out since their case is mixed.
    n_mixed_case_saved: how many of these differ from another one by a leading space alone.
    """

    families: tuple[Family, ...]
    n_mixed_case: int
    n_mixed_case_saved: int

    @cached_property
    def n_rows(self) -> int:
        """Rows that spell a word by the rule."""
        return sum(len(family.spellings) for family in self.families)

    @cached_property
    def rows_saved(self) -> int:
        """Rows that spell a word which another row spells already: rows minus words."""
        return self.n_rows - len(self.families)

    @cached_property
    def repeated(self) -> tuple[Family, ...]:
        """The families of two rows or more, the largest first, then in the order of first rows."""
        several = [family for family in self.families if len(family.spellings) > 1]
        return tuple(sorted(several, key=lambda family: -len(family.spellings)))

    def count_kinds(self) -> dict[str, tuple[int, int]]:
        """Return by kind the number of rows, and how many of them are saved.

        Of each family the row that comes first in the order of :data:`KINDS` stays.
        """
        rows = dict.fromkeys(KINDS, 0)
        saved = dict.fromkeys(KINDS, 0)
        for family in self.families:
            for position, spelling in enumerate(family.spellings):
                rows[spelling.kind] += 1
                saved[spelling.kind] += position > 0
        return {kind: (rows[kind], saved[kind]) for kind in KINDS}


def find_kind(text: str) -> tuple[str, str] | None:
    """Return the word that ``text`` spells and the kind of its spelling; None if the rule says neither.

    >>> find_kind(" The"), find_kind("NASA"), find_kind("McC"), find_kind("it's")
    (('the', 'space Capitalised'), ('nasa', 'UPPER'), None, None)
    """
    bare = text.removeprefix(" ")
    if not bare.isalpha():
        return None
    word = bare.lower()
    if bare == word:
        case = ""
    elif bare == word[0].upper() + word[1:]:
        case = "Capitalised"
    elif bare == word.upper():
        case = "UPPER"
    else:
        return None
    space = "space" if len(bare) < len(text) else ""
    return word, f"{space} {case}".strip() or "bare"


def audit_spellings(contents: Mapping[int, bytes] | Iterable[tuple[int, bytes]]) -> SpellingAudit:
    """Return which rows spell the same words.

    contents: the bytes that each row stands for, by id. Rows that are not UTF-8 spell no word.

    >>> audit = audit_spellings({0: b"the", 1: b" The", 2: b" the", 3: b"a"})
    >>> audit.rows_saved, [spelling.kind for spelling in audit.families[0].spellings]
    (2, ['bare', 'space', 'space Capitalised'])
    """
    items = contents.items() if isinstance(contents, Mapping) else contents
    found: dict[str, list[Spelling]] = {}
    mixed: list[str] = []
    for token_id, content in items:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            continue
        spelled = find_kind(text)
        if spelled is not None:
            word, kind = spelled
            found.setdefault(word, []).append(Spelling(kind, token_id))
        elif (bare := text.removeprefix(" ")).isalpha():
            mixed.append(bare)
    families = tuple(Family(word, _sort_spellings(found[word])) for word in found)
    return SpellingAudit(families, len(mixed), len(mixed) - len(set(mixed)))


def _sort_spellings(spellings: list[Spelling]) -> tuple[Spelling, ...]:
    return tuple(sorted(spellings, key=lambda spelling: (KINDS.index(spelling.kind), spelling.id)))
