"""``numbpe convert``: the same ids in another format, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import numbpe

Run: TypeAlias = Callable[..., int]
ListFiles: TypeAlias = Callable[[Path], list[str]]
ReadOneError: TypeAlias = Callable[[], str]

END = "<|endoftext|>"


def test_convert__gives_the_same_ids(
    tokenizer_path: Path,
    corpus: Path,
    output: Path,
    run: Run,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: the tokenizer that was converted."""
    tokenizer = numbpe.load(tokenizer_path)
    text = corpus.read_text(encoding="utf-8")
    output.mkdir()
    expected = tokenizer.encode(text, special="text").tolist()
    for name, options in (
        ("t.json", {}),
        ("t.tiktoken", {"pattern": "gpt2"}),
        ("folder/", {}),
    ):
        target = f"{output}/{name}"
        assert run("convert", tokenizer_path, target, "--check", corpus, "--json") == 0
        captured = capsys.readouterr()
        assert "the same ids" in captured.err
        figures = json.loads(captured.out)
        assert figures["vocab_size"] == 500
        assert figures["n_tokens"] > len(expected)
        converted = numbpe.load(target, **options)
        assert converted.encode(text, special="text").tolist() == expected


@pytest.mark.parametrize(
    ("source", "target", "code", "part"),
    [
        ("missing.json", "t.json", 1, "missing.json"),
        ("corpus.txt", "t.json", 1, "corpus.txt"),
        ("TOKENIZER", "t.model", 2, ".model"),
    ],
)
def test_bad_input__is_one_line_and_leaves_nothing(
    tokenizer_path: Path,
    corpus: Path,
    source: str,
    target: str,
    code: int,
    part: str,
    run: Run,
    list_files: ListFiles,
    read_one_error: ReadOneError,
) -> None:
    """Truth: the habit that an error says what was found and what is allowed."""
    before = list_files(corpus.parent)
    path = tokenizer_path if source == "TOKENIZER" else corpus.parent / source
    assert run("convert", path, corpus.parent / target, "--quiet") == code
    assert part in read_one_error()
    assert list_files(corpus.parent) == before
