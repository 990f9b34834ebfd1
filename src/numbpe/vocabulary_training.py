"""Word counts to a vocabulary, as a recipe has it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from numbpe.definition import AddedToken, TokenizerDefinition
from numbpe.formats.byte_alphabet import LETTERS, read_letters
from numbpe.growing import GrowingVocabulary, GrowthLimits, grow
from numbpe.memory_budget import MemoryBudget
from numbpe.merging import MergeRun, estimate_merging_nbytes
from numbpe.parallel import call_interruptibly
from numbpe.patterns import Pattern
from numbpe.progress import Progress
from numbpe.recipes import N_BYTES, Recipe
from numbpe.special_tokens import encode_special_token
from numbpe.vocabulary import Vocabulary
from numbpe.word_counts import WordCounts
from numbpe_kernels.heap import TIE_GREATEST_SYMBOLS, TIE_SMALLEST_IDS

TIE_RULES: Final = {
    "greatest_bytes": TIE_GREATEST_SYMBOLS,
    "smallest_ids": TIE_SMALLEST_IDS,
}
"""What the kernels call the tie rules of recipes."""


@dataclass(frozen=True)
class VocabularyOrder:
    """What is to be made of word counts; names and meanings as in :func:`numbpe.train`.

    max_token_nbytes : the length of the longest token, by the recipe's way of counting
    """

    vocab_size: int
    recipe: Recipe
    special_tokens: tuple[str, ...]
    pattern: Pattern
    min_frequency: int
    max_token_nbytes: int | None


def count_unmerged(recipe: Recipe, special_tokens: tuple[str, ...]) -> int:
    """Return how many tokens there are before the first merge."""
    n_shared = sum(name in LETTERS for name in special_tokens) if recipe.shares_ids else 0
    return N_BYTES + len(special_tokens) - n_shared


def word_unmerged(special_tokens: tuple[str, ...]) -> str:
    """Return in words which tokens there are before the first merge."""
    return f"{N_BYTES} bytes and {len(special_tokens)} special tokens"


def train_vocabulary(
    words: WordCounts,
    order: VocabularyOrder,
    budget: MemoryBudget,
    progress: Progress,
    threads: int,
) -> tuple[TokenizerDefinition, bool]:
    """Return what was trained, and whether no pair was left before it had its size."""
    n_merges = order.vocab_size - count_unmerged(order.recipe, order.special_tokens)
    with merging_bar(words, n_merges, budget, progress) as show:
        train = _grow_from_bytes if order.recipe.shares_ids else _train_apart
        return train(words, order, n_merges, show, threads)


@contextmanager
def merging_bar(
    words: WordCounts, n_merges: int, budget: MemoryBudget, progress: Progress
) -> Iterator[Callable[[int], None]]:
    """Give what shows the number of merges made so far; BudgetError if they need too much memory."""
    need = estimate_merging_nbytes(int(words.offsets[-1]), len(words), n_merges)
    budget.require(need, f"merging {len(words):,} distinct words")
    with progress.merging(n_merges) as bar:
        yield bar.show


def _train_apart(
    words: WordCounts,
    order: VocabularyOrder,
    n_merges: int,
    show: Callable[[int], None],
    threads: int,
) -> tuple[TokenizerDefinition, bool]:
    """Train where ordinary tokens and special tokens have nothing to do with each other."""
    run = call_interruptibly(
        lambda: MergeRun(
            words.contents,
            words.offsets,
            words.counts,
            n_merges=n_merges,
            tie_rule=TIE_RULES[order.recipe.tie_rule],
            min_frequency=order.min_frequency,
            max_cells=order.max_token_nbytes,
            threads=threads,
        )
    )
    merged = run.finish(show)
    vocabulary = Vocabulary.from_symbols(
        *run.spell_merged(),
        merged.pairs,
        recipe=order.recipe,
        special_tokens=order.special_tokens,
        pattern=order.pattern,
        merge_counts=merged.counts,
    )
    return TokenizerDefinition.from_vocabulary(vocabulary), merged.stopped_early


def _grow_from_bytes(
    words: WordCounts, order: VocabularyOrder, _: int, show: Callable[[int], None], threads: int
) -> tuple[TokenizerDefinition, bool]:
    """Train where a special token that is spelled like an ordinary one has its id.

    Spelled is meant in the letters that stand for bytes, as ``tokenizers`` does it.
    """
    names = order.special_tokens
    ids = {name: token_id for token_id, name in enumerate(names)}
    tokens = [b""] * len(names)
    for byte in order.recipe.list_bytes():
        if LETTERS[byte] in ids:
            tokens[ids[LETTERS[byte]]] = bytes([byte])
        else:
            tokens.append(bytes([byte]))
    spelled = {name: read_letters(name) for name in names if len(name) > 1}
    homonyms = {content: ids[name] for name, content in spelled.items() if content is not None}
    growing = GrowingVocabulary(tokens, homonyms)
    limits = GrowthLimits(
        order.vocab_size,
        TIE_RULES[order.recipe.tie_rule],
        order.min_frequency,
        order.max_token_nbytes,
    )
    stopped_early = grow(growing, words, limits, show, threads=threads)
    # Those that nothing ordinary shares its id with.
    special = {name: token_id for name, token_id in ids.items() if not tokens[token_id]}
    for name, token_id in special.items():
        tokens[token_id] = encode_special_token(name)
    vocabulary = Vocabulary.from_parts(
        tokens,
        growing.pairs,
        growing.results,
        special_tokens=special,
        pattern=order.pattern,
        recipe_name=order.recipe.name,
        merge_counts=growing.counts,
    )
    added = tuple(AddedToken(name, token_id) for name, token_id in ids.items())
    return TokenizerDefinition(vocabulary, added_tokens=added), stopped_early
