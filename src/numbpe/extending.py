"""Go on training where a vocabulary ends, on another corpus; every id and every merge is kept."""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

import numpy as np

from numbpe.bad_input import warn_of_skipped
from numbpe.checkpoints import Checkpoint, use_checkpoint
from numbpe.corpus import CHUNK_NBYTES, ErrorPolicy
from numbpe.counting import make_run
from numbpe.definition import TokenizerDefinition
from numbpe.engines.choice import SourceOptions, split_options
from numbpe.errors import ArgumentError
from numbpe.files import FilePath
from numbpe.garbage import paused_collection
from numbpe.growing import GrowingVocabulary, GrowthLimits, grow
from numbpe.memory_budget import open_budget
from numbpe.parallel import resolve_threads
from numbpe.patterns import Pattern
from numbpe.progress import Progress
from numbpe.recipes import Recipe, get_recipe
from numbpe.tokenizer import Tokenizer
from numbpe.training import (
    StoppedEarlyWarning,
    TrainingReport,
    describe_run,
    word_stopped_early,
)
from numbpe.training_options import (
    CountingOptions,
    TrainingSource,
    check_sizes,
    count_source,
)
from numbpe.vocabulary import Vocabulary
from numbpe.vocabulary_training import TIE_RULES, merging_bar
from numbpe.word_counts import WordCounts

DEFAULT_RECIPE = "cs336"


def extend(
    tokenizer: Tokenizer,
    source: TrainingSource,
    vocab_size: int,
    *,
    recipe: str | Recipe | None = None,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    errors: ErrorPolicy = "replace",
    progress: bool | Progress = True,
    checkpoint: FilePath | None = None,
    resume: bool = False,
    **options: Unpack[SourceOptions],
) -> TokenizerDefinition:
    """Return what extend_with_report does, with a warning where the text gives fewer tokens."""
    extended, report = extend_with_report(
        tokenizer,
        source,
        vocab_size,
        recipe=recipe,
        min_frequency=min_frequency,
        max_token_bytes=max_token_bytes,
        threads=threads,
        memory=memory,
        errors=errors,
        progress=progress,
        checkpoint=checkpoint,
        resume=resume,
        **options,
    )
    warn_of_skipped(report.skipped, stacklevel=4)
    if report.stopped_early:
        message = word_stopped_early(vocab_size, report.vocab_size)
        warnings.warn(message, StoppedEarlyWarning, stacklevel=3)
    return extended.definition


def extend_with_report(
    tokenizer: Tokenizer,
    source: TrainingSource,
    vocab_size: int,
    *,
    recipe: str | Recipe | None = None,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    errors: ErrorPolicy = "replace",
    progress: bool | Progress = True,
    chunk_nbytes: int = CHUNK_NBYTES,
    on_counted: Callable[[WordCounts], None] | None = None,
    checkpoint: FilePath | Checkpoint | None = None,
    resume: bool = False,
    **options: Unpack[SourceOptions],
) -> tuple[Tokenizer, TrainingReport]:
    """Return a tokenizer of ``vocab_size`` tokens that goes on where this one ends, and a report.

    Words are cut as the tokenizer cuts text, at its special and other added tokens too, and are
    encoded with it. From there on pairs of tokens are merged as in training: the most frequent
    first, counts and ties by the recipe. What a merge makes has the next id after the last, whatever
    holes there are; a merge that makes the bytes of a token that is there already makes that one.

    source : as for :func:`numbpe.train`; word counts must have been cut as the tokenizer cuts text
    vocab_size : tokens in all, those of the tokenizer included
    recipe : the rules for ties and for what is counted; by default those that the tokenizer was
        trained by, where that is known, and else "cs336"
    min_frequency, max_token_bytes, threads, memory, errors, progress, checkpoint, resume, options : as for
        :func:`numbpe.train`

    Raises ArgumentError for a tokenizer whose tokens are not made of bytes or that changes text
    before it cuts it, and what :func:`numbpe.train` raises.
    """
    definition = tokenizer.definition
    _check_definition(definition)
    rules = _choose_recipe(definition.vocabulary, recipe)
    vocabulary = definition.vocabulary
    made_of = "the tokens that it has"
    check_sizes(vocab_size, len(vocabulary), made_of, min_frequency, max_token_bytes)
    engine, reading = split_options(options)
    budget = open_budget(memory)
    bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)
    pattern = tokenizer.pattern
    assert pattern is not None

    longest = None if max_token_bytes is None else rules.longest_token_nbytes(max_token_bytes)
    n_new = int(vocab_size) - len(vocabulary)
    n_ids = vocabulary.n_ids + n_new
    limits = GrowthLimits(n_ids, TIE_RULES[rules.tie_rule], min_frequency, longest)
    cuts = list_cuts(definition, rules)
    run = make_run(pattern, cuts, threads, memory, engine, cuts_lines=rules.cuts_lines)

    with use_checkpoint(checkpoint, resume=resume) as kept:
        started = time.perf_counter()
        how = CountingOptions(errors, bars, chunk_nbytes, on_counted, kept)
        words = count_source(source, run, rules, how, reading)
        counted = time.perf_counter()
        with paused_collection(), merging_bar(words, n_new, budget, bars) as show:
            growing = _begin(definition)
            stopped_early = grow(growing, words, limits, show, threads=resolve_threads(threads))
            grown = _finish(definition, growing, rules, pattern)
    done = time.perf_counter()
    extended = Tokenizer.from_definition(grown, pattern)
    seconds = {"counting": counted - started, "merging": done - counted}
    return extended, describe_run(
        extended,
        words,
        seconds,
        stopped_early=stopped_early,
        skipped=run.bad,
        n_old_merges=vocabulary.n_merges,
    )


