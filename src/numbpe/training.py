"""Train a vocabulary: count words, merge pairs, number the tokens."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from numbpe.arrays import Counts
from numbpe.corpus import CHUNK_NBYTES, ErrorPolicy
from numbpe.counting import CountingRun
from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.garbage import paused_collection
from numbpe.memory_budget import MemoryBudget, open_budget
from numbpe.merging import MergeResult, MergeRun, estimate_merging_nbytes
from numbpe.parallel import call_interruptibly, resolve_threads
from numbpe.patterns import Pattern, compile_pattern
from numbpe.progress import Progress
from numbpe.recipes import N_BYTES, Recipe, get_recipe
from numbpe.sources import Source
from numbpe.special_tokens import check_special_tokens
from numbpe.tokenizer import Tokenizer
from numbpe.vocabulary import Vocabulary
from numbpe.word_counts import WordCounts
from numbpe_kernels.heap import TIE_GREATEST_SYMBOLS, TIE_SMALLEST_IDS

TrainingSource: TypeAlias = Source | WordCounts

_TIE_RULES = {"greatest_bytes": TIE_GREATEST_SYMBOLS, "smallest_ids": TIE_SMALLEST_IDS}

MAX_VOCAB_SIZE = 1 << 27


@dataclass(frozen=True)
class TrainingReport:
    """What a training run read, made and took.

    n_source_bytes : bytes read, 0 if training began with counts of unknown origin
    seconds : by stage, in the order of the stages
    stopped_early : no pair was left before the vocabulary was full
    merge_counts : (n_merges,) int64, how often each pair stood in the corpus when it was merged
    word_counts : the counts that the merges were made from
    """

    n_source_bytes: int
    n_distinct_words: int
    n_pieces: int
    seconds: dict[str, float]
    n_merges: int
    stopped_early: bool
    vocab_size: int
    merge_counts: Counts
    word_counts: WordCounts


def train(
    source: TrainingSource,
    vocab_size: int,
    *,
    special_tokens: Iterable[str | bytes] = ("<|endoftext|>",),
    pattern: str | Sequence[str] = "gpt2",
    recipe: str | Recipe = "cs336",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    errors: ErrorPolicy = "replace",
    progress: bool | Progress = True,
    unicode_version: str = "16",
) -> Tokenizer:
    """Return a tokenizer whose vocabulary of ``vocab_size`` tokens is trained on ``source``.

    source : paths, globs, "-" for stdin, an iterable of str or bytes (each of them a document), or
        WordCounts
    vocab_size : tokens in all: 256 bytes, the special tokens, and one for each merge
    special_tokens : literal text at which documents end, and which has tokens of its own. They
        never merge with anything.
    pattern : what cuts documents into pieces; no token runs over the end of a piece
    recipe : "cs336" or "tiktoken": which of several pairs with equal counts is merged first, and
        how tokens are numbered; see :mod:`numbpe.recipes`
    min_frequency : stop when the most frequent pair occurs less often
    max_token_bytes : make no longer token
    threads, memory, errors, progress, unicode_version : see :func:`numbpe.count_words`

    If no pair is left before ``vocab_size`` is reached, the vocabulary is smaller, with a warning
    of the class StoppedEarlyWarning. The result depends on the text and on the options that name
    what is trained, never on threads, memory, or the way in which the text came in.

    Raises ArgumentError for options that cannot be used, DataError for text that cannot be read,
    BudgetError where the work does not fit into memory.

    Example:
        >>> tok = train(["low lower lowest"], 260, special_tokens=[])  # doctest: +SKIP
        >>> tok.merges[0]
        (b'w', b'e')
    """
    tokenizer, report = train_with_report(
        source,
        vocab_size,
        special_tokens=special_tokens,
        pattern=pattern,
        recipe=recipe,
        min_frequency=min_frequency,
        max_token_bytes=max_token_bytes,
        threads=threads,
        memory=memory,
        errors=errors,
        progress=progress,
        unicode_version=unicode_version,
    )
    if report.stopped_early:
        warnings.warn(
            f"training stopped early: asked for {vocab_size:,} tokens, the text gives "
            f"{report.vocab_size:,}",
            StoppedEarlyWarning,
            stacklevel=2,
        )
    return tokenizer


def train_bpe(
    source: TrainingSource,
    vocab_size: int,
    special_tokens: Iterable[str | bytes] = (),
    **options: Any,
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Return (vocabulary, merges) as the CS336 course asks for them: id to bytes, pairs of bytes.

    Options are those of :func:`train`. Example: ``vocab, merges = train_bpe("owt.txt", 32_000,
    ["<|endoftext|>"])``.
    """
    options.setdefault("progress", False)
    tokenizer = train(source, vocab_size, special_tokens=special_tokens, **options)
    return tokenizer.vocab, tokenizer.merges


