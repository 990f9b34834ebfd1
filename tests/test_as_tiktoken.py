"""The methods of tiktoken.Encoding, beside the original with the same vocabulary."""

import copy
import inspect
import lzma
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken

import numbpe
from numbpe.adapters.tiktoken_encoding import TiktokenEncoding
from numbpe.definition import AddedToken, Prepend, TokenizerDefinition
from numbpe.vocabulary import Vocabulary

TEXT = "the cat sat on the mat. the dog, the   the\n\n cat's dogs \u4e2d\u6587 isn't  \t\n"
SPECIALS = ["<s>", "<|endoftext|>", "<s>x"]
BYTES = {byte: bytes([byte]) for byte in range(256)}


def make_original(encoding: TiktokenEncoding) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        encoding.name,
        pat_str=encoding._pat_str,
        mergeable_ranks=encoding._mergeable_ranks,
        special_tokens=encoding._special_tokens,
    )


@pytest.fixture(scope="module")
def encoding() -> TiktokenEncoding:
    tokenizer = numbpe.train(
        [TEXT * 3], 285, recipe="tiktoken", special_tokens=SPECIALS, progress=False
    )
    return tokenizer.as_tiktoken("small")  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def original(encoding: TiktokenEncoding) -> tiktoken.Encoding:
    return make_original(encoding)


def make_texts(n_texts: int, specials: list[str] = SPECIALS[:2]) -> list[str]:
    # Without "<s>x": whether tiktoken finds it or "<s>" depends on their order.
    generator = random.Random(4)
    parts = [*"thecatsdog  \n\t'.,\u4e2d\u00e9", "the ", " cat", "isn't", *specials]
    return ["".join(generator.choices(parts, k=generator.randrange(14))) for _ in range(n_texts)]


# The surface


def test_surface__equals_the_original(encoding: TiktokenEncoding) -> None:
    """Truth: tiktoken 0.14: the same public names, parameters, kinds and defaults."""
    names = [name for name in dir(tiktoken.Encoding) if not name.startswith("_")]
    assert len(names) >= 18
    for name in names:
        ours, theirs = getattr(TiktokenEncoding, name), getattr(tiktoken.Encoding, name)
        assert callable(ours) == callable(theirs), name
        if callable(theirs):
            pairs = zip(
                inspect.signature(ours).parameters.values(),
                inspect.signature(theirs).parameters.values(),
                strict=True,
            )
            for our, their in pairs:
                assert (our.name, our.kind, our.default) == (their.name, their.kind, their.default)


def test_properties__equal_the_original(
    encoding: TiktokenEncoding, original: tiktoken.Encoding
) -> None:
    """Truth: tiktoken 0.14."""
    for name in ("name", "n_vocab", "max_token_value", "special_tokens_set", "eot_token"):
        assert getattr(encoding, name) == getattr(original, name), name
    assert repr(encoding) == repr(original)
    assert encoding.token_byte_values() == original.token_byte_values()
    for token in range(encoding.n_vocab):
        assert encoding.is_special_token(token) == original.is_special_token(token)
        assert encoding.decode_single_token_bytes(token) == original.decode_single_token_bytes(
            token
        )
    bare = numbpe.Tokenizer(BYTES, []).as_tiktoken()
    with pytest.raises(KeyError, match="endoftext"):
        bare.eot_token  # noqa: B018


def test_copies__encode_alike(encoding: TiktokenEncoding) -> None:
    """Truth: property: a copy is equal in what it does."""
    text = "the cat<s>"
    for other in (
        pickle.loads(pickle.dumps(encoding)),
        copy.copy(encoding),
        copy.deepcopy(encoding),
    ):
        assert other.name == "small"
        assert other.encode(text, allowed_special="all") == encoding.encode(
            text, allowed_special="all"
        )


# Encoding


@pytest.mark.parametrize(
    "allowed, disallowed",
    [
        (set(), ()),
        ("all", "all"),
        ("all", ()),
        ({"<s>"}, ()),
        (frozenset({"<|endoftext|>"}), ()),
        ({"<s>", "<|endoftext|>", "unknown"}, "all"),
        ({"<s>"}, {"zz"}),
    ],
)
def test_encode__equals_the_original(
    encoding: TiktokenEncoding, original: tiktoken.Encoding, allowed: Any, disallowed: Any
) -> None:
    """Truth: tiktoken 0.14."""
    options = {"allowed_special": allowed, "disallowed_special": disallowed}
    texts = make_texts(300)
    expected = [original.encode(text, **options) for text in texts]
    assert [encoding.encode(text, **options) for text in texts] == expected
    assert encoding.encode_batch(texts, **options) == expected
    for text, ids in zip(texts, expected, strict=True):
        array = encoding.encode_to_numpy(text, **options)
        assert array.dtype == np.uint32
        assert array.tolist() == ids


