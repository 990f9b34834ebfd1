"""The result of training: the bytes of every token, the merges in order, and the special tokens.

*Ordinary tokens* are single bytes and what merges make; *special tokens* are given by name. Ids are
a bijection onto (bytes, is special): a special token that is spelled like a byte or like a merged
token has an id of its own. Ordinary text then always becomes the ordinary id, and text that is
taken as the special token always becomes the special id. ``to_dict`` shows such a spelling twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from operator import index
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbpe.arrays import Counts, Offsets, TextArray, Tokens, allocate_text, join_byte_strings
from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.pattern_sources import KnownPattern, PatternSource, describe_pattern
from numbpe.recipes import N_BYTES, Recipe, get_recipe
from numbpe.special_tokens import (
    assign_special_token_ids,
    check_special_tokens,
    encode_special_token,
)
from numbpe.vocabulary_checks import (
    check_arrays,
    check_merge,
    index_ordinary_tokens,
    list_tokens,
    place_special_tokens,
    spell_symbols,
)


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Tokens, merges and special tokens of one byte-level BPE vocabulary; never changes.

    Made by :meth:`from_training` or :meth:`from_tokens`, which check what they are given.

    contents, offsets:
        the bytes of token ``id`` are ``contents[offsets[id]:offsets[id + 1]]``; an id that is not
        in use has none. offsets is (n_ids + 1,) int64.
    merge_pairs, merge_results:
        (n_merges, 2) and (n_merges,) int32 token ids: merge i joins two tokens into one.
    special_tokens:
        the id of every special token.
    pattern_sources, pattern_name:
        the regular expressions that cut text into pieces, one after another, and their name.
    recipe_name:
        the recipe that the vocabulary was trained by, None if that is not known.
    merge_counts:
        (n_merges,) int64, how often each pair stood in the corpus when it was merged, 0 where that
        is not known; None if it is known of no merge.
    """

    contents: NDArray[np.uint8]
    offsets: Offsets
    merge_pairs: Tokens
    merge_results: Tokens
    special_tokens: Mapping[str, int]
    pattern_sources: tuple[str, ...]
    pattern_name: str | None = None
    recipe_name: str | None = None
    merge_counts: Counts | None = None

    @classmethod
    def from_training(
        cls,
        merge_symbols: ArrayLike,
        *,
        recipe: Recipe | str,
        special_tokens: Iterable[str],
        pattern: PatternSource,
        merge_counts: Counts | None = None,
    ) -> Self:
        """Return the vocabulary of a training run, numbered by ``recipe``.

        merge_symbols:
            (n_merges, 2) integers. Symbols 0 to 255 are the bytes and 256 + i is what merge i
            makes, so that the parts of merge i are below 256 + i.
        merge_counts:
            see the class.

        Raises DataError for merges that cannot come from training, ArgumentError for special tokens
        that :func:`check_special_tokens` refuses.

        Example: ``from_training([(97, 98)], recipe="tiktoken", special_tokens=["<s>"],
        pattern="gpt2").to_dict()`` ends with ``{..., 256: b"ab", 257: b"<s>"}``.
        """
        recipe = get_recipe(recipe) if isinstance(recipe, str) else recipe
        names = check_special_tokens(special_tokens)
        symbols = np.asarray(merge_symbols, dtype=np.int32).reshape(-1, 2)
        contents, offsets = join_byte_strings(spell_symbols(symbols))
        return cls.from_symbols(
            contents[offsets[N_BYTES] : offsets[-1]],
            np.diff(offsets[N_BYTES:]),
            symbols,
            recipe=recipe,
            special_tokens=names,
            pattern=pattern,
            merge_counts=merge_counts,
        )

    @classmethod
    def from_symbols(
        cls,
        contents: NDArray[np.uint8],
        lengths: NDArray[np.int64],
        merge_symbols: Tokens,
        *,
        recipe: Recipe,
        special_tokens: tuple[str, ...],
        pattern: PatternSource,
        merge_counts: Counts | None = None,
    ) -> Self:
        """Return the same of merges whose products are spelled already; nothing is checked.

        contents : the bytes of what each merge makes, one after another; lengths : (n_merges,), how
            many of them each has
        """
        encoded = [encode_special_token(name) for name in special_tokens]
        parts = {
            "bytes": (np.array(recipe.list_bytes(), dtype=np.uint8), np.ones(N_BYTES, np.int64)),
            "special_tokens": (
                np.frombuffer(b"".join(encoded), dtype=np.uint8),
                np.array([len(content) for content in encoded], dtype=np.int64),
            ),
            "merges": (contents, lengths),
        }
        sizes = {"n_merges": len(merge_symbols), "n_special_tokens": len(special_tokens)}
        symbol_ids = recipe.number_symbols(**sizes)
        first_special_id = recipe.first_ids(**sizes)["special_tokens"]
        all_contents = [parts[part][0] for part in recipe.numbering]
        all_lengths = np.concatenate([parts[part][1] for part in recipe.numbering])
        name, sources = describe_pattern(pattern)
        return cls(
            np.concatenate([*all_contents, allocate_text(0)]),
            np.concatenate([[0], np.cumsum(all_lengths)]),
            symbol_ids[merge_symbols],
            symbol_ids[N_BYTES:].copy(),
            {name: first_special_id + i for i, name in enumerate(special_tokens)},
            sources,
            name,
            recipe.name,
            None if merge_counts is None else np.array(merge_counts, dtype=np.int64),
        )

    @classmethod
    def from_tokens(
        cls,
        tokens: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        *,
        special_tokens: Iterable[str] | Mapping[str, int] | None = None,
        pattern: PatternSource = "gpt2",
    ) -> Self:
        """Return the vocabulary with exactly these tokens and merges; their ids are kept.

        special_tokens:
            names, or names with their ids. A name without an id is looked up in ``tokens``; where
            it is missing, or is only there as a byte or as what a merge makes, it is appended.

        Raises DataError for tokens or merges that contradict each other, ArgumentError where it is
        not clear which of two ids is the special one; give the ids then.

        Example: ``from_tokens({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")])``.
        """
        token_list = list_tokens(tokens)
        merge_list = [check_merge(rank, merge) for rank, merge in enumerate(merges)]
        special_ids = assign_special_token_ids(token_list, merge_list, special_tokens)
        place_special_tokens(token_list, special_ids)
        ordinary_ids = index_ordinary_tokens(token_list, special_ids)
        pairs = np.zeros((len(merge_list), 2), dtype=np.int32)
        results = np.zeros(len(merge_list), dtype=np.int32)
        for rank, (left, right) in enumerate(merge_list):
            for content in (left, right, left + right):
                if content not in ordinary_ids:
                    raise DataError(
                        f"merge {rank}, {shorten_value((left, right))}, cannot be used: "
                        f"{shorten_value(content)} is not in the vocabulary"
                    )
            pairs[rank] = ordinary_ids[left], ordinary_ids[right]
            results[rank] = ordinary_ids[left + right]
        return cls.from_parts(
            token_list, pairs, results, special_tokens=special_ids, pattern=pattern
        )

    @classmethod
    def from_arrays(
        cls,
        contents: TextArray,
        offsets: Offsets,
        merge_pairs: Tokens,
        merge_results: Tokens,
        *,
        special_tokens: Mapping[str, int],
        pattern: PatternSource,
        recipe_name: str | None = None,
        merge_counts: Counts | None = None,
    ) -> Self:
        """Return the vocabulary that these arrays are, as a reader of a large file makes them.

        The arrays are kept, not copied. That no two ordinary tokens have the same bytes, and that
        a merge makes what its parts joined are, is for the caller to see to; only lengths are
        looked at. Raises DataError for arrays that contradict each other.
        """
        check_arrays(offsets, merge_pairs, merge_results, special_tokens)
        name, sources = describe_pattern(pattern)
        return cls(
            contents, offsets, merge_pairs, merge_results, special_tokens, sources, name,
            recipe_name, merge_counts,
        )  # fmt: skip

    @classmethod
    def from_parts(
        cls,
        tokens: list[bytes],
        merge_pairs: Tokens,
        merge_results: Tokens,
        *,
        special_tokens: Mapping[str, int],
        pattern: PatternSource,
        recipe_name: str | None = None,
        merge_counts: Counts | None = None,
    ) -> Self:
        """Return the same of the bytes of every id, holes empty; nothing is checked, all is copied."""
        contents, offsets = join_byte_strings(tokens)
        pairs = np.array(merge_pairs, dtype=np.int32, order="C")
        results = np.array(merge_results, dtype=np.int32, order="C")
        counts = None if merge_counts is None else np.array(merge_counts, dtype=np.int64)
        name, sources = describe_pattern(pattern)
        return cls(
            contents, offsets, pairs, results, special_tokens, sources, name, recipe_name, counts
        )

    def __post_init__(self) -> None:
        for array in (self.contents, self.offsets, self.merge_pairs, self.merge_results):
            array.flags.writeable = False
        if self.merge_counts is not None:
            self.merge_counts.flags.writeable = False
        object.__setattr__(self, "special_tokens", MappingProxyType(dict(self.special_tokens)))

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        values = [getattr(self, field.name) for field in fields(self)]
        values = [dict(value) if isinstance(value, Mapping) else value for value in values]
        return type(self), tuple(values)

    def __len__(self) -> int:
        """Return the number of tokens, special ones included."""
        return int(np.count_nonzero(np.diff(self.offsets)))

    def __repr__(self) -> str:
        return (
            f"Vocabulary({len(self)} tokens, {self.n_merges} merges, "
            f"{len(self.special_tokens)} special tokens)"
        )

    @property
    def n_ids(self) -> int:
        """One more than the greatest token id."""
        return len(self.offsets) - 1

    @property
    def n_merges(self) -> int:
        """The number of merges."""
        return len(self.merge_results)

    @cached_property
    def tokens(self) -> tuple[bytes, ...]:
        """The bytes of the tokens by id; an id that is not in use has none."""
        contents = self.contents.tobytes()
        stops = self.offsets.tolist()
        # A list first: from a generator it takes twice as long.
        return tuple([contents[start:stop] for start, stop in pairwise(stops)])

    @cached_property
    def ordinary_ids(self) -> Mapping[bytes, int]:
        """The id of every ordinary token by its bytes."""
        return MappingProxyType(index_ordinary_tokens(list(self.tokens), self.special_tokens))

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The two byte strings that each merge joins, in the order of the merges."""
        tokens = self.tokens
        return [(tokens[left], tokens[right]) for left, right in self.merge_pairs.tolist()]

    def to_dict(self) -> dict[int, bytes]:
        """Return the bytes of every token by id, ids ascending."""
        return {token_id: content for token_id, content in enumerate(self.tokens) if content}

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token; ArgumentError if no token has the id."""
        position = index(token_id)
        content = self.tokens[position] if 0 <= position < self.n_ids else b""
        if not content:
            raise ArgumentError(
                f"no token has the id {position}; the vocabulary has {len(self)} tokens "
                f"with ids from 0 to {self.n_ids - 1}"
            )
        return content

    def token_id(self, content: bytes) -> int:
        """Return the id of the token with these bytes; ArgumentError if there is none.

        Where an ordinary and a special token are spelled alike it is the ordinary one; the other is
        in ``special_tokens``.
        """
        token_id = self.ordinary_ids.get(content)
        if token_id is None:
            token_id = self._special_ids_by_bytes.get(content)
        if token_id is None:
            raise ArgumentError(f"no token has the bytes {shorten_value(content)}")
        return token_id

    @cached_property
    def _special_ids_by_bytes(self) -> dict[bytes, int]:
        return {encode_special_token(name): id for name, id in self.special_tokens.items()}

    def truncated(self, vocab_size: int) -> Self:
        """Return the vocabulary of ``vocab_size`` tokens that has the first merges of this one.

        It equals what training to that size gives. Tokens that no merge makes stay; ids above a
        token that goes move down, so that no hole arises.

        Raises ArgumentError if the size is above this one's, or below the tokens that must stay.
        """
        return self.truncated_with_ids(vocab_size)[0]

    def truncated_with_ids(self, vocab_size: int) -> tuple[Self, Tokens]:
        """Return the same, and the (n_ids,) int32 new ids of all tokens, -1 for one that goes."""
        size = index(vocab_size)
        first_ranks = np.unique(self.merge_results, return_index=True)[1]
        first_ranks.sort()
        n_unmade = len(self) - len(first_ranks)
        if not n_unmade <= size <= len(self):
            raise ArgumentError(
                f"cannot cut the vocabulary to {size} tokens; "
                f"possible are {n_unmade} (no merges) to {len(self)} (all of them)"
            )
        n_merges = self.n_merges if size == len(self) else int(first_ranks[size - n_unmade])
        is_kept = np.ones(self.n_ids, dtype=np.bool_)
        is_kept[self.merge_results[n_merges:]] = False
        is_kept[self.merge_results[:n_merges]] = True
        new_ids = np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype(np.int32)
        pairs, results = (
            new_ids[self.merge_pairs[:n_merges]],
            new_ids[self.merge_results[:n_merges]],
        )
        # In a vocabulary from elsewhere a merge may join what only a later one makes.
        is_possible = (pairs >= 0).all(axis=1)
        counts = self.merge_counts
        vocabulary = self.from_parts(
            [content for content, kept in zip(self.tokens, is_kept.tolist(), strict=True) if kept],
            pairs[is_possible],
            results[is_possible],
            special_tokens={
                name: int(new_ids[token_id]) for name, token_id in self.special_tokens.items()
            },
            pattern=KnownPattern(self.pattern_name, self.pattern_sources),
            recipe_name=self.recipe_name,
            merge_counts=None if counts is None else counts[:n_merges][is_possible],
        )
        return vocabulary, new_ids
