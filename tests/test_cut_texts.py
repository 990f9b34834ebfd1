"""One text with added tokens: the arrays of a thread and those of its own give the same ids."""

import numpy as np
import pytest

from numbpe import Tokenizer
from numbpe.encoder_state import SHORT_NBYTES, SHORT_PARTS
from numbpe.errors import ArgumentError

BYTES = {byte: bytes([byte]) for byte in range(256)}


@pytest.fixture
def tokenizer() -> Tokenizer:
    merges = [(b"a", b"b"), (b" ", b"ab"), (b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad")]
    vocab = BYTES | {256 + i: left + right for i, (left, right) in enumerate(merges)}
    return Tokenizer(vocab, merges, ["<s>", "<s><s>", "<end>"])


def encode_by_parts(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of a text, its parts between tokens encoded one by one."""
    ids: list[int] = []
    rest = text
    while rest:
        found = [(rest.find(name), -len(name), name) for name in tokenizer.special_tokens]
        place, _, name = min((hit for hit in found if hit[0] >= 0), default=(len(rest), 0, ""))
        ids += tokenizer.encode(rest[:place], special="text").tolist()
        ids += [tokenizer.special_tokens[name]] if name else []
        rest = rest[place + len(name) :]
    return ids


@pytest.mark.parametrize("n_tokens", [1, 2, SHORT_PARTS - 2, SHORT_PARTS - 1, SHORT_PARTS, 200])
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
