"""Batches of ids: a sequence of arrays, cut and padded as tokenizers does it."""

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tokenizers

from numbpe.batches import PaddedBatch, TokenBatch
from numbpe.errors import ArgumentError

TEXTS = [[1, 2, 3], [], [4, 5, 6, 7, 8, 9, 10], [11]]
LENGTHS = [3, 0, 7, 1, 12, 5, 6]


@pytest.fixture
def batch() -> TokenBatch:
    return TokenBatch.from_list(TEXTS)


def make_other() -> tokenizers.Tokenizer:
    """A tokenizer of tokenizers whose ids are the numbers that a text spells."""
    vocab = {str(number): number for number in range(200)}
    other = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, unk_token="0"))
    other.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    return other


def make_texts(lengths: list[int]) -> list[list[int]]:
    return [list(range(10 * row + 1, 10 * row + 1 + n)) for row, n in enumerate(lengths)]


def spell(texts: list[list[int]]) -> list[str]:
    return [" ".join(map(str, ids)) for ids in texts]


# A sequence


def test_token_batch__is_a_sequence_of_arrays(batch: TokenBatch) -> None:
    """Truth: the lists that it was made of."""
    assert len(batch) == 4
    assert [ids.tolist() for ids in batch] == [batch[i].tolist() for i in range(4)] == TEXTS
    assert batch[-2].tolist() == TEXTS[-2]
    assert batch[np.int64(0)].dtype == np.uint32
    assert np.shares_memory(batch[2], batch.values)
    assert batch.to_list() == TEXTS
    assert batch.lengths.tolist() == [3, 0, 7, 1]
    assert repr(batch) == "TokenBatch(4 texts, 11 tokens)"
    for row in (4, -5):
        with pytest.raises(IndexError, match=f"no text {row}; the batch has 4 texts"):
            batch[row]


@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(1, 3),
        slice(-1, None),
        slice(3, 1),
        slice(9, 12),
        slice(None, None, -1),
        slice(0, 4, 2),
        slice(3, 0, -2),
    ],
)
def test_getitem__slices(batch: TokenBatch, key: slice) -> None:
    """Truth: the slice of the list."""
    part = batch[key]
    assert part.to_list() == TEXTS[key]
    assert part == TokenBatch.from_list(TEXTS[key])


def test_take__chooses_texts(batch: TokenBatch) -> None:
    """Truth: by hand."""
    assert batch.take([2, 0, -1, 2]).to_list() == [TEXTS[i] for i in (2, 0, -1, 2)]
    assert batch.take(batch.lengths.argsort()).lengths.tolist() == [0, 1, 3, 7]
    assert batch.take([]).to_list() == []
    with pytest.raises(IndexError, match="the batch has 4 texts"):
        batch.take([4])


def test_eq__compares_contents(batch: TokenBatch) -> None:
    """Truth: by definition: equal texts in equal order."""
    assert batch == TokenBatch(np.arange(1, 12), [0, 3, 3, 10, 11])
    assert batch != TokenBatch(np.arange(1, 12), [0, 3, 4, 10, 11])
    assert batch != TokenBatch(np.arange(2, 13), [0, 3, 3, 10, 11])
    assert batch != TEXTS
    with pytest.raises(TypeError, match="unhashable"):
        hash(batch)


def test_token_batch__pickles(batch: TokenBatch) -> None:
    """Truth: the same batch; of a slice only its own ids are written."""
    for part in (batch, batch[1:3], TokenBatch.from_list([])):
        assert pickle.loads(pickle.dumps(part)) == part
    large = TokenBatch.from_list([[1] * 100_000, [2]])
    assert len(pickle.dumps(large[1:])) < 1000


def test_token_batch__keeps_arrays() -> None:
    """Truth: the docstring: arrays of the right types are not copied."""
    values, offsets = np.arange(3, dtype=np.uint32), np.array([0, 1, 3])
    batch = TokenBatch(values, offsets)
    assert batch.values is values
    assert batch.offsets is offsets


