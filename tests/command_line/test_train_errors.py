"""Bad input and mishaps on the command line: one line, the right exit code, nothing left."""

import errno
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from numbpe import cli, files, train_command

Train: TypeAlias = Callable[..., int]
ListFiles: TypeAlias = Callable[[Path], list[str]]
ReadBytes: TypeAlias = Callable[[Path], dict[str, bytes]]
ReadOneError: TypeAlias = Callable[[], str]

BAD_COMMANDS: list[tuple[list[str], int, str]] = [
    (["--vocab", "300"], 2, "nothing to train on"),
    (["--input", "corpus.txt", "--vocab", "200"], 2, "257"),
    (["--input", "corpus.txt", "--vocab", "255", "--no-special"], 2, "256"),
    (["--input", "corpus.txt", "--vocab", "300", "--special", ""], 2, "empty"),
    (["--input", "corpus.txt", "--vocab", "300", "--special", "x", "--special", "x"], 2, "twice"),
    (["--input", "corpus.txt", "--vocab", "300", "--pattern", "(unclosed"], 2, "(unclosed"),
    (["--input", "corpus.txt", "--vocab", "300", "--pattern", "gpt5"], 2, "cl100k"),
    (["--input", "corpus.txt", "--vocab", "300", "--threads", "0"], 2, "threads"),
    (["--input", "corpus.txt", "--vocab", "300", "--min-frequency", "-1"], 2, "min_frequency"),
    (["--input", "corpus.txt", "--vocab", "300", "--max-token-bytes", "0"], 2, "max_token_bytes"),
    (["--input", "corpus.txt", "--vocab", "300", "--name", "a/b"], 2, "a/b"),
    (["--input", "corpus.txt", "--vocab", "300", "--held-out", "corpus.txt"], 2, "--check"),
    (["--input", "corpus.txt", "--vocab", "300", "--memory", "1000"], 1, "memory"),
    (["--input", "empty.txt", "--vocab", "300"], 1, "empty"),
    (["--input", "missing.txt", "--vocab", "300"], 1, "missing.txt"),
    (["--input", "corpus.txt", "missing", "--vocab", "300"], 1, "missing"),
    (["--input", "missing", "absent", "--vocab", "300"], 1, "missing"),
    (["--input", "no-*.txt", "--vocab", "300"], 1, "no-*.txt"),
    (["--input", "corpus.txt", "--vocab", "300", "--column", "a..b"], 2, "a..b"),
    (["--input", "bad.txt", "--vocab", "300", "--errors", "strict"], 1, "byte 4"),
    (["--input", "corpus.txt", "--vocab", "300", "--output", "corpus.txt"], 1, "corpus.txt"),
    (["--counts", "missing.parquet", "--vocab", "300"], 1, "missing.parquet"),
    (["--input", "corpus.txt", "--vocab", "200,300"], 2, "vocab_size is 200"),
    (["--input", "corpus.txt", "--vocab", "300", "--recipe", "hf", "--special", ""], 2, "empty"),
    (["--input", "corpus.txt", "--vocab", "300", "--extend", "none.json"], 1, "none.json"),
    (
        ["--input", "corpus.txt", "--vocab", "300", "--extend", "x", "--unicode", "17"],
        2,
        "--unicode",
    ),
    (["--counts", "corpus.txt", "--vocab", "300"], 1, "corpus.txt"),
]


@pytest.mark.parametrize(("arguments", "code", "part"), BAD_COMMANDS)
def test_bad_input__is_one_line_and_leaves_nothing(
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    part: str,
    train: Train,
    list_files: ListFiles,
    read_one_error: ReadOneError,
) -> None:
    """Truth: the habit that an error says what was found and what is allowed."""
    monkeypatch.chdir(corpus.parent)
    Path("empty.txt").touch()
    Path("bad.txt").write_bytes(b"abc \xff\xfe abc \xe2\x82")
    before = list_files(corpus.parent)
    assert train(*arguments) == code
    assert part in read_one_error()
    assert list_files(corpus.parent) == before
    assert not Path("artifacts").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--input", "corpus.txt"],
        ["--input", "corpus.txt", "--vocab", "many"],
        ["--input", "corpus.txt", "--vocab", "300", "--memory", "much"],
        ["--input", "corpus.txt", "--vocab", "300", "--recipe", "mine"],
        ["--input", "corpus.txt", "--vocab", "300", "--special", "x", "--no-special"],
        ["--no-such-option"],
    ],
)
def test_wrong_commands__are_refused_by_the_parser(
    arguments: list[str], capsys: pytest.CaptureFixture[str], train: Train
) -> None:
    """Truth: exit code 2 is for wrong commands."""
    assert train(*arguments) == 2
    assert "usage: numbpe train" in capsys.readouterr().err


