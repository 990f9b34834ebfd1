"""Recipes: the rules of training that change which tokens are made and how they are numbered.

A recipe says what is counted, how equal counts are decided, and which token id each byte, each merge
and each special token is given. It is data; no code asks for a recipe's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbpe.errors import ArgumentError, shorten_value

N_BYTES: Final = 256
"""How many symbols are single bytes."""

TieRule: TypeAlias = Literal["greatest_bytes", "smallest_ids"]
"""Which of the pairs with the highest count is merged.

``greatest_bytes``: the one whose (left bytes, right bytes) tuple is greatest.
``smallest_ids``: the one whose (left symbol, right symbol) tuple is smallest.
"""

PRINTABLE_BYTES: Final = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
"""Bytes that GPT-2's alphabet writes as themselves; the 68 others are U+0100 and on, in order."""

ByteOrder: TypeAlias = Literal["values", "letters"]
"""How bytes are numbered: by their values, or by the code points that GPT-2's alphabet gives them."""

Part: TypeAlias = Literal["bytes", "special_tokens", "merges"]
"""A part of a vocabulary whose ids follow one another."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The rules that one kind of training follows.

    tie_rule:
        see :data:`TieRule`.
    numbering:
        the order in which the parts of the vocabulary are given their ids, from 0 without holes.
    byte_order:
        how the bytes are numbered among themselves.
    max_token_bytes_is_strict:
        whether ``max_token_bytes`` itself is already too long; two bytes never are, then.
    cuts_special_tokens:
        whether text is cut at special tokens, which are counted nowhere; if not, they are text.
    cuts_lines:
        whether each line of a file is a document. An item of an iterable is one in any case.
    shares_ids:
        whether a special token and an ordinary one that are spelled alike are one token.
    """

    name: str
    description: str
    tie_rule: TieRule
    numbering: tuple[Part, Part, Part]
    byte_order: ByteOrder = "values"
    max_token_bytes_is_strict: bool = False
    cuts_special_tokens: bool = True
    cuts_lines: bool = False
    shares_ids: bool = False

    def longest_token_nbytes(self, max_token_bytes: int) -> int:
        """Return the length in bytes of the longest token that a merge may make."""
        return max(2, max_token_bytes - 1) if self.max_token_bytes_is_strict else max_token_bytes

    def list_bytes(self) -> tuple[int, ...]:
        """Return the 256 bytes in the order in which they are numbered."""
        if self.byte_order == "values":
            return tuple(range(N_BYTES))
        others = set(range(N_BYTES)).difference(PRINTABLE_BYTES)
        return (*PRINTABLE_BYTES, *sorted(others))

    def first_ids(self, *, n_merges: int, n_special_tokens: int) -> dict[Part, int]:
        """Return the first token id of every part.

        Example: ``get_recipe("cs336").first_ids(n_merges=9, n_special_tokens=2)`` is
        ``{"bytes": 0, "special_tokens": 256, "merges": 258}``.
        """
        sizes: dict[Part, int] = {
            "bytes": N_BYTES,
            "special_tokens": n_special_tokens,
            "merges": n_merges,
        }
        first_ids: dict[Part, int] = {}
        next_id = 0
        for part in self.numbering:
            first_ids[part] = next_id
            next_id += sizes[part]
        return first_ids

    def number_symbols(self, *, n_merges: int, n_special_tokens: int) -> NDArray[np.int32]:
        """Return the (256 + n_merges,) token ids of the bytes, by value, and of what merges make."""
        first_ids = self.first_ids(n_merges=n_merges, n_special_tokens=n_special_tokens)
        symbols = np.arange(N_BYTES + n_merges, dtype=np.int32)
        symbols[list(self.list_bytes())] = np.arange(N_BYTES) + first_ids["bytes"]
        symbols[N_BYTES:] += first_ids["merges"] - N_BYTES
        return symbols


RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            Recipe(
                name="cs336",
                description="bytes, special tokens, merges; the greatest pair of byte strings wins",
                tie_rule="greatest_bytes",
                numbering=("bytes", "special_tokens", "merges"),
            ),
            Recipe(
                name="tiktoken",
                description="bytes, merges, special tokens; the smallest pair of ids wins",
                tie_rule="smallest_ids",
                numbering=("bytes", "merges", "special_tokens"),
            ),
            Recipe(
                name="hf",
                description="special tokens, bytes as GPT-2's letters are sorted, merges; the "
                "smallest pair of ids wins; lines of files are documents, special tokens are text",
                tie_rule="smallest_ids",
                numbering=("special_tokens", "bytes", "merges"),
                byte_order="letters",
                max_token_bytes_is_strict=True,
                cuts_special_tokens=False,
                cuts_lines=True,
                shares_ids=True,
            ),
        )
    }
)


def get_recipe(name: str) -> Recipe:
    """Return the recipe called ``name``; raise ArgumentError, which lists them, if none is."""
    recipe = RECIPES.get(name) if isinstance(name, str) else None
    if recipe is None:
        names = ", ".join(repr(known) for known in RECIPES)
        raise ArgumentError(f"unknown recipe {shorten_value(name)}; the recipes are {names}")
    return recipe