@pytest.mark.parametrize(
    "values, offsets, message",
    [
        ([1, 2], [0, 1], "end with 2"),
        ([1, 2], [1, 2], "begin with 0"),
        ([1, 2], [0, 2, 1, 2], "not decrease"),
        ([1, 2], [], "begin with 0"),
        ([1, -2], [0, 2], "id -2 at position 1: ids are from 0 to 4294967295"),
        ([2**32], [0, 1], "id 4294967296 at position 0"),
        ([1.5], [0, 1], "1.5 at position 0: ids must be integers"),
        ([1], [0, 1.0], "1.0 at position 1"),
        ([[1]], [0, 1], "not of lists"),
    ],
)
def test_token_batch__refuses_what_does_not_fit(values: Any, offsets: Any, message: str) -> None:
    """Truth: the message says what was found and what is allowed."""
    with pytest.raises(ArgumentError, match=message):
        TokenBatch(values, offsets)


def test_from_list__says_what_is_wrong() -> None:
    """Truth: the message names text and position."""
    with pytest.raises(ArgumentError, match="text 1: cannot take 'a' at position 0"):
        TokenBatch.from_list([[1], ["a"]])
    with pytest.raises(ArgumentError, match="cannot take id -1"):
        TokenBatch.from_list([[1], [-1]])


# Arrow


def test_to_arrow__copies_nothing(batch: TokenBatch) -> None:
    """Truth: pyarrow reads the same lists from the same memory."""
    array = batch.to_arrow()
    array.validate(full=True)
    assert array.type == pa.large_list(pa.uint32())
    assert array.to_pylist() == TEXTS
    assert array.values.buffers()[1].address == batch.values.ctypes.data
    assert batch[2:].to_arrow().to_pylist() == TEXTS[2:]
    assert TokenBatch.from_list([]).to_arrow().to_pylist() == []
    assert TokenBatch.from_list([[]]).to_arrow().to_pylist() == [[]]


def test_from_arrow__reads_any_list_of_integers(batch: TokenBatch) -> None:
    """Truth: the same lists."""
    arrays = [
        batch.to_arrow(),
        pa.array(TEXTS, pa.list_(pa.int16())),
        pa.chunked_array([TEXTS[:1], TEXTS[1:]], pa.large_list(pa.uint64())),
        pa.array([[9], *TEXTS], pa.list_(pa.int64()))[1:],
    ]
    for array in arrays:
        assert TokenBatch.from_arrow(array) == batch
    pairs = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int32(), 2))
    assert TokenBatch.from_arrow(pairs[1:]).to_list() == [[3, 4], [5, 6]]
    assert len(TokenBatch.from_arrow(pa.chunked_array([], pa.list_(pa.int64())))) == 0
    with pytest.raises(ArgumentError, match="nulls"):
        TokenBatch.from_arrow(pa.array([[1], None]))
    with pytest.raises(ArgumentError, match="one of lists of integers"):
        TokenBatch.from_arrow(pa.array([[1.5]]))
    with pytest.raises(ArgumentError, match="id -1 at position 0"):
        TokenBatch.from_arrow(pa.array([[-1]]))


# Cutting


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("max_length", [1, 2, 5, 7, 100])
def test_truncated__equals_tokenizers(max_length: int, side: Any) -> None:
    """Truth: tokenizers 0.23.3, enable_truncation(max_length, direction=side)."""
    texts = make_texts(LENGTHS)
    other = make_other()
    other.enable_truncation(max_length, direction=side)
    expected = [encoding.ids for encoding in other.encode_batch(spell(texts))]
    assert TokenBatch.from_list(texts).truncated(max_length, side).to_list() == expected


def test_truncated__to_nothing(batch: TokenBatch) -> None:
    """Truth: by definition."""
    assert batch.truncated(0).to_list() == [[], [], [], []]
    assert TokenBatch.from_list([]).truncated(3).to_list() == []


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("max_length, stride", [(1, 0), (2, 1), (3, 1), (5, 0), (5, 4), (99, 98)])
def test_windows__equal_tokenizers(max_length: int, stride: int, side: Any) -> None:
    """Truth: tokenizers 0.23.3: an encoding and those that overflow from it, in their order."""
    texts = make_texts(LENGTHS)
    other = make_other()
    other.enable_truncation(max_length, stride=stride, direction=side)
    expected, rows = [], []
    for row, encoding in enumerate(other.encode_batch(spell(texts))):
        for part in [encoding, *encoding.overflowing]:
            expected.append(part.ids)
            rows.append(row)
    windows, text_rows = TokenBatch.from_list(texts).windows(max_length, stride, side)
    assert windows.to_list() == expected
    assert text_rows.tolist() == rows


