"""The command line: what it writes, what it says, and how it ends."""

import errno
import io
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from numbpe import cli, files, outputs, train_command
from numbpe.recipes import RECIPES

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "train.py"
TEXT = "the cat sat on the mat; the hat is the cat's. <|endoftext|>that hat, that mat" * 20
RESULTS = ["corpus.json", "corpus_merges.pkl", "corpus_vocab.pkl"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "output"


def train(*arguments: object) -> int:
    return cli.main(["train", *map(str, arguments)])


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def read_bytes(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in list_files(folder)}


def read_one_error(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that stderr must hold; stdout must be empty."""
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("numbpe: error: ")
    return lines[0].removeprefix("numbpe: error: ")


# --- what is written ------------------------------------------------------------------------------


def test_train__writes_the_pickles_and_a_tokenizer_json(corpus: Path, output: Path) -> None:
    """Truth: the layout of CS336; bytes, special tokens, then merges."""
    assert train("--input", corpus, "--vocab", 270, "--output", output) == 0
    assert list_files(output) == RESULTS
    vocab = pickle.loads((output / "corpus_vocab.pkl").read_bytes())
    merges = pickle.loads((output / "corpus_merges.pkl").read_bytes())
    assert list(vocab) == list(range(270))
    assert vocab[256] == b"<|endoftext|>"
    assert [left + right for left, right in merges] == [vocab[id] for id in range(257, 270)]
    model = json.loads((output / "corpus.json").read_text(encoding="utf-8"))["model"]
    assert len(model["merges"]) == 13


def test_train__writes_the_formats_asked_for(corpus: Path, output: Path) -> None:
    """Truth: the help text of --format."""
    arguments = ["--input", corpus, "--vocab", 260, "--output", output, "--name", "x"]
    assert train(*arguments, "--format", "tiktoken", "gpt2") == 0
    assert list_files(output) == [
        "x.tiktoken",
        "x/added_tokens.json",
        "x/merges.txt",
        "x/vocab.json",
        "x_merges.pkl",
        "x_vocab.pkl",
    ]
    assert train(*arguments, "--format", "gpt2", "--no-special") == 0
    assert "x/added_tokens.json" not in list_files(output)


def test_train__defaults_to_the_folder_artifacts(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the help text of --output."""
    monkeypatch.chdir(tmp_path)
    assert train("--input", corpus, "--vocab", 258) == 0
    assert list_files(tmp_path / "artifacts") == RESULTS


def test_train__gives_the_same_bytes_on_every_route(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the promise that threads and the way that text comes in change nothing."""
    options = ["--vocab", 280, "--name", "x", "--quiet"]
    for folder in "abcd":
        (tmp_path / folder).mkdir()
    assert train("--input", corpus, *options, "--output", tmp_path / "a", "--threads", 1) == 0
    assert train("--input", tmp_path / "corp*.txt", *options, "--output", tmp_path / "b") == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert train("--input", "-", *options, "--output", tmp_path / "c", "--threads", 3) == 0
    expected = read_bytes(tmp_path / "a")
    assert read_bytes(tmp_path / "b") == expected
    assert read_bytes(tmp_path / "c") == expected


def test_train__several_files_are_several_documents(tmp_path: Path, output: Path) -> None:
    """Truth: hand-computed; no pair reaches over the end of a file, so (a, b) is all there is."""
    for name in ("one", "two"):
        (tmp_path / name).write_text("ab")
    inputs = [tmp_path / "one", tmp_path / "two"]
    assert train("--input", *inputs, "--vocab", 300, "--output", output) == 0
    assert pickle.loads((output / "one_merges.pkl").read_bytes()) == [(b"a", b"b")]


def test_counts__are_written_with_the_text_and_trained_from_without_it(
    corpus: Path, tmp_path: Path, output: Path
) -> None:
    """Truth: the run on the text itself."""
    counts = tmp_path / "corpus.counts.parquet"
    common = ["--vocab", 290, "--output"]
    pattern = ["--pattern", "o200k", "--special", "<|endoftext|>", "--special", "cat"]
    assert train("--input", corpus, *pattern, *common, output, "--counts", counts) == 0
    corpus.unlink()
    assert train(*common, tmp_path / "again", "--counts", counts) == 0
    assert read_bytes(tmp_path / "again") == read_bytes(output)


def test_results__are_replaced_as_a_whole(corpus: Path, output: Path) -> None:
    """Truth: a run into a new folder."""
    assert train("--input", corpus, "--vocab", 280, "--output", output) == 0
    assert train("--input", corpus, "--vocab", 260, "--output", output) == 0
    assert train("--input", corpus, "--vocab", 260, "--output", output / "new") == 0
    expected = read_bytes(output / "new")
    assert {name: (output / name).read_bytes() for name in RESULTS} == expected


# --- what is said ---------------------------------------------------------------------------------


def test_summary__goes_to_stderr_and_states_what_was_done(
    corpus: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: hand-computed sizes of the text."""
    assert train("--input", corpus, "--vocab", 270, "--output", output) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    for expected in ("1.54 kB", "270 tokens, 13 merges", "MB/s", "distinct words", "corpus.json"):
        assert expected in captured.err


def test_json__puts_the_figures_on_stdout(
    corpus: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: hand-computed sizes of the text."""
    assert train("--input", corpus, "--vocab", 270, "--output", output, "--json", "--quiet") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    figures = json.loads(captured.out)
    assert figures["n_source_bytes"] == len(TEXT)
    assert figures["vocab_size"] == figures["asked_vocab_size"] == 270
    assert figures["n_merges"] == 13
    assert figures["stopped_early"] is False
    assert figures["peak_rss_nbytes"] > 10_000_000
    assert sum(figures["seconds"].values()) <= figures["total_seconds"] * 1.01
    assert [Path(path).is_file() for path in figures["files"].values()] == [True] * 3


def test_train__says_that_it_stopped_early(
    tmp_path: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: cases of public bug reports; "abc abc" gives ab, abc and " abc"."""
    (tmp_path / "abc.txt").write_text("abc abc")
    assert train("--input", tmp_path / "abc.txt", "--vocab", 10_000, "--output", output) == 0
    assert "asked for 10,000, the text gives 260" in capsys.readouterr().err
    assert len(pickle.loads((output / "abc_vocab.pkl").read_bytes())) == 260


@pytest.mark.parametrize("held_out", [False, True])
def test_check__reports_the_checks(
    corpus: Path, output: Path, capsys: pytest.CaptureFixture[str], held_out: bool
) -> None:
    """Truth: the help text of --check."""
    arguments: list[object] = ["--input", corpus, "--vocab", 280, "--output", output, "--check"]
    if held_out:
        (corpus.parent / "other.txt").write_text("that is another cat")
        arguments += ["--held-out", corpus.parent / "other.txt"]
    assert train(*arguments, "--json") == 0
    captured = capsys.readouterr()
    checks = " ".join(json.loads(captured.out)["checks"])
    assert "bytes per token" in checks
    assert ("other.txt" in checks) == held_out
    assert "bytes per token" in captured.err


# --- bad input ------------------------------------------------------------------------------------

BAD_COMMANDS: list[tuple[list[str], int, str]] = [
    (["--vocab", "300"], 2, "nothing to train on"),
    (["--input", "corpus.txt", "--vocab", "200"], 2, "257"),
    (["--input", "corpus.txt", "--vocab", "255", "--no-special"], 2, "256"),
    (["--input", "corpus.txt", "--vocab", "300", "--special", ""], 2, "empty"),
    (["--input", "corpus.txt", "--vocab", "300", "--special", "x", "--special", "x"], 2, "twice"),
    (["--input", "corpus.txt", "--vocab", "300", "--pattern", "(unclosed"], 2, "(unclosed"),
    (["--input", "corpus.txt", "--vocab", "300", "--pattern", "gpt5"], 2, "cl100k"),
    (["--input", "corpus.txt", "--vocab", "300", "--threads", "0"], 2, "threads"),
    (["--input", "corpus.txt", "--vocab", "300", "--min-frequency", "0"], 2, "min_frequency"),
    (["--input", "corpus.txt", "--vocab", "300", "--max-token-bytes", "0"], 2, "max_token_bytes"),
    (["--input", "corpus.txt", "--vocab", "300", "--name", "a/b"], 2, "a/b"),
    (["--input", "corpus.txt", "--vocab", "300", "--held-out", "corpus.txt"], 2, "--check"),
    (["--input", "corpus.txt", "--vocab", "300", "--memory", "1000"], 1, "memory"),
    (["--input", "empty.txt", "--vocab", "300"], 1, "empty"),
    (["--input", "missing.txt", "--vocab", "300"], 1, "missing.txt"),
    (["--input", "corpus.txt", "missing", "--vocab", "300"], 1, "missing"),
    (["--input", "missing", "absent", "--vocab", "300"], 1, "missing"),
    (["--input", "no-*.txt", "--vocab", "300"], 1, "no-*.txt"),
    (["--input", ".", "--vocab", "300"], 1, "folder"),
    (["--input", "bad.txt", "--vocab", "300", "--errors", "strict"], 1, "byte 4"),
    (["--input", "corpus.txt", "--vocab", "300", "--output", "corpus.txt"], 1, "corpus.txt"),
    (["--counts", "missing.parquet", "--vocab", "300"], 1, "missing.parquet"),
    (["--counts", "corpus.txt", "--vocab", "300"], 1, "corpus.txt"),
]


@pytest.mark.parametrize(("arguments", "code", "part"), BAD_COMMANDS)
def test_bad_input__is_one_line_and_leaves_nothing(
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    part: str,
) -> None:
    """Truth: the habit that an error says what was found and what is allowed."""
    monkeypatch.chdir(corpus.parent)
    Path("empty.txt").touch()
    Path("bad.txt").write_bytes(b"abc \xff\xfe abc \xe2\x82")
    before = list_files(corpus.parent)
    assert train(*arguments) == code
    assert part in read_one_error(capsys)
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
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: exit code 2 is for wrong commands."""
    assert train(*arguments) == 2
    assert "usage: numbpe train" in capsys.readouterr().err


def test_counts_of_another_pattern__are_refused(
    corpus: Path, tmp_path: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: words that another pattern has cut would give another vocabulary without a word."""
    counts = tmp_path / "c.parquet"
    common = ["--vocab", 300, "--output", output, "--counts", counts, "--quiet"]
    assert train("--input", corpus, *common) == 0
    for option in (["--pattern", "o200k"], ["--special", "cat"]):
        assert train(*common, *option) in (1, 2)
        assert option[1] in read_one_error(capsys)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file__is_named(
    corpus: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the habit that an error names the file."""
    corpus.chmod(0)
    assert train("--input", corpus, "--vocab", 300, "--output", output) == 1
    assert "corpus.txt" in read_one_error(capsys)


def test_second_run_in_one_folder__is_refused(
    corpus: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the promise that two runs cannot mix their files."""
    with files.lock_folder(output):
        assert train("--input", corpus, "--vocab", 300, "--output", output) == 1
    assert "another run" in read_one_error(capsys)
    assert list_files(output) == []


def test_full_disk__leaves_the_earlier_results(
    corpus: Path, output: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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
    message = read_one_error(capsys)
    assert str(output / "corpus.json") in message
    assert "No space left" in message
    assert read_bytes(output) == expected
    assert [path.name for path in output.iterdir() if path.is_dir()] == []


# --- how it ends ----------------------------------------------------------------------------------


def raise_from(error: BaseException) -> Any:
    def fail(*_: Any) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "part"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
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
) -> None:
    """Truth: the habit that a traceback is for developers."""
    monkeypatch.setattr(train_command, "run", raise_from(error))
    assert train("--vocab", 300, *(["--debug"] if is_debugging else [])) == code
    lines = capsys.readouterr().err.splitlines()
    assert part in lines[-1]
    assert ("Traceback" in lines[0]) == is_debugging
    assert (len(lines) > 1) == is_debugging


def test_interrupted_run__leaves_nothing(
    corpus: Path, output: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the promise that nothing is left on Ctrl-C."""
    monkeypatch.setattr(train_command, "write_results", raise_from(KeyboardInterrupt()))
    assert train("--input", corpus, "--vocab", 270, "--output", output) == 130
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not output.exists()


def run_script(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


def test_script__gives_the_same_bytes_whatever_the_hash_seed(corpus: Path, tmp_path: Path) -> None:
    """Truth: the promise that a vocabulary does not depend on the order of a hash table."""
    results = []
    for seed, threads in (("0", 1), ("7", 2)):
        folder = tmp_path / seed
        options = ("--input", corpus, "--vocab", 290, "--output", folder, "--threads", threads)
        done = run_script(*options, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "\r" not in done.stderr, "a bar was drawn where there is no terminal"
        results.append(read_bytes(folder))
    assert results[0] == results[1]
    assert sorted(results[0]) == RESULTS


def test_script__ends_quietly_when_its_reader_has_gone(corpus: Path, output: Path) -> None:
    """Truth: the habit that a broken pipe is no error."""
    reader, writer = os.pipe()
    os.close(reader)
    arguments = ["--input", corpus, "--vocab", 260, "--output", output, "--json", "--quiet"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert list_files(output) == RESULTS


def test_version_and_help__go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """Truth: the habit that what was asked for is data."""
    assert cli.main(["--version"]) == 0
    assert re.fullmatch(r"numbpe \d+\.\d+\.\d+\n", capsys.readouterr().out)
    assert cli.main(["train", "--help"]) == 0
    assert "example" in capsys.readouterr().out


def test_recipes__on_the_command_line_are_those_of_the_library() -> None:
    """Truth: numbpe.recipes.RECIPES."""
    for recipe in RECIPES:
        arguments = ["train", "--vocab", "300", "--recipe", recipe]
        assert cli.make_parser().parse_args(arguments).recipe == recipe


@pytest.mark.parametrize(
    ("inputs", "counts", "expected"),
    [
        (["a/owt.txt", "b.txt"], None, "owt"),
        (["-"], None, "stdin"),
        (["shards/part-*.txt"], None, "part"),
        (["data/*.txt"], None, "corpus"),
        ([], "x/owt.counts.parquet", "owt"),
        ([], "owt.parquet", "owt"),
    ],
)
def test_choose_name__follows_the_input(
    inputs: list[str], counts: str | None, expected: str
) -> None:
    """Truth: the docstring of choose_name."""
    assert outputs.choose_name(inputs, counts) == expected