def test_counts_of_another_pattern__are_refused(
    corpus: Path, tmp_path: Path, output: Path, train: Train, read_one_error: ReadOneError
) -> None:
    """Truth: words that another pattern has cut would give another vocabulary without a word."""
    counts = tmp_path / "c.parquet"
    common = ["--vocab", 300, "--output", output, "--counts", counts, "--quiet"]
    assert train("--input", corpus, *common) == 0
    for option, value, part in (
        ("--pattern", "o200k", "cut with the pattern"),
        ("--special", "cat", "'cat'"),
    ):
        assert train(*common, option, value) == 1
        assert part in read_one_error()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file__is_named(
    corpus: Path, output: Path, train: Train, read_one_error: ReadOneError
) -> None:
    """Truth: the habit that an error names the file."""
    corpus.chmod(0)
    assert train("--input", corpus, "--vocab", 300, "--output", output) == 1
    assert "corpus.txt" in read_one_error()


def test_second_run_in_one_folder__is_refused(
    corpus: Path, output: Path, train: Train, list_files: ListFiles, read_one_error: ReadOneError
) -> None:
    """Truth: the promise that two runs cannot mix their files."""
    with files.lock_folder(output):
        assert train("--input", corpus, "--vocab", 300, "--output", output) == 1
    assert "another run" in read_one_error()
    assert list_files(output) == []


def test_full_disk__leaves_the_earlier_results(
    corpus: Path,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    train: Train,
    read_bytes: ReadBytes,
    read_one_error: ReadOneError,
) -> None:
    """Truth: the promise that all files are written or none; the third one meets a full disk."""
    common = ["--input", corpus, "--output", output, "--quiet"]
    assert train(*common, "--vocab", 260) == 0
    expected = read_bytes(output)

    def write(path: Any) -> Any:
        if str(path).endswith(".json"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return original(path)

    original = files.write_atomically
    for module in list(sys.modules.values()):
        if getattr(module, "write_atomically", None) is original:
            monkeypatch.setattr(module, "write_atomically", write)
    assert train(*common, "--vocab", 280) == 1
    message = read_one_error()
    assert str(output / "corpus.json") in message
    assert "No space left" in message
    assert read_bytes(output) == expected
    assert [path.name for path in output.iterdir() if path.is_dir()] == []


def raise_from(error: BaseException) -> Any:
    def fail(*_: Any) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "part"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (cli.Terminated(), 143, "terminated"),
        (MemoryError(), 1, "--memory"),
        (OSError(errno.EIO, "bad disk", "a.txt"), 1, "'a.txt': bad disk"),
        (RuntimeError("two\nlines"), 1, "unexpected RuntimeError: two lines"),
    ],
)
@pytest.mark.parametrize("is_debugging", [False, True])
def test_any_error__is_one_line_unless_debugging(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    part: str,
    is_debugging: bool,
    train: Train,
) -> None:
    """Truth: the habit that a traceback is for developers."""
    monkeypatch.setattr(train_command, "run", raise_from(error))
    assert train("--vocab", 300, *(["--debug"] if is_debugging else [])) == code
    lines = capsys.readouterr().err.splitlines()
    assert part in lines[-1]
    assert ("Traceback" in lines[0]) == is_debugging
    assert (len(lines) > 1) == is_debugging


def test_sigterm__ends_the_work_as_ctrl_c_does(
    corpus: Path,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    train: Train,
) -> None:
    """Truth: the promise that temporary files are gone whatever ends a run."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(train_command, "write_results", lambda *_: signal.raise_signal(15))
    assert train("--input", corpus, "--vocab", 270, "--output", output) == 143
    assert not output.exists()
    assert signal.getsignal(signal.SIGTERM) == before


def test_interrupted_run__leaves_nothing(
    corpus: Path,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    train: Train,
) -> None:
    """Truth: the promise that nothing is left on Ctrl-C."""
    monkeypatch.setattr(train_command, "write_results", raise_from(KeyboardInterrupt()))
    assert train("--input", corpus, "--vocab", 270, "--output", output) == 130
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not output.exists()


def test_format_that_cannot_hold_the_vocabulary__leaves_the_others(
    corpus: Path,
    output: Path,
    capsys: pytest.CaptureFixture[str],
    train: Train,
    list_files: ListFiles,
) -> None:
    """Truth: a tokenizer.json has one id for one text, so a special token "a" has no place there
    beside the byte "a"; the pickles hold both."""
    common = ["--input", corpus, "--vocab", 300, "--output", output, "--special", "a", "--quiet"]
    assert train(*common) == 1
    assert "refused  no corpus.json: " in capsys.readouterr().err
    assert list_files(output) == ["corpus_merges.pkl", "corpus_vocab.pkl"]
