"""The command line: what it writes, what it says, and how it ends."""

import io
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from numbpe import cli, outputs
from numbpe.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "train.py"
TEXT = "the cat sat on the mat; the hat is the cat's. <|endoftext|>that hat, that mat" * 20
Train: TypeAlias = Callable[..., int]
ListFiles: TypeAlias = Callable[[Path], list[str]]
ReadBytes: TypeAlias = Callable[[Path], dict[str, bytes]]

RESULTS = ["corpus.json", "corpus_merges.pkl", "corpus_vocab.pkl"]


# --- what is written ------------------------------------------------------------------------------


def test_train__writes_the_pickles_and_a_tokenizer_json(
    corpus: Path, output: Path, train: Train, list_files: ListFiles
) -> None:
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


def test_train__writes_the_formats_asked_for(
    corpus: Path, output: Path, train: Train, list_files: ListFiles
) -> None:
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
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    train: Train,
    list_files: ListFiles,
) -> None:
    """Truth: the help text of --output."""
    monkeypatch.chdir(tmp_path)
    assert train("--input", corpus, "--vocab", 258) == 0
    assert list_files(tmp_path / "artifacts") == RESULTS


def test_train__gives_the_same_bytes_on_every_route(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    train: Train,
    read_bytes: ReadBytes,
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


def test_train__several_files_are_several_documents(
    tmp_path: Path, output: Path, train: Train
) -> None:
    """Truth: hand-computed; no pair reaches over the end of a file, so (a, b) is all there is."""
    for name in ("one", "two"):
        (tmp_path / name).write_text("ab")
    inputs = [tmp_path / "one", tmp_path / "two"]
    assert train("--input", *inputs, "--vocab", 300, "--output", output) == 0
    assert pickle.loads((output / "one_merges.pkl").read_bytes()) == [(b"a", b"b")]


def test_counts__are_written_with_the_text_and_trained_from_without_it(
    corpus: Path, tmp_path: Path, output: Path, train: Train, read_bytes: ReadBytes
) -> None:
    """Truth: the run on the text itself."""
    counts = tmp_path / "corpus.counts.parquet"
    common = ["--vocab", 290, "--output"]
    pattern = ["--pattern", "o200k", "--special", "<|endoftext|>", "--special", "cat"]
    assert train("--input", corpus, *pattern, *common, output, "--counts", counts) == 0
    corpus.unlink()
    assert train(*common, tmp_path / "again", "--counts", counts) == 0
    assert read_bytes(tmp_path / "again") == read_bytes(output)


def test_results__are_replaced_as_a_whole(
    corpus: Path, output: Path, train: Train, read_bytes: ReadBytes
) -> None:
    """Truth: a run into a new folder."""
    assert train("--input", corpus, "--vocab", 280, "--output", output) == 0
    assert train("--input", corpus, "--vocab", 260, "--output", output) == 0
    assert train("--input", corpus, "--vocab", 260, "--output", output / "new") == 0
    expected = read_bytes(output / "new")
    assert {name: (output / name).read_bytes() for name in RESULTS} == expected


# --- what is said ---------------------------------------------------------------------------------


def test_summary__goes_to_stderr_and_states_what_was_done(
    corpus: Path, output: Path, capsys: pytest.CaptureFixture[str], train: Train
) -> None:
    """Truth: hand-computed sizes of the text."""
    assert train("--input", corpus, "--vocab", 270, "--output", output) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    for expected in ("1.54 kB at", "B/s", "270 tokens, 13 merges", "distinct words", "corpus.json"):
        assert expected in captured.err


def test_json__puts_the_figures_on_stdout(
    corpus: Path, output: Path, capsys: pytest.CaptureFixture[str], train: Train
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
    tmp_path: Path, output: Path, capsys: pytest.CaptureFixture[str], train: Train
) -> None:
    """Truth: cases of public bug reports; "abc abc" gives ab, abc and " abc"."""
    (tmp_path / "abc.txt").write_text("abc abc")
    assert train("--input", tmp_path / "abc.txt", "--vocab", 10_000, "--output", output) == 0
    assert "asked for 10,000, the text gives 260" in capsys.readouterr().err
    assert len(pickle.loads((output / "abc_vocab.pkl").read_bytes())) == 260


@pytest.mark.parametrize("held_out", [False, True])
def test_check__reports_the_checks(
    corpus: Path, output: Path, capsys: pytest.CaptureFixture[str], held_out: bool, train: Train
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


# --- how it ends ----------------------------------------------------------------------------------


def run_script(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


def test_script__gives_the_same_bytes_whatever_the_hash_seed(
    corpus: Path, tmp_path: Path, read_bytes: ReadBytes
) -> None:
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


def test_script__ends_quietly_when_its_reader_has_gone(
    corpus: Path, output: Path, list_files: ListFiles
) -> None:
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
