"""``numbpe encode``: ids printed, counted and written, and what is refused."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow.parquet as pq
import pytest

import numbpe

ROOT = Path(__file__).resolve().parents[2]
END = "<|endoftext|>"
Run: TypeAlias = Callable[..., int]
ListFiles: TypeAlias = Callable[[Path], list[str]]
ReadOneError: TypeAlias = Callable[[], str]


def give_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def read_ids(output: str) -> list[list[int]]:
    return [[int(word) for word in line.split()] for line in output.splitlines()]


def test_text__is_printed_a_line_each(
    tokenizer_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: Tokenizer.encode; pairs of surrogates join and others become U+FFFD (case 49)."""
    tokenizer = numbpe.load(tokenizer_path)
    texts = ["the cat", f"a{END}b", "", "\ud83d\udc4d", "a\udbc0b"]
    options = [word for text in texts for word in ("--text", text)]
    assert run("encode", "--tokenizer", tokenizer_path, *options) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    expected = [tokenizer.encode(text).tolist() for text in (*texts[:3], "\U0001f44d", "a\ufffdb")]
    assert read_ids(captured.out) == expected
    assert run("encode", "--tokenizer", tokenizer_path, "--json", *options) == 0
    assert json.loads(capsys.readouterr().out)["ids"] == expected


