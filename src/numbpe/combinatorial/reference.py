r"""The specification of Combinatorial BPE in plain Python, slow and short; tests hold the rest to it.

Follows the restricted tokenizer of https://github.com/SwayStar123/CombinatorialBPE. Text is cut into
*units* (before, word, behind), a word being a run of letters and marks, or of numbers. What stands
before and behind a word goes to the affixes of its first and last token as far as the affix tables
have it; the rest is encoded bare. Classes of characters are those of the regex module here.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import regex

from numbpe.combinatorial.definition import (
    AS_IS,
    CAPITALISED,
    N_BYTES,
    STANDARD_SOURCES,
    TRADITIONAL_SCRIPT,
    UPPER,
    CharacterMerge,
    CharacterTable,
    CharacterVocabulary,
    CombinatorialVocabulary,
)
from numbpe.combinatorial.folding import (
    TRADITIONAL,
    UPPER_CASE,
    load_case_mappings,
    load_folding,
    load_traditional_forms,
)

Row: TypeAlias = tuple[int, int, int, int]

UNIT_PATTERN: Final = (
    r"([^\p{L}\p{M}\p{N}]*)([\p{L}\p{M}]+|\p{N}+)([^\s\p{L}\p{M}\p{N}]*)|([^\p{L}\p{M}\p{N}]+)"
)
PUNCT_TO_NEXT_PATTERN: Final = (
    r"([^\p{L}\p{M}\p{N}]*)([\p{L}\p{M}]+|\p{N}+)()|([^\p{L}\p{M}\p{N}]+)"
)
CAMEL_PATTERN: Final = r"(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})"


class Unit(NamedTuple):
    """A word with what stands around it; the word is "" where text ends without one."""

    before: str
    word: str
    behind: str


def split_units(text: str, *, punct_to_next: bool = False) -> Iterator[Unit]:
    """Yield the units of ``text``, which hold each of its characters once."""
    pattern = PUNCT_TO_NEXT_PATTERN if punct_to_next else UNIT_PATTERN
    for match in regex.finditer(pattern, text):
        before, word, behind, alone = match.groups()
        yield Unit(alone, "", "") if alone else Unit(before, word, behind)


def split_camel_case(word: str) -> list[str]:
    """Return the parts of a word, cut where small letters meet capital ones."""
    return [part for part in regex.split(CAMEL_PATTERN, word, flags=regex.V1) if part]


class Folder:
    """Folds characters and applies variations, by the tables that numbpe ships."""

    def __init__(self, fold_case: bool, fold_han: bool) -> None:
        sources, targets, marks = load_folding(fold_case, fold_han)
        self._folds = {
            chr(source): (chr(target), mark)
            for source, target, mark in zip(
                sources.tolist(), targets.tolist(), marks.tolist(), strict=True
            )
        }
        self.upper = load_case_mappings()[1].to_dict()
        self.to_traditional = {
            chr(key): chr(form) for key, form in load_traditional_forms().tolist()
        }

    def fold(self, text: str) -> tuple[str, list[int]]:
        """Return ``text`` folded, and the mark of each character."""
        folded = [self._folds.get(character, (character, 0)) for character in text]
        return "".join(character for character, _ in folded), [mark for _, mark in folded]

    def find_variation(self, piece: str, marks: Sequence[int]) -> int | None:
        """Return the variation that spells ``piece`` with ``marks``; None if there is none."""
        if not any(marks):
            return AS_IS
        if TRADITIONAL not in marks:
            if marks[0] == UPPER_CASE and not any(marks[1:]):
                return CAPITALISED
            return UPPER if all(marks) else None
        if UPPER_CASE in marks:
            return None
        changes = [
            mark
            for character, mark in zip(piece, marks, strict=True)
            if character in self.to_traditional
        ]
        return TRADITIONAL_SCRIPT if all(changes) else None

    def apply(self, variation: int, core: str) -> str:
        """Return the string that ``core`` stands for under a variation."""
        if variation == CAPITALISED:
            return self.upper.get(core[:1], core[:1]) + core[1:]
        if variation == UPPER:
            return "".join(self.upper.get(character, character) for character in core)
        if variation == TRADITIONAL_SCRIPT:
            return "".join(self.to_traditional.get(character, character) for character in core)
        return core


def merge_everywhere(parts: Sequence[str], pair: CharacterMerge) -> list[str]:
    """Return ``parts`` with ``pair`` merged wherever it stands, from the left."""
    merged: list[str] = []
    i = 0
    while i < len(parts):
        stop = i + 2 if tuple(parts[i : i + 2]) == pair else i + 1
        merged.append("".join(parts[i:stop]))
        i = stop
    return merged


def split_core(text: str, ranks: Mapping[CharacterMerge, int]) -> list[str]:
    """Return the pieces of ``text``: the pair of lowest rank is merged everywhere, then the next.

    Of a pair that is listed twice the later rank counts, as in ``make_ranks``.
    """
    parts = list(text)
    while True:
        found = [pair for pair in itertools.pairwise(parts) if pair in ranks]
        if not found:
            return parts
        parts = merge_everywhere(parts, min(found, key=ranks.__getitem__))


def make_ranks(merges: Sequence[CharacterMerge]) -> dict[CharacterMerge, int]:
    """Return the rank of each pair of strings."""
    return {merge: rank for rank, merge in enumerate(merges)}


def find_prefix(before: str, prefixes: Mapping[str, int] | set[str]) -> str:
    """Return the longest end of ``before`` that is a prefix, "" if none is."""
    return next((before[i:] for i in range(len(before)) if before[i:] in prefixes), "")


def find_suffix(behind: str, suffixes: Mapping[str, int] | set[str]) -> str:
    """Return the longest start of ``behind`` that is a suffix, "" if none is."""
    return next((behind[:i] for i in range(len(behind), 0, -1) if behind[:i] in suffixes), "")


class ReferenceTokenizer:
    """Encodes and decodes with a vocabulary, without special tokens."""

    def __init__(self, vocabulary: CombinatorialVocabulary) -> None:
        self.vocabulary = vocabulary
        self.folder = Folder(vocabulary.fold_case, vocabulary.fold_han)
        self.ranks = make_ranks(vocabulary.merges)
        self.prefixes = {prefix: row for row, prefix in enumerate(vocabulary.prefixes)}
        self.suffixes = {suffix: row for row, suffix in enumerate(vocabulary.suffixes)}

    def encode(self, text: str) -> list[Row]:
        """Return the rows of ``text``."""
        rows: list[Row] = []
        known: dict[Unit, list[Row]] = {}
        for unit in split_units(text, punct_to_next=self.vocabulary.punct_to_next):
            if unit not in known:
                known[unit] = self.encode_unit(unit)
            rows += known[unit]
        return rows

    def encode_unit(self, unit: Unit) -> list[Row]:
        """Return the rows of one unit."""
        if not unit.word:
            return self._encode_bare(unit.before)
        prefix = find_prefix(unit.before, self.prefixes)
        suffix = find_suffix(unit.behind, self.suffixes)
        words = split_camel_case(unit.word) if self.vocabulary.split_camel else [unit.word]
        pairs = [pair for word in words for pair in self._encode_word(word)]
        rows = [(variation, 0, core, 0) for variation, core in pairs]
        variation, _, core, _ = rows[0]
        rows[0] = (variation, self.prefixes[prefix], core, 0)
        variation, row, core, _ = rows[-1]
        rows[-1] = (variation, row, core, self.suffixes[suffix])
        return [
            *self._encode_bare(unit.before[: len(unit.before) - len(prefix)]),
            *rows,
            *self._encode_bare(unit.behind[len(suffix) :]),
        ]

    def _encode_bare(self, text: str) -> list[Row]:
        return [(AS_IS, 0, core, 0) for core in encode_core(self.vocabulary, self.ranks, text)]

    def _encode_word(self, word: str) -> Iterator[tuple[int, int]]:
        """Yield variation and core of each token of a word."""
        folded, marks = self.folder.fold(word)
        place = 0
        for piece in split_core(folded, self.ranks):
            stop = place + len(piece)
            variation = self.folder.find_variation(piece, marks[place:stop])
            if piece not in self.vocabulary.core_ids:
                yield from ((AS_IS, byte) for byte in word[place:stop].encode())
            elif variation is not None:
                yield variation, self.vocabulary.core_ids[piece]
            else:
                yield from self._encode_characters(word, folded, marks, place, stop)
            place = stop

    def _encode_characters(
        self, word: str, folded: str, marks: Sequence[int], start: int, stop: int
    ) -> Iterator[tuple[int, int]]:
        """Yield a token for each character: no variation spells them together."""
        variations = {0: AS_IS, UPPER_CASE: CAPITALISED, TRADITIONAL: TRADITIONAL_SCRIPT}
        for i in range(start, stop):
            if folded[i] in self.vocabulary.core_ids:
                yield variations[marks[i]], self.vocabulary.core_ids[folded[i]]
            else:
                yield from ((AS_IS, byte) for byte in word[i].encode())

    def decode_bytes(self, rows: Iterable[Sequence[int]]) -> bytes:
        """Return what ``rows`` spell; not always UTF-8, since a core may be a byte."""
        spelled: list[bytes] = []
        for variation, prefix, core, suffix in rows:
            text = self.vocabulary.core_strings[core]
            spelled += [
                self.vocabulary.prefixes[prefix].encode(),
                bytes([core]) if core < N_BYTES else self.folder.apply(variation, text).encode(),
                self.vocabulary.suffixes[suffix].encode(),
            ]
        return b"".join(spelled)


def encode_core(table: CharacterTable, ranks: Mapping[CharacterMerge, int], text: str) -> list[int]:
    """Return the cores of ``text`` as it stands: bytes for characters without one."""
    cores: list[int] = []
    for piece in split_core(text, ranks):
        cores += [table.core_ids[piece]] if piece in table.core_ids else piece.encode()
    return cores


def encode_standard(vocabulary: CharacterVocabulary, text: str) -> list[int]:
    """Return the ids of ``text`` in a plain vocabulary over characters."""
    ranks = make_ranks(vocabulary.merges)
    pieces = regex.findall(STANDARD_SOURCES[vocabulary.pattern], text)
    return [core for piece in pieces for core in encode_core(vocabulary, ranks, piece)]
