"""Corpora to files of ids, against encoding whole documents; every form read by NumPy and pyarrow."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import numbpe
from numbpe.definition import Lowercase, Normalization, Prepend, Replace, Template
from numbpe.errors import ArgumentError, DataError
from numbpe.shard_settings import find_separator
from numbpe.shards import count_files, encode_files
from numbpe.tokenizer import Tokenizer

AUSTEN = Path(__file__).resolve().parents[1] / "data" / "austen.txt"
END = "<|endoftext|>"
OTHER = "<|im_start|>"

PARTS = [
    *("the", " cat", " sat\n", "\n\n", "  ", "a", "e\u0301", "\u00e9", "\u4e2d\u6587", "'s"),
    *("\U0001f600", "THE", "<", "<|", "|>", "\r\n", " x", "12", ".", "aaaaaaaaaaaaaaaaaaaa"),
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Trained on the shipped corpus, with two special tokens."""
    return numbpe.train(AUSTEN, 600, special_tokens=[END, OTHER], progress=False)


def make_variant(tokenizer: Tokenizer, **changes: Any) -> Tokenizer:
    return Tokenizer.from_definition(replace(tokenizer.definition, **changes), tokenizer.pattern)


def make_text(rng: np.random.Generator, n_parts: int) -> str:
    parts = [*PARTS, OTHER, END]
    return "".join(parts[i] for i in rng.integers(len(parts), size=n_parts))


def split_documents(texts: Sequence[str], separator: str | None) -> list[str]:
    """Return the documents of files or items, by str.split."""
    documents = []
    for text in texts:
        parts = text.split(separator) if separator else [text]
        documents += parts[:-1] if len(parts) > 1 and not parts[-1] else parts
    return documents


def expect_rows(
    tokenizer: Tokenizer, texts: Sequence[str], separator: str | None = END, **options: Any
) -> list[list[int]]:
    """Return the ids of the documents of texts."""
    documents = split_documents(texts, separator)
    return [tokenizer.encode(document, **options).tolist() for document in documents]


def join_rows(rows: list[list[int]], end: int) -> list[int]:
    return [token_id for row in rows for token_id in (*row, end)]


def read_flat(path: Path, dtype: str = "uint16") -> list[int]:
    if path.suffix == ".npy":
        loaded: list[int] = np.load(path, mmap_mode="r").tolist()
        return loaded
    return np.fromfile(path, dtype=dtype).tolist()


def read_rows(path: Path) -> list[list[int]]:
    if path.suffix == ".parquet":
        table = pq.read_table(path)
    else:
        table = pa.ipc.open_file(path).read_all()
    rows: list[list[int]] = table.column("ids").to_pylist()
    return rows


