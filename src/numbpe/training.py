"""Train a vocabulary: count words, merge pairs, number the tokens."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from numbpe.arrays import Counts
from numbpe.bad_input import BadInput, warn_of_skipped
from numbpe.checkpoints import Checkpoint, use_checkpoint
from numbpe.corpus import CHUNK_NBYTES, ErrorPolicy
from numbpe.counting import make_run
from numbpe.engines.choice import SourceOptions, split_options
from numbpe.files import FilePath
from numbpe.garbage import paused_collection
from numbpe.memory_budget import open_budget
from numbpe.parallel import resolve_threads
from numbpe.patterns import compile_pattern
from numbpe.progress import Progress
from numbpe.recipes import Recipe, get_recipe
from numbpe.small_pages import small_pages
from numbpe.special_tokens import check_special_tokens
from numbpe.tokenizer import Tokenizer
from numbpe.training_options import (
    CountingOptions,
    TrainingSource,
    check_sizes,
    count_source,
)
from numbpe.vocabulary_training import (
    VocabularyOrder,
    count_unmerged,
    train_vocabulary,
    word_unmerged,
)
from numbpe.word_counts import WordCounts


@dataclass(frozen=True)
class TrainingReport:
    """What a training run read, made and took.

    n_source_bytes : bytes read, 0 if training began with counts of unknown origin
    seconds : by stage, in the order of the stages
    stopped_early : no pair was left before the vocabulary was full
    merge_counts : (n_merges,) int64, how often each pair stood in the corpus when it was merged
    word_counts : the counts that the merges were made from
    skipped : what ``on_bad="skip"`` left out
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
    skipped: BadInput = field(default_factory=BadInput)


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
    checkpoint: FilePath | None = None,
    resume: bool = False,
    **options: Unpack[SourceOptions],
) -> Tokenizer:
    """Return a tokenizer whose vocabulary of ``vocab_size`` tokens is trained on ``source``.

    source : paths, folders, globs, addresses, "-" for stdin, tables, an iterable of str, bytes or objects
        with a field (each of them a document), or WordCounts; see :data:`numbpe.sources.Source`
    vocab_size : tokens in all: 256 bytes, the special tokens, and one for each merge
    special_tokens : literal text at which documents end, and which has tokens of its own. They
        never merge with anything. (With the recipe "hf" they are text like any other.)
    pattern : what cuts documents into pieces; no token runs over the end of a piece
    recipe : "cs336", "tiktoken" or "hf": which of several pairs with equal counts is merged first,
        and how tokens are numbered; see :mod:`numbpe.recipes`. "hf" is BpeTrainer of tokenizers
        0.23.3 with ByteLevel and all bytes in its alphabet: files are cut into lines too
    min_frequency : stop when the most frequent pair occurs less often
    max_token_bytes : make no longer token ("hf": make it shorter than this, but for two bytes)
    threads, memory, errors, progress, unicode_version, checkpoint, resume, options : see
        :func:`numbpe.count_words`

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
        checkpoint=checkpoint,
        resume=resume,
        **options,
    )
    warn_of_skipped(report.skipped)
    if report.stopped_early:
        message = word_stopped_early(vocab_size, report.vocab_size)
        warnings.warn(message, StoppedEarlyWarning, stacklevel=2)
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
    checkpoint: FilePath | Checkpoint | None = None,
    resume: bool = False,
    **options: Unpack[SourceOptions],
) -> tuple[Tokenizer, TrainingReport]:
    """Train as :func:`train` does, and say what was done. Nothing is warned of; see the report.

    on_counted : called with the word counts of text before they are merged, so that they can be
        saved whatever happens then
    """
    rules = get_recipe(recipe) if isinstance(recipe, str) else recipe
    names = check_special_tokens(special_tokens)
    least = count_unmerged(rules, names)
    check_sizes(vocab_size, least, word_unmerged(names), min_frequency, max_token_bytes)
    engine, reading = split_options(options)
    compiled = compile_pattern(pattern, unicode_version)
    budget = open_budget(memory)
    bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)

    longest = None if max_token_bytes is None else rules.longest_token_nbytes(max_token_bytes)
    order = VocabularyOrder(int(vocab_size), rules, names, compiled, min_frequency, longest)
    cut_tokens = names if rules.cuts_special_tokens else ()
    run = make_run(compiled, cut_tokens, threads, memory, engine, cuts_lines=rules.cuts_lines)

    with use_checkpoint(checkpoint, resume=resume) as kept, small_pages():
        started = time.perf_counter()
        how = CountingOptions(errors, bars, chunk_nbytes, on_counted, kept)
        words = count_source(source, run, rules, how, reading)
        counted = time.perf_counter()
        with paused_collection():
            definition, stopped_early = train_vocabulary(
                words, order, budget, bars, resolve_threads(threads)
            )
            tokenizer = Tokenizer.from_definition(definition, compiled)
    seconds = {"counting": counted - started, "merging": time.perf_counter() - counted}
    return tokenizer, describe_run(
        tokenizer, words, seconds, stopped_early=stopped_early, skipped=run.bad
    )


def describe_run(
    tokenizer: Tokenizer,
    words: WordCounts,
    seconds: dict[str, float],
    *,
    stopped_early: bool,
    skipped: BadInput,
    n_old_merges: int = 0,
) -> TrainingReport:
    """Return what a run did that made all merges but the first ``n_old_merges``."""
    vocabulary = tokenizer.vocabulary
    counts = vocabulary.merge_counts
    assert counts is not None
    return TrainingReport(
        n_source_bytes=words.n_source_bytes,
        n_distinct_words=len(words),
        n_pieces=words.n_pieces,
        seconds=seconds,
        n_merges=vocabulary.n_merges - n_old_merges,
        stopped_early=stopped_early,
        vocab_size=len(vocabulary),
        merge_counts=counts[n_old_merges:],
        word_counts=words,
        skipped=skipped,
    )


class StoppedEarlyWarning(UserWarning):
    """The text gives fewer tokens than were asked for."""


def word_stopped_early(vocab_size: int, n_tokens: int) -> str:
    """Return the message of the warning."""
    return f"training stopped early: asked for {vocab_size:,} tokens, the text gives {n_tokens:,}"
