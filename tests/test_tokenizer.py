"""Encoding and decoding, special tokens, odd input, and the surface of the class."""

import json
import lzma
import pickle
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

from numbpe import reference
from numbpe.definition import (
    AddedToken,
    DecodingRules,
    ModelRules,
    Replace,
    TokenizerDefinition,
)
from numbpe.errors import ArgumentError, DataError
from numbpe.formats.byte_alphabet import LETTERS
from numbpe.tokenizer import Tokenizer
from numbpe.vocabulary import Vocabulary
from numbpe_kernels.encoder_runs import MOST_SCANS

BYTES = {byte: bytes([byte]) for byte in range(256)}
TEXT = "the cat's the dog; it isn't the cat.\n\n  12345 cats \u4e00\u4e8c \u00fcber \U0001f600\r\n"


def make_tokenizer(specials: list[str] | None = None, n_merges: int = 60) -> Tokenizer:
    merges = reference.train_bpe(reference.count_words([TEXT * 2, "the the"]), n_merges)
    made = [left + right for left, right in merges]
    return Tokenizer(BYTES | dict(enumerate(made, start=256)), merges, specials)


def encode_plainly(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of ordinary text by the reference."""
    return [
        tokenizer.token_id(token)
        for piece in reference.split_pieces(text, [reference.GPT2_PATTERN])
        for token in reference.encode_word(piece.encode(), tokenizer.merges)
    ]


@pytest.fixture(scope="module")
def gpt2_document(shared_data: Path) -> dict[str, Any]:
    with lzma.open(shared_data / "tokenizers" / "gpt2.json.xz") as file:
        return json.load(file)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def gpt2(gpt2_document: dict[str, Any]) -> Tokenizer:
    byte_of = {letter: byte for byte, letter in enumerate(LETTERS)}

    def to_bytes(spelling: str) -> bytes:
        return bytes(byte_of[letter] for letter in spelling)

    model = gpt2_document["model"]
    special = "<|endoftext|>"
    vocab = {
        token_id: spelling.encode() if spelling == special else to_bytes(spelling)
        for spelling, token_id in model["vocab"].items()
    }
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    merges = [(to_bytes(left), to_bytes(right)) for left, right in pairs]
    return Tokenizer(vocab, merges, [special])


def test_encode__equals_the_reference() -> None:
    """Truth: reference.split_pieces and reference.encode_word."""
    tokenizer = make_tokenizer()
    generator = random.Random(7)
    for _ in range(100):
        text = "".join(generator.choices([*TEXT, "the", " cat", "aaaa", "\u0915\u093f"], k=60))
        ids = tokenizer.encode(text)
        assert ids.tolist() == encode_plainly(tokenizer, text), repr(text)
        assert ids.dtype == np.uint32
        assert tokenizer.decode(ids) == text
        assert tokenizer.count(text) == len(ids)


def test_encode__equals_gpt2(gpt2: Tokenizer, gpt2_document: dict[str, Any]) -> None:
    """Truth: tokenizers 0.23.3 with the published GPT-2."""
    other = tokenizers.Tokenizer.from_str(json.dumps(gpt2_document))
    generator = random.Random(8)
    parts = [*TEXT, "the", "<|endoftext|>", "\u0e01\u0e33", "  ", "ing", " un", "@@", "9", "'ll"]
    texts = ["".join(generator.choices(parts, k=80)) for _ in range(100)]
    for text in [*texts, "a" * 5000, " " * 500, "=" * 99, "\n" * 77 + "x"]:
        assert gpt2.encode(text).tolist() == other.encode(text).ids, repr(text)
        assert gpt2.decode(gpt2.encode(text)) == text


def test_encode__cs336_fixtures(gpt2: Tokenizer, shared_data: Path) -> None:
    """Truth: property: decode(encode(text)) == text, and one id for each special token."""
    for name in ("address.txt", "german.txt", "tinystories_sample.txt"):
        text = (shared_data / "cs336" / name).read_bytes().decode()
        ids = gpt2.encode(text)
        assert gpt2.decode(ids) == text
        assert ids.tolist().count(50256) == text.count("<|endoftext|>")
    assert gpt2.encode("").tolist() == []
    assert gpt2.decode([]) == ""
    assert gpt2.encode("<|endoftext|>\n\ntext").tolist()[:1] == [50256]


# Special tokens


def test_special_tokens__leftmost_then_longest() -> None:
    """Truth: hand-computed; the order in which they are given does not matter."""
    text = "x<|e|><|e|>y<|e|>"
    for specials in (["<|e|>", "<|e|><|e|>"], ["<|e|><|e|>", "<|e|>"]):
        tokenizer = make_tokenizer(specials)
        one, two = tokenizer.special_tokens["<|e|>"], tokenizer.special_tokens["<|e|><|e|>"]
        assert tokenizer.encode(text).tolist() == [ord("x"), two, ord("y"), one]
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens__are_literal() -> None:
    """Truth: hand-computed; "a.c" is no regular expression."""
    tokenizer = make_tokenizer(["a.c", "(x|y)+", "$", "^", "[INST]"], n_merges=0)
    ids = tokenizer.special_tokens
    assert tokenizer.encode("abca.cx(x|y)+$").tolist() == [
        *b"abc",
        ids["a.c"],
        *b"x",
        ids["(x|y)+"],
        ids["$"],
    ]


def test_special_tokens__three_policies() -> None:
    """Truth: hand-computed; the error names the token and its place."""
    tokenizer = make_tokenizer(["<s>"], n_merges=0)
    assert tokenizer.encode("a<s>").tolist() == [97, 256]
    assert tokenizer.encode("a<s>", special="text").tolist() == [97, *b"<s>"]
    with pytest.raises(ArgumentError, match="spells the special token '<s>' at byte 1"):
        tokenizer.encode("a<s>", special="error")
    assert tokenizer.encode("a<s", special="error").tolist() == [*b"a<s"]
    assert tokenizer.count("a<s>", special="text") == 4
    with pytest.raises(ArgumentError, match="special must be one of 'allow', 'text', 'error'"):
        tokenizer.encode("a", special="none")  # type: ignore[arg-type]


def test_special_tokens__none_means_ordinary_text() -> None:
    """Truth: the CS336 suite: a token in the vocabulary that is not named special is never made."""
    vocab = BYTES | {256: b"<s>"}
    tokenizer = Tokenizer(vocab, [])
    assert tokenizer.encode("<s>").tolist() == [*b"<s>"]
    assert tokenizer.decode([256]) == "<s>"
    assert Tokenizer(vocab, [], ["<s>"]).encode("<s>").tolist() == [256]
    assert Tokenizer(BYTES, [], ["<s>"]).encode("<s>").tolist() == [256]


def test_special_tokens__spelled_like_ordinary_ones_have_their_own_ids() -> None:
    """Truth: by definition: text as text gets the ordinary id, as a special token the other."""
    tokenizer = make_tokenizer(["a", " the"])
    for name in ("a", " the"):
        special_id = tokenizer.special_tokens[name]
        (ordinary_id,) = tokenizer.encode(name, special="text").tolist()
        assert tokenizer.encode(name).tolist() == [special_id] != [ordinary_id]
        assert tokenizer.token_id(name.encode()) == ordinary_id
        assert tokenizer.token_bytes(special_id) == tokenizer.token_bytes(ordinary_id)


# Odd input


@pytest.mark.parametrize("text", ["\ud83d", "\ud83d\udc4d", "a\udbc0b"])
def test_encode__repairs_surrogates(text: str) -> None:
    """Truth: Python's UTF-16 decoder: pairs join, the others become U+FFFD."""
    tokenizer = make_tokenizer()
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert tokenizer.encode(text).tolist() == tokenizer.encode(repaired).tolist()
    assert tokenizer.count(text) == tokenizer.count(repaired)


def test_encode__takes_bytes_as_they_are() -> None:
    """Truth: property: decode_bytes(encode(data)) == data, UTF-8 or not."""
    tokenizer = make_tokenizer(["<s>"])
    generator = random.Random(9)
    for data in [b"a\xff\xfeb\xe2\x82", b"\0", b"\xef\xbb\xbfx", generator.randbytes(2000)]:
        assert tokenizer.decode_bytes(tokenizer.encode(data)) == data
    assert tokenizer.encode(TEXT.encode()).tolist() == tokenizer.encode(TEXT).tolist()
    assert tokenizer.decode(tokenizer.encode(b"\xe2\x82")) == "\ufffd"


@pytest.mark.parametrize("text", [None, 3, ["a"], bytearray(b"a")])
def test_encode__refuses_other_types(text: object) -> None:
    """Truth: the message, which names the argument and its type."""
    with pytest.raises(
        ArgumentError, match=f"text must be a str or bytes, not {type(text).__name__}"
    ):
        make_tokenizer().encode(text)  # type: ignore[arg-type]


def test_encode__says_which_byte_has_no_token() -> None:
    """Truth: hand-computed; no byte is dropped silently."""
    tokenizer = Tokenizer({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")], ["<s>"])
    assert tokenizer.encode("abba<s>").tolist() == [2, 1, 0, 3]
    with pytest.raises(DataError, match="cannot encode the byte 0x63 at byte 5 of the text"):
        tokenizer.encode("a<s>bc"[0:4] + "bc")


@pytest.mark.parametrize(
    "ids, message",
    [
        ([97, -1], "id -1 at position 1"),
        ([97, 98, 10**7], "id 10000000 at position 2"),
        ([2**32], "id 4294967296 at position 0"),
        ([2**63], "id 9223372036854775808 at position 0"),
        ([2**64, -1], "id 18446744073709551616 at position 0"),
        (np.array([97, -1]), "id -1 at position 1"),
        (np.array([2**64 - 1], dtype=np.uint64), "id 18446744073709551615 at position 0"),
        (np.array([-1], dtype=np.int8), "id -1 at position 0"),
        ([97, 1.5], "decode 1.5 at position 1: ids must be integers"),
        (["a"], "decode 'a' at position 0"),
        ([True], "decode True at position 0"),
        (97, "ids must be a list"),
        ([[97]], "ids must be a list"),
        ([97, [98]], r"decode \[98\] at position 1"),
        (None, "ids must be a list"),
    ],
)
def test_decode__refuses_what_is_no_id(ids: Any, message: str) -> None:
    """Truth: the message, which names the id and its position; nothing wraps around."""
    with pytest.raises(ArgumentError, match=message):
        make_tokenizer().decode(ids)


def test_decode__refuses_holes() -> None:
    """Truth: by definition: id 1 is no token's."""
    tokenizer = Tokenizer({0: b"a", 2: b"b"}, [])
    assert tokenizer.decode([0, 2]) == "ab"
    with pytest.raises(ArgumentError, match="id 1 at position 1"):
        tokenizer.decode([0, 1])


def test_decode__takes_integers_of_any_kind() -> None:
    """Truth: the same ids."""
    tokenizer = make_tokenizer()
    ids = tokenizer.encode(TEXT)
    for same in (ids.tolist(), tuple(ids.tolist()), ids.astype(np.int64), ids.astype(np.uint16)):
        assert tokenizer.decode(same) == TEXT
    assert tokenizer.decode(list(ids)) == TEXT


def test_decode__follows_errors() -> None:
    """Truth: bytes.decode."""
    tokenizer = make_tokenizer()
    assert tokenizer.decode([0xE4, 0xB8]) == "\ufffd"
    assert tokenizer.decode([0xE4, 97], errors="ignore") == "a"
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode([0xE4], errors="strict")


# The surface


def test_truncated__encodes_with_the_first_merges() -> None:
    """Truth: the reference with fewer merges."""
    tokenizer = make_tokenizer()
    smaller = tokenizer.truncated(256 + 10)
    assert smaller.vocab_size == len(smaller) == 266
    assert smaller.merges == tokenizer.merges[:10]
    assert smaller.encode(TEXT).tolist() == encode_plainly(smaller, TEXT)


def test_tokenizer__shows_what_it_is() -> None:
    """Truth: what it was made of."""
    tokenizer = make_tokenizer(["<s>"], n_merges=5)
    assert tokenizer.vocab[261] == b"<s>"
    assert tokenizer.vocab_size == len(tokenizer.vocab) == 262
    assert tokenizer.special_tokens == {"<s>": 261}
    assert repr(tokenizer) == (
        "Tokenizer(262 tokens, 5 merges, special_tokens=['<s>'], pattern='gpt2')"
    )
    rebuilt = Tokenizer.from_vocabulary(tokenizer.vocabulary)
    assert rebuilt.encode(TEXT).tolist() == tokenizer.encode(TEXT).tolist()


def test_tokenizer__pickles() -> None:
    """Truth: the same ids after a round trip through pickle."""
    tokenizer = make_tokenizer(["<s>"])
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.encode(TEXT + "<s>").tolist() == tokenizer.encode(TEXT + "<s>").tolist()
    assert copy.vocab == tokenizer.vocab


def test_tokenizer__serves_many_threads() -> None:
    """Truth: the ids of one thread alone."""
    tokenizer = make_tokenizer(["<s>"])
    texts = [TEXT[i:] * (i + 1) + "<s>" for i in range(20)]
    expected = [tokenizer.encode(text).tolist() for text in texts]
    actual: dict[int, list[list[int]]] = {}

    def encode_all(number: int) -> None:
        actual[number] = [tokenizer.encode(text).tolist() for _ in range(5) for text in texts]

    threads = [threading.Thread(target=encode_all, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(actual[number] == expected * 5 for number in range(8))


def make_spelled_tokenizer() -> Tokenizer:
    """Return a tokenizer of the SentencePiece kind: U+2581 for a space, tokens for single bytes."""
    spelled = ["<s>", "<0x61>", "<0x0A>", "\u2581", "a", "b", "\u2581a", "\u2581ab"]
    vocabulary = Vocabulary.from_tokens(
        {token_id: token.encode() for token_id, token in enumerate(spelled)},
        [("\u2581".encode(), b"a"), ("\u2581a".encode(), b"b")],
        special_tokens={"<s>": 0},
        pattern=(),
    )
    return Tokenizer.from_definition(
        TokenizerDefinition(
            vocabulary,
            ModelRules(alphabet="characters", byte_fallback=True),
            added_tokens=(AddedToken("<s>", 0),),
            normalizer=(Replace(" ", "\u2581"),),
            decoding=DecodingRules(replacements=(("\u2581".encode(), b" "),), byte_fallback=True),
        )
    )


def test_tokens_of_a_spelled_vocabulary__are_what_they_stand_for() -> None:
    """Truth: hand-computed; U+2581 stands for a space and <0x0A> for a line feed."""
    tokenizer = make_spelled_tokenizer()
    assert tokenizer.encode(" ab\nb<s>a").tolist() == [7, 2, 5, 0, 4]
    assert tokenizer.decode([7, 2, 5, 0, 4]) == " ab\nb<s>a"
    assert tokenizer.vocab[7] == tokenizer.token_bytes(7) == b" ab"
    assert tokenizer.vocab[2] == b"\n"
    assert tokenizer.merges == [(b" ", b"a"), (b" a", b"b")]
    # Two tokens stand for "a", and that of text is meant.
    assert [tokenizer.token_id(content) for content in (b"a", b"\n", b" a", b"<s>")] == [4, 2, 6, 0]
    with pytest.raises(ArgumentError, match="no token stands for the bytes b'x'"):
        tokenizer.token_id(b"x")


@pytest.mark.parametrize("unit", [b"ab ", "\u4e2d\u6587 ".encode()])
def test_encode__more_words_than_one_call_takes(unit: bytes) -> None:
    """Truth: by definition; without merges the ids of a text are its bytes."""
    tokenizer = Tokenizer(BYTES, [])
    text = unit * (MOST_SCANS * 8192)
    assert tokenizer.encode(text).tobytes() == np.frombuffer(text, np.uint8).astype("<u4").tobytes()
