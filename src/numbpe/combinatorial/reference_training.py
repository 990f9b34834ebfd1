"""The specification of training Combinatorial BPE in plain Python; every merge recounts all pairs.

Follows ``CombinatorialBPE.train`` of https://github.com/SwayStar123/CombinatorialBPE. Dictionaries keep
the order in which their keys came first, and sorting keeps the order of what is equal: that is the
rule for all ties but those of merges, where the smallest pair of ids wins.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import regex

from numbpe.combinatorial.definition import (
    N_BYTES,
    STANDARD_SOURCES,
    CharacterVocabulary,
    CombinatorialVocabulary,
    StandardPattern,
    count_variations,
)
from numbpe.combinatorial.reference import (
    Folder,
    find_prefix,
    find_suffix,
    split_camel_case,
    split_units,
)
from numbpe.reference import train_symbols


class PartCounts(NamedTuple):
    """How often each part of the units of a text occurs, in the order in which they came first."""

    words: Counter[str]
    before: Counter[str]
    behind: Counter[str]
    alone: Counter[str]


class Core(NamedTuple):
    """An alphabet, merges over it, and the count of each."""

    alphabet: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    merge_counts: tuple[int, ...]


def count_parts(documents: Iterable[str], *, punct_to_next: bool, split_camel: bool) -> PartCounts:
    """Return the counts of the parts of all units."""
    counts = PartCounts(Counter(), Counter(), Counter(), Counter())
    for document in documents:
        for before, word, behind in split_units(document, punct_to_next=punct_to_next):
            if word:
                counts.words.update(split_camel_case(word) if split_camel else [word])
                counts.before[before] += 1
                counts.behind[behind] += 1
            else:
                counts.alone[before] += 1
    return counts


def list_candidates(
    slots: Counter[str], *, most: int, min_frequency: int, max_length: int
) -> list[tuple[str, int]]:
    """Return the whole slots that may become affixes, the most frequent first."""
    found = [
        (slot, count)
        for slot, count in slots.most_common()
        if slot and len(slot) <= max_length and count >= min_frequency
    ]
    return found[:most]


def build_corpus(
    counts: PartCounts, folder: Folder, prefixes: set[str], suffixes: set[str]
) -> Counter[str]:
    """Return the strings that cores have to encode."""
    corpus: Counter[str] = Counter()
    for word, count in counts.words.items():
        corpus[folder.fold(word)[0]] += count
    for before, count in counts.before.items():
        corpus[before[: len(before) - len(find_prefix(before, prefixes))]] += count
    for behind, count in counts.behind.items():
        corpus[behind[len(find_suffix(behind, suffixes)) :]] += count
    for alone, count in counts.alone.items():
        corpus[alone] += count
    return corpus


def train_core(strings: Mapping[str, int], n_cores: int, min_char_freq: int) -> Core:
    """Return ``n_cores`` cores, bytes included; fewer if no pair is left."""
    totals: Counter[str] = Counter()
    for string, count in strings.items():
        for character in string:
            totals[character] += count
    frequent = [c for c, count in totals.most_common() if count >= min_char_freq]
    alphabet = sorted(frequent[: max(0, (n_cores - N_BYTES) // 2)])
    numbers = {character: number for number, character in enumerate(alphabet)}
    words: Counter[tuple[int, ...]] = Counter()
    for string, count in strings.items():
        # A character that is not in the alphabet parts what stands on its sides.
        parts = "".join(c if c in numbers else "\udfff" for c in string).split("\udfff")
        for part in parts:
            words[tuple(numbers[c] for c in part)] += count
    n_merges = n_cores - N_BYTES - len(alphabet)
    merged = train_symbols(words, n_merges, tie="smallest_ids", n_symbols=len(alphabet))
    spelled = list(alphabet)
    merges = []
    for (left, right), _ in merged:
        merges.append((spelled[left], spelled[right]))
        spelled.append(spelled[left] + spelled[right])
    return Core(tuple(alphabet), tuple(merges), tuple(count for _, count in merged))


def train_combinatorial(
    documents: Iterable[str],
    vocab_size: int,
    *,
    min_char_freq: int = 20,
    max_affix_candidates: int = 2000,
    min_affix_freq: int = 10,
    max_affix_len: int = 16,
    n_prefix: int | None = None,
    n_suffix: int | None = None,
    fold_case: bool = True,
    punct_to_next: bool = False,
    fold_han: bool = False,
    split_camel: bool = False,
) -> CombinatorialVocabulary:
    """Return the tables for some documents, ``vocab_size`` rows in all."""
    counts = count_parts(documents, punct_to_next=punct_to_next, split_camel=split_camel)
    prefixes, suffixes = (
        list_candidates(
            slots,
            most=max_affix_candidates,
            min_frequency=min_affix_freq,
            max_length=max_affix_len,
        )
        for slots in (counts.before, counts.behind)
    )
    folder = Folder(fold_case, fold_han)
    n_rows = vocab_size - count_variations(fold_case, fold_han)
    if n_prefix is None or n_suffix is None:
        corpus = build_corpus(counts, folder, {p for p, _ in prefixes}, {s for s, _ in suffixes})
        core = train_core(corpus, n_rows - 2, min_char_freq)
        gains = [(count, "merge") for count in core.merge_counts]
        gains += [(count, "prefix") for _, count in prefixes]
        gains += [(count, "suffix") for _, count in suffixes]
        gains.sort(key=lambda gain: -gain[0])
        kept = Counter(kind for _, kind in gains[: n_rows - 2 - N_BYTES - len(core.alphabet)])
        n_prefix, n_suffix = kept["prefix"], kept["suffix"]
    first = tuple(prefix for prefix, _ in prefixes[:n_prefix])
    last = tuple(suffix for suffix, _ in suffixes[:n_suffix])
    corpus = build_corpus(counts, folder, set(first), set(last))
    core = train_core(corpus, n_rows - 2 - len(first) - len(last), min_char_freq)
    return CombinatorialVocabulary(
        prefixes=("", *first),
        suffixes=("", *last),
        alphabet=core.alphabet,
        merges=core.merges,
        merge_counts=core.merge_counts,
        fold_case=fold_case,
        punct_to_next=punct_to_next,
        fold_han=fold_han,
        split_camel=split_camel,
    )


def train_standard(
    documents: Iterable[str], vocab_size: int, pattern: StandardPattern, *, min_char_freq: int = 20
) -> CharacterVocabulary:
    """Return a plain vocabulary over characters."""
    pieces: Counter[str] = Counter()
    for document in documents:
        pieces.update(regex.findall(STANDARD_SOURCES[pattern], document))
    core = train_core(pieces, vocab_size, min_char_freq)
    return CharacterVocabulary(
        alphabet=core.alphabet,
        merges=core.merges,
        merge_counts=core.merge_counts,
        pattern=pattern,
    )
