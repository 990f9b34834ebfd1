"""Ids to bytes and text: every kind of input, every kind of rule, and the published tokenizers."""

import array
import lzma
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tokenizers

import numbpe
from numbpe.batches import TokenBatch
from numbpe.decoder import Decoder
from numbpe.definition import AddedToken, DecodingRules, TokenizerDefinition
from numbpe.errors import ArgumentError
from numbpe.vocabulary import Vocabulary

BLOCK = "\u2581".encode()
PLAIN = DecodingRules()
TO_SPACE = ((BLOCK, b" "),)
TOKENS = {
    0: b"<unk>",
    1: b"<s>",
    2: b"<0x41>",
    3: b"<0xe4>",
    4: "\u2581the".encode(),
    5: BLOCK,
    6: "\u2581\u2581".encode(),
    8: "a\u2581b".encode(),
    9: b"<0x4>",
    10: b"<0xGG>",
    11: "\u4e2d".encode(),
    12: b"x<0x41>",
}


def make_decoder(rules: DecodingRules = PLAIN, tokens: dict[int, bytes] = TOKENS) -> Decoder:
    special = {"<s>": 1} if tokens.get(1) == b"<s>" else {}
    vocabulary = Vocabulary.from_tokens(tokens, [], special_tokens=special)
    added = tuple(AddedToken(name, id) for name, id in special.items())
    return Decoder(TokenizerDefinition(vocabulary, added_tokens=added, decoding=rules))


def make_byte_decoder() -> Decoder:
    return make_decoder(tokens={byte: bytes([byte]) for byte in range(256)} | {300: b"long token!"})


