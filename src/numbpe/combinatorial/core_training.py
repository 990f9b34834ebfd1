"""Train byte-pair encoding over characters: which are in the alphabet, and what is merged.

Follows ``CharBPE.train`` of https://github.com/SwayStar123/CombinatorialBPE: an alphabet of at most
half of what the bytes leave, the most frequent characters first; then the pair with the highest
count, among equals the smallest pair of ids. A character that is not in the alphabet never merges.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Counts, Offsets
from numbpe.code_point_sets import END_OF_CODE_POINTS
from numbpe.combinatorial.definition import N_BYTES, CharacterMerge
from numbpe.memory_budget import MemoryBudget
from numbpe.merging import MergeResult, MergeRun, estimate_merging_nbytes
from numbpe.parallel import call_interruptibly
from numbpe.progress import Progress
from numbpe_kernels.heap import TIE_SMALLEST_IDS
from numbpe_kernels.units import units_count_characters, units_find_first, units_number

_NEVER = np.iinfo(np.int64).max


class CharacterWords(NamedTuple):
    """Strings as code points, with their counts.

    characters : (c,) int32; offsets : (n + 1,) int64; counts : (n,) int64
    positions : (n,) int64, where each stands first in the text
    """

    characters: NDArray[np.int32]
    offsets: Offsets
    counts: Counts
    positions: NDArray[np.int64]

    @classmethod
    def from_strings(
        cls, strings: Sequence[str], counts: Counts, positions: NDArray[np.int64]
    ) -> "CharacterWords":
        """Return strings as code points."""
        offsets = np.zeros(len(strings) + 1, dtype=np.int64)
        np.cumsum([len(string) for string in strings], out=offsets[1:])
        encoded = "".join(strings).encode("utf-32-le")
        # Copied: what is read from a buffer may be read-only or not aligned, other types to kernels.
        return cls(np.frombuffer(encoded, dtype=np.int32).copy(), offsets, counts, positions)


class TrainedCore(NamedTuple):
    """An alphabet and merges over it, and how often each pair stood in the text when it was merged."""

    alphabet: tuple[str, ...]
    merges: tuple[CharacterMerge, ...]
    merge_counts: Counts
    stopped_early: bool


def train_core(
    corpus: Sequence[CharacterWords],
    n_cores: int,
    *,
    min_char_freq: int,
    budget: MemoryBudget,
    progress: Progress,
) -> TrainedCore:
    """Return ``n_cores`` cores, bytes included; fewer if no pair is left.

    corpus : strings to encode, in groups: a character of an earlier group came before one of a later
        group, wherever they stand in the text
    """
    alphabet = choose_alphabet(corpus, (n_cores - N_BYTES) // 2, min_char_freq)
    n_merges = n_cores - N_BYTES - len(alphabet)
    merged = call_interruptibly(lambda: _begin_merging(corpus, alphabet, n_merges, budget))
    with progress.merging(n_merges) as bar:
        result = merged.finish(bar.show)
    letters = tuple(map(chr, alphabet.tolist()))
    return TrainedCore(letters, spell_merges(letters, result), result.counts, result.stopped_early)


def choose_alphabet(
    corpus: Sequence[CharacterWords], most: int, min_char_freq: int
) -> NDArray[np.int64]:
    """Return the code points of the alphabet, ascending: the most frequent, then first, ones."""
    totals = np.zeros(END_OF_CODE_POINTS, dtype=np.int64)
    for words in corpus:
        units_count_characters(words.characters, words.offsets, words.counts, totals)
    frequent = np.flatnonzero(totals >= max(1, min_char_freq))
    most = max(0, most)
    if len(frequent) <= most:
        return frequent
    if most == 0:
        return frequent[:0]
    by_count = frequent[np.argsort(-totals[frequent], kind="stable")]
    least = totals[by_count[most - 1]]
    certain = by_count[totals[by_count] > least]
    tied = by_count[totals[by_count] == least]
    if len(certain) + len(tied) > most:
        tied = _sort_by_first(corpus, tied)[: most - len(certain)]
    return np.sort(np.concatenate([certain, tied]))


def _sort_by_first(
    corpus: Sequence[CharacterWords], code_points: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return code points in the order in which they first occur, group after group."""
    keys = []
    for words in corpus:
        firsts = np.full(END_OF_CODE_POINTS, _NEVER)
        units_find_first(words.characters, words.offsets, words.positions, firsts)
        keys.append(firsts[code_points])
    return code_points[np.lexsort(keys[::-1])]


def _begin_merging(
    corpus: Sequence[CharacterWords],
    alphabet: NDArray[np.int64],
    n_merges: int,
    budget: MemoryBudget,
) -> MergeRun:
    """Lay out the strings as numbers of the alphabet, within the budget."""
    numbers = np.full(END_OF_CODE_POINTS, -1, dtype=np.int32)
    numbers[alphabet] = np.arange(len(alphabet), dtype=np.int32)
    n_characters = sum(len(words.characters) for words in corpus)
    n_words = sum(len(words.counts) for words in corpus)
    need = 8 * n_characters + 32 * n_words
    need += estimate_merging_nbytes(n_characters, n_words, n_merges)
    budget.require(need, f"merging {n_words:,} distinct words")
    symbols, lengths, counts = [], [], []
    for words in corpus:
        most_runs = len(words.characters) // 2
        symbols_out = np.empty(len(words.characters), dtype=np.int32)
        offsets_out = np.empty(most_runs + 1, dtype=np.int64)
        counts_out = np.empty(most_runs, dtype=np.int64)
        n_runs = units_number(
            numbers, words.characters, words.offsets, words.counts, symbols_out, offsets_out,
            counts_out,
        )  # fmt: skip
        symbols.append(symbols_out[: offsets_out[n_runs]])
        lengths.append(np.diff(offsets_out[: n_runs + 1]))
        counts.append(counts_out[:n_runs])
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate(lengths))])
    return MergeRun(
        np.concatenate(symbols),
        offsets,
        np.concatenate(counts),
        n_merges=n_merges,
        tie_rule=TIE_SMALLEST_IDS,
        n_symbols=len(alphabet),
        symbol_bits=32,
    )


def spell_merges(alphabet: Sequence[str], result: MergeResult) -> tuple[CharacterMerge, ...]:
    """Return merges as pairs of strings."""
    strings = list(alphabet)
    merges: list[CharacterMerge] = []
    for left, right in result.pairs.tolist():
        merges.append((strings[left], strings[right]))
        strings.append(strings[left] + strings[right])
    return tuple(merges)
