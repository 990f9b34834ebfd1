"""What ``numbpe train`` is to do: from text or counts, anew or from a tokenizer, to one size or several."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numbpe.command_options import collect_pattern, describe_inputs, make_engine
from numbpe.errors import ArgumentError
from numbpe.progress import Progress
from numbpe.recipes import get_recipe
from numbpe.train_options import (
    DEFAULT_PATTERN,
    DEFAULT_RECIPE,
    DEFAULT_SPECIAL_TOKENS,
    DEFAULT_UNICODE,
)

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer
    from numbpe.training import TrainingReport
    from numbpe.word_counts import WordCounts


@dataclass(frozen=True)
class TrainingPlan:
    """How to train.

    source : what to train on
    options : the keyword arguments of training
    base : the tokenizer that is extended, if one is
    """

    source: Any
    options: dict[str, Any]
    base: "Tokenizer | None"

    def train(self, vocab_size: int, **more: Any) -> "tuple[Tokenizer, TrainingReport]":
        """Return the tokenizer and the report of one run; ``more`` replaces some options."""
        source = more.pop("source", self.source)
        options = self.options | more
        if self.base is None:
            from numbpe.training import train_with_report

            return train_with_report(source, vocab_size, **options)
        from numbpe.extending import extend_with_report

        return extend_with_report(self.base, source, vocab_size, **options)

    def check_sizes(self, sizes: Sequence[int]) -> None:
        """Raise ArgumentError where the smallest size is too small, before the work begins."""
        from numbpe.special_tokens import check_special_tokens
        from numbpe.training_options import check_sizes
        from numbpe.vocabulary_training import count_unmerged, word_unmerged

        limits = self.options["min_frequency"], self.options["max_token_bytes"]
        if self.base is None:
            names = check_special_tokens(self.options["special_tokens"])
            least = count_unmerged(self.options["recipe"], names)
            check_sizes(sizes[0], least, word_unmerged(names), *limits)
        else:
            check_sizes(sizes[0], self.base.vocab_size, "the tokens that it has", *limits)

    def list_sizes(
        self, largest: "Tokenizer", report: "TrainingReport", sizes: Sequence[int]
    ) -> "dict[int, Tokenizer]":
        """Return the tokenizers of all ``sizes``, each what a run of its own would make.

        They are cut from the largest one where that gives the same, and else made from its counts.
        """
        tokenizers = {}
        for size in sizes:
            if size >= report.vocab_size:
                tokenizers[size] = largest
            elif self.base is None and _can_be_cut(largest):
                tokenizers[size] = largest.truncated(size)
            else:
                tokenizers[size], _ = self.train(size, source=report.word_counts)
        return tokenizers


def _can_be_cut(tokenizer: "Tokenizer") -> bool:
    """Return whether no merge makes a special token, which would have to stay."""
    return tokenizer.special_tokens.keys() == tokenizer.vocabulary.special_tokens.keys()


def make_plan(arguments: argparse.Namespace) -> TrainingPlan:
    """Return what the command line asks for.

    Where there is no text, the counts say which pattern and special tokens they were made with; an
    option that says otherwise is an error of training.
    """
    counts = None
    if not arguments.input:
        from numbpe.word_counts import WordCounts

        counts = WordCounts.load(arguments.counts)
    source = describe_inputs(arguments, arguments.input) if counts is None else counts
    if arguments.extend is not None:
        return TrainingPlan(source, _collect_shared_options(arguments), _load_base(arguments))
    return TrainingPlan(source, _collect_options(arguments, counts), None)


def _load_base(arguments: argparse.Namespace) -> "Tokenizer":
    """Return the tokenizer to be extended."""
    from numbpe.loading import load

    if arguments.unicode is not None:
        raise ArgumentError("--extend cuts text as the tokenizer does; leave --unicode out")
    return load(
        arguments.extend,
        pattern=collect_pattern(arguments),
        special_tokens=arguments.special or None,
    )


def _collect_shared_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments that training and extending have in common."""
    return {
        "recipe": arguments.recipe,
        "min_frequency": arguments.min_frequency,
        "max_token_bytes": arguments.max_token_bytes,
        "threads": arguments.threads,
        "memory": arguments.memory,
        "errors": arguments.errors,
        "progress": Progress(enabled=not arguments.quiet),
        "engine": make_engine(arguments),
    }


def _collect_options(arguments: argparse.Namespace, counts: "WordCounts | None") -> dict[str, Any]:
    """Return the keyword arguments of training; what is not given is as in the counts."""
    recipe = get_recipe(arguments.recipe or DEFAULT_RECIPE)
    patterns = arguments.pattern or (counts and counts.pattern) or (DEFAULT_PATTERN,)
    special_tokens = arguments.special
    if special_tokens is None:
        # Counts know of special tokens only where text was cut at them.
        is_known = counts is not None and recipe.cuts_special_tokens
        special_tokens = counts.special_tokens if counts and is_known else DEFAULT_SPECIAL_TOKENS
    default_unicode = DEFAULT_UNICODE if counts is None else counts.unicode_version
    return {
        **_collect_shared_options(arguments),
        "recipe": recipe,
        "special_tokens": tuple(special_tokens),
        "pattern": patterns[0] if len(patterns) == 1 else tuple(patterns),
        "unicode_version": arguments.unicode or default_unicode,
    }
