"""What a tokenizer of Combinatorial BPE, or its plain baseline, is made of, as values.

A token of Combinatorial BPE is a row of four indices:

- variation: 0 as it stands, 1 Capitalised, 2 UPPER CASE, 3 Traditional Chinese
- prefix: of ``prefixes``, what stands before the core; row 0 is nothing
- core: 0 to 255 are the bytes, then come the characters of ``alphabet``, what each of ``merges``
  makes, and the special tokens
- suffix: of ``suffixes``, what stands behind the core; row 0 is nothing

A special token is a row of its own: its core, with 0 in the other three places.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from numbpe.errors import ArgumentError, shorten_value
from numbpe.special_tokens import check_special_tokens

AS_IS: Final = 0
CAPITALISED: Final = 1
UPPER: Final = 2
TRADITIONAL_SCRIPT: Final = 3
VARIATIONS: Final = ("as is", "Capitalised", "UPPER", "Traditional")
"""What the variations are called, by index."""

N_BYTES: Final = 256

CharacterMerge: TypeAlias = tuple[str, str]

StandardPattern: TypeAlias = Literal["gpt2", "cl100k"]

STANDARD_SOURCES: Final[dict[str, str]] = {
    "gpt2": (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"
    ),
    "cl100k": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{M}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
"""Regular expressions of plain vocabularies over characters, by name. They take marks for letters, and
so differ from those that GPT-2 and GPT-4 use."""

STANDARD_PATTERNS: Final = tuple(STANDARD_SOURCES)
"""Names of those patterns."""


def count_variations(fold_case: bool, fold_han: bool) -> int:
    """Return how many variations there are: one row of the budget each."""
    if fold_han:
        return 4
    return 3 if fold_case else 1


@dataclass(frozen=True)
class CharacterTable:
    """Byte-pair encoding over characters, with bytes for those that are not in the alphabet.

    alphabet: characters, whose ids begin at 256; usually in the order of code points
    merges: pairs of strings, each a character of the alphabet or made by an earlier merge
    merge_counts: how often each pair stood in the text when it was merged, if that is known
    special_tokens: text that becomes one token wherever it stands; their ids come last

    Raises ArgumentError for what cannot be used.
    """

    alphabet: tuple[str, ...]
    merges: tuple[CharacterMerge, ...] = ()
    merge_counts: tuple[int, ...] | None = None
    special_tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check what every such table must be."""
        known = _check_alphabet(self.alphabet)
        _check_merges(self.merges, known)
        if self.merge_counts is not None and len(self.merge_counts) != len(self.merges):
            raise ArgumentError(
                f"cannot use {len(self.merge_counts):,} merge_counts for {len(self.merges):,} "
                "merges; give one for each, or leave merge_counts out"
            )
        check_special_tokens(self.special_tokens)

    @functools.cached_property
    def core_strings(self) -> tuple[str, ...]:
        """The string of every core: "" for bytes; that of a special token is its text.

        A merge may make a string anew that has a core already; the first is the one that is used.
        """
        made = (left + right for left, right in self.merges)
        return ("",) * N_BYTES + self.alphabet + tuple(made) + self.special_tokens

    @property
    def first_merge_id(self) -> int:
        """The core of the first merge."""
        return N_BYTES + len(self.alphabet)

    @property
    def first_special_id(self) -> int:
        """The core of the first special token; the number of ordinary cores."""
        return self.first_merge_id + len(self.merges)

    @property
    def n_cores(self) -> int:
        """How many cores there are, special tokens included."""
        return self.first_special_id + len(self.special_tokens)

    @functools.cached_property
    def core_ids(self) -> dict[str, int]:
        """The core of every string that a merge makes or that is a character: the first one."""
        ids: dict[str, int] = {}
        for core in range(N_BYTES, self.first_special_id):
            ids.setdefault(self.core_strings[core], core)
        return ids

    @property
    def special_token_ids(self) -> dict[str, int]:
        """The core of every special token."""
        return {name: self.first_special_id + i for i, name in enumerate(self.special_tokens)}


