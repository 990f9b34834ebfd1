"""``numbpe decode``: byte-exact text from numbers and files, and what is refused."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import numbpe
from numbpe.definition import DecodingRules
from numbpe.shard_decoding import decode_file
from numbpe.shards import encode_files
from numbpe.tokenizer import Tokenizer

END = b"<|endoftext|>"
Run: TypeAlias = Callable[..., int]
ReadOneError: TypeAlias = Callable[[], str]

TEXT = b"the cat\r\nsat \xe4\xb8\xad\xf0\x9f\x98\x80 \x00 x" + END + b"  two" + END + b"\n"


@pytest.fixture
def text_path(tmp_path: Path) -> Path:
    """A file of three documents."""
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT)
    return path


def test_ids__come_from_arguments_or_stdin(
    tokenizer_path: Path,
    run: Run,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Truth: the text that was encoded; half a character is what it is."""
    ids = list(map(str, numbpe.load(tokenizer_path).encode(TEXT).tolist()))
    assert run("decode", "--tokenizer", tokenizer_path, "--ids", *ids) == 0
    assert capsysbinary.readouterr() == (TEXT, b"")
    for data in (" ".join(ids), "\n".join(ids), f"[{', '.join(ids)}]\n"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
        assert run("decode", "--tokenizer", tokenizer_path) == 0
        assert capsysbinary.readouterr() == (TEXT, b"")
    assert run("decode", "--tokenizer", tokenizer_path, "--ids", "228") == 0
    assert capsysbinary.readouterr() == (b"\xe4", b"")


@pytest.mark.parametrize("suffix", [".bin", ".npy", ".parquet", ".arrow"])
def test_files__give_the_text_that_was_encoded(
    tokenizer_path: Path,
    text_path: Path,
    tmp_path: Path,
    suffix: str,
    run: Run,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Truth: the text, and the separator behind its last document."""
    ids_path, back = tmp_path / f"ids{suffix}", tmp_path / "back.txt"
    options = ["--tokenizer", tokenizer_path, "--input"]
    for dtype in ("uint16", "uint32"):
        encode = ["encode", *options, text_path, "--output", ids_path, "--dtype", dtype, "--quiet"]
        assert run(*encode) == 0
        assert run("decode", *options, ids_path) == 0
        assert capsysbinary.readouterr() == (TEXT + END, b"")
        assert run("decode", *options, ids_path, ids_path, "--output", back, "--quiet") == 0
        assert back.read_bytes() == 2 * (TEXT + END)
        assert capsysbinary.readouterr() == (b"", b"")
    assert run("decode", *options, ids_path, "--skip-special-tokens") == 0
    assert capsysbinary.readouterr().out == TEXT.replace(END, b"")


def test_type_of_ids__is_what_lies_beside_the_file_or_what_is_said(
    tokenizer_path: Path, text_path: Path, tmp_path: Path
) -> None:
    """Truth: the text that was encoded; without the manifest uint16 is assumed."""
    tokenizer = numbpe.load(tokenizer_path)
    encode_files(tokenizer, text_path, tmp_path / "o.bin", dtype="uint32", shards=2)
    first, second = (tmp_path / f"o-0000{number}-of-00002.bin" for number in range(2))
    text = b"".join([*decode_file(tokenizer, first), *decode_file(tokenizer, second)])
    assert text == TEXT + END
    (tmp_path / "o.bin.json").unlink()
    assert b"".join(decode_file(tokenizer, first, dtype="uint32")) + b"".join(
        decode_file(tokenizer, second, dtype="uint32")
    ) == (TEXT + END)
    assert b"".join(decode_file(tokenizer, first)) != TEXT


@pytest.mark.parametrize("suffix", [".bin", ".parquet"])
def test_documents__are_decoded_apart_where_the_first_token_is_special(
    tokenizer_path: Path, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: Tokenizer.decode_bytes of each document, which here takes off a space."""
    plain = numbpe.load(tokenizer_path)
    rules = DecodingRules(strip_left=1)
    tokenizer = Tokenizer.from_definition(replace(plain.definition, decoding=rules), plain.pattern)
    monkeypatch.setattr("numbpe.shard_decoding.IDS_A_BLOCK", 3)
    texts = [" one two three", " four", "", "  five"]
    encode_files(tokenizer, iter(texts), tmp_path / f"o{suffix}")
    expected = b"".join(text.removeprefix(" ").encode() + END for text in texts)
    assert b"".join(decode_file(tokenizer, tmp_path / f"o{suffix}")) == expected


def test_rows__may_hold_the_separator(tokenizer_path: Path, tmp_path: Path) -> None:
    """Truth: the texts, each with one separator behind it."""
    tokenizer = numbpe.load(tokenizer_path)
    encode_files(tokenizer, iter(["a", "b"]), tmp_path / "o.arrow", write_separator=True)
    assert b"".join(decode_file(tokenizer, tmp_path / "o.arrow")) == b"a" + END + b"b" + END
    encode_files(tokenizer, iter(["a", "b"]), tmp_path / "o.arrow")
    assert list(decode_file(tokenizer, tmp_path / "o.arrow", separator=None)) == [b"a", b"b"]


def write_bad_files(folder: Path) -> None:
    np.array([97, 9999], "<u2").tofile(folder / "high.bin")
    (folder / "odd.bin").write_bytes(b"abc")
    (folder / "text.bin.txt").write_bytes(b"abc")
    (folder / "text.npy").write_bytes(b"abc")
    np.save(folder / "square.npy", np.zeros((2, 2), dtype=np.uint16))
    (folder / "text.parquet").write_bytes(b"abc")
    (folder / "text.arrow").write_bytes(b"abc")
    pq.write_table(pa.table({"other": [1]}), folder / "other.parquet")
    pq.write_table(pa.table({"ids": ["a"]}), folder / "strings.parquet")


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--ids", "97", "9999"], 2, "9999"),
        (["--ids", "-1"], 2, "-1"),
        (["--ids", str(2**63)], 2, str(2**63)),
        (["--ids", "cat"], 1, "cat"),
        (["--ids", "1", "--input", "high.bin"], 2, "--ids"),
        (["--ids", "1", "--json"], 2, "--output"),
        (["--input", "high.bin"], 1, "9999"),
        (["--input", "odd.bin"], 1, "odd.bin"),
        (["--input", "text.bin.txt"], 2, ".parquet"),
        (["--input", "text.npy"], 1, "text.npy"),
        (["--input", "square.npy"], 1, "flat array"),
        (["--input", "text.parquet"], 1, "text.parquet"),
        (["--input", "text.arrow"], 1, "text.arrow"),
        (["--input", "other.parquet"], 1, "'ids'"),
        (["--input", "strings.parquet"], 1, "'ids'"),
        (["--input", "missing.bin"], 1, "missing.bin"),
        (["--input", "high.bin", "--separator", "x"], 2, "endoftext"),
        (["--input", "high.bin", "--output", "back.txt"], 1, "9999"),
    ],
)
def test_bad_input__is_one_line(
    tokenizer_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    part: str,
    run: Run,
    read_one_error: ReadOneError,
) -> None:
    """Truth: the habit that an error says what was found and what is allowed."""
    monkeypatch.chdir(tmp_path)
    write_bad_files(tmp_path)
    assert run("decode", "--tokenizer", tokenizer_path, *arguments) == code
    assert part in read_one_error()
    assert not (tmp_path / "back.txt").exists()
