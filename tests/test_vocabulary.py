"""The vocabulary: numbering, look-up, clashes of spelling, cutting to size."""

import numpy as np
import pytest

from numbpe import reference
from numbpe.errors import ArgumentError, DataError
from numbpe.recipes import RECIPES
from numbpe.vocabulary import Vocabulary
from numbpe.vocabulary_checks import MAX_TOKEN_ID

# "ab", "abc", "bc": what merges of the symbols of bytes and earlier merges make.
MERGE_SYMBOLS = [(97, 98), (256, 99), (98, 99)]
BYTES = {byte: bytes([byte]) for byte in range(256)}


def make_vocabulary(
    recipe: str = "cs336", specials: tuple[str, ...] = ("<s>", "<t>")
) -> Vocabulary:
    return Vocabulary.from_training(
        MERGE_SYMBOLS, recipe=recipe, special_tokens=specials, pattern="gpt2"
    )


def train(words: dict[bytes, int], n_merges: int, recipe: str) -> list[tuple[int, int]]:
    symbols = {tuple(word): count for word, count in words.items()}
    merges = reference.train_symbols(symbols, n_merges, tie=RECIPES[recipe].tie_rule)
    return [pair for pair, _ in merges]


@pytest.mark.parametrize(
    "recipe, tail",
    [
        ("cs336", [b"<s>", b"<t>", b"ab", b"abc", b"bc"]),
        ("tiktoken", [b"ab", b"abc", b"bc", b"<s>", b"<t>"]),
    ],
)
def test_from_training__numbers_by_the_recipe(recipe: str, tail: list[bytes]) -> None:
    """Truth: the definition of the recipes, written out."""
    vocabulary = make_vocabulary(recipe)
    assert vocabulary.to_dict() == BYTES | dict(enumerate(tail, start=256))
    assert vocabulary.merges == [(b"a", b"b"), (b"ab", b"c"), (b"b", b"c")]
    assert vocabulary.special_tokens == {
        "<s>": 256 + tail.index(b"<s>"),
        "<t>": 256 + tail.index(b"<t>"),
    }
    assert len(vocabulary) == vocabulary.n_ids == 261
    assert [vocabulary.token_bytes(int(i)) for i in vocabulary.merge_results] == [
        b"ab",
        b"abc",
        b"bc",
    ]
    assert vocabulary.recipe_name == recipe
    assert vocabulary.pattern_name == "gpt2"


def test_from_training__accepts_no_merges_and_no_special_tokens() -> None:
    """Truth: by definition, the 256 bytes are left."""
    vocabulary = Vocabulary.from_training(
        np.empty((0, 2), dtype=np.int32), recipe="cs336", special_tokens=[], pattern=["a", r"\s"]
    )
    assert vocabulary.to_dict() == BYTES
    assert vocabulary.merges == []
    assert vocabulary.pattern_sources == ("a", r"\s")
    assert vocabulary.pattern_name is None


def test_from_training__refuses_merges_that_training_cannot_make() -> None:
    """Truth: merge i joins symbols below 256 + i, and no string is made twice."""
    for merges, message in [
        ([(97, 256)], "merge 0 joins the symbols 97 and 256; only 0 to 255"),
        ([(-1, 97)], "merge 0 joins the symbols -1 and 97"),
        ([(97, 98), (97, 98)], "merge 1 makes b'ab'"),
    ]:
        with pytest.raises(DataError, match=message):
            Vocabulary.from_training(merges, recipe="cs336", special_tokens=[], pattern="gpt2")


def test_arrays__cannot_be_written_to() -> None:
    """Truth: the promise that a vocabulary never changes."""
    vocabulary = make_vocabulary()
    for array in (vocabulary.contents, vocabulary.merge_pairs, vocabulary.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError):
        vocabulary.special_tokens["<u>"] = 3  # type: ignore[index]


def test_look_ups__name_what_is_missing() -> None:
    """Truth: hand-computed ids."""
    vocabulary = make_vocabulary()
    assert vocabulary.token_id(b"abc") == 259
    assert vocabulary.token_id(b"<s>") == 256
    assert vocabulary.token_bytes(260) == b"bc"
    for bad in (-1, 261, 2**63):
        with pytest.raises(ArgumentError, match=rf"no token has the id {bad};.* 0 to 260"):
            vocabulary.token_bytes(bad)
    with pytest.raises(ArgumentError, match="no token has the bytes b'xyz'"):
        vocabulary.token_id(b"xyz")


@pytest.mark.parametrize("recipe", list(RECIPES))
def test_clashes__leave_ids_a_bijection(recipe: str) -> None:
    """Truth: by definition, each (bytes, is special) has one id and each id one of them."""
    specials = ("a", "bc", "<s>")
    vocabulary = make_vocabulary(recipe, specials)
    special_ids = set(vocabulary.special_tokens.values())
    pairs = {(content, id in special_ids) for id, content in vocabulary.to_dict().items()}
    assert len(pairs) == len(vocabulary) == 256 + 3 + 3
    assert (
        vocabulary.token_id(b"a")
        == RECIPES[recipe].number_symbols(n_merges=3, n_special_tokens=3)[97]
    )
    assert vocabulary.token_id(b"bc") not in special_ids
    assert all(vocabulary.token_bytes(vocabulary.special_tokens[s]) == s.encode() for s in specials)
    again = Vocabulary.from_tokens(
        vocabulary.to_dict(), vocabulary.merges, special_tokens=specials, pattern="gpt2"
    )
    assert again.special_tokens == vocabulary.special_tokens
    np.testing.assert_array_equal(again.merge_pairs, vocabulary.merge_pairs)
    np.testing.assert_array_equal(again.merge_results, vocabulary.merge_results)


