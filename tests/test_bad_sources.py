"""Input that cannot be used: an error with its place, or left out and counted."""

import bz2
import gzip
import io
import json
import lzma
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import numbpe
from numbpe.bad_input import SkippedWarning
from numbpe.errors import ArgumentError, DataError, InvalidTextError

TEXT = "".join(f"line {n} of the text\n" for n in range(5_000)).encode()

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def count(source: Any, **options: Any) -> dict[bytes, int]:
    """Return the word counts of a source."""
    return numbpe.count_words(source, threads=1, **options).to_dict()


def count_and_skip(source: Any, **options: Any) -> tuple[dict[bytes, int], str]:
    """Return the word counts of what can be used, and what was said of the rest."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = count(source, on_bad="skip", **options)
    assert [warning.category for warning in caught] == [SkippedWarning]
    assert caught[0].filename == __file__
    return counts, str(caught[0].message)


def write_lines(path: Path, *rows: object) -> Path:
    """Write rows as JSON Lines; one that is bytes as it is."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join(lines))
    return path


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize(
    "damage", ["cut short", "second member cut", "garbage behind", "bit flipped"]
)
def test_archives__damaged(kind: str, damage: str, tmp_path: Path) -> None:
    """Truth: the contract; what comes before the damage is there, and every byte of it is right."""
    whole = COMPRESS[kind](TEXT)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x55
    data = {
        "cut short": whole[: len(whole) // 2],
        "second member cut": whole + whole[: len(whole) // 2],
        "garbage behind": whole + b"this is no archive",
        "bit flipped": bytes(flipped),
    }[damage]
    path = tmp_path / "c.txt"
    path.write_bytes(data)
    if kind == "zst" and damage == "bit flipped":
        pytest.skip("what Arrow compresses has no checksum")
    place = re.escape(f"cannot read '{path}': it ")
    with pytest.raises(DataError, match=rf"{place}.*before byte [\d,]+ of the archive.*on_bad"):
        count(path)
    counts, message = count_and_skip([path, write_lines(tmp_path / "o.txt", b"other text")])
    assert counts[b"other"] == 1
    if damage in ("second member cut", "garbage behind"):
        # Of the member that is whole; Zstandard's last 64 KiB are lost with what follows.
        assert counts[b" of"] >= (1_000 if kind == "zst" else 5_000)
    assert message.startswith(f"left out 1 damaged part of files; the first: cannot read '{path}'")


def test_archives__empty(tmp_path: Path) -> None:
    """Truth: the contract: no archive, no text in an archive."""
    path = tmp_path / "c.txt.gz"
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"by its suffix it is a gzip archive, but it is empty"):
        count(path)
    path.write_bytes(b"plain text")
    with pytest.raises(
        DataError, match=r'begins with b\'plai\'; correct it, or pass format="text"'
    ):
        count(path)
    assert count(path, format="text") == {b"plain": 1, b" text": 1}
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(DataError, match="nothing to read: .* holds no text"):
        count(path)
    path.write_bytes(gzip.compress(b"text") + bytes(512))  # padding, as tapes have it
    assert count(path) == {b"text": 1}


BAD_ROWS = [
    (b'{"text": "cut', "is no row of JSON Lines: Unterminated string"),
    (b'{"text": 1}', r"its field 'text' is 1 \(int\), not text"),
    (b'{"text": null}', "its field 'text' is null, not text"),
    (b'{"body": "x", "a.b": 1}', r"no field 'text'; its fields are 'body', 'a\\.b'; name the one"),
    (b"[1]", "it is a list, not an object with the field 'text'"),
    (b"plain text", "is no row of JSON Lines: Expecting value"),
    (b"{", "each object must be on one line"),
    (b'[{"text": "x"},', "one array, of which each element must be a line of its own"),
    (b"[" * 5_000, "too deep within each other"),
]  # fmt: skip


@pytest.mark.parametrize("row, message", BAD_ROWS, ids=[repr(row[:20]) for row, _ in BAD_ROWS])
def test_json_lines__bad_rows(row: bytes, message: str, tmp_path: Path) -> None:
    """Truth: the contract: file, line and offset, and what is wrong."""
    path = write_lines(tmp_path / "c.jsonl", {"text": "a"}, b"", row, {"text": "b"}, row, row)
    place = re.escape(f"cannot read line 3 of '{path}', at byte 15: ")
    with pytest.raises(DataError, match=rf"{place}.*{message}.*(on_bad=|column=)"):
        count(path)
    counts, text = count_and_skip(path)
    assert counts == {b"a": 1, b"b": 1}
    assert text.startswith(f"left out 3 rows; the first: cannot read line 3 of '{path}'")


def test_json_lines__nested_field_that_is_not_there(tmp_path: Path) -> None:
    """Truth: the contract; names are written so that they can be given back."""
    path = write_lines(tmp_path / "c.jsonl", {"meta": {"body": "a", "x.y": "b"}})
    assert count(path, column="meta.body") == {b"a": 1}
    assert count(path, field=r"meta.x\.y") == {b"b": 1}
    message = r"no field 'text' within 'meta'; its fields are 'body', 'x\\.y'"
    with pytest.raises(DataError, match=message):
        count(path, column="meta.text")
    with pytest.raises(
        DataError, match=r"its field 'meta\.body' is 'a' \(str\), not an object with"
    ):
        count(path, column="meta.body.text")


def test_json_lines__every_row_bad(tmp_path: Path) -> None:
    """Truth: the contract; that nothing is left is an error, with the reason."""
    path = write_lines(tmp_path / "c.jsonl", {"a": 1}, {"a": 2})
    with pytest.raises(
        DataError, match="holds no text; left out: 2 rows; the first: .*no field 'text'"
    ):
        count(path, on_bad="skip")


def test_json_lines__bytes_that_are_not_utf8(tmp_path: Path) -> None:
    """Truth: bytes.decode, as for any document."""
    path = write_lines(tmp_path / "c.jsonl", {"text": "a"}, b'{"text": "b\xff\\n"}')
    assert count(path) == {b"a": 1, b"b": 1, b"\xef\xbf\xbd": 1, b"\n": 1}
    with pytest.raises(
        InvalidTextError, match=r"line 2 of '.*c\.jsonl': b'\\xff' at byte 1 is not UTF-8"
    ):
        count(path, errors="strict")


def test_json_lines__rows_longer_than_a_block(tmp_path: Path) -> None:
    """Truth: a list of the documents; one row is several times as long as what is read at once."""
    documents = ["word " * 900_000, "short", "\u00e9\n" * 700_000]
    path = write_lines(tmp_path / "c.jsonl", *({"text": text} for text in documents))
    assert count(path) == count(documents)


TABLES = [
    (pa.table({"a": [1, 2], "b": [0.5, 1.5]}), None, "no column 'text'; its columns are 'a', 'b'"),
    (pa.table({"text": [1, 2]}), None, "its column 'text' holds int64, not text; columns with text are none"),
    (pa.table({"a": ["x"], "b": ["y"]}), None, "no column 'text'; its columns are 'a', 'b'"),
    (pa.table({"a": ["x"], "b": [1]}), "b", "column 'b' holds int64, not text; columns with text are 'a'"),
    (pa.table({"a": [{"b": "x"}]}), "a.c", "no column 'c' within 'a'; its columns are 'b'"),
    (pa.table({"a": [{"b": "x"}]}), "a", "its column 'a' holds struct"),
    (pa.table({"a": ["x"]}), "a.b", "no column 'b' within 'a'; its columns are none"),
]  # fmt: skip


@pytest.mark.parametrize("table, column, message", TABLES)
def test_tables__columns_that_cannot_be_read(
    table: pa.Table, column: str | None, message: str, tmp_path: Path
) -> None:
    """Truth: the contract; the same words for Parquet, Arrow files and tables, whatever on_bad says."""
    pq.write_table(table, tmp_path / "c.parquet")
    pa.feather.write_feather(table, str(tmp_path / "c.feather"))
    for source in (tmp_path / "c.parquet", tmp_path / "c.feather", table):
        for on_bad in ("error", "skip"):
            with pytest.raises(DataError, match=message):
                count(source, column=column, on_bad=on_bad)


def test_tables__the_only_column_of_text_needs_no_name(tmp_path: Path) -> None:
    """Truth: hand-computed."""
    pq.write_table(pa.table({"n": [1, 2], "body": ["a", "b"]}), tmp_path / "c.parquet")
    assert count(tmp_path / "c.parquet") == {b"a": 1, b"b": 1}


def test_tables__null_rows(tmp_path: Path) -> None:
    """Truth: hand-computed; rows count from 0, over all row groups."""
    table = pa.table(
        {
            "text": ["a", None, "b", "c", None],
            "m": [{"t": "x"}, {"t": None}, None, {"t": "y"}, None],
        }
    )
    path = tmp_path / "c.parquet"
    pq.write_table(table, path, row_group_size=2)
    pa.feather.write_feather(table, str(tmp_path / "c.feather"), chunksize=2)
    name = {id(table): "the Table"}
    for source in (path, tmp_path / "c.feather", table):
        named = re.escape(name.get(id(source), repr(str(source))))
        with pytest.raises(DataError, match=f"cannot read row 1 of {named}: it is null"):
            count(source)
        counts, message = count_and_skip(source)
        assert counts == {b"a": 1, b"b": 1, b"c": 1}
        assert message.startswith("left out 2 rows; the first: cannot read row 1 of ")
        counts, message = count_and_skip(source, column="m.t")
        assert counts == {b"x": 1, b"y": 1}
        assert message.startswith("left out 3 rows")


def test_parquet__damaged_row_group(tmp_path: Path) -> None:
    """Truth: the contract; the other row groups are read."""
    path = tmp_path / "c.parquet"
    texts = [f"row{'x' * n} " * 50 for n in range(60)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=20, use_dictionary=False)
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(data)
    with pytest.raises(
        DataError, match=r"cannot read row group 1 \(rows from 20 on\) of .*damaged"
    ):
        count(path)
    counts, message = count_and_skip(path)
    assert counts == count(texts[:20] + texts[40:])
    assert message.startswith("left out 20 rows and 1 damaged part of files; the first: ")


@pytest.mark.parametrize("name", ["c.parquet", "c.feather", "c.arrows"])
def test_tables__cut_short(name: str, tmp_path: Path) -> None:
    """Truth: the contract; a stream gives the record batches before its damage."""
    rng = np.random.default_rng(1)
    table = pa.table({"text": [rng.bytes(500).hex() for _ in range(300)]})
    path = tmp_path / name
    if name == "c.parquet":
        pq.write_table(table, path)
    elif name == "c.feather":
        pa.feather.write_feather(table, str(path))
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    with pytest.raises(DataError, match="damaged or cut short"):
        count(path)
    counts, message = count_and_skip(
        [table["text"][:1].to_pylist()[0]] if False else [path, _other(path)]
    )
    assert counts[b"other"] == 1
    assert len(counts) > (100 if name == "c.arrows" else 0)
    assert "1 damaged part of files" in message


def _other(path: Path) -> Path:
    other = path.with_name("other.txt")
    other.write_bytes(b"other text")
    return other


@pytest.mark.parametrize(
    "name, data", [("c.parquet", b""), ("c.feather", b"no table"), ("c.arrow", b"")]
)
def test_tables__files_that_are_none(name: str, data: bytes, tmp_path: Path) -> None:
    """Truth: the contract."""
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"by its suffix it is (Parquet|an Arrow file), but it "):
        count(path)
    with pytest.raises(DataError, match="it is to be read as Parquet, but it"):
        count(path, format="parquet")