def train_with_report(
    source: TrainingSource,
    vocab_size: int,
    *,
    special_tokens: Iterable[str | bytes] = ("<|endoftext|>",),
    pattern: str | Sequence[str] = "gpt2",
    recipe: str | Recipe = "cs336",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    errors: ErrorPolicy = "replace",
    progress: bool | Progress = True,
    unicode_version: str = "16",
    chunk_nbytes: int = CHUNK_NBYTES,
    on_counted: Callable[[WordCounts], None] | None = None,
) -> tuple[Tokenizer, TrainingReport]:
    """Train as :func:`train` does, and say what was done. Nothing is warned of; see the report.

    on_counted : called with the word counts of text before they are merged, so that they can be
        saved whatever happens then
    """
    rules = get_recipe(recipe) if isinstance(recipe, str) else recipe
    names = check_special_tokens(special_tokens)
    n_merges = _check_sizes(vocab_size, len(names), min_frequency, max_token_bytes)
    n_threads = resolve_threads(threads)
    compiled = compile_pattern(pattern, unicode_version)
    budget = open_budget(memory)
    bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)

    started = time.perf_counter()
    if isinstance(source, WordCounts):
        words = source
        _check_origin(words, compiled, names)
    else:
        run = CountingRun(compiled, names, n_threads, budget)
        words = run.count(source, errors=errors, progress=bars, chunk_nbytes=chunk_nbytes)
        if on_counted is not None:
            on_counted(words)
    counted = time.perf_counter()
    longest = None if max_token_bytes is None else rules.longest_token_nbytes(max_token_bytes)
    with paused_collection():
        merged = _merge(words, n_merges, rules, min_frequency, longest, budget, bars)
        vocabulary = Vocabulary.from_training(
            merged.pairs, recipe=rules, special_tokens=names, pattern=compiled
        )
        tokenizer = Tokenizer.from_vocabulary(vocabulary, compiled)
    done = time.perf_counter()
    return tokenizer, TrainingReport(
        n_source_bytes=words.n_source_bytes,
        n_distinct_words=len(words),
        n_pieces=words.n_pieces,
        seconds={"counting": counted - started, "merging": done - counted},
        n_merges=len(merged.pairs),
        stopped_early=merged.stopped_early,
        vocab_size=len(vocabulary),
        merge_counts=merged.counts,
        word_counts=words,
    )


class StoppedEarlyWarning(UserWarning):
    """The text gives fewer tokens than were asked for."""


def _check_sizes(
    vocab_size: int, n_special_tokens: int, min_frequency: int, max_token_bytes: int | None
) -> int:
    """Return the number of merges; ArgumentError for sizes that cannot be."""
    for name, value in (
        ("vocab_size", vocab_size),
        ("min_frequency", min_frequency),
        ("max_token_bytes", max_token_bytes),
    ):
        if value is None and name == "max_token_bytes":
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ArgumentError(f"{name} must be a whole number, not {shorten_value(value)}")
    least = N_BYTES + n_special_tokens
    if not least <= vocab_size <= MAX_VOCAB_SIZE:
        raise ArgumentError(
            f"vocab_size is {vocab_size:,}; it must be at least {least:,}, for {N_BYTES} bytes and "
            f"{n_special_tokens} special tokens, and at most {MAX_VOCAB_SIZE:,}"
        )
    if min_frequency < 0:
        raise ArgumentError(f"min_frequency is {min_frequency}; it must be 0 or more")
    if max_token_bytes is not None and max_token_bytes < 1:
        raise ArgumentError(f"max_token_bytes is {max_token_bytes}; it must be 1 or more")
    return int(vocab_size) - least


def _check_origin(words: WordCounts, pattern: Pattern, special_tokens: tuple[str, ...]) -> None:
    """Raise DataError for counts that were made in another way than this run asks for."""
    if not words.pattern:
        return
    if words.pattern != pattern.sources or words.unicode_version != pattern.unicode_version:
        raise DataError(
            f"the word counts were cut with the pattern {shorten_value(words.pattern)} of Unicode "
            f"{words.unicode_version}, and this run asks for {shorten_value(pattern.sources)} of "
            f"Unicode {pattern.unicode_version}; pass pattern=counts.pattern, or count anew"
        )
    if set(words.special_tokens) != set(special_tokens):
        raise DataError(
            f"the word counts were cut at the special tokens {shorten_value(words.special_tokens)},"
            f" and this run asks for {shorten_value(special_tokens)}; pass "
            "special_tokens=counts.special_tokens, or count anew"
        )


def _merge(
    words: WordCounts,
    n_merges: int,
    recipe: Recipe,
    min_frequency: int,
    longest: int | None,
    budget: MemoryBudget,
    progress: Progress,
) -> MergeResult:
    """Make the merges, inside the budget."""
    need = estimate_merging_nbytes(int(words.offsets[-1]), len(words), n_merges)
    budget.require(need, f"merging {len(words):,} distinct words")
    run = call_interruptibly(
        lambda: MergeRun(
            words.contents,
            words.offsets,
            words.counts,
            n_merges=n_merges,
            tie_rule=_TIE_RULES[recipe.tie_rule],
            min_frequency=min_frequency,
            max_cells=longest,
        )
    )
    with progress.merging(n_merges) as bar:
        shown = 0

        def show(n_done: int) -> None:
            nonlocal shown
            bar.update(n_done - shown)
            shown = n_done

        return run.finish(show)