@dataclass(frozen=True, kw_only=True)
class CombinatorialVocabulary(CharacterTable):
    """The four tables of Combinatorial BPE and how text becomes rows; never changes.

    prefixes, suffixes: the first of each is ""
    fold_case: whether capital letters are stored as small ones
    punct_to_next: whether punctuation behind a word goes to the prefix of the next
    fold_han: whether Traditional Chinese characters are stored as Simplified ones
    split_camel: whether words are cut where small letters meet capital ones
    n_var: number of variations; it follows from the two foldings

    Raises ArgumentError for what cannot be used.

    Example:
        >>> vocabulary = CombinatorialVocabulary(
        ...     prefixes=("", " "), suffixes=("",), alphabet=("a", "b"), merges=(("a", "b"),))
        >>> vocabulary.sizes
        {'variation': 3, 'prefix': 2, 'core': 259, 'suffix': 1}
        >>> vocabulary.vocab_size
        265
    """

    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    fold_case: bool = True
    punct_to_next: bool = False
    fold_han: bool = False
    split_camel: bool = False

    def __post_init__(self) -> None:
        """Check the affixes, then what every table of characters must be."""
        check_affixes(self.prefixes, "prefixes")
        check_affixes(self.suffixes, "suffixes")
        super().__post_init__()

    @property
    def n_var(self) -> int:
        """Number of variations: 4 with ``fold_han``, else 3 with ``fold_case``, else 1."""
        return count_variations(self.fold_case, self.fold_han)

    @property
    def sizes(self) -> dict[str, int]:
        """Rows of each table, in the order of the four places of a token."""
        return {
            "variation": self.n_var,
            "prefix": len(self.prefixes),
            "core": self.n_cores,
            "suffix": len(self.suffixes),
        }

    @property
    def vocab_size(self) -> int:
        """Rows of all four tables together."""
        return sum(self.sizes.values())


@dataclass(frozen=True, kw_only=True)
class CharacterVocabulary(CharacterTable):
    """A plain vocabulary over characters, the baseline of Combinatorial BPE; never changes.

    pattern: "gpt2" or "cl100k", what cuts text into pieces

    Example:
        >>> CharacterVocabulary(alphabet=("a", "b"), merges=(("a", "b"),), pattern="gpt2").vocab_size
        259
    """

    pattern: StandardPattern

    def __post_init__(self) -> None:
        """Check the pattern, then what every table of characters must be."""
        check_standard_pattern(self.pattern)
        super().__post_init__()

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return self.n_cores


def check_standard_pattern(pattern: str) -> None:
    """Raise ArgumentError unless ``pattern`` is one of STANDARD_PATTERNS."""
    if pattern not in STANDARD_PATTERNS:
        raise ArgumentError(
            f"cannot use pattern {shorten_value(pattern)} for a vocabulary over characters; pass one "
            f"of {', '.join(map(repr, STANDARD_PATTERNS))}"
        )


def check_affixes(affixes: Sequence[str], name: str) -> None:
    """Raise ArgumentError unless ``affixes`` are different strings of which the first is empty."""
    if isinstance(affixes, str) or not all(isinstance(affix, str) for affix in affixes):
        raise ArgumentError(
            f'{name} must be a list of str, not {shorten_value(affixes)}; write ["", " "], say'
        )
    if not affixes or affixes[0] != "":
        found = f"{affixes[0]!r}" if affixes else "nothing"
        raise ArgumentError(
            f'cannot use {name}: row 0 must be the empty string "", the affix of what has none, but '
            f'it is {found}; put "" first'
        )
    rows: dict[str, int] = {}
    for row, affix in enumerate(affixes):
        if affix in rows:
            raise ArgumentError(
                f"cannot use {name}: row {row} is {shorten_value(affix)}, as row {rows[affix]} is "
                "already; give each affix once"
            )
        rows[affix] = row
        _check_encodable(affix, f"{name}[{row}]")


def _check_encodable(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArgumentError(
            f"cannot use {where}, {shorten_value(text)}: it holds an unpaired surrogate, which no "
            "UTF-8 text can hold; leave it out"
        ) from None


def _check_alphabet(alphabet: Sequence[str]) -> set[str]:
    """Return the characters of an alphabet as a set."""
    known: set[str] = set()
    for position, character in enumerate(alphabet):
        if not isinstance(character, str) or len(character) != 1:
            raise ArgumentError(
                f"cannot use alphabet[{position}], {shorten_value(character)}: it must be a string "
                "of one character"
            )
        if character in known:
            raise ArgumentError(
                f"cannot use alphabet[{position}], {character!r}: the alphabet holds it already; "
                "give each character once"
            )
        _check_encodable(character, f"alphabet[{position}]")
        known.add(character)
    return known


def _check_merges(merges: Sequence[CharacterMerge], known: set[str]) -> None:
    """Check that parts are known, by ``known``, which grows by what is merged."""
    for position, merge in enumerate(merges):
        if len(merge) != 2 or not all(isinstance(part, str) for part in merge):
            raise ArgumentError(
                f"cannot use merges[{position}], {shorten_value(merge)}: it must be two strings"
            )
        for part in merge:
            if part not in known:
                raise ArgumentError(
                    f"cannot use merges[{position}], {shorten_value(merge)}: {shorten_value(part)} "
                    "is neither a character of the alphabet nor made by an earlier merge; are "
                    "merges missing, or in another order?"
                )
        known.add(merge[0] + merge[1])
