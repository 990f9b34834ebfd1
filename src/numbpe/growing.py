"""Grow a vocabulary by merges where new tokens may be ones that it has already.

The trainer numbers what merges make one after another. Where a merge makes the bytes of a token that
has an id, that id is what it makes: training stops behind this merge, the words are encoded anew with
all the merges so far, and training goes on from there. So words are at every step what the tokenizer
makes of them. It happens with special tokens that are spelled like a word, in recipes that give both
one id, and with vocabularies from elsewhere, some of whose tokens no merge made.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Counts, Offsets, Tokens, join_byte_strings
from numbpe.definition import ModelRules, TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.merging import MergeResult, MergeRun, TokenBytes
from numbpe.ordered_work import map_in_order
from numbpe.parallel import call_interruptibly
from numbpe.recipes import N_BYTES
from numbpe.vocabulary import Vocabulary
from numbpe.word_counts import WordCounts

ENCODED_NBYTES = 1 << 17
"""Bytes of words that are encoded in one call at least, some five milliseconds."""

MOST_CALLS = 64
"""About as many calls at most: each looks once at the bytes of all words."""


@dataclass
class GrowingVocabulary:
    """Tokens and merges, to which more are added.

    tokens : the bytes of the ordinary tokens by id; those of all others are empty
    homonyms : ids by bytes: what a merge that makes these bytes makes, rather than a new token
    pairs, results, counts : the merges so far, as ids, and how often each pair stood in the corpus
    """

    tokens: list[bytes]
    homonyms: dict[bytes, int]
    rules: ModelRules = field(default_factory=ModelRules)
    pairs: Tokens = field(default_factory=lambda: np.empty((0, 2), dtype=np.int32))
    results: Tokens = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    counts: Counts = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def join_tokens(self) -> TokenBytes:
        """Return the bytes of the tokens as arrays."""
        return TokenBytes(*join_byte_strings(self.tokens))

    def add_merges(self, merged: MergeResult, contents: list[bytes], *, ends_so: bool) -> None:
        """Add merges that make ``contents``, new tokens all, but the last one if it ``ends_so``."""
        results = np.arange(len(self.tokens), len(self.tokens) + len(contents), dtype=np.int32)
        if ends_so:
            homonym = self.homonyms[contents[-1]]
            self.tokens[homonym] = contents[-1]
            results[-1] = homonym
            contents = contents[:-1]
        self.homonyms.update(zip(contents, results.tolist(), strict=False))
        self.tokens += contents
        self.pairs = np.concatenate([self.pairs, merged.pairs])
        self.results = np.concatenate([self.results, results])
        self.counts = np.concatenate([self.counts, merged.counts])

    def encode_words(self, words: WordCounts, threads: int = 1) -> tuple[Tokens, Offsets, Counts]:
        """Return the tokens of all words, one word after another, where each begins, and its count.

        The most frequent words come first, unless all tokens are bytes: then in the order they have.
        """
        if not len(self.results) and not self.rules.ignore_merges:
            byte_ids = self._number_bytes()
            if byte_ids.min() >= 0:
                contents = words.contents[: words.offsets[-1]]
                return byte_ids[contents], words.offsets, words.counts
        # Distinct words: none is met again, so that the least of a cache will do.
        encoder = Encoder(self._define(), None, max_cache_nbytes=1)
        order = np.argsort(-words.counts, kind="stable")
        parts = np.stack([words.offsets[order], words.offsets[order + 1], np.full_like(order, -1)])

        def encode(group: NDArray[np.int64]) -> tuple[Tokens, NDArray[np.int64]]:
            ids, ends = encoder.encode_parts(words.contents, group)
            return ids.astype(np.int32), np.diff(ends)

        encoded = list(map_in_order(_group_parts(parts.T), encode, threads))
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        if encoded:
            np.cumsum(np.concatenate([lengths for _, lengths in encoded]), out=offsets[1:])
        values = np.concatenate([np.empty(0, dtype=np.int32), *(ids for ids, _ in encoded)])
        return values, offsets, words.counts[order]

    def _number_bytes(self) -> Tokens:
        """Return the (256,) ids of the bytes, -1 where there is none."""
        ids = np.full(N_BYTES, -1, dtype=np.int32)
        for token_id, content in enumerate(self.tokens):
            if len(content) == 1:
                ids[content[0]] = token_id
        return ids

    def _define(self) -> TokenizerDefinition:
        """Return a definition that merges a piece, and does nothing else."""
        vocabulary = Vocabulary.from_parts(
            self.tokens,
            self.pairs,
            self.results,
            special_tokens={},
            pattern=(),
        )
        return TokenizerDefinition(vocabulary, self.rules)


def _group_parts(parts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield parts of a text, (n, 3) int64, some for each call of an encoder."""
    ends = np.cumsum(parts[:, 1] - parts[:, 0])
    group_nbytes = max(ENCODED_NBYTES, int(ends[-1]) // MOST_CALLS) if len(ends) else 1
    firsts = np.flatnonzero(np.diff(ends // group_nbytes, prepend=-1)).tolist()
    for first, last in pairwise([*firsts, len(parts)]):
        yield np.ascontiguousarray(parts[first:last])


@dataclass(frozen=True)
class GrowthLimits:
    """When to stop, and which pairs to take: see :class:`numbpe.merging.MergeRun`.

    n_ids : no id is this or more
    """

    n_ids: int
    tie_rule: int
    min_frequency: int = 1
    max_token_nbytes: int | None = None


def grow(
    vocabulary: GrowingVocabulary,
    words: WordCounts,
    limits: GrowthLimits,
    on_progress: Callable[[int], None] | None = None,
    *,
    threads: int = 1,
) -> bool:
    """Add merges learned from ``words`` until there are ``limits.n_ids`` ids.

    on_progress : called now and then with the number of tokens made so far
    Returns whether it stopped early, since no pair was left. Raises DataError for a byte of the
    words that has no token.
    """
    first_n_ids = len(vocabulary.tokens)
    while len(vocabulary.tokens) < limits.n_ids:
        corpus = call_interruptibly(lambda: vocabulary.encode_words(words, threads))
        n_before = len(vocabulary.tokens) - first_n_ids

        def show(n_made: int, n_before: int = n_before) -> None:
            if on_progress is not None:
                on_progress(n_before + n_made)

        if _grow_to_homonym(vocabulary, corpus, limits, show, threads):
            return True
    return False


def _grow_to_homonym(
    vocabulary: GrowingVocabulary,
    corpus: tuple[Tokens, Offsets, Counts],
    limits: GrowthLimits,
    show: Callable[[int], None],
    threads: int,
) -> bool:
    """Add merges up to one that makes a homonym, or to the last; return whether no pair was left."""
    contents, offsets, counts = corpus
    options: dict[str, Any] = {
        "n_merges": limits.n_ids - len(vocabulary.tokens),
        "tie_rule": limits.tie_rule,
        "min_frequency": limits.min_frequency,
        "max_cells": limits.max_token_nbytes,
        "tokens": vocabulary.join_tokens(),
        "threads": threads,
    }
    run = call_interruptibly(lambda: MergeRun(contents, offsets, counts, **options))
    lengths = np.unique([len(content) for content in vocabulary.homonyms]).astype(np.int64)
    n_looked_at = 0
    found = None
    has_more = True
    while has_more and found is None:
        has_more = run.advance()
        found = _find_homonym(run, n_looked_at, lengths, vocabulary.homonyms)
        n_looked_at = run.n_merges
        show(n_looked_at)
    n_merges = run.n_merges if found is None else found + 1
    merged = run.collect(n_merges)
    contents_of_tokens = run.spell_tokens(0, n_merges)
    vocabulary.add_merges(merged, contents_of_tokens, ends_so=found is not None)
    return found is None and run.stopped_early


def _find_homonym(
    run: MergeRun, first: int, lengths: NDArray[np.int64], homonyms: Mapping[bytes, int]
) -> int | None:
    """Return the first of the merges from ``first`` on that makes one of ``homonyms``."""
    has_length = np.isin(run.list_token_lengths(first), lengths)
    if not has_length.any():
        return None
    spelled = run.spell_tokens(first, run.n_merges)
    for merge in np.flatnonzero(has_length).tolist():
        if spelled[merge] in homonyms:
            return first + int(merge)
    return None
