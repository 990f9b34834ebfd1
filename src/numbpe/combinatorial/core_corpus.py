"""What the cores of Combinatorial BPE have to encode, for one set of affixes."""

import functools
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Counts
from numbpe.code_point_sets import END_OF_CODE_POINTS
from numbpe.combinatorial.core_training import CharacterWords
from numbpe.combinatorial.counted_strings import CountedStrings, CountedTable
from numbpe.combinatorial.folding import load_folding
from numbpe.combinatorial.unit_counting import UnitCounts
from numbpe.unicode_tables import load_unicode_tables
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.units import CAPITAL_LETTER, SMALL_LETTER, units_fold, units_split_camel

_N_BYTES_A_CHARACTER = 4


@functools.cache
def find_cases() -> NDArray[np.uint8]:
    """Return (0x110000,) uint8: SMALL_LETTER for category Ll, CAPITAL_LETTER for Lu, else 0."""
    tables = load_unicode_tables("16")
    cases = np.zeros(END_OF_CODE_POINTS, dtype=np.uint8)
    for name, case in (("Ll", SMALL_LETTER), ("Lu", CAPITAL_LETTER)):
        members = tables.find_property(name)
        assert members is not None
        for start, stop in members.bounds.reshape(-1, 2).tolist():
            cases[start:stop] = case
    return cases


class AffixSlots:
    """What was counted before words, or behind them, of which affixes take the part at the word."""

    def __init__(self, slots: CountedStrings, *, at_end: bool) -> None:
        """Take slots whose affix is at their end (prefixes) or at their start (suffixes)."""
        self._at_end = at_end
        self._counts = slots.counts
        self._positions = slots.positions
        self.strings = slots.list_strings()

    def list_candidates(
        self, *, most: int, min_frequency: int, max_length: int
    ) -> tuple[list[str], Counts]:
        """Return the most frequent whole slots and their counts; of equals what came first."""
        by_count = np.lexsort([self._positions, -self._counts])
        by_count = by_count[self._counts[by_count] >= min_frequency]
        chosen = [i for i in by_count.tolist() if len(self.strings[i]) <= max_length][:most]
        return [self.strings[i] for i in chosen], self._counts[chosen]

    def find_rests(self, affixes: Collection[str]) -> CharacterWords:
        """Return what the longest affix leaves over of each slot, where that is anything."""
        known = frozenset(affixes)
        longest = max(map(len, known), default=0)
        find = self._find_head if self._at_end else self._find_tail
        rests = [find(string, known, longest) for string in self.strings]
        kept = [i for i, rest in enumerate(rests) if rest]
        positions = self._positions[kept]
        if not self._at_end:  # a tail stands behind the affix
            positions = positions + np.array(
                [len(self.strings[i].encode()) - len(rests[i].encode()) for i in kept],
                dtype=np.int64,
            )
        return CharacterWords.from_strings([rests[i] for i in kept], self._counts[kept], positions)

    @staticmethod
    def _find_head(string: str, affixes: frozenset[str], longest: int) -> str:
        for start in range(max(0, len(string) - longest), len(string)):
            if string[start:] in affixes:
                return string[:start]
        return string

    @staticmethod
    def _find_tail(string: str, affixes: frozenset[str], longest: int) -> str:
        for stop in range(min(len(string), longest), 0, -1):
            if string[:stop] in affixes:
                return string[stop:]
        return string


class CoreCorpus:
    """The strings that cores have to encode: words, folded, and what affixes leave over."""

    def __init__(
        self, units: UnitCounts, *, fold_case: bool, fold_han: bool, split_camel: bool
    ) -> None:
        """Fold the words, once for all sets of affixes."""
        targets, _ = load_folding(fold_case, fold_han).make_dense()
        words = split_camel_case(units.words) if split_camel else units.words
        self._words = fold_strings(words, targets)
        if fold_case or fold_han or split_camel:
            self._words = add_up(self._words)
        unchanged = np.arange(END_OF_CODE_POINTS, dtype=np.int32)
        self._alone = fold_strings(units.alone, unchanged)
        self.before = AffixSlots(units.before, at_end=True)
        self.behind = AffixSlots(units.behind, at_end=False)

    def build(self, prefixes: Collection[str], suffixes: Collection[str]) -> list[CharacterWords]:
        """Return the strings for these affixes, in the order in which their characters count."""
        return [
            self._words,
            self.before.find_rests(prefixes),
            self.behind.find_rests(suffixes),
            self._alone,
        ]


def split_camel_case(words: CountedStrings) -> CountedStrings:
    """Return words cut where small letters meet capital ones; parts are not added up.

    Offsets go over the parts, which lie in ``contents`` as the words do.
    """
    cases, bounds = find_cases(), words.bounds
    none = np.empty(0, dtype=np.int64)
    n_parts = units_split_camel(cases, words.contents, bounds, none, none.reshape(0, 2))
    numbers = np.empty(n_parts, dtype=np.int64)
    parts = np.empty((n_parts, 2), dtype=np.int64)
    units_split_camel(cases, words.contents, bounds, numbers, parts)
    positions = words.positions[numbers] + parts[:, 0] - words.offsets[numbers]
    offsets = np.append(parts[:, 0], words.offsets[-1])
    return CountedStrings(words.contents, offsets, words.counts[numbers], positions)


def fold_strings(strings: CountedStrings, targets: NDArray[np.int32]) -> CharacterWords:
    """Return strings as code points, each as what it is folded to by ``targets``."""
    characters = np.empty(int(strings.offsets[-1]), dtype=np.int32)
    offsets = np.empty(len(strings.counts) + 1, dtype=np.int64)
    units_fold(targets, strings.contents, strings.bounds, characters, offsets)
    return CharacterWords(
        characters[: offsets[-1]].copy(), offsets, strings.counts, strings.positions
    )


def add_up(words: CharacterWords) -> CharacterWords:
    """Return distinct strings, equal ones added up."""
    n_bytes = _N_BYTES_A_CHARACTER * len(words.characters)
    text = np.zeros(n_bytes + TEXT_PADDING, dtype=np.uint8)
    text[:n_bytes] = words.characters.view(np.uint8)
    offsets = _N_BYTES_A_CHARACTER * words.offsets
    table = CountedTable()
    bounds = np.column_stack([offsets[:-1], offsets[1:]])
    table.add(text, bounds, words.counts, words.positions)
    strings = table.export()
    characters = strings.contents[: strings.offsets[-1]].copy().view(np.int32)
    return CharacterWords(
        characters, strings.offsets // _N_BYTES_A_CHARACTER, strings.counts, strings.positions
    )