@pytest.mark.parametrize("recipe", list(RECIPES))
def test_truncated__equals_training_to_that_size(recipe: str, rng: np.random.Generator) -> None:
    """Truth: reference.train_symbols stopped earlier."""
    words = {
        bytes(rng.integers(97, 101, rng.integers(1, 9)).astype(np.uint8)): int(rng.integers(1, 9))
        for _ in range(60)
    }
    options = {"recipe": recipe, "special_tokens": ["<s>", "b"], "pattern": "gpt2"}
    full = Vocabulary.from_training(train(words, 40, recipe), **options)
    for n_merges in (0, 1, 17, 39, 40):
        expected = Vocabulary.from_training(train(words, n_merges, recipe), **options)
        actual = full.truncated(258 + n_merges)
        assert actual.to_dict() == expected.to_dict()
        assert actual.merges == expected.merges
        assert actual.special_tokens == expected.special_tokens
        np.testing.assert_array_equal(actual.merge_results, expected.merge_results)
    for size in (257, 299):
        with pytest.raises(ArgumentError, match="possible are 258 .* to 298"):
            full.truncated(size)


def test_from_tokens__finds_special_tokens_by_their_text() -> None:
    """Truth: the rules in the docstring, by hand."""
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"<s>"}
    vocabulary = Vocabulary.from_tokens(
        tokens, [(b"a", b"b")], special_tokens=["<s>", "<new>", "ab", "a"]
    )
    # "ab" and "a" are ordinary tokens, which keep their ids.
    assert vocabulary.special_tokens == {"<s>": 3, "<new>": 4, "ab": 5, "a": 6}
    assert vocabulary.token_id(b"ab") == 2


def test_from_tokens__keeps_holes_and_given_ids() -> None:
    """Truth: ids of a file are law."""
    vocabulary = Vocabulary.from_tokens(
        {5: b"a", 9: b"b", 7: b"ab"}, [(b"a", b"b")], special_tokens={"<s>": 20, "<t>": 0}
    )
    assert vocabulary.to_dict() == {0: b"<t>", 5: b"a", 7: b"ab", 9: b"b", 20: b"<s>"}
    assert (len(vocabulary), vocabulary.n_ids) == (5, 21)
    for hole in (1, 19):
        with pytest.raises(ArgumentError, match=f"no token has the id {hole}"):
            vocabulary.token_bytes(hole)
    assert vocabulary.truncated(4).to_dict() == {0: b"<t>", 5: b"a", 8: b"b", 19: b"<s>"}


def test_from_tokens__keeps_the_last_of_equal_merges() -> None:
    """Truth: the merges as given; which one counts is for the encoder."""
    merges = [(b"a", b"b"), (b"b", b"a"), (b"a", b"b")]
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"ba"}
    vocabulary = Vocabulary.from_tokens(tokens, merges)
    assert vocabulary.merges == merges
    assert vocabulary.truncated(3).merges == [(b"a", b"b")]


@pytest.mark.parametrize(
    "tokens, merges, specials, message",
    [
        ({0: b"a", 1: b"a"}, [], None, "tokens 0 and 1 are both b'a'"),
        ({0: b""}, [], None, "token 0 must be one or more bytes"),
        ({0: "a"}, [], None, "token 0 must be one or more bytes, not 'a'"),
        ({-1: b"a"}, [], None, "b'a' has the id -1"),
        ({2**32: b"a"}, [], None, "has the id 4294967296"),
        ({2**31: b"a"}, [], None, "has the id 2147483648"),
        ({MAX_TOKEN_ID + 1: b"a"}, [], None, "ids are integers from 0 to 16,777,215"),
        ({"0": b"a"}, [], None, "has the id '0'"),
        ({True: b"a"}, [], None, "has the id True"),
        ({0: b"aa", 1: b"bb"}, [(b"aa", b"bb")], None, "merge 0, .*b'aabb' is not in"),
        ({0: b"a"}, [(b"a",)], None, "merge 0 must be two byte strings"),
        ({0: b"a"}, [("a", "b")], None, "merge 0 must be two byte strings"),
        ({0: b"a"}, [], {"<s>": 1, "<t>": 1}, "'<s>' and '<t>' have one id, 1"),
        ({0: b"a"}, [], {"<s>": 0}, "'<s>' cannot have the id 0: that is the token b'a'"),
        ({0: b"a"}, [], {"<s>": -1}, "has the id -1"),
    ],
)
def test_from_tokens__refuses_contradictions(
    tokens: dict[int, bytes], merges: list[tuple[bytes, bytes]], specials: object, message: str
) -> None:
    """Truth: the messages, which name the token or merge."""
    with pytest.raises(DataError, match=message):
        Vocabulary.from_tokens(tokens, merges, special_tokens=specials)  # type: ignore[arg-type]


def test_from_tokens__asks_which_of_two_ids_is_special() -> None:
    """Truth: neither recipe numbers tokens so."""
    tokens = {0: b"a", 1: b"x", 2: b"a"}
    with pytest.raises(ArgumentError, match=r"'a' may have any of the ids \[0, 2\]"):
        Vocabulary.from_tokens(tokens, [], special_tokens=["a"])
    vocabulary = Vocabulary.from_tokens(tokens, [], special_tokens={"a": 2})
    assert vocabulary.token_id(b"a") == 0


@pytest.mark.parametrize(
    "specials, message",
    [
        ("<s>", r"write \['<s>'\]"),
        ([""], "is empty"),
        (["a", "b", "a"], "is given twice"),
        (["\ud800"], "unpaired surrogate"),
        ([3], "must be a str"),
    ],
)
def test_special_tokens__are_checked(specials: object, message: str) -> None:
    """Truth: the messages."""
    with pytest.raises(ArgumentError, match=message):
        make_vocabulary(specials=specials)  # type: ignore[arg-type]
