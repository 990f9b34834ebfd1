"""Word counts as data: dictionaries, Arrow, Parquet, sums."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from numbpe import WordCounts
from numbpe.errors import ArgumentError, FormatError

WORDS = {b"aa": 3_000_000_000, b"bc": 5, b"\xff\0": 1, b"x" * 300: 2}


def test_from_dict__round_trips(tmp_path):
    """Truth: by definition; to_dict, Arrow and Parquet give back what went in."""
    counts = WordCounts.from_dict(WORDS, pattern="gpt2", special_tokens=["<s>"])
    assert counts.to_dict() == WORDS
    assert (len(counts), counts.n_pieces) == (4, 3_000_000_008)
    table = counts.to_arrow()
    assert table["word"].to_pylist() == sorted(WORDS)
    assert WordCounts.from_arrow(table).to_dict() == WORDS
    path = tmp_path / "new" / "words.parquet"
    counts.save(path)
    loaded = WordCounts.load(path)
    assert loaded == counts
    assert (loaded.pattern, loaded.special_tokens) == (("gpt2",), ("<s>",))


def test_save__same_bytes(tmp_path):
    """Truth: by definition; the order in which words came in leaves no trace in the file."""
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, items in zip(paths, (WORDS.items(), reversed(WORDS.items())), strict=True):
        WordCounts.from_dict(dict(items)).save(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == paths


def test_add__sums():
    """Truth: hand-computed."""
    one = WordCounts.from_dict({b"a": 2**40, b"b": 1})
    other = WordCounts.from_dict({b"a": 1, b"c": 7})
    assert (one + other).to_dict() == {b"a": 2**40 + 1, b"b": 1, b"c": 7}
    with pytest.raises(ArgumentError, match="pattern differs"):
        one + WordCounts.from_dict({b"a": 1}, pattern="gpt2")


def test_from_arrow__adds_rows_of_one_word():
    """Truth: hand-computed; strings and slices are taken, and rows of one word are added."""
    table = pa.table({"word": ["skip", "a", "b", "a"], "count": pa.array([9, 1, 2, 3], pa.int32())})
    assert WordCounts.from_arrow(table.slice(1)).to_dict() == {b"a": 4, b"b": 2}
    assert len(WordCounts.from_arrow(table.slice(0, 0))) == 0


@pytest.mark.parametrize(
    "words, message",
    [
        ({"a": 1}, "words are bytes"),
        ({b"": 1}, "not empty"),
        ({b"a": 0}, "from 1"),
        ({b"a": -4}, "from 1"),
        ({b"a": 1.5}, "whole numbers"),
        ({b"a": 2**63}, "from 1 to"),
        ({b"aa": 2**62}, "exact up to"),
    ],
)
def test_from_dict__bad_input(words, message):
    """Truth: by definition; one clear error each."""
    with pytest.raises(ArgumentError, match=message):
        WordCounts.from_dict(words)


def test_load__bad_files(tmp_path):
    """Truth: by definition; what is no file of word counts is an error that says so."""
    with pytest.raises(FileNotFoundError):
        WordCounts.load(tmp_path / "missing.parquet")
    with pytest.raises(IsADirectoryError):
        WordCounts.load(tmp_path)
    text = tmp_path / "text.parquet"
    text.write_text("hello")
    with pytest.raises(FormatError, match="not a Parquet file"):
        WordCounts.load(text)
    for columns, message in (
        ({"count": [1]}, "without the column 'word'"),
        ({"word": ["a"], "n": [1]}, "without the column 'count': it has 'word', 'n'"),
        ({"word": [1.5], "count": [1]}, "must be binary"),
        ({"word": ["a"], "count": ["many"]}, "must be binary"),
        ({"word": ["a", None], "count": [1, 1]}, "no word or no count"),
        ({"word": ["a"], "count": [0]}, "count below 1"),
    ):
        pq.write_table(pa.table(columns), tmp_path / "bad.parquet")
        with pytest.raises(FormatError, match=message):
            WordCounts.load(tmp_path / "bad.parquet")