class Tensor:
    """What tensors of other libraries have in common."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)


# Rules


def test_decode_bytes__applies_the_rules_to_each_token() -> None:
    """Truth: the docstring of DecodingRules, by hand."""
    decoder = make_decoder(DecodingRules(TO_SPACE, byte_fallback=True))
    assert decoder.decode_bytes([4, 5, 6, 8]) == b" the   a b"
    assert decoder.decode_bytes([2, 3, 9, 10, 12]) == b"A\xe4<0x4><0xGG>x<0x41>"
    assert [decoder.token_bytes(id) for id in (2, 4, 11)] == [b"A", b" the", b"\xe4\xb8\xad"]
    assert list(decoder.to_dict()) == list(TOKENS)
    assert decoder.to_dict()[6] == b"  "
    assert decoder.byte_token_ids == {2, 3}
    plain = make_decoder()
    assert plain.decode_bytes([2, 4]) == "<0x41>\u2581the".encode()
    assert plain.byte_token_ids == frozenset()
    assert plain.to_dict() == TOKENS


def test_decode_bytes__replaces_nothing_across_tokens() -> None:
    """Truth: by hand: the replacement is of one token's spelling; raw bytes that are not UTF-8 take
    another way, with the same result."""
    for extra in (b"z", b"\xff"):
        tokens = {0: b"a", 1: b"b", 2: b"ab", 3: extra, 4: b"aab"}
        decoder = make_decoder(DecodingRules(((b"ab", b"-"), (b"-", b"+*"))), tokens)
        assert decoder.decode_bytes([0, 1, 2, 3, 4] * 2) == (b"ab+*" + extra + b"a+*") * 2
        assert decoder.decode_bytes([0, 1, 2, 3, 4] * 20) == (b"ab+*" + extra + b"a+*") * 20


@pytest.mark.parametrize("n_times", [1, 50])
def test_decode_bytes__strips_the_whole(n_times: int) -> None:
    """Truth: the docstring of DecodingRules, by hand, for short texts and for those of kernels."""
    rules = DecodingRules(TO_SPACE, strip_left=1, strip_right=3)
    decoder = make_decoder(rules)
    middle = [8] * n_times
    text = b"a b" * n_times
    assert decoder.decode_bytes([5, *middle, 6, 6]) == text + b" "
    assert decoder.decode_bytes([6, *middle, 5]) == b" " + text
    assert decoder.decode_bytes([1, 5, *middle]) == b"<s> " + text
    assert decoder.decode_bytes([1, 5, *middle], True) == text
    assert decoder.decode_bytes([5]) == decoder.decode_bytes([]) == b""
    assert decoder.decode_batch([[5, *middle], [], [6]], "strict", False) == [text.decode(), "", ""]


@pytest.mark.parametrize("n_times", [1, 50])
def test_decode_bytes__drops_the_metaspace_of_the_first_token(n_times: int) -> None:
    """Truth: tokenizers 0.23.3: its Metaspace decoder drops every U+2581 of the first token."""
    decoder = make_decoder(DecodingRules(TO_SPACE, drops_first_metaspace=True))
    other = tokenizers.decoders.Metaspace()
    spelled = [TOKENS[id].decode() for id in (8, 4)] + ["\u4e2d"] * n_times
    ids = [8, 4] + [11] * n_times
    assert decoder.decode_bytes(ids).decode() == other.decode(spelled)
    assert decoder.decode_bytes([1, *ids], True).decode() == other.decode(spelled)
    assert decoder.decode_bytes(iter([6])) == b""
    assert decoder.decode_bytes([1], True) == b""


# Inputs

SAME_IDS = [
    [1, 2, 3],
    (1, 2, 3),
    range(1, 4),
    iter([1, 2, 3]),
    [np.uint64(1), np.int8(2), 3],
    *(np.array([1, 2, 3], dtype=kind) for kind in "bBhHiIlLqQ"),
    np.array([1, 2, 3], dtype=">i4"),
    np.array([1, 9, 2, 9, 3, 9], dtype=np.uint32)[::2],
    np.array([3, 2, 1])[::-1],
    np.frombuffer(b"\1\2\3", dtype=np.uint8),
    np.array([1, 2, 3], dtype=object),
    array.array("H", [1, 2, 3]),
    memoryview(array.array("q", [1, 2, 3])),
    pa.array([1, 2, 3], pa.uint16()),
    pa.chunked_array([[1], [2, 3]]),
    Tensor([1, 2, 3]),
]


@pytest.mark.parametrize("ids", SAME_IDS, ids=lambda ids: f"{type(ids).__name__}")
def test_decode_bytes__takes_integers_of_any_kind(ids: Any) -> None:
    """Truth: the bytes 1, 2 and 3."""
    assert make_byte_decoder().decode_bytes(ids) == b"\1\2\3"


def test_decode_bytes__leaves_arrays_as_they_are() -> None:
    """Truth: a read-only array stays read-only, and unchanged."""
    ids = np.arange(100)
    ids.flags.writeable = False
    assert make_byte_decoder().decode_bytes(ids) == bytes(range(100))
    assert not ids.flags.writeable


@pytest.mark.parametrize("n_before", [0, 100])
@pytest.mark.parametrize(
    "bad", [-1, 256, 299, 301, 10**7, 2**32, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**64)]
)
def test_decode_bytes__says_which_id_no_token_has(bad: int, n_before: int) -> None:
    """Truth: cases E 72 and 73: id and position are named, however long the list."""
    ids = [65] * n_before + [bad, 66, -5]
    decoder = make_byte_decoder()
    containers: list[Any] = [ids, tuple(ids)]
    if -(2**63) <= bad < 2**63:
        containers += [np.array(ids), pa.array(ids), decoder_batch_of(ids)]
    elif bad > 0:
        containers += [np.array(ids[:-1], dtype=np.uint64 if bad < 2**64 else object)]
    for container in containers:
        with pytest.raises(ArgumentError, match=rf"decode id {bad} at position {n_before}: no tok"):
            decoder.decode_bytes(container)
    with pytest.raises(ArgumentError, match=rf"id {bad} at position {n_before}"):
        decoder.decode_batch([[65], ids], "replace", False)


def decoder_batch_of(ids: list[int]) -> list[Any]:
    return [np.int64(id) for id in ids]


@pytest.mark.parametrize(
    "ids, message",
    [
        (None, "ids must be a list or a flat array of integers, not NoneType"),
        ("12", "cannot decode '12': ids must be a list or a flat array of integers, not str"),
        (b"12", "not bytes"),
        ({1: 2}, "not dict"),
        ({1, 2}, "not set"),
        (5, r"for one id write \[5\]"),
        (np.int64(5), r"for one id write \[5\]"),
        (object(), "not object"),
        ([1.0], "cannot decode 1.0 at position 0: ids must be integers, not float"),
        ([1, None], "cannot decode None at position 1: ids must be integers, not NoneType"),
        ([True], "cannot decode True at position 0: ids must be integers, not bool"),
        (["a"], "cannot decode 'a' at position 0"),
        ([1, np.float32(2)], "at position 1: ids must be integers, not float32"),
        ([1, [2]], "position 1: ids must be a list of integers, not of lists; .* decode_batch"),
        ([[1], [2]], "position 0: ids must be a list of integers, not of lists"),
        (np.array([1.0, 2.0]), r"an array of float64: .* convert them with \.astype"),
        (np.array([True]), "an array of bool"),
        (np.array(["a"]), "an array of <U1"),
        (np.array([[1, 2]]), r"an array of shape \(1, 2\)"),
        (np.array(5), r"an array of shape \(\)"),
        (pa.array([1, None]), "cannot decode None at position 1"),
        (pa.array([1.5]), "an array of double|an array of float64"),
        (pa.array([[1], [2]]), "position 0: ids must be a list of integers, not of lists"),
    ],
)
def test_decode_bytes__refuses_what_holds_no_ids(ids: Any, message: str) -> None:
    """Truth: the message says what was found and what is allowed."""
    with pytest.raises(ArgumentError, match=message):
        make_byte_decoder().decode_bytes(ids)


def test_decode_bytes__takes_nothing() -> None:
    """Truth: no ids, no bytes."""
    decoder = make_byte_decoder()
    for ids in ([], (), range(0), np.array([]), np.empty(0, np.uint8), pa.array([], pa.int8())):
        assert decoder.decode_bytes(ids) == b""


# Batches


def test_decode_batch__equals_text_by_text() -> None:
    """Truth: decode_bytes of every text, for every kind of batch."""
    decoder = make_byte_decoder()
    texts: list[list[int]] = [[72, 105], [], [300], [0xE4, 0xB8], list(range(256)) * 3]
    expected = [decoder.decode_bytes(ids).decode("utf-8", "replace") for ids in texts]
    batches: list[Any] = [
        texts,
        iter(texts),
        [np.array(ids, dtype=np.uint16) for ids in texts],
        TokenBatch.from_list(texts),
        TokenBatch.from_list([[1], *texts])[1:],
        pa.array(texts),
        pa.array([[1], *texts], pa.large_list(pa.int32()))[1:],
        pa.chunked_array([texts[:2], texts[2:]], pa.list_(pa.uint16())),
    ]
    for batch in batches:
        assert decoder.decode_batch(batch, "replace", False) == expected
    assert decoder.decode_batch([], "strict", False) == []
    assert decoder.decode_batch(np.array([[72, 105], [33, 33]]), "strict", False) == ["Hi", "!!"]
    with pytest.raises(UnicodeDecodeError):
        decoder.decode_batch(texts, "strict", False)


@pytest.mark.parametrize(
    "batch, message",
    [
        ([[65], [66, 999]], "id 999 at position 1 of text 1"),
        ([[65], [], [-1]], "id -1 at position 0 of text 2"),
        ([[65], [2**70]], f"text 1: cannot decode id {2**70} at position 0"),
        ([[65], ["a"]], "text 1: cannot decode 'a' at position 0"),
        ([[65], None], "text 1: cannot decode None"),
        ([65, 66], "text 0: cannot decode 65"),
        ("text", "a batch must be a TokenBatch or a list of lists of integers, not str"),
        (None, "not NoneType"),
        (7, "not int"),
        (pa.array([1, 2]), "a pyarrow array of int64: it must be one of lists of integers"),
        (pa.array([[1], None]), "a pyarrow array with nulls"),
        (pa.array([[1, None]]), "a pyarrow array with nulls"),
    ],
)
def test_decode_batch__says_what_is_wrong(batch: Any, message: str) -> None:
    """Truth: the message, which names text and position."""
    with pytest.raises(ArgumentError, match=message):
        make_byte_decoder().decode_batch(batch, "replace", False)


def test_decode__skips_special_tokens() -> None:
    """Truth: by hand: only id 1 is a special token."""
    decoder = make_decoder()
    for n_times in (1, 50):
        assert decoder.decode_bytes([1, 11, 1, 0] * n_times, True) == (
            "\u4e2d<unk>".encode() * n_times
        )
    assert decoder.decode_batch([[1], [1, 0]], "strict", True) == ["", "<unk>"]
    with pytest.raises(ArgumentError, match="id 7 at position 1"):
        decoder.decode_bytes([1, 7], True)


def test_decode_bytes__short_calls_are_quick() -> None:
    """Truth: a bound ten times what one call of 5 ids takes, 2 microseconds."""
    decoder = make_byte_decoder()
    ids = [72, 101, 108, 108, 111]
    decoder.decode_bytes(ids)

    def measure() -> float:
        start = time.perf_counter()
        for _ in range(200):
            decoder.decode_bytes(ids)
        return (time.perf_counter() - start) / 200

    assert min(measure() for _ in range(10)) < 20e-6


# Published tokenizers

PUBLISHED = ["gpt2", "llama3_1", "qwen3", "deepseek_v3", "gptoss", "gpt4o", "llama2", "gemma3"]


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("name", PUBLISHED)
def test_decode__equals_tokenizers(name: str, shared_data: Path, tmp_path: Path) -> None:
    """Truth: tokenizers 0.23.3 on random ids and on ids of text, where the bytes are UTF-8 or the
    vocabulary is one of bytes. (tokenizers gives one U+FFFD for each byte token of a run that is
    not UTF-8, bytes.decode one for each longest part.)"""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(lzma.decompress((shared_data / "tokenizers" / f"{name}.json.xz").read_bytes()))
    tokenizer = numbpe.load(path)
    other = tokenizers.Tokenizer.from_file(str(path))
    text = " h\u00e9llo w\u00f6rld \u4e2d\u6587 \U0001f600 \n\n\t  <s> x \u16a0  == 'social' , b . "
    generator = random.Random(3)
    known = list(tokenizer.vocab)
    batches = [other.encode(text * n_times).ids for n_times in (1, 20)]
    batches += [generator.choices(known, k=generator.choice((0, 1, 2, 5, 90))) for _ in range(500)]
    n_compared = 0
    for skip in (False, True):
        texts = tokenizer.decode_batch(batches, skip_special_tokens=skip)
        for ids, text in zip(batches, texts, strict=True):
            data = tokenizer.decode_bytes(ids, skip_special_tokens=skip)
            assert data.decode("utf-8", "replace") == text
            if is_utf8(data) or name not in ("llama2", "gemma3"):
                assert text == other.decode(ids, skip_special_tokens=skip)
                n_compared += 1
    assert n_compared > 800
