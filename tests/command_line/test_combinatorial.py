"""``numbpe combinatorial``: training on the command line, and looking at what came out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.formats import read_vocabulary
from numbpe.combinatorial.standard_training import train_standard
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
