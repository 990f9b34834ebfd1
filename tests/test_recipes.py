"""Recipes: numbering and tie rules as data."""

import dataclasses

import numpy as np
import pytest

from numbpe.errors import ArgumentError
from numbpe.recipes import RECIPES, get_recipe


def test_get_recipe__names_the_recipes_in_its_error() -> None:
    """Truth: the recipes that exist."""
    assert get_recipe("cs336") is RECIPES["cs336"]
    for wrong in ("gpt2", "", None, ["cs336"]):
        with pytest.raises(ArgumentError, match=r"unknown recipe .*'cs336', 'tiktoken', 'hf'"):
            get_recipe(wrong)  # type: ignore[arg-type]


def test_tie_rules__are_those_of_the_originals() -> None:
    """Truth: the CS336 reference takes the greatest byte pair, rustbpe and tokenizers smallest ids."""
    assert {name: recipe.tie_rule for name, recipe in RECIPES.items()} == {
        "cs336": "greatest_bytes",
        "tiktoken": "smallest_ids",
        "hf": "smallest_ids",
    }


@pytest.mark.parametrize(
    "name, expected",
    [
        ("cs336", {"bytes": 0, "special_tokens": 256, "merges": 258}),
        ("tiktoken", {"bytes": 0, "merges": 256, "special_tokens": 265}),
        ("hf", {"special_tokens": 0, "bytes": 2, "merges": 258}),
    ],
)
def test_first_ids__follow_the_numbering(name: str, expected: dict[str, int]) -> None:
    """Truth: hand-computed for 9 merges and 2 special tokens."""
    assert get_recipe(name).first_ids(n_merges=9, n_special_tokens=2) == expected


def test_number_symbols__leaves_room_for_special_tokens() -> None:
    """Truth: hand-computed; cs336 moves merges up by the special tokens, tiktoken does not."""
    cs336 = get_recipe("cs336").number_symbols(n_merges=3, n_special_tokens=2)
    tiktoken = get_recipe("tiktoken").number_symbols(n_merges=3, n_special_tokens=2)
    np.testing.assert_array_equal(cs336, [*range(256), 258, 259, 260])
    np.testing.assert_array_equal(tiktoken, np.arange(259))
    assert cs336.dtype == np.int32


@pytest.mark.parametrize("is_strict, expected", [(False, 8), (True, 7)])
def test_longest_token__counts_the_limit_or_not(is_strict: bool, expected: int) -> None:
    """Truth: hand-computed."""
    recipe = dataclasses.replace(get_recipe("cs336"), max_token_bytes_is_strict=is_strict)
    assert recipe.longest_token_nbytes(8) == expected


def test_number_symbols__numbers_bytes_by_their_letters() -> None:
    """Truth: the code points of GPT-2's bytes_to_unicode: "!" first, a space behind 188 printable bytes."""
    hf = get_recipe("hf").number_symbols(n_merges=1, n_special_tokens=1)
    assert sorted(hf.tolist()) == [*range(1, 258)]
    expected = {"!": 1, "~": 94, " ": 221 + 32 - 32, "\n": 189 + 10, "a": 65, "\0": 189}
    assert {letter: int(hf[ord(letter)]) for letter in expected} == expected
    assert (hf[0xAD], hf[0xFF], hf[256]) == (256, 188, 257)


@pytest.mark.parametrize("limit, expected", [(1, 2), (2, 2), (3, 2), (4, 3), (9, 8)])
def test_longest_token__of_hf(limit: int, expected: int) -> None:
    """Truth: trainer.rs of tokenizers 0.23.3: only pairs born later are held to ``< limit``."""
    assert get_recipe("hf").longest_token_nbytes(limit) == expected