def write_texts(folder: Path, texts: Sequence[str]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number:02}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    return paths


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "nfc": {"normalizer": (Normalization("NFC"),)},
    "lowercase": {"normalizer": (Lowercase(),)},
    "prepend_first": {"normalizer": (Prepend(" ", first_only=True),)},
    "prepend": {"preparation": (Prepend("_", unless="_"),)},
    "metaspace": {"normalizer": (Prepend("\u2581"), Replace(" ", "\u2581"))},
    "replace": {"normalizer": (Replace("t", "\u00e9 "), Replace("\u00e9", "sat"))},
    "replace_longer": {"normalizer": (Replace(" c", "x"),)},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_encode_files__equals_encoding_each_document(
    tokenizer: Tokenizer, variant: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Truth: Tokenizer.encode of each document whole, for files and items, chunks and threads."""
    varied = make_variant(tokenizer, **VARIANTS[variant])
    end = varied.special_tokens[END]
    for _ in range(4):
        texts = [make_text(rng, int(rng.integers(60))) for _ in range(rng.integers(1, 9))] + ["x"]
        rows = expect_rows(varied, texts)
        paths = write_texts(tmp_path / "in", texts)
        for chunk_nbytes, threads in ((1, 1), (7, 3), (int(rng.integers(8, 90)), 2), (1 << 16, 1)):
            for source in (paths, iter(texts)):
                options: dict[str, Any] = {"threads": threads, "chunk_nbytes": chunk_nbytes}
                report = encode_files(varied, source, tmp_path / "out.bin", **options)
                assert read_flat(tmp_path / "out.bin") == join_rows(rows, end)
                assert (report.n_documents, report.n_tokens) == (
                    len(rows),
                    sum(map(len, rows)) + len(rows),
                )
            encode_files(varied, paths, tmp_path / "out.arrow", **options)
            assert read_rows(tmp_path / "out.arrow") == rows


def test_encode_files__with_added_tokens_that_take_white_space(
    tokenizer: Tokenizer, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Truth: Tokenizer.encode of each document whole."""
    added = [
        replace(token, lstrip=True, rstrip=True) if token.content == OTHER else token
        for token in tokenizer.definition.added_tokens
    ]
    varied = make_variant(tokenizer, added_tokens=tuple(added))
    texts = [make_text(rng, 80).replace(END, "") + f" {OTHER}  a{END}b" for _ in range(5)]
    for chunk_nbytes in (1, 50, 1 << 16):
        encode_files(varied, iter(texts), tmp_path / "o.parquet", chunk_nbytes=chunk_nbytes)
        assert read_rows(tmp_path / "o.parquet") == expect_rows(varied, texts)


@pytest.mark.parametrize("suffix", [".bin", ".npy", ".parquet", ".arrow"])
def test_forms__are_read_by_numpy_and_pyarrow(
    tokenizer: Tokenizer, suffix: str, tmp_path: Path
) -> None:
    """Truth: Tokenizer.encode; the types by the number of ids (case 97: never signed)."""
    texts = ["first " + END + "second", "", "third", END]
    rows = expect_rows(tokenizer, texts)
    assert [len(row) > 0 for row in rows] == [True, True, False, True, False]
    path = tmp_path / f"deep/er/out{suffix}"
    for dtype in (None, "uint32"):
        report = encode_files(tokenizer, iter(texts), path, dtype=dtype)
        assert report.files == (path,)
        assert report.id_type == (dtype or "uint16")
        if suffix in (".bin", ".npy"):
            flat = read_flat(path, dtype or "uint16")
            assert flat == join_rows(rows, tokenizer.special_tokens[END])
        else:
            assert read_rows(path) == rows
    if suffix == ".npy":
        assert np.load(path).dtype == np.uint32
        assert np.load(path).ndim == 1
    elif suffix == ".parquet":
        assert pq.read_schema(path).field("ids").type == pa.list_(pa.field("element", pa.uint32()))


def test_row_groups__are_bounded(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: Tokenizer.encode; the bound on the ids of a row group."""
    monkeypatch.setattr("numbpe.shard_writers.IDS_A_ROW_GROUP", 100)
    texts = ["the cat sat " * 9] * 50
    encode_files(tokenizer, iter(texts), tmp_path / "o.parquet", chunk_nbytes=100)
    file = pq.ParquetFile(tmp_path / "o.parquet")
    assert file.num_row_groups > 10
    assert max(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)) < 20
    assert read_rows(tmp_path / "o.parquet") == expect_rows(tokenizer, texts)


def test_many_ids__are_uint32(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Truth: 65,536 ids fit into 16 bits, 65,537 do not."""
    for highest, dtype in ((65_535, "uint16"), (65_536, "uint32")):
        tokens = tokenizer.vocab | {highest: b"<|last|>"}
        wide = Tokenizer(tokens, tokenizer.merges, {END: 256, "<|last|>": highest})
        report = encode_files(wide, iter(["a<|last|>"]), tmp_path / "o.bin")
        assert report.id_type == dtype
        assert read_flat(tmp_path / "o.bin", dtype) == [97, highest, 256]
    with pytest.raises(ArgumentError, match="uint32"):
        encode_files(wide, iter(["a"]), tmp_path / "o.bin", dtype="uint16")
    with pytest.raises(ArgumentError, match="uint16"):
        encode_files(wide, iter(["a"]), tmp_path / "o.bin", dtype="int32")


def test_policies__say_what_a_spelled_separator_is(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Truth: Tokenizer.encode with the same policy; under "text" items alone are documents."""
    texts = [f"a{END}b{OTHER}", "c"]
    path = tmp_path / "o.arrow"
    encode_files(tokenizer, iter(texts), path, special="text")
    assert read_rows(path) == expect_rows(tokenizer, texts, None, special="text")
    with pytest.raises(ArgumentError, match="endoftext"):
        encode_files(tokenizer, iter(texts), path, special="error")
    varied = make_variant(tokenizer, normalizer=(Lowercase(),))
    with pytest.raises(ArgumentError, match="endoftext"):
        encode_files(varied, iter(texts), path, special="error")
    assert read_rows(path) == expect_rows(tokenizer, texts, None, special="text")


def test_separator__is_chosen_or_none(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Truth: hand-computed from the ids of single letters, 97 for a and so on."""
    end, other = tokenizer.special_tokens[END], tokenizer.special_tokens[OTHER]
    texts = [f"a{OTHER}b{END}c"]
    path = tmp_path / "o.bin"
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [97, other, 98, end, 99, end]),
        ({"separator": OTHER}, [97, other, 98, end, 99, other]),
        ({"separator": None}, [97, other, 98, end, 99]),
        ({"write_separator": False}, [97, other, 98, 99]),
    ]
    for options, expected in cases:
        encode_files(tokenizer, iter(texts), path, **options)
        assert read_flat(path) == expected
    encode_files(tokenizer, iter(texts), tmp_path / "o.arrow", write_separator=True)
    assert read_rows(tmp_path / "o.arrow") == [[97, other, 98, end], [99, end]]
    with pytest.raises(ArgumentError, match="special token"):
        encode_files(tokenizer, iter(texts), path, separator="\n\n")


def test_default_separator__is_that_of_known_vocabularies() -> None:
    """Truth: what the published vocabularies put behind a document."""
    for names, roles, expected in (
        (["<s>", "</s>"], {}, "</s>"),
        (["<|begin|>", "<|stop|>"], {"eos_token": 257}, "<|stop|>"),
        (["<pad>"], {}, None),
    ):
        plain = Tokenizer({i: bytes([i]) for i in range(256)}, [], names)
        definition = replace(plain.definition, roles=roles)
        assert find_separator(definition, "auto")[0] == expected


def test_templates__stand_around_each_document(
    tokenizer: Tokenizer, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Truth: Tokenizer.encode with add_special_tokens; a suffix that is the separator marks the end."""
    end, other = tokenizer.special_tokens[END], tokenizer.special_tokens[OTHER]
    texts = [make_text(rng, int(rng.integers(40))) for _ in range(9)]
    pieces: Any = ((other, 0), (97, 0), ("A", 0), (98, 0))
    varied = make_variant(tokenizer, template=Template(single=pieces))
    rows = expect_rows(varied, texts, add_special_tokens=True)
    for chunk_nbytes in (1, 9, 40, 1 << 16):
        options = {"add_special_tokens": True, "chunk_nbytes": chunk_nbytes}
        encode_files(varied, iter(texts), tmp_path / "o.bin", **options)
        assert read_flat(tmp_path / "o.bin") == join_rows(rows, end)
        encode_files(varied, iter(texts), tmp_path / "o.arrow", **options)
        assert read_rows(tmp_path / "o.arrow") == rows
    varied = make_variant(tokenizer, template=Template(single=(("A", 0), (end, 0))))
    encode_files(varied, iter(["a", "b"]), tmp_path / "o.bin", add_special_tokens=True)
    assert read_flat(tmp_path / "o.bin") == [97, end, 98, end]


def test_count_files__equals_the_ids_of_whole_files(
    tokenizer: Tokenizer, rng: np.random.Generator
) -> None:
    """Truth: Tokenizer.encode of each item; spelled special tokens never raise (case 71)."""
    texts = [make_text(rng, 50) for _ in range(5)]
    for special in ("allow", "text"):
        report = count_files(tokenizer, iter(texts), special=special, chunk_nbytes=20, threads=2)
        assert report.n_tokens == sum(len(tokenizer.encode(text, special)) for text in texts)
        assert (report.n_documents, report.files) == (5, ())
    assert count_files(tokenizer, iter([])).n_tokens == 0
    assert count_files(tokenizer, iter(["", ""])).n_documents == 2


def test_nothing_to_read_and_bad_arguments__leave_no_file(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """Truth: the promise that a file appears whole or not at all."""
    (tmp_path / "empty.txt").touch()
    cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (tmp_path / "empty.txt", {}, DataError, "nothing to read"),
        (iter([3]), {}, DataError, "item 0"),
        (iter(["a"]), {"shards": 2}, ArgumentError, "size is not known"),
        (iter(["a"]), {"shards": 0}, ArgumentError, "shards"),
        (iter(["a"]), {"resume": True}, ArgumentError, "resume"),
        (iter(["a"]), {"threads": 0}, ArgumentError, "threads"),
        (iter(["a"]), {"special": "none"}, ArgumentError, "special"),
        (iter([b"a\xff"]), {"errors": "strict"}, DataError, "UTF-8"),
    ]
    for source, options, error, part in cases:
        with pytest.raises(error, match=part):
            encode_files(tokenizer, source, tmp_path / "out" / "o.bin", **options)
    with pytest.raises(ArgumentError, match=".parquet"):
        encode_files(tokenizer, iter(["a"]), tmp_path / "out" / "o.txt")
    (tmp_path / "same.bin").write_bytes(b"abc")
    with pytest.raises(ArgumentError, match="one of the files to read"):
        encode_files(tokenizer, tmp_path / "same.bin", tmp_path / "same.bin")
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["empty.txt", "same.bin"]


def test_tokenizer_method__is_the_function(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Truth: encode_files."""
    assert tokenizer.encode_files(iter(["ab"]), tmp_path / "o.bin").n_documents == 1
