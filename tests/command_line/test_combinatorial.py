"""``numbpe combinatorial``: training on the command line, and looking at what came out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.formats import read_vocabulary, write_vocabulary
from numbpe.combinatorial.standard_training import train_standard
from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.combinatorial.training import train_combinatorial

# The text of these tests has few pairs; which rows there are is what they are about.
pytestmark = pytest.mark.filterwarnings("ignore::numbpe.training.StoppedEarlyWarning")

Run = Callable[..., int]


def test_train__writes_what_the_library_trains(
    run: Run, corpus: Path, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: train_combinatorial with the same options."""
    path = output / "tables.json"
    options = ["--input", corpus, "--vocab", 290, "--min-char-freq", 5, "--min-affix-freq", 5]
    extra = ["--split-camel", "--special", "<|endoftext|>", "--output", path, "--json"]
    assert run("combinatorial", "train", *options, *extra) == 0
    expected = train_combinatorial(
        [corpus], 290, min_char_freq=5, min_affix_freq=5, split_camel=True,
        special_tokens=["<|endoftext|>"], progress=False,
    )  # fmt: skip
    assert read_vocabulary(path) == expected
    captured = capsys.readouterr()
    figures = json.loads(captured.out)
    assert figures["sizes"] == expected.sizes
    assert figures["stopped_early"]
    assert f"the text gives {expected.vocab_size} of 290 rows" in captured.err
    assert (figures["n_source_bytes"], figures["file"]) == (corpus.stat().st_size, str(path))


def test_train__takes_closed_lists_and_the_format_of_the_reference(
    run: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: train_combinatorial with the same options, and the members of the reference's file."""
    monkeypatch.chdir(tmp_path)
    closed = ["--prefix", "", "--prefix", " ", "--suffix", "", "--no-fold-case"]
    options = ["--input", corpus.name, "--vocab", 280, *closed, "--format", "reference", "--quiet"]
    assert run("combinatorial", "train", *options) == 0
    path = tmp_path / "artifacts" / "corpus_combinatorial.json"
    vocabulary = read_vocabulary(path)
    assert isinstance(vocabulary, CombinatorialVocabulary)
    assert (vocabulary.prefixes, vocabulary.suffixes) == (("", " "), ("",))
    assert not vocabulary.fold_case
    assert list(json.loads(path.read_text(encoding="utf-8")))[:2] == ["type", "prefixes"]


def test_train_plain__writes_the_baseline(run: Run, corpus: Path, output: Path) -> None:
    """Truth: train_standard with the same options."""
    path = output / "plain.json"
    options = ["--input", corpus, "--vocab", 290, "--plain", "cl100k", "--output", path]
    assert run("combinatorial", "train", *options) == 0
    assert read_vocabulary(path) == train_standard([corpus], 290, "cl100k", progress=False)


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["--vocab", "300"], 2, ["--input"]),
        (["--vocab", "200", "--input", "corpus.txt"], 2, ["200", "at least 261"]),
        (["--vocab", "300", "--input", "corpus.txt", "--output", "x.bin"], 2, ["NAME.json"]),
        (["--vocab", "300", "--input", "no.txt"], 1, ["no.txt"]),
        (
            ["--vocab", "300", "--input", "corpus.txt", "--format", "reference", "--special", "x"],
            2,
            ["special tokens"],
        ),
    ],
)
def test_train__says_in_one_line_what_is_wrong(
    arguments: list[str],
    code: int,
    words: list[str],
    run: Run,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: the exit codes of the command line; an error names the cause, and nothing is left."""
    monkeypatch.chdir(corpus.parent)
    assert run("combinatorial", "train", *arguments) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert [word for word in words if word not in lines[0]] == []
    assert [path.name for path in corpus.parent.iterdir()] == ["corpus.txt"]


def test_inspect__shows_tables(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the file itself."""
    path = tmp_path / "tables.json"
    members = {
        "type": "combinatorial", "prefixes": ["", " "], "suffixes": [""], "alphabet": ["a", "b"],
        "merges": [["a", "b"]],
    }  # fmt: skip
    path.write_text(json.dumps(members))
    assert run("combinatorial", "inspect", path, "--json") == 0
    captured = capsys.readouterr()
    figures = json.loads(captured.out)
    assert figures["sizes"] == {"variation": 3, "prefix": 2, "core": 259, "suffix": 1}
    assert (figures["merges"], figures["prefixes"]) == (["ab"], ["", " "])
    assert "core 259" in captured.err
    assert run("combinatorial", "inspect", tmp_path / "none.json") == 1


@pytest.fixture
def tables(corpus: Path, tmp_path: Path) -> Path:
    """A file of tables trained on the corpus."""
    vocabulary = train_combinatorial(
        [corpus], 290, min_char_freq=5, min_affix_freq=5, progress=False,
        special_tokens=["<|endoftext|>"],
    )  # fmt: skip
    path = tmp_path / "tables.json"
    write_vocabulary(vocabulary, path)
    return path


def test_encode_and_decode__go_there_and_back(
    run: Run, tables: Path, corpus: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Truth: the text, and CombinatorialTokenizer.encode."""
    tokenizer = CombinatorialTokenizer.load(tables)
    array = tmp_path / "rows.npy"
    which = ["--tokenizer", tables]
    assert run("combinatorial", "encode", *which, "--input", corpus, "--output", array) == 0
    # A separator stands behind each document, the last one too.
    text = corpus.read_text(encoding="utf-8")
    expected = tokenizer.encode(text + "<|endoftext|>")
    assert np.array_equal(np.load(array), expected)
    capfdbinary.readouterr()
    assert run("combinatorial", "decode", *which, "--input", array, "--quiet") == 0
    assert capfdbinary.readouterr().out == (text + "<|endoftext|>").encode()
    assert run("combinatorial", "encode", *which, "--text", "The cat, the hat") == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert [[int(word) for word in line.split()] for line in lines] == tokenizer.encode(
        "The cat, the hat"
    ).tolist()
    out = tmp_path / "text.txt"
    arguments = [*which, "--input", array, array, "--output", out]
    assert run("combinatorial", "decode", *arguments) == 0
    assert out.read_text(encoding="utf-8") == 2 * (text + "<|endoftext|>")


def test_inspect__says_what_each_row_of_a_text_means(
    run: Run, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: "The" is "the", capitalised."""
    assert run("combinatorial", "inspect", tables, "--text", "The cat, the hat") == 0
    assert "Capitalised, 'the'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content, words",
    [
        (np.zeros((2, 3), dtype=np.int32), ["(2, 3)", "(n, 4)"]),
        (b"nothing", ["no .npy file"]),
        (np.full((1, 4), 10**6, dtype=np.int32), ["1000000"]),
    ],
)
def test_decode__says_in_one_line_what_is_wrong(
    content: Any, words: list[str], run: Run, tables: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Truth: rows are (n, 4), and each index one that its table has."""
    path = tmp_path / "rows.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    assert run("combinatorial", "decode", "--tokenizer", tables, "--input", path) != 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert [word for word in words if word not in lines[0]] == []
