"""One text with added tokens: the arrays of a thread and those of its own give the same ids."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from numbpe import Tokenizer
from numbpe.definition import Normalization, Prepend, Replace, TextStep
from numbpe.encoder_state import SHORT_NBYTES, SHORT_PARTS
from numbpe.errors import ArgumentError, DataError
from numbpe.normalizers import apply_steps
from numbpe.utf8 import LEAST_CHARACTERS

BYTES = {byte: bytes([byte]) for byte in range(256)}


@pytest.fixture(params=["at first", "improved"])
def tokenizer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    """With an encoder as it is at first, and one that much text has improved."""
    merges = [(b"a", b"b"), (b" ", b"ab"), (b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad")]
    vocab = BYTES | {256 + i: left + right for i, (left, right) in enumerate(merges)}
    tokenizer = Tokenizer(vocab, merges, ["<s>", "<s><s>", "<end>"])
    if request.param == "improved":
        monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 1)
        for _ in range(2):
            tokenizer.encode("ab ab")
        assert not tokenizer._encoder._may_improve
    return tokenizer


def test_load_kernels__readies_the_cut(tokenizer: Tokenizer) -> None:
    """Truth: by definition: a new matcher calls the kernel through its loader, a ready one does not."""
    matcher = Tokenizer(BYTES, [], ["<s>"])._segmenter.matcher
    assert matcher._raw._run_into is None
    matcher.load_kernels()
    assert matcher._raw._run_into is not None
    no_tokens = Tokenizer(BYTES, [])._segmenter.matcher
    no_tokens.load_kernels()
    assert no_tokens._raw._run_into is None
    is_improved = not tokenizer._encoder._may_improve
    assert (tokenizer._segmenter.matcher._raw._run_into is not None) == is_improved


def encode_by_parts(tokenizer: Tokenizer, text: str, steps: Sequence[TextStep] = ()) -> list[int]:
    """Return the ids of a text, its parts between tokens changed by ``steps`` and encoded one by one."""
    ids: list[int] = []
    is_first = True
    rest = text
    while rest:
        found = [(rest.find(name), -len(name), name) for name in tokenizer.special_tokens]
        place, _, name = min((hit for hit in found if hit[0] >= 0), default=(len(rest), 0, ""))
        part = apply_steps(steps, rest[:place], is_first=is_first)
        is_first = False
        ids += tokenizer.encode(part, special="text").tolist()
        ids += [tokenizer.special_tokens[name]] if name else []
        rest = rest[place + len(name) :]
    return ids


@pytest.mark.parametrize(
    "n_tokens", [1, 2, SHORT_PARTS - 2, SHORT_PARTS - 1, SHORT_PARTS, 2 * SHORT_PARTS]
)
@pytest.mark.parametrize("filling", ["", "ab ", "a\u4e2d\xe9", "x" * 900])
def test_encode__cuts_at_added_tokens(tokenizer: Tokenizer, n_tokens: int, filling: str) -> None:
    """Truth: by definition; the ids of the parts, with those of the tokens between them."""
    names = list(tokenizer.special_tokens)
    text = "".join(filling + names[i % len(names)] for i in range(n_tokens)) + filling
    expected = encode_by_parts(tokenizer, text)
    for _ in range(2):
        assert tokenizer.encode(text).tolist() == expected
        assert tokenizer.encode(text.encode()).tolist() == expected
        # What a text leaves behind changes no other one.
        assert tokenizer.encode("ab ab").tolist() == [256, 257]
    assert tokenizer.encode_batch([text])[0].tolist() == expected


@pytest.mark.parametrize("length", [SHORT_NBYTES - 3, SHORT_NBYTES - 2, SHORT_NBYTES + 5])
def test_encode__cuts_texts_of_any_length(tokenizer: Tokenizer, length: int) -> None:
    """Truth: by definition; the ids of the parts, with that of the token between them."""
    text = "ab " * (length // 3) + "<s>"
    assert tokenizer.encode(text).tolist() == encode_by_parts(tokenizer, text)


def test_encode__policies(tokenizer: Tokenizer) -> None:
    """Truth: the docstring of Tokenizer.encode."""
    with pytest.raises(ArgumentError, match="spells the special token '<s>' at byte 4"):
        tokenizer.encode("ab x<s>", special="error")
    assert tokenizer.encode("ab<s>", special="text").tolist() == [256, *b"<s>"]
    assert tokenizer.encode("ab<s>").tolist() == [256, tokenizer.special_tokens["<s>"]]


def test_encode__of_random_texts(tokenizer: Tokenizer, rng: np.random.Generator) -> None:
    """Truth: by definition; the ids of the parts, with those of the tokens between them."""
    pieces = ["<s>", "<s", "s>", "<end>", "ab", " ", "\u4e2d", "\xe9", "<", "a" * 30]
    for _ in range(300):
        text = "".join(rng.choice(pieces, size=int(rng.integers(1, 60))))
        assert tokenizer.encode(text).tolist() == encode_by_parts(tokenizer, text)


class Text(str):
    """A text of a class of its own."""

    __slots__ = ()


@pytest.mark.parametrize("added", [["<s>", "<end>"], ["<s>", "\xe9>"], ["\xe9>"], []])
@pytest.mark.parametrize("unit", ["ab ", "a\u4e2d\xe9", "ab <x", "\U0001f44d ab", "a\ud83d b"])
def test_encode__of_a_str_as_of_its_bytes(
    added: list[str], unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the ids of the UTF-8 bytes, surrogates replaced, in an encoder that is handed no str."""
    merges = [(b"a", b"b"), (b" ", b"ab"), (b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad")]
    vocab = BYTES | {256 + i: left + right for i, (left, right) in enumerate(merges)}
    tokenizer, other = Tokenizer(vocab, merges, added), Tokenizer(vocab, merges, added)
    lengths = {SHORT_NBYTES, SHORT_NBYTES // 4, LEAST_CHARACTERS, 1}
    for more_nbytes in (1 << 60, 1):
        # As it is at first, and improved.
        monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", more_nbytes)
        for n in sorted(length + more for length in lengths for more in (-1, 0, 1, 17)):
            text = (unit * (n // len(unit) + 1))[:n]
            expected = other.encode(text.replace("\ud83d", "\ufffd").encode()).tolist()
            for kind in (str, Text):
                assert tokenizer.encode(kind(text)).tolist() == expected
    assert not tokenizer._encoder._may_improve


def test_encode__of_a_str_with_a_byte_that_has_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: the error of the bytes; the words before it are not kept without ids."""
    tokenizer = Tokenizer({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")])
    monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 1)
    for _ in range(3):
        assert tokenizer.encode("abba").tolist() == [2, 1, 0]
        with pytest.raises(DataError, match="cannot encode the byte 0x63 at byte 3"):
            tokenizer.encode("aabc")
        assert tokenizer.encode("aab").tolist() == [0, 2]


NFC = Normalization("NFC")
PIECES = [
    "ab",
    " ",
    "\u4e2d",
    "\xe9",
    "e\u0301",
    "\u0958",
    "\u0e01\u0e38\u0e48",
    "\u0e48\u0e38",
    "<",
    "\u0338",
    "<s>",
]


def make_normalizing(tokenizer: Tokenizer, *steps: TextStep) -> Tokenizer:
    """Return the tokenizer with a normalizer, beyond the text after which an encoder is improved."""
    definition = dataclasses.replace(tokenizer.definition, normalizer=steps)
    normalizing = Tokenizer.from_definition(definition)
    for _ in range(2):
        normalizing.encode("ab ab")
    return normalizing


@pytest.mark.parametrize("n_most", [12, 600, SHORT_NBYTES // 4])
@pytest.mark.parametrize("n_pieces", [4, 8, len(PIECES)])
def test_encode__of_what_nfc_changes(
    n_most: int,
    n_pieces: int,
    tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    rng: np.random.Generator,
) -> None:
    """Truth: apply_steps on the parts between added tokens, encoded by a tokenizer without NFC."""
    monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 1)
    composing = make_normalizing(tokenizer, NFC)
    for size in rng.integers(1, n_most, size=max(4, 3000 // n_most)).tolist():
        text = "".join(rng.choice(PIECES[:n_pieces], size=size))
        expected = encode_by_parts(tokenizer, text, [NFC])
        assert composing.encode(text).tolist() == expected
        assert composing.encode(text.encode()).tolist() == expected
        assert composing.encode_batch([text])[0].tolist() == expected
    refused = "\u4e2d\xe9<s>"
    with pytest.raises(ArgumentError, match="spells the special token '<s>' at byte 5"):
        composing.encode(refused, special="error")
    assert composing.encode(refused, special="text").tolist()[-3:] == list(b"<s>")


EXPANSIONS = [
    [Replace(" ", "\u2581")],
    [Prepend("\u2581"), Replace(" ", "\u2581")],
    [Prepend(" ab"), Replace(" ", "\u2581")],
    [Replace(" ", "_"), Prepend(" ")],
    # What is not done in its place.
    [Replace(" ", "")],
    [Replace("ab", "c")],
    [Replace(" ", "123456789")],
    [Replace("[ a]", "_", is_regex=True)],
    [Prepend("_", unless="a"), Replace(" ", "_")],
    [Prepend("_", first_only=True), Replace(" ", "_")],
]


@pytest.mark.parametrize("steps", EXPANSIONS, ids=str)
def test_encode__of_what_is_replaced(
    steps: list[TextStep],
    tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    rng: np.random.Generator,
) -> None:
    """Truth: apply_steps on the parts between added tokens, encoded by a tokenizer without a normalizer."""
    monkeypatch.setattr("numbpe.encoder.MORE_NBYTES", 1)
    normalizing = make_normalizing(tokenizer, *steps)
    sizes = [0, 1, 2, 3, 50, 200, 1000, SHORT_NBYTES // 8, SHORT_NBYTES // 2]
    for size in [*sizes, *rng.integers(1, 40, size=40).tolist()]:
        for pieces in (["ab", " ", "  a"], ["ab", " ", "\u4e2d", "\xe9", "<", "<s>"]):
            text = "".join(rng.choice(pieces, size=size))
            expected = encode_by_parts(tokenizer, text, steps)
            assert normalizing.encode(text).tolist() == expected
            assert normalizing.encode(text.encode()).tolist() == expected
