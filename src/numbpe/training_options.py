"""What training from text and from word counts have in common: options, checks, and counting."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from numbpe.checkpoints import Checkpoint
from numbpe.corpus import ErrorPolicy
from numbpe.counting import CountingRun
from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.patterns import Pattern
from numbpe.progress import Progress
from numbpe.recipes import Recipe
from numbpe.sources import ReadingOptions, Source, describe_source, refuse_reading
from numbpe.word_counts import WordCounts

TrainingSource: TypeAlias = Source | WordCounts

MAX_VOCAB_SIZE = 1 << 27


@dataclass(frozen=True)
class CountingOptions:
    """How text is read; see :meth:`numbpe.counting.CountingRun.count`.

    on_counted : called with the word counts of text before they are merged
    """

    errors: ErrorPolicy
    progress: Progress
    chunk_nbytes: int
    on_counted: Callable[[WordCounts], None] | None
    checkpoint: Checkpoint | None


def count_source(
    source: TrainingSource,
    run: CountingRun,
    recipe: Recipe,
    options: CountingOptions,
    reading: ReadingOptions,
) -> WordCounts:
    """Return the word counts of text, or those that are given if ``run`` would make their like."""
    if isinstance(source, WordCounts):
        refuse_reading(reading)
        check_origin(source, run.pattern, run.special_tokens, recipe)
        return source
    words = run.count(
        describe_source(source, reading),
        errors=options.errors,
        progress=options.progress,
        chunk_nbytes=options.chunk_nbytes,
        checkpoint=options.checkpoint,
    )
    if options.on_counted is not None:
        options.on_counted(words)
    return words


def check_sizes(
    vocab_size: int, least: int, made_of: str, min_frequency: int, max_token_bytes: int | None
) -> None:
    """Raise ArgumentError for sizes that cannot be.

    least : tokens that there are in any case; ``made_of`` says which they are
    """
    for name, value in (
        ("vocab_size", vocab_size),
        ("min_frequency", min_frequency),
        ("max_token_bytes", max_token_bytes),
    ):
        if value is None and name == "max_token_bytes":
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ArgumentError(f"{name} must be a whole number, not {shorten_value(value)}")
    if not least <= vocab_size <= MAX_VOCAB_SIZE:
        raise ArgumentError(
            f"vocab_size is {vocab_size:,}; it must be at least {least:,}, for {made_of}, and at "
            f"most {MAX_VOCAB_SIZE:,}"
        )
    if min_frequency < 0:
        raise ArgumentError(f"min_frequency is {min_frequency}; it must be 0 or more")
    if max_token_bytes is not None and max_token_bytes < 1:
        raise ArgumentError(f"max_token_bytes is {max_token_bytes}; it must be 1 or more")


def check_origin(
    words: WordCounts, pattern: Pattern, special_tokens: tuple[str, ...], recipe: Recipe
) -> None:
    """Raise DataError for counts that were made in another way than this run asks for.

    special_tokens : those that text is cut at
    """
    if not words.pattern:
        return
    if words.pattern != pattern.sources or words.unicode_version != pattern.unicode_version:
        raise DataError(
            f"the word counts were cut with the pattern {shorten_value(words.pattern)} of Unicode "
            f"{words.unicode_version}, and this run asks for {shorten_value(pattern.sources)} of "
            f"Unicode {pattern.unicode_version}; pass pattern=counts.pattern, or count anew"
        )
    if set(words.special_tokens) != set(special_tokens):
        asked = f"this run asks for {shorten_value(special_tokens)}; pass "
        hint = "special_tokens=counts.special_tokens, or count anew"
        if not recipe.cuts_special_tokens:
            asked = f"the recipe {recipe.name!r} counts special tokens as text; "
            hint = "count anew with special_tokens=[]"
        raise DataError(
            f"the word counts were cut at the special tokens {shorten_value(words.special_tokens)},"
            f" and {asked}{hint}"
        )
    if words.cuts_lines and not recipe.cuts_lines:
        raise DataError(
            f"the word counts are of single lines, and the recipe {recipe.name!r} takes files "
            "whole; count anew, or take a recipe that cuts files into lines, such as 'hf'"
        )
