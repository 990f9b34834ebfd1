"""One corpus by every route: the same counts and the same ids."""

import bz2
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import numbpe
from numbpe.documents import BytesReader
from numbpe.errors import DataError
from numbpe.sources import TextSource

DOCUMENTS = [
    "the cat, the hat\n\"quoted\" and \\ and\ttabs <|endoftext|>behind it",
    "",
    "\u00e9t\u00e9 \u4e2d\u6587 \U0001f600\r\n\0 end",
    "a long document " * 5_000,
    *(f"document {number} of the corpus: naught but words" for number in range(3_000)),
]  # fmt: skip

ROWS = [{"id": n, "text": text, "meta": {"body": text, "n": n}} for n, text in enumerate(DOCUMENTS)]

TEXT = "<|endoftext|>".join(DOCUMENTS).encode()


def make_table() -> pa.Table:
    """Return the documents in three columns and several chunks."""
    table = pa.Table.from_pylist(ROWS)
    return pa.concat_tables([table.slice(0, 1_000), table.slice(1_000)])


def write_parquet(path: Path, **options: Any) -> None:
    """Write the documents as Parquet in small row groups and pages."""
    pq.write_table(make_table(), path, row_group_size=700, data_page_size=4_096, **options)


def write_stream(path: Path) -> None:
    """Write the documents as a stream of Arrow."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, make_table().schema) as writer:
        writer.write_table(make_table(), max_chunksize=800)


def compress(data: bytes, suffix: str) -> bytes:
    """Return an archive of several members."""
    cut = len(data) // 3
    functions: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": lambda part: pa.compress(part, codec="zstd", asbytes=True),
    }
    return functions[suffix](data[:cut]) + functions[suffix](data[cut:])


JSON_LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)

FILES: dict[str, Callable[[Path], Any]] = {
    "c.jsonl": lambda path: path.write_bytes(JSON_LINES),
    "c.ndjson": lambda path: path.write_bytes(
        b"\xef\xbb\xbf" + "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode()
    ),
    "c.json": lambda path: path.write_bytes(JSON_LINES),
    "no_suffix": lambda path: path.write_bytes(JSON_LINES),
    "c.jsonl.gz": lambda path: path.write_bytes(compress(JSON_LINES, ".gz")),
    "c.json.zst": lambda path: path.write_bytes(compress(JSON_LINES, ".zst")),
    "c.bz2": lambda path: path.write_bytes(compress(JSON_LINES, ".bz2")),
    "c.parquet": write_parquet,
    "wrong_suffix.txt": lambda path: write_parquet(path, compression="zstd"),
    "dictionary.parquet": lambda path: write_parquet(path, use_dictionary=True),
    "c.feather": lambda path: pa.feather.write_feather(make_table(), str(path), chunksize=900),
    "lz4.arrow": lambda path: pa.feather.write_feather(make_table(), str(path), compression="lz4"),
    "c.arrows": write_stream,
    "stream.arrow": write_stream,
}

TABLES: dict[str, Callable[[], Any]] = {
    "Table": make_table,
    "RecordBatch": lambda: make_table().combine_chunks().to_batches()[0],
    "RecordBatchReader": lambda: make_table().to_reader(),
    "Dataset": lambda: pa.dataset.dataset(make_table()),
    "Scanner": lambda: pa.dataset.dataset(make_table()).scanner(columns=["text"]),
    "batches": lambda: iter(make_table().to_batches()),
    "list of tables": lambda: [make_table().slice(0, 10), make_table().slice(10)],
    "ChunkedArray": lambda: make_table()["text"],
    "large": lambda: make_table()["text"].cast(pa.large_string()),
    "view": lambda: make_table()["text"].cast(pa.string_view()),
    "binary": lambda: make_table()["text"].cast(pa.binary()),
    "dictionary": lambda: make_table()["text"].dictionary_encode(),
    "sliced": lambda: pa.array(["no", *DOCUMENTS, "no"]).slice(1, len(DOCUMENTS)),
    "dicts": lambda: iter(ROWS),
    "list of dicts": lambda: ROWS,
    "mixed": lambda: [ROWS[0], DOCUMENTS[1], DOCUMENTS[2].encode(), pa.table({"text": DOCUMENTS[3:]})],
    "structs": lambda: pa.array(ROWS),
}  # fmt: skip


@pytest.fixture(scope="module")
def expected() -> dict[bytes, int]:
    """The counts of the documents, from a list."""
    return count(iter(DOCUMENTS))


def count(source: Any, **options: Any) -> dict[bytes, int]:
    """Return the word counts of a source."""
    return numbpe.count_words(source, threads=2, **options).to_dict()


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_count_words__archives(suffix: str, tmp_path: Path, expected: dict[bytes, int]) -> None:
    """Truth: the same documents as a list; the archive has two members, and is told without a name."""
    path = tmp_path / f"c.txt{suffix}"
    path.write_bytes(compress(TEXT, suffix))
    assert count(path) == expected
    assert count(io.BytesIO(path.read_bytes())) == expected
    path.rename(tmp_path / "c.txt")
    assert count(str(tmp_path / "*.txt"), chunk_nbytes=1_000) == expected


@pytest.mark.parametrize("name", FILES)
def test_count_words__files_of_rows(name: str, tmp_path: Path, expected: dict[bytes, int]) -> None:
    """Truth: the same documents as a list."""
    FILES[name](tmp_path / name)
    assert count(tmp_path / name) == expected
    assert count(tmp_path / name, column="meta.body", chunk_nbytes=5_000) == expected


@pytest.mark.parametrize("name", TABLES)
def test_count_words__tables_and_objects(name: str, expected: dict[bytes, int]) -> None:
    """Truth: the same documents as a list."""
    assert count(TABLES[name]()) == expected
    if name in ("Table", "Dataset", "batches", "dicts", "RecordBatchReader"):
        assert count(TABLES[name](), field="meta.body", chunk_nbytes=5_000) == expected


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("layout", ["text", "jsonl", "arrows"])
def test_count_words__standard_input(
    layout: str, suffix: str, tmp_path: Path, expected: dict[bytes, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Truth: the same documents as a list; a pipe gives a few bytes at a time, and has no name."""
    write_stream(tmp_path / "stream")
    data = {"text": TEXT, "jsonl": JSON_LINES, "arrows": (tmp_path / "stream").read_bytes()}[layout]

    class Pipe(BytesReader):
        def readinto(self, buffer: memoryview, /) -> int:
            return super().readinto(buffer[:777])

    pipe = Pipe(compress(data, suffix) if suffix else data)
    monkeypatch.setattr(sys, "stdin", pipe)
    assert count("-") == expected