def test_parquet__in_an_archive_or_a_pipe(tmp_path: Path) -> None:
    """Truth: the contract; Parquet is read from its end."""
    path = tmp_path / "c.parquet"
    pq.write_table(pa.table({"text": ["a"]}), path)
    (tmp_path / "c.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(DataError, match="it is Parquet within an archive.*unpack it first"):
        count(tmp_path / "c.parquet.gz")
    assert count(io.BytesIO(path.read_bytes())) == {b"a": 1}
    with path.open("rb") as file:
        pipe = io.BufferedReader(_NoSeeking(file.read()))
    with pytest.raises(DataError, match="must be read from its end, which a pipe does not let"):
        count(pipe)


class _NoSeeking(io.BytesIO):
    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize(
    "items, message",
    [
        (["a", None, "b"], "item 1 of the iterable: it is None, of type NoneType"),
        (["a", 7, "b"], "item 1 of the iterable: it is 7, of type int"),
        (["a", {"body": "x"}, b"b"], "item 1 of the iterable: there is no field 'text'; its fields are 'body'"),
        ([{"text": "a"}, {"text": None}, {"text": b"b"}], "item 1 of the iterable: its field 'text' is null"),
    ],
)  # fmt: skip
def test_iterables__items_without_text(items: list[Any], message: str) -> None:
    """Truth: hand-computed."""
    for source in (items, iter(items)):
        with pytest.raises(DataError, match=message):
            count(source)
        if isinstance(source, list):
            counts, text = count_and_skip(source)
            assert counts == {b"a": 1, b"b": 1}
            assert text.startswith("left out 1 row; the first: cannot read item 1 of the iterable")


def test_iterables__places_after_skipped_items() -> None:
    """Truth: hand-computed; the item is named by its place in the iterable, not among those used."""
    with pytest.raises(InvalidTextError, match="cannot read item 2:"):
        count(["a", None, b"\xff"], on_bad="skip", errors="strict")


@pytest.mark.parametrize(
    "options, kind, message",
    [
        ({"format": "csv"}, ArgumentError, "format must be one of text, jsonl, parquet, arrow, feather, not 'csv'"),
        ({"on_bad": "ignore"}, ArgumentError, 'on_bad must be "error" or "skip"'),
        ({"column": "a..b"}, ArgumentError, "has a name without letters in it"),
        ({"column": 3}, ArgumentError, "the column must be a name"),
        ({"column": "a", "field": "b"}, ArgumentError, "column and field are two names for one thing"),
        ({"filesystem": 3}, ArgumentError, "filesystem must be one of pyarrow.fs"),
        ({"colum": "a"}, TypeError, "there is no argument 'colum'; those about reading are format, column"),
    ],
)  # fmt: skip
def test_options__that_cannot_be_used(
    options: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    """Truth: the contract; in every function that reads."""
    path = _other(tmp_path / "c")
    with pytest.raises(kind, match=re.escape(message)):
        count(path, **options)
    with pytest.raises(kind, match=re.escape(message)):
        numbpe.train(path, 300, **options)


def test_train__counts_take_no_options_of_reading() -> None:
    """Truth: the contract."""
    counts = numbpe.count_words(["a b"])
    with pytest.raises(
        ArgumentError, match="column is about reading text, and word counts are given"
    ):
        numbpe.train(counts, 257, column="a")


def test_encode_files__reports_what_was_skipped(tmp_path: Path) -> None:
    """Truth: hand-computed."""
    tokenizer = numbpe.train(["a b"], 257, progress=False)
    path = write_lines(tmp_path / "c.jsonl", {"text": "a"}, {"text": None}, {"text": "b"}, b"{")
    report = tokenizer.encode_files(
        path, tmp_path / "o.npy", progress=False, on_bad="skip", separator=None
    )
    assert np.load(tmp_path / "o.npy").tolist() == [97, 98]
    assert (report.n_documents, report.skipped.n_rows) == (2, 2)
    assert report.to_dict()["skipped"]["rows"] == 2
    assert any(line.startswith("skipped  2 rows; the first: ") for line in report.to_lines())