def test_encode_ordinary__equals_the_original(
    encoding: TiktokenEncoding, original: tiktoken.Encoding
) -> None:
    """Truth: tiktoken 0.14; special tokens are text, unpaired surrogates become U+FFFD."""
    texts = [*make_texts(200, SPECIALS), "a\ud800b", "\ud83d\udc4d"]
    expected = [original.encode_ordinary(text) for text in texts]
    assert [encoding.encode_ordinary(text) for text in texts] == expected
    assert encoding.encode_ordinary_batch(texts, num_threads=2) == expected
    assert [encoding._encode_only_native_bpe(text) for text in texts] == expected
    assert encoding.encode("a\ud800b") == original.encode("a\ud800b")


def test_encode__finds_the_longest_special_token(encoding: TiktokenEncoding) -> None:
    """Truth: case D 56: leftmost, then longest; tiktoken depends on the order."""
    ids = encoding._special_tokens
    for allowed in ("all", {"<s>", "<s>x"}):
        assert encoding.encode("<s>x<s>", allowed_special=allowed) == [ids["<s>x"], ids["<s>"]]


@pytest.mark.parametrize(
    "text, options",
    [
        ("a<s>", {}),
        ("a<|endoftext|>b", {"allowed_special": {"<s>"}}),
        ("a cat", {"disallowed_special": {"cat"}}),
        ("a cat", {"disallowed_special": ["b", "cat"], "allowed_special": "all"}),
        ("a<s>", {"allowed_special": "all", "disallowed_special": {"<s>"}}),
    ],
)
def test_encode__raises_what_the_original_raises(
    encoding: TiktokenEncoding, original: tiktoken.Encoding, text: str, options: Any
) -> None:
    """Truth: tiktoken 0.14: ValueError with the same words, for every call."""
    with pytest.raises(ValueError, match="disallowed special token") as expected:
        original.encode(text, **options)
    for name in ("encode", "encode_to_numpy", "encode_with_unstable"):
        with pytest.raises(ValueError, match="disallowed special token") as found:
            getattr(encoding, name)(text, **options)
        assert str(found.value) == str(expected.value)
    with pytest.raises(ValueError, match="disallowed special token"):
        encoding.encode_batch(["", text], **options)


def test_calls__refuse_other_types(encoding: TiktokenEncoding, original: tiktoken.Encoding) -> None:
    """Truth: tiktoken 0.14 raises TypeError for each of these."""
    calls: list[tuple[str, Any, dict[str, Any]]] = [
        *((name, value, {}) for name in ("encode", "encode_ordinary") for value in (5, None, b"a")),
        ("encode_batch", 5, {}),
        ("encode_batch", [b"a"], {}),
        ("encode", "a", {"allowed_special": None}),
        ("encode", "a", {"disallowed_special": 5}),
        ("encode_single_token", 5, {}),
        ("_encode_bytes", "a", {}),
        *(("decode", value, {}) for value in (None, 5, "a", [1.5], ["a"], [[1]])),
        *(("decode_single_token_bytes", value, {}) for value in (None, "a", 1.5)),
    ]
    for name, value, options in calls:
        for target in (original, encoding):
            with pytest.raises(TypeError):
                getattr(target, name)(value, **options)
    for target in (original, encoding):
        with pytest.raises(ValueError, match="max_workers|num_threads"):
            target.encode_batch(["a"], num_threads=0)
        with pytest.raises(AssertionError):
            target.is_special_token("a")  # type: ignore[arg-type]


def test_encode_single_token__equals_the_original(
    encoding: TiktokenEncoding, original: tiktoken.Encoding
) -> None:
    """Truth: tiktoken 0.14; KeyError for what is no token."""
    for content in ("the", b" the", "<s>", b"<|endoftext|>", b"\xff", "a"):
        assert encoding.encode_single_token(content) == original.encode_single_token(content)
    for content in ("zzz", b"", b"\xff\xff"):
        for target in (original, encoding):
            with pytest.raises(KeyError):
                target.encode_single_token(content)


@pytest.mark.parametrize("allowed", [set(), "all"])
def test_encode_with_unstable__equals_the_original(
    encoding: TiktokenEncoding, original: tiktoken.Encoding, allowed: Any
) -> None:
    """Truth: tiktoken 0.14; its completions are in no order."""
    options = {"allowed_special": allowed, "disallowed_special": ()}
    for text in make_texts(200):
        stable, completions = encoding.encode_with_unstable(text, **options)
        expected_stable, expected = original.encode_with_unstable(text, **options)
        assert stable == expected_stable
        assert sorted(completions) == sorted(expected), repr(text)


def test_private_calls__equal_the_original(
    encoding: TiktokenEncoding, original: tiktoken.Encoding
) -> None:
    """Truth: tiktoken 0.14, on bytes that are UTF-8 or not (case C 55)."""
    generator = random.Random(6)
    for _ in range(500):
        data = bytes(generator.choices(b"the cat\n \xe4\xb8\xad\xff", k=generator.randrange(1, 14)))
        assert encoding._encode_bytes(data) == original._encode_bytes(data), data
        assert encoding._encode_single_piece(data) == original._encode_single_piece(data), data
    assert encoding._encode_bytes(b"") == []