def test_stdin__is_one_text_or_one_a_line(
    tokenizer_path: Path,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Truth: Tokenizer.encode, line ends included unless --lines is given."""
    tokenizer = numbpe.load(tokenizer_path)
    text = "the\ncat\r\n\nsat\n"
    give_stdin(monkeypatch, text.encode())
    assert run("encode", "--tokenizer", tokenizer_path) == 0
    assert read_ids(capsys.readouterr().out) == [tokenizer.encode(text).tolist()]
    give_stdin(monkeypatch, text.encode())
    assert run("encode", "--tokenizer", tokenizer_path, "--lines") == 0
    lines = ["the", "cat\r", "", "sat"]
    assert read_ids(capsys.readouterr().out) == [tokenizer.encode(line).tolist() for line in lines]


def test_count__prints_a_number(
    tokenizer_path: Path, corpus: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: Tokenizer.count; a text that spells a special token never raises (case 71)."""
    tokenizer = numbpe.load(tokenizer_path)
    text = corpus.read_text(encoding="utf-8")
    command = ["encode", "--tokenizer", tokenizer_path, "--count", "--quiet"]
    for special in ("allow", "text"):
        assert run(*command, "--input", corpus, corpus, "--special", special) == 0
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == (f"{2 * tokenizer.count(text, special)}\n", "")
    assert run(*command, "--text", f"a {END}", "--text", "b") == 0
    assert capsys.readouterr().out == f"{tokenizer.count(f'a {END}')}\n1\n"


def test_output__holds_the_ids_and_stderr_the_figures(
    tokenizer_path: Path,
    corpus: Path,
    output: Path,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    list_files: ListFiles,
) -> None:
    """Truth: Tokenizer.encode of the whole file, and the separator at its end."""
    tokenizer = numbpe.load(tokenizer_path)
    ids = [*tokenizer.encode(corpus.read_text(encoding="utf-8")).tolist(), 256]
    command = ["encode", "--tokenizer", tokenizer_path, "--input", corpus]
    assert run(*command, "--output", output / "c.bin") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{len(ids):,} tokens" in captured.err
    assert "21 documents" in captured.err
    assert np.fromfile(output / "c.bin", "<u2").tolist() == ids
    assert list_files(output) == ["c.bin", "c.bin.json"]
    assert run(*command, "--output", output / "c.npy", "--dtype", "uint32", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["n_tokens"], figures["n_documents"]) == (len(ids), 21)
    loaded = np.load(output / "c.npy")
    assert (loaded.dtype, loaded.tolist()) == (np.uint32, ids)


def test_output__in_shards_of_rows_is_resumed(
    tokenizer_path: Path,
    corpus: Path,
    output: Path,
    run: Run,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: Tokenizer.encode of each document."""
    tokenizer = numbpe.load(tokenizer_path)
    documents = corpus.read_text(encoding="utf-8").split(END)
    command = ["encode", "--tokenizer", tokenizer_path, "--input", corpus, "--json", "--quiet"]
    command += ["--output", output / "c.parquet", "--shards", "2", "--resume"]
    for n_kept in (0, 2):
        assert run(*command) == 0
        figures = json.loads(capsys.readouterr().out)
        assert figures["n_kept"] == n_kept
    rows = [row for path in figures["files"] for row in pq.read_table(path)["ids"].to_pylist()]
    assert rows == [tokenizer.encode(document).tolist() for document in documents]


def test_script__reads_a_pipe(tokenizer_path: Path, output: Path) -> None:
    """Truth: Tokenizer.encode."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "encode.py"), "--tokenizer", str(tokenizer_path),
         "--input", "-", "--output", str(output / "p.bin"), "--no-separator"],
        input=b"the cat sat", capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    ids = numbpe.load(tokenizer_path).encode("the cat sat")
    assert np.fromfile(output / "p.bin", "<u2").tolist() == ids.tolist()


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """Let processes that are started hear SIGINT, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal of Unix")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal__ends_a_run_and_leaves_nothing(
    tokenizer_path: Path,
    output: Path,
    number: int,
    code: int,
    list_files: ListFiles,
    ctrl_c_is_heard: None,
) -> None:
    """Truth: the exit codes of the command line, for a run that waits for a pipe."""
    output.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / "encode.py"), "--tokenizer", str(tokenizer_path),
         "--input", "-", "--output", str(output / "p.bin"), "--threads", "2"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"the cat sat on the mat\n" * 100_000)
    deadline = time.monotonic() + 120
    while not list_files(output):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    process.stdin.close()
    with process.stderr:
        message = process.stderr.read()
    assert process.wait(timeout=120) == code
    assert message.count(b"\n") == 1
    assert b"half written" in message
    assert list_files(output) == []


BAD_COMMANDS: list[tuple[list[str], int, str]] = [
    (["--output", "o.bin"], 2, "nothing to encode"),
    (["--output", "o.bin", "--text", "x"], 2, "--input"),
    (["--output", "o.bin", "--input", "corpus.txt", "--count"], 2, "--count"),
    (["--output", "o.txt", "--input", "corpus.txt"], 2, ".parquet"),
    (["--output", "o.bin", "--input", "corpus.txt", "--separator", "x"], 2, "endoftext"),
    (["--output", "o.bin", "--input", "corpus.txt", "--shards", "0"], 2, "shards"),
    (["--output", "o.bin", "--input", "-", "--shards", "2"], 2, "size is not known"),
    (["--output", "o.bin", "--input", "corpus.txt", "--threads", "0"], 2, "threads"),
    (["--output", "o.bin", "--input", "corpus.txt", "--special", "error"], 2, "endoftext"),
    (["--output", "o.bin", "--input", "corpus.txt", "--memory", "1000"], 1, "memory"),
    (["--output", "o.bin", "--input", "missing.txt"], 1, "missing.txt"),
    (["--output", "o.bin", "--input", "empty.txt"], 1, "empty"),
    (["--output", "o.bin", "--input", "bad.txt", "--errors", "strict"], 1, "byte 4"),
    (["--output", "corpus.txt/o.bin", "--input", "corpus.txt"], 1, "corpus.txt"),
    (["--text", "x", "--shards", "2"], 2, "--output"),
    (["--text", "x", "--input", "corpus.txt"], 2, "--text"),
    (["--input", "bad.txt", "--errors", "strict"], 1, "byte 4"),
    (["--text", "x", "--tokenizer", "missing.json"], 1, "missing.json"),
    (["--text", "x", "--tokenizer", "bad.txt"], 1, "bad.txt"),
    (["--text", "x", "--pattern", "gpt2"], 2, "pattern"),
]


@pytest.mark.parametrize(("arguments", "code", "part"), BAD_COMMANDS)
def test_bad_input__is_one_line_and_leaves_nothing(
    tokenizer_path: Path,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    part: str,
    run: Run,
    list_files: ListFiles,
    read_one_error: ReadOneError,
) -> None:
    """Truth: the habit that an error says what was found and what is allowed."""
    monkeypatch.chdir(corpus.parent)
    Path("empty.txt").touch()
    Path("bad.txt").write_bytes(b"abc \xff\xfe abc \xe2\x82")
    before = list_files(corpus.parent)
    if "--tokenizer" not in arguments:
        arguments = ["--tokenizer", str(tokenizer_path), *arguments]
    assert run("encode", *arguments) == code
    assert part in read_one_error()
    assert list_files(corpus.parent) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_full_disk__is_one_line(
    tokenizer_path: Path, corpus: Path, tmp_path: Path, run: Run, read_one_error: ReadOneError
) -> None:
    """Truth: the system's own message; /dev/full refuses every byte."""
    (tmp_path / "full.bin").symlink_to("/dev/full")
    command = ["encode", "--tokenizer", tokenizer_path, "--input", corpus]
    assert run(*command, "--output", tmp_path / "full.bin") == 1
    assert "No space left" in read_one_error()
