"""Rows to text, canonical rows, batches of rows, and what is said of rows that cannot be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numbpe.combinatorial.reference import ReferenceTokenizer
from numbpe.combinatorial.row_batches import RowBatch
from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.errors import ArgumentError, DataError


@pytest.fixture(scope="module")
def tokenizer(samples: Any) -> CombinatorialTokenizer:
    vocabulary = samples.make_vocabulary(("<|end|>",), fold_han=True)
    return CombinatorialTokenizer(vocabulary)


def make_rows(
    tokenizer: CombinatorialTokenizer, n: int, generator: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.int32]]:
    sizes = list(tokenizer.sizes.values())
    return generator.integers(0, sizes, (n, 4)).astype(np.int32)


def test_decode__equals_the_specification_for_any_rows(tokenizer: CombinatorialTokenizer) -> None:
    """Truth: combinatorial/reference.py on seeded random rows, most of which no text has."""
    generator = np.random.default_rng(11)
    rows = make_rows(tokenizer, 3_000, generator)
    special = tokenizer.special_tokens["<|end|>"]
    rows[rows[:, 2] == special, 0] = 0
    expected = ReferenceTokenizer(tokenizer.vocabulary).decode_bytes(rows.tolist())
    assert tokenizer.decode_bytes(rows) == expected
    assert tokenizer.decode(rows) == expected.decode("utf-8", "replace")
    assert b"".join(tokenizer.token_bytes(row) for row in rows[:300]) == tokenizer.decode_bytes(
        rows[:300]
    )
    assert tokenizer.decode_bytes([[3, 0, special, 1]]) == b"<|end|>,"
    batch = RowBatch.from_list([rows[:10], rows[:0], rows[10:90]])
    assert tokenizer.decode_batch(batch) == [tokenizer.decode(part) for part in batch]
    assert tokenizer.decode([]) == ""


def test_decoder__equals_decode_wherever_rows_are_cut(tokenizer: CombinatorialTokenizer) -> None:
    """Truth: decode of all rows."""
    rows = make_rows(tokenizer, 400, np.random.default_rng(12))
    decoder = tokenizer.decoder()
    text = "".join(decoder.feed(rows[i : i + 3]) for i in range(0, len(rows), 3))
    assert text + decoder.finish() == tokenizer.decode(rows)
    emoji = tokenizer.encode("\U0001f600")
    assert [decoder.feed([row]) for row in emoji] == ["", "", "", "\U0001f600"]
    assert decoder.feed(emoji[:2]) + decoder.finish() == "\ufffd"
    with pytest.raises(ArgumentError, match="errors must be the name of a way .*not \"?'?odd"):
        tokenizer.decoder("odd")
    assert tokenizer.token_str(emoji[0]) == "\ufffd"


@pytest.mark.parametrize(
    "rows, message",
    [
        ([[0, 0, 300, 0], [0, 0, 999, 0]], "cannot decode row 1: its core is 999, but .* 0 to 351"),
        ([[4, 0, 300, 0]], "cannot decode row 0: its variation is 4, but .* 4 rows .* 0 to 3"),
        ([[0, -1, 300, 0]], "its prefix is -1, but the vocabulary has 8 rows"),
        ([[0, 0, 300, 1 << 40]], "its suffix is 1099511627776, but"),
        (np.array([[0, 0, 1 << 33, 0]]), "its core is 8589934592, but"),
        (np.zeros((3, 5), np.int32), r"array of shape \(3, 5\): rows must have the shape \(n, 4\)"),
        (np.zeros(4, np.int32), r"for one row write \[row\]"),
        ([0, 0, 300, 0], r"0 at position 0: .*for one row write \[\[0, 0, 300, 0\]\]"),
        ([[0, 0, 300]], "cannot decode row 0, .*: it must be four integers"),
        ([[0, 0, 300.0, 0]], "300.0 must be an integer, not float"),
        ([[0, 0, True, 0]], "True must be an integer, not bool"),
        (np.zeros((2, 4)), "array of float64: the indices in rows must be integers"),
        ("the", "cannot decode 'the': rows must be an"),
        (None, "not NoneType"),
    ],
)
def test_decode__says_what_is_wrong_and_where(
    tokenizer: CombinatorialTokenizer, rows: Any, message: str
) -> None:
    """Truth: the habit that an error says what was found, where, and what is allowed."""
    message = message.replace("351", str(tokenizer.sizes["core"] - 1))
    with pytest.raises(ArgumentError, match=message):
        tokenizer.decode(rows)


@pytest.mark.parametrize("number", range(6))
def test_is_canonical__equals_encoding_again(samples: Any, number: int) -> None:
    """Truth: encode(decode_bytes(rows)), for encoded text, for rows with one place changed, at
    random."""
    vocabulary = samples.make_vocabulary(("<|end|>",), **samples.flags[number])
    tokenizer = CombinatorialTokenizer(vocabulary)
    generator = np.random.default_rng(number)
    n_changed = 0
    for text in samples.make_texts(60, seed=50 + number):
        rows = tokenizer.encode(text)
        assert tokenizer.is_canonical(rows)
        assert tokenizer.legal_variations[rows[:, 2], rows[:, 0]].all()
        if not len(rows):
            continue
        changed = rows.copy()
        row, column = generator.integers(len(rows)), generator.integers(4)
        changed[row, column] = generator.integers(list(tokenizer.sizes.values())[column])
        expected = tokenizer.encode(tokenizer.decode_bytes(changed))
        assert tokenizer.is_canonical(changed) == np.array_equal(expected, changed)
        assert np.array_equal(tokenizer.canonical(changed), expected)
        n_changed += not np.array_equal(expected, changed)
    assert n_changed > 10
    assert not tokenizer.is_canonical(make_rows(tokenizer, 50, generator))


def test_is_canonical__finds_the_place_in_long_text(tokenizer: CombinatorialTokenizer) -> None:
    """Truth: one row of a long text is split into two that spell the same."""
    rows = tokenizer.encode("The user, and the name.\n" * 9_000)
    assert tokenizer.find_noncanonical(rows) == -1
    place = len(rows) - 40
    while tokenizer.token_str(rows[place]) != " the":
        place -= 1
    split = np.concatenate(
        [rows[:place], tokenizer.encode(" "), tokenizer.encode("the"), rows[place + 1 :]]
    )
    assert tokenizer.decode(split) == tokenizer.decode(rows)
    assert tokenizer.find_noncanonical(split) == place
    assert tokenizer.find_noncanonical(rows[:-1]) == -1
    with pytest.raises(ArgumentError, match="cannot look at row 0: its core is -5"):
        tokenizer.is_canonical([[0, 0, -5, 0]])


def test_legal_variations__are_what_texts_are_encoded_to(samples: Any) -> None:
    """Truth: hand-computed; the pair of every core and variation, encoded alone."""
    tokenizer = CombinatorialTokenizer(samples.make_vocabulary(fold_han=True))
    ids = tokenizer.vocabulary.core_ids
    legal = tokenizer.legal_variations
    assert legal.shape == (tokenizer.sizes["core"], 4)
    by_name = {
        name: legal[ids[name]].tolist() for name in ("the", "a", "12", "\n", "台湾", "大", "=")
    }
    assert by_name == {
        "the": [True, True, True, False],
        "a": [True, True, False, False],  # one letter is Capitalised, never UPPER
        "12": [True, False, False, False],
        "\n": [True, False, False, False],
        "台湾": [True, False, False, True],
        "大": [True, False, False, False],
        "=": [True, False, False, False],
    }
    assert not legal[ord("a")].any()  # there is a character for this byte
    assert legal[ord("&")].tolist() == [True, False, False, False]
    assert legal[0xFF].tolist() == [True, False, False, False]
    # The second merge that makes "the" is dead.
    made_twice = [
        core for core, text in enumerate(tokenizer.vocabulary.core_strings) if text == "the"
    ]
    assert len(made_twice) == 2
    assert not legal[made_twice[1]].any()


def test_row_batch__is_a_sequence_of_arrays(tokenizer: CombinatorialTokenizer) -> None:
    """Truth: encode, text for text."""
    texts = ["the user", "", "The"]
    batch = tokenizer.encode_batch(texts)
    assert len(batch) == 3
    assert batch.lengths.tolist() == [len(tokenizer.encode(text)) for text in texts]
    assert [rows.tolist() for rows in batch] == batch.to_list()
    assert batch[-1].tolist() == batch[2].tolist() == tokenizer.encode("The").tolist()
    assert batch[1:] == RowBatch.from_list([batch[1], batch[2]])
    assert batch.to_arrow().to_pylist() == batch.to_list()
    with pytest.raises(IndexError, match="there is no text 3"):
        batch[3]
    with pytest.raises(ArgumentError, match=r"offsets \[0, 2\] do not fit 1 rows"):
        RowBatch([[0, 0, 1, 0]], [0, 2])


@pytest.mark.parametrize("chunk_nbytes", [300, 1 << 20])
def test_encode_files__equals_encode(
    tokenizer: CombinatorialTokenizer, samples: Any, tmp_path: Path, chunk_nbytes: int
) -> None:
    """Truth: encode of each document; separators stand behind each in a flat file."""
    texts = [text * 5 for text in samples.make_texts(60, seed=77)]
    path = tmp_path / "text.txt"
    special = tokenizer.special_tokens["<|end|>"]
    path.write_bytes("<|end|>".join(texts).encode() + b"<|end|>")
    options: dict[str, Any] = {
        "separator": "<|end|>",
        "progress": False,
        "threads": 2,
        "chunk_nbytes": chunk_nbytes,
    }
    report = tokenizer.encode_files(path, tmp_path / "rows.npy", **options)
    expected = [tokenizer.encode(text) for text in texts]
    flat = np.load(tmp_path / "rows.npy", mmap_mode="r")
    end = np.array([[0, 0, special, 0]])
    assert np.array_equal(flat, np.concatenate([p for rows in expected for p in (rows, end)]))
    assert flat.dtype == np.int32
    assert (report.n_documents, report.n_rows) == (len(texts), len(flat))
    tokenizer.encode_files(path, tmp_path / "rows.parquet", **options)
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "rows.parquet")
    assert table["rows"].to_pylist() == [rows.tolist() for rows in expected]


def test_encode_files__writes_the_whole_or_nothing(
    tokenizer: CombinatorialTokenizer, tmp_path: Path
) -> None:
    """Truth: the habit that output appears whole or not at all, and that inputs stay."""
    for name in ("rows.npy", "rows.parquet"):
        with pytest.raises(DataError, match="item 1 of the iterable"):
            tokenizer.encode_files(iter(["the", 7]), tmp_path / name, progress=False)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ArgumentError, match=r"one of \.npy, \.parquet"):
        tokenizer.encode_files(iter(["the"]), tmp_path / "rows.bin")
    with pytest.raises(ArgumentError, match="separator must be a special token"):
        tokenizer.encode_files(iter(["the"]), tmp_path / "rows.npy", separator="<s>")
    text = tmp_path / "text.npy"
    text.write_bytes(b"the")
    with pytest.raises(ArgumentError, match="is one of the files to read"):
        tokenizer.encode_files(text, text, progress=False)
    assert text.read_bytes() == b"the"