# Decoding


def test_decode__equals_the_original(
    encoding: TiktokenEncoding, original: tiktoken.Encoding
) -> None:
    """Truth: tiktoken 0.14, on the ids of texts and on random ids."""
    generator = random.Random(7)
    batch = [original.encode(text, allowed_special="all") for text in make_texts(100)]
    batch += [generator.choices(range(encoding.n_vocab), k=generator.randrange(9)) for _ in batch]
    for ids in batch:
        for name in ("decode", "decode_bytes", "decode_tokens_bytes"):
            assert getattr(encoding, name)(ids) == getattr(original, name)(ids)
        assert encoding.decode(ids, "ignore") == original.decode(ids, "ignore")
    for ids in batch[:100]:
        assert encoding.decode_with_offsets(ids) == original.decode_with_offsets(ids)
    assert encoding.decode_batch(batch) == original.decode_batch(batch)
    assert encoding.decode_batch(batch, errors="ignore", num_threads=2) == original.decode_batch(
        batch, errors="ignore"
    )
    assert encoding.decode_bytes_batch(batch) == original.decode_bytes_batch(batch)


@pytest.mark.parametrize(
    "ids, kind",
    [
        ([97, 999], KeyError),
        ([-1], OverflowError),
        ([2**32], OverflowError),
        ([2**64], OverflowError),
    ],
)
def test_decode__raises_what_the_original_raises(
    encoding: TiktokenEncoding, original: tiktoken.Encoding, ids: list[int], kind: Any
) -> None:
    """Truth: tiktoken 0.14; ours names the position too."""
    for name in ("decode", "decode_bytes", "decode_tokens_bytes"):
        for target in (original, encoding):
            with pytest.raises(kind):
                getattr(target, name)(ids)
    for target in (original, encoding):
        with pytest.raises(kind):
            target.decode_single_token_bytes(ids[-1])
        with pytest.raises(kind):
            target.decode_batch([[97], ids])
    with pytest.raises(kind, match=f"position {len(ids) - 1}"):
        encoding.decode(ids)
    with pytest.raises(UnicodeDecodeError):
        encoding.decode([0xE4], errors="strict")
    with pytest.raises(UnicodeDecodeError):
        encoding.decode_with_offsets([0xE4])


# Other tokenizers


def test_as_tiktoken__keeps_added_tokens_that_merging_makes() -> None:
    """Truth: by definition: an added token that the model has is no special token, but is found
    before merging as it always is."""
    vocabulary = Vocabulary.from_tokens(
        BYTES | {256: b"ab", 257: b"abc", 258: b"<s>"},
        [(b"a", b"b"), (b"ab", b"c")],
        special_tokens={"<s>": 258},
    )
    added = (AddedToken("ab", 256, special=False), AddedToken("<s>", 258))
    tokenizer = numbpe.Tokenizer.from_definition(
        TokenizerDefinition(vocabulary, added_tokens=added)
    )
    encoding = tokenizer.as_tiktoken()
    assert encoding.special_tokens_set == {"<s>"}
    assert encoding.encode_ordinary("abc<s>") == [256, 99, *b"<s>"]
    assert encoding.encode("abc<s>", allowed_special="all") == [256, 99, 258]


def test_as_tiktoken__says_what_it_cannot_do() -> None:
    """Truth: the message names the reason."""
    vocabulary = Vocabulary.from_tokens(BYTES, [], pattern=["a", "b"])
    definition = TokenizerDefinition(vocabulary, preparation=(Prepend(" "),))
    encoding = numbpe.Tokenizer.from_definition(definition).as_tiktoken()
    assert encoding.encode("x") == [32, 120]
    with pytest.raises(AttributeError, match="2 regular expressions cut text"):
        encoding._pat_str  # noqa: B018
    with pytest.raises(NotImplementedError, match="changes text before it is encoded"):
        encoding.encode_with_unstable("x")


def test_gpt2__equals_the_original(shared_data: Path, tmp_path: Path) -> None:
    """Truth: tiktoken 0.14 with GPT-2's ranks, on the texts of the CS336 course."""
    path = tmp_path / "gpt2.json"
    path.write_bytes(lzma.decompress((shared_data / "tokenizers" / "gpt2.json.xz").read_bytes()))
    encoding = numbpe.load(path).as_tiktoken("gpt2")
    original = make_original(encoding)
    for name in ("address.txt", "german.txt", "tinystories_sample.txt"):
        text = (shared_data / "cs336" / name).read_bytes().decode()
        ids = encoding.encode(text, allowed_special="all")
        assert ids == original.encode(text, allowed_special="all")
        assert encoding.decode(ids) == text
    assert encoding.eot_token == 50256
    stable, completions = encoding.encode_with_unstable("hello fanta")
    expected_stable, expected = original.encode_with_unstable("hello fanta")
    assert stable == expected_stable
    assert sorted(completions) == sorted(expected)