def list_cuts(definition: TokenizerDefinition, recipe: Recipe) -> tuple[str, ...]:
    """Return the added tokens at which text is cut before it is counted."""
    if not recipe.cuts_special_tokens:
        return ()
    return tuple(token.content for token in definition.added_tokens)


def _check_definition(definition: TokenizerDefinition) -> None:
    """Raise ArgumentError for what training could not go on with exactly."""
    if definition.rules.alphabet != "bytes":
        raise ArgumentError(
            "cannot extend this tokenizer: its tokens are made of characters, and training makes "
            "tokens of bytes; extend a byte-level one, such as GPT-2's"
        )
    steps = (*definition.normalizer, *definition.preparation)
    if steps:
        raise ArgumentError(
            f"cannot extend this tokenizer: it changes text before it cuts it ({steps[0]!r}), and "
            "words are counted as they stand in the text; extend one without a normalizer"
        )
    if not definition.vocabulary.pattern_sources:
        raise ArgumentError(
            "cannot extend this tokenizer: it has no pattern that cuts text into pieces; give one "
            "when it is loaded, such as numbpe.load(path, pattern='gpt2')"
        )


def _choose_recipe(vocabulary: Vocabulary, recipe: str | Recipe | None) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    return get_recipe(recipe or vocabulary.recipe_name or DEFAULT_RECIPE)


def _begin(definition: TokenizerDefinition) -> GrowingVocabulary:
    vocabulary = definition.vocabulary
    tokens = list(vocabulary.tokens)
    for token_id in vocabulary.special_tokens.values():
        tokens[token_id] = b""
    homonyms = {content: id for content, id in vocabulary.ordinary_ids.items() if len(content) > 1}
    counts = vocabulary.merge_counts
    return GrowingVocabulary(
        tokens,
        homonyms,
        definition.rules,
        vocabulary.merge_pairs,
        vocabulary.merge_results,
        np.zeros(vocabulary.n_merges, dtype=np.int64) if counts is None else counts,
    )


def _finish(
    definition: TokenizerDefinition, growing: GrowingVocabulary, recipe: Recipe, pattern: Pattern
) -> TokenizerDefinition:
    vocabulary = definition.vocabulary
    tokens = list(growing.tokens)
    for token_id in vocabulary.special_tokens.values():
        tokens[token_id] = vocabulary.tokens[token_id]
    grown = Vocabulary.from_parts(
        tokens,
        growing.pairs,
        growing.results,
        special_tokens=vocabulary.special_tokens,
        pattern=pattern,
        recipe_name=recipe.name,
        merge_counts=growing.counts,
    )
    return replace(definition, vocabulary=grown)