def test_count_words__folder_of_everything(tmp_path: Path, expected: dict[bytes, int]) -> None:
    """Truth: the counts of one copy, times the number of files; hidden ones are left out."""
    (tmp_path / "sub").mkdir()
    names = ["c.jsonl", "c.jsonl.gz", "c.parquet", "sub/c.feather", "sub/c.arrows"]
    for name in names:
        FILES[Path(name).name](tmp_path / name)
    (tmp_path / "sub" / "c.txt.xz").write_bytes(compress(TEXT, ".xz"))
    for hidden in ("_SUCCESS", ".c.crc", "sub/_metadata"):
        (tmp_path / hidden).write_bytes(b"hidden words")
    wanted = {word: 6 * n for word, n in expected.items()}
    assert count(tmp_path) == wanted
    assert count([f"{tmp_path}/sub/", str(tmp_path / "*.*")]) == wanted
    for filesystem, path in (
        (pa.fs.SubTreeFileSystem(str(tmp_path), pa.fs.LocalFileSystem()), ""),
        (pa.fs.LocalFileSystem(), str(tmp_path)),
    ):
        assert count(path, filesystem=filesystem) == wanted
    assert count(f"file://{tmp_path}") == wanted


def test_train__takes_all_of_it(tmp_path: Path) -> None:
    """Truth: training on a list of the documents."""
    write_parquet(tmp_path / "c.parquet")
    wanted = numbpe.train(iter(DOCUMENTS), 300, progress=False).merges
    source = TextSource(tmp_path / "c.parquet", column="meta.body")
    assert numbpe.train(source, 300, progress=False).merges == wanted
    assert numbpe.train(ROWS, 300, progress=False, field="text").merges == wanted


def test_encode_files__the_same_ids_by_every_route(tmp_path: Path) -> None:
    """Truth: the ids of a list of the documents; a row is a document, as an item is."""
    tokenizer = numbpe.train(iter(DOCUMENTS), 300, progress=False)
    wanted = tmp_path / "wanted.parquet"
    report = tokenizer.encode_files(iter(DOCUMENTS), wanted, progress=False)
    assert report.n_documents == len(DOCUMENTS) + 1  # one of them has a separator in it
    for name in ("c.jsonl.gz", "c.parquet", "c.feather"):
        FILES[name](tmp_path / name)
        tokenizer.encode_files(tmp_path / name, tmp_path / "ids.parquet", progress=False)
        assert pq.read_table(tmp_path / "ids.parquet") == pq.read_table(wanted)
    tokenizer.encode_files(
        make_table(), tmp_path / "ids.parquet", progress=False, column="meta.body"
    )
    assert pq.read_table(tmp_path / "ids.parquet") == pq.read_table(wanted)


def test_encode_files__shards_of_rows_are_about_equal(tmp_path: Path) -> None:
    """Truth: the ids of one shard; how much text there is, is known by a sample of the files."""
    documents = [f"{n} " + "words of some length " * 10 for n in range(2_000)]
    table = pa.table({"text": documents})
    tokenizer = numbpe.train(documents[:100], 300, progress=False)
    pq.write_table(table, tmp_path / "c.parquet", use_dictionary=False)
    lines = b"".join(
        json.dumps({"text": text, "more": "x" * 99}).encode() + b"\n" for text in documents
    )
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(lines))
    pa.feather.write_feather(table, str(tmp_path / "c.feather"))
    tokenizer.encode_files(documents, tmp_path / "one.parquet", progress=False)
    one = pq.read_table(tmp_path / "one.parquet")
    for source in (tmp_path / "c.parquet", tmp_path / "c.jsonl.gz", tmp_path / "c.feather", table):
        report = tokenizer.encode_files(source, tmp_path / "ids.parquet", shards=4, progress=False)
        shards = [pq.read_table(path) for path in report.files]
        assert pa.concat_tables(shards).equals(one)
        assert max(shard.num_rows for shard in shards) < 1.2 * 500


def test_encode_files__resumes_rows_and_refuses_other_columns(tmp_path: Path) -> None:
    """Truth: the contract of resume: what was made otherwise is refused, and the difference named."""
    tokenizer = numbpe.train(iter(DOCUMENTS), 300, progress=False)
    write_parquet(tmp_path / "c.parquet")
    options: dict[str, Any] = {"progress": False, "shards": 2, "resume": True}
    output = tmp_path / "ids.bin"
    tokenizer.encode_files(tmp_path / "c.parquet", output, **options)
    assert tokenizer.encode_files(tmp_path / "c.parquet", output, **options).n_kept == 2
    with pytest.raises(DataError, match="the column was 'text', and now it is 'meta.body'"):
        tokenizer.encode_files(tmp_path / "c.parquet", output, column="meta.body", **options)