def test_windows__of_no_texts() -> None:
    """Truth: by definition: no text, no window; an empty text is one."""
    windows, rows = TokenBatch.from_list([]).windows(4, 2)
    assert (windows.to_list(), rows.tolist()) == ([], [])
    windows, rows = TokenBatch.from_list([[], []]).windows(4, 2)
    assert (windows.to_list(), rows.tolist()) == ([[], []], [0, 1])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda batch: batch.truncated(-1), "max_length must be an integer of 0 or more, not -1"),
        (lambda batch: batch.truncated(2.0), "max_length must be an integer"),
        (lambda batch: batch.truncated(True), "max_length must be an integer"),
        (lambda batch: batch.truncated(2, "top"), 'side must be "right" or "left", not \'top\''),
        (lambda batch: batch.windows(0), "max_length must be an integer of 1 or more"),
        (lambda batch: batch.windows(3, 3), "stride must be below max_length, which is 3, not 3"),
        (lambda batch: batch.windows(3, -1), "stride must be an integer of 0 or more"),
        (lambda batch: batch.windows(3, 1, None), "side must be"),
        (lambda batch: batch.padded(0, 6), r"text 2 has 7 tokens .* to 6; .*truncated\(6\)"),
        (lambda batch: batch.padded(0, -1), "length must be an integer of 0 or more"),
        (lambda batch: batch.padded(0, multiple_of=0), "multiple_of must be an integer of 1"),
        (lambda batch: batch.padded(0, side="up"), "side must be"),
        (lambda batch: batch.padded(-1), "pad_id -1 does not fit into uint32"),
        (lambda batch: batch.padded(0.5), "pad_id must be an integer"),
        (lambda batch: batch.padded(None), "pad_id must be an integer"),
        (lambda batch: batch.padded(0, dtype=float), "dtype must be an integer type"),
        (lambda batch: (batch.values.fill(200), batch.padded(0, dtype="int8")), "the id 200 does"),
    ],
)
def test_shapes__say_what_is_wrong(batch: TokenBatch, call: Any, message: str) -> None:
    """Truth: the message names the argument and what it may be."""
    with pytest.raises(ArgumentError, match=message):
        call(batch)


# Padding


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("length", [None, 12, 13])
@pytest.mark.parametrize("multiple_of", [None, 1, 5, 8])
def test_padded__equals_tokenizers(length: Any, multiple_of: Any, side: Any) -> None:
    """Truth: tokenizers 0.23.3, enable_padding of the same arguments."""
    texts = make_texts(LENGTHS)
    other = make_other()
    other.enable_padding(direction=side, pad_id=77, length=length, pad_to_multiple_of=multiple_of)
    encodings = other.encode_batch(spell(texts))
    padded = TokenBatch.from_list(texts).padded(77, length, side, multiple_of, np.int64)
    assert isinstance(padded, PaddedBatch)
    assert padded.ids.tolist() == [encoding.ids for encoding in encodings]
    assert padded.mask.tolist() == [encoding.attention_mask for encoding in encodings]
    assert padded.ids.dtype == padded.mask.dtype == np.int64


def test_padded__edges(batch: TokenBatch) -> None:
    """Truth: by definition."""
    assert TokenBatch.from_list([]).padded(0).ids.shape == (0, 0)
    assert TokenBatch.from_list([]).padded(0, 4).mask.shape == (0, 4)
    assert TokenBatch.from_list([[], []]).padded(0).ids.shape == (2, 0)
    assert TokenBatch.from_list([[], []]).padded(5, 2).ids.tolist() == [[5, 5], [5, 5]]
    ids, mask = batch[:1].padded(-100, 5, dtype=np.int16)
    assert ids.tolist() == [[1, 2, 3, -100, -100]]
    assert mask.tolist() == [[1, 1, 1, 0, 0]]
    assert batch.padded(0).ids.dtype == np.uint32
