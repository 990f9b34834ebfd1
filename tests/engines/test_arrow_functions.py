"""Counting and encoding as functions from Arrow table to Arrow table, without any engine."""

import subprocess
import sys

import pyarrow as pa
import pytest

import numbpe
from numbpe.engines import count_batch, encode_batch, sum_counts
from numbpe.errors import ArgumentError, DataError, InvalidTextError

TEXTS = ["a b a", "", "don't<|endoftext|>stop", "été 漢字 " * 40, "a b", "x" * 70_000]


@pytest.fixture(scope="module")
def tokenizer() -> numbpe.Tokenizer:
    return numbpe.train(TEXTS[:5], 270, progress=False)


def cut(table: pa.Table, n_rows: int) -> list[pa.RecordBatch]:
    return table.to_batches(max_chunksize=n_rows)


@pytest.mark.parametrize("pattern", ["gpt2", "o200k"])
def test_count_batch__sums_over_batches_are_the_counts_of_all(pattern: str) -> None:
    """Truth: count_words."""
    table = pa.table({"number": range(len(TEXTS)), "text": TEXTS})
    expected = numbpe.count_words(TEXTS, pattern=pattern)
    partial = [count_batch(batch, pattern=pattern) for batch in [*cut(table, 2), table[:0]]]
    assert partial[-1].num_rows == 0
    origin = {"pattern": expected.pattern, "special_tokens": expected.special_tokens}
    once = pa.concat_tables(partial)
    twice = sum_counts([sum_counts(partial[:2]), *partial[2:]])
    for table in (once, twice):
        assert table.schema == expected.to_arrow().schema
        assert numbpe.WordCounts.from_arrow(table, **origin) == expected
    assert len(twice) == len(expected) < len(once)
    assert len(sum_counts([])) == 0


def test_count_batch__takes_the_options_of_count_words() -> None:
    """Truth: count_words, and by hand that a row that is null is refused or left out."""
    rows = pa.array([b"a<s>b\xff", None, b"a"])
    options = {"special_tokens": ["<s>"], "errors": "ignore", "unicode_version": "17"}
    table = pa.table({"body": rows})
    with pytest.raises(DataError, match="row 1 of"):
        count_batch(table, column="body", **options)
    with pytest.raises(InvalidTextError, match=r"row 0 of .* at byte 5"):
        count_batch(table, column="body", errors="strict", on_bad="skip")
    counted = count_batch(table, column="body", on_bad="skip", **options)
    assert dict(zip(*counted.to_pydict().values(), strict=True)) == {b"a": 2, b"b": 1}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary()])
def test_encode_batch__gives_each_row_its_ids(
    kind: pa.DataType, tokenizer: numbpe.Tokenizer
) -> None:
    """Truth: Tokenizer.encode, row by row; a null stays null, and other columns stay."""
    texts = [*TEXTS[:3], None, *TEXTS[3:]]
    table = pa.table({"key": range(len(texts)), "text": pa.array(texts).cast(kind)})
    encoded = pa.Table.from_batches(
        [part for batch in cut(table, 3) for part in encode_batch(batch, tokenizer).to_batches()]
    )
    assert encoded.drop_columns("ids") == table
    assert encoded.schema.field("ids").type == pa.list_(pa.int32())
    expected = [None if text is None else tokenizer.encode(text).tolist() for text in texts]
    assert encoded["ids"].to_pylist() == expected
    whole = encode_batch(pa.table({"text": pa.chunked_array([texts[:2], texts[2:]])}), tokenizer)
    assert whole["ids"].to_pylist() == expected
    assert encode_batch(table[:0], tokenizer)["ids"].to_pylist() == []


def test_encode_batch__takes_the_options_of_encoding(tokenizer: numbpe.Tokenizer) -> None:
    """Truth: Tokenizer.encode, and bytes.decode for what is not UTF-8."""
    table = pa.table({"text": [b"a<|endoftext|>", b"b\xffc"]})
    encoded = encode_batch(table, tokenizer, special="text", errors="ignore", dtype="uint16")
    assert encoded.schema.field("ids").type == pa.list_(pa.uint16())
    expected = [
        tokenizer.encode(text, special="text").tolist() for text in ("a<|endoftext|>", "bc")
    ]
    assert encoded["ids"].to_pylist() == expected
    with pytest.raises(InvalidTextError, match="row 1 of the batch"):
        encode_batch(table, tokenizer, errors="strict")
    with pytest.raises(ArgumentError, match="has one; rename or drop it"):
        encode_batch(encoded, tokenizer)
    with pytest.raises(ArgumentError, match="dtype must be one of 'int32'"):
        encode_batch(table, tokenizer, dtype="int64")
    with pytest.raises(DataError, match="there is no column 'body'; its columns are 'text'"):
        encode_batch(table, tokenizer, column="body")


def test_import__of_numbpe_and_its_engines_leaves_ray_and_spark_alone() -> None:
    """Truth: sys.modules after every public name was used."""
    code = (
        "import sys, numbpe, numbpe.engines\n"
        "for name in numbpe.__all__: getattr(numbpe, name)\n"
        "for name in numbpe.engines.__all__: getattr(numbpe.engines, name)\n"
        "print('ray' in sys.modules, 'pyspark' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "False False\n", done.stderr
