"""What decides on the tables of Combinatorial BPE, beside the text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from numbpe.combinatorial.definition import N_BYTES, check_affixes, count_variations
from numbpe.errors import ArgumentError, shorten_value
from numbpe.special_tokens import check_special_tokens
from numbpe.training_options import MAX_VOCAB_SIZE


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What decides on the tables of Combinatorial BPE, beside the text; checked when it is made.

    vocab_size : rows of all four tables: variations, prefixes, cores and suffixes
    min_char_freq : characters that occur less often are left to bytes
    max_affix_candidates : how many prefixes, and how many suffixes, there are to choose from
    min_affix_freq : what stands beside words less often is no candidate
    max_affix_len : nor is what has more characters
    n_prefix, n_suffix : how many of each, beside the empty one; both are learned unless both are given
    prefixes, suffixes : closed lists, taken as they are; the first of each is ""
    fold_case, punct_to_next, fold_han, split_camel : see :class:`CombinatorialVocabulary`
    special_tokens : literal text at which documents end, and which has rows of its own
    """

    vocab_size: int
    min_char_freq: int = 20
    max_affix_candidates: int = 2000
    min_affix_freq: int = 10
    max_affix_len: int = 16
    n_prefix: int | None = None
    n_suffix: int | None = None
    prefixes: Sequence[str] | None = None
    suffixes: Sequence[str] | None = None
    fold_case: bool = True
    punct_to_next: bool = False
    fold_han: bool = False
    split_camel: bool = False
    special_tokens: Iterable[str | bytes] = ()

    def __post_init__(self) -> None:
        """Raise ArgumentError for options that cannot be used."""
        object.__setattr__(self, "special_tokens", check_special_tokens(self.special_tokens))
        for name in ("vocab_size", "min_char_freq", "max_affix_candidates", "min_affix_freq",
                     "max_affix_len"):  # fmt: skip
            check_number(name, getattr(self, name))
        for side, number in (("prefixes", "n_prefix"), ("suffixes", "n_suffix")):
            affixes = getattr(self, side)
            if getattr(self, number) is not None:
                check_number(number, getattr(self, number))
                if affixes is not None:
                    raise ArgumentError(
                        f"{side} is a closed list, so {number} has no use; leave one of them out"
                    )
            if affixes is not None:
                check_affixes(affixes, side)
                object.__setattr__(self, side, tuple(affixes))
        if self.punct_to_next and self.suffixes is not None and len(self.suffixes) > 1:
            raise ArgumentError(
                "with punct_to_next nothing stands behind a word, so suffixes have no use; leave "
                'them out, or pass suffixes=[""]'
            )
        least = self.n_fixed + N_BYTES
        if not least <= self.vocab_size <= MAX_VOCAB_SIZE:
            raise ArgumentError(
                f"vocab_size is {self.vocab_size:,}; it must be at least {least:,}, for "
                f"{self.n_variations} variations, {len(self.prefixes or ('',))} prefixes, "
                f"{len(self.suffixes or ('',))} suffixes, {N_BYTES} bytes and "
                f"{len(self.special_names)} special tokens, and then come characters and merges; and "
                f"at most {MAX_VOCAB_SIZE:,}"
            )

    @property
    def special_names(self) -> tuple[str, ...]:
        """The special tokens."""
        return check_special_tokens(self.special_tokens)

    @property
    def n_variations(self) -> int:
        """Rows of the table of variations."""
        return count_variations(self.fold_case, self.fold_han)

    @property
    def n_fixed(self) -> int:
        """Rows that are neither learned affixes nor ordinary cores."""
        return (
            self.n_variations
            + len(self.special_names)
            + len(self.prefixes or ("",))
            + len(self.suffixes or ("",))
        )


def check_number(name: str, value: object) -> None:
    """Raise ArgumentError unless ``value`` is a whole number of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ArgumentError(
            f"{name} must be a whole number of 0 or more, not {shorten_value(value)}"
        )
