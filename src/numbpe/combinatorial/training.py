"""Train Combinatorial BPE, and the plain vocabularies over characters that it is compared with.

Follows ``CombinatorialBPE.train`` of https://github.com/SwayStar123/CombinatorialBPE, whose tables
come out for one document without special tokens. How many prefixes and suffixes there are is
learned: merges are first made as if all candidates were affixes for nothing, and then the rows go to
those merges and affixes that occur most often.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from numbpe.arrays import Counts
from numbpe.bad_input import BadInput, warn_of_skipped
from numbpe.combinatorial.core_corpus import AffixSlots, CoreCorpus
from numbpe.combinatorial.core_training import TrainedCore, train_core
from numbpe.combinatorial.definition import (
    N_BYTES,
    CombinatorialVocabulary,
)
from numbpe.combinatorial.training_options import TrainingOptions
from numbpe.combinatorial.unit_counting import (
    PUNCT_TO_NEXT_PATTERN,
    UNIT_PATTERN,
    UnitCounts,
    count_units,
)
from numbpe.corpus import CHUNK_NBYTES, ErrorPolicy
from numbpe.errors import ArgumentError
from numbpe.garbage import paused_collection
from numbpe.memory_budget import MemoryBudget, open_budget
from numbpe.parallel import call_interruptibly, resolve_threads
from numbpe.progress import Progress
from numbpe.sources import ReadingOptions, Source, describe_source
from numbpe.training import StoppedEarlyWarning
from numbpe.word_counts import WordCounts


@dataclass(frozen=True)
class CombinatorialReport:
    """What training read, made and took.

    n_source_bytes : bytes read; n_units : words with what stands around them, or pieces
    n_distinct_words : words that differ, before case is folded
    n_candidates : prefixes and suffixes that there were to choose from
    seconds : by stage, in the order of the stages
    stopped_early : no pair was left before all rows were filled
    skipped : what ``on_bad="skip"`` left out
    """

    n_source_bytes: int
    n_units: int
    n_distinct_words: int
    n_candidates: tuple[int, int]
    seconds: dict[str, float]
    stopped_early: bool
    skipped: BadInput


def train_combinatorial(
    source: Source,
    vocab_size: int,
    *,
    threads: int | None = None,
    memory: int | str | None = None,
    errors: ErrorPolicy = "replace",
    progress: bool | Progress = True,
    **options: Any,
) -> CombinatorialVocabulary:
    """Return the tables of Combinatorial BPE, ``vocab_size`` rows in all, trained on ``source``.

    source : paths, folders, globs, addresses, "-" for stdin, tables, or an iterable of str, bytes or
        objects with a field, each of them a document; see :data:`numbpe.sources.Source`
    threads, memory, errors, progress : see :func:`numbpe.count_words`
    options : those of :class:`~numbpe.combinatorial.training_options.TrainingOptions`, and for
        reading format, column, on_bad and filesystem, as in :class:`numbpe.sources.ReadingOptions`

    If no pair is left before all rows are filled, there are fewer, with a warning of the class
    StoppedEarlyWarning. The result depends on the text and the options alone, never on threads,
    memory, or the way in which the text came in; among equal counts, what came first in the text
    wins. Raises ArgumentError for options that cannot be used, DataError for text that cannot be
    read, BudgetError where the work does not fit into memory.

    Example:
        >>> vocabulary = train_combinatorial(  # doctest: +SKIP
        ...     ["The cat, the hat; THE END."] * 20, 300, progress=False)
        >>> vocabulary.prefixes  # doctest: +SKIP
        ('', ' ')
    """
    reading = {
        name: options.pop(name) for name in ReadingOptions.__annotations__ if name in options
    }
    vocabulary, report = train_combinatorial_with_report(
        describe_source(source, cast(ReadingOptions, reading)),
        TrainingOptions(vocab_size=vocab_size, **options),
        threads=threads,
        memory=memory,
        errors=errors,
        progress=progress,
    )
    warn_of_skipped(report.skipped)
    if report.stopped_early:
        warn_of_early_stop(vocab_size, vocabulary.vocab_size)
    return vocabulary


def train_combinatorial_with_report(
    source: Source,
    options: TrainingOptions,
    *,
    threads: int | None = None,
    memory: int | str | None = None,
    errors: ErrorPolicy = "replace",
    progress: bool | Progress = True,
    chunk_nbytes: int = CHUNK_NBYTES,
) -> tuple[CombinatorialVocabulary, CombinatorialReport]:
    """Train as :func:`train_combinatorial` does, and say what was done; nothing is warned of."""
    bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)
    budget = open_budget(memory)
    started = time.perf_counter()
    units = count_units(
        check_source(source),
        PUNCT_TO_NEXT_PATTERN if options.punct_to_next else UNIT_PATTERN,
        special_tokens=options.special_names,
        threads=resolve_threads(threads),
        budget=budget,
        errors=errors,
        progress=bars,
        chunk_nbytes=chunk_nbytes,
    )
    counted = time.perf_counter()
    with paused_collection():
        run = _TrainingRun(options, units, budget, bars)
        vocabulary, core = run.train()
    done = time.perf_counter()
    return vocabulary, CombinatorialReport(
        n_source_bytes=units.n_source_bytes,
        n_units=units.n_units,
        n_distinct_words=len(units.words.counts),
        n_candidates=(len(run.prefixes.strings), len(run.suffixes.strings)),
        seconds={
            "counting": counted - started,
            "choosing affixes": run.chosen - counted,
            "merging": done - run.chosen,
        },
        stopped_early=core.stopped_early,
        skipped=units.skipped,
    )


class _Candidates(NamedTuple):
    """Affixes to choose from, the most frequent first, and how often each stood alone in its slot."""

    strings: list[str]
    counts: Counts


class _TrainingRun:
    """From counted units to tables."""

    def __init__(
        self, options: TrainingOptions, units: UnitCounts, budget: MemoryBudget, progress: Progress
    ) -> None:
        self.options = options
        self._budget = budget
        self._progress = progress
        self._corpus = call_interruptibly(
            lambda: CoreCorpus(
                units,
                fold_case=options.fold_case,
                fold_han=options.fold_han,
                split_camel=options.split_camel,
            )
        )
        self.prefixes = self._list_candidates(self._corpus.before, options.prefixes)
        self.suffixes = self._list_candidates(self._corpus.behind, options.suffixes)
        self.chosen = 0.0

    def train(self) -> tuple[CombinatorialVocabulary, TrainedCore]:
        """Choose the affixes, then make the merges."""
        options = self.options
        n_prefix, n_suffix = self._choose_numbers()
        prefixes = ("", *self.prefixes.strings[:n_prefix])
        suffixes = ("", *self.suffixes.strings[:n_suffix])
        n_other = options.n_variations + len(options.special_names)
        n_cores = options.vocab_size - n_other - len(prefixes) - len(suffixes)
        if n_cores < N_BYTES:
            raise ArgumentError(
                f"vocab_size is {options.vocab_size:,}, of which {len(prefixes):,} prefixes, "
                f"{len(suffixes):,} suffixes and {n_other} other rows leave {max(0, n_cores)} for "
                f"cores, but the {N_BYTES} bytes are cores; raise vocab_size, or lower n_prefix and "
                "n_suffix"
            )
        self.chosen = time.perf_counter()
        core = self._train_core(prefixes[1:], suffixes[1:], n_cores)
        vocabulary = CombinatorialVocabulary(
            prefixes=prefixes,
            suffixes=suffixes,
            alphabet=core.alphabet,
            merges=core.merges,
            merge_counts=tuple(core.merge_counts.tolist()),
            special_tokens=options.special_names,
            fold_case=options.fold_case,
            punct_to_next=options.punct_to_next,
            fold_han=options.fold_han,
            split_camel=options.split_camel,
        )
        return vocabulary, core

    def _list_candidates(self, slots: AffixSlots, closed: Sequence[str] | None) -> _Candidates:
        if closed is not None:
            return _Candidates(list(closed[1:]), np.zeros(len(closed) - 1, dtype=np.int64))
        options = self.options
        found = slots.list_candidates(
            most=options.max_affix_candidates,
            min_frequency=options.min_affix_freq,
            max_length=options.max_affix_len,
        )
        return _Candidates(*found)

    def _choose_numbers(self) -> tuple[int, int]:
        """Return how many prefixes and suffixes there are, beside the empty ones."""
        options = self.options
        numbers = [
            len(candidates.strings) if closed is not None else number
            for candidates, closed, number in (
                (self.prefixes, options.prefixes, options.n_prefix),
                (self.suffixes, options.suffixes, options.n_suffix),
            )
        ]
        if numbers[0] is not None and numbers[1] is not None:
            return numbers[0], numbers[1]
        n_cores = options.vocab_size - options.n_fixed
        core = self._train_core(self.prefixes.strings, self.suffixes.strings, n_cores)
        # What would be bought with a row each: merges, then prefixes, then suffixes among equals.
        none = np.empty(0, dtype=np.int64)
        gains = [
            core.merge_counts,
            self.prefixes.counts if options.prefixes is None else none,
            self.suffixes.counts if options.suffixes is None else none,
        ]
        kinds = np.repeat(np.arange(3), [len(counts) for counts in gains])
        by_gain = np.argsort(-np.concatenate(gains), kind="stable")
        n_free = n_cores - N_BYTES - len(core.alphabet)
        _, n_prefix, n_suffix = np.bincount(kinds[by_gain[:n_free]], minlength=3).tolist()
        return (
            n_prefix if options.prefixes is None else len(self.prefixes.strings),
            n_suffix if options.suffixes is None else len(self.suffixes.strings),
        )

    def _train_core(
        self, prefixes: Sequence[str], suffixes: Sequence[str], n_cores: int
    ) -> TrainedCore:
        corpus = call_interruptibly(lambda: self._corpus.build(prefixes, suffixes))
        return train_core(
            corpus,
            n_cores,
            min_char_freq=self.options.min_char_freq,
            budget=self._budget,
            progress=self._progress,
        )


def check_source(source: Source) -> Source:
    """Return ``source``; ArgumentError for word counts, which do not say what came first."""
    if isinstance(source, WordCounts):
        raise ArgumentError(
            "cannot train Combinatorial BPE on word counts: they say neither what stood beside each "
            "word nor which came first; pass the text"
        )
    return source


def warn_of_early_stop(asked: int, given: int) -> None:
    """Warn, at the caller of the caller, of a vocabulary smaller than asked for."""
    warnings.warn(
        f"training stopped early: asked for {asked:,} rows, the text gives {given:,}",
        StoppedEarlyWarning,
        stacklevel=3,
    )
