"""Sources on the command line: formats, columns, what is skipped."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from numbpe import cli

DOCUMENTS = ["the cat sat on the mat", "that hat, that mat", "the cat's hat"] * 9


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The documents as rows of an archive, two rows without text among them."""
    path = tmp_path / "web" / "rows.jsonl.gz"
    path.parent.mkdir()
    lines = [{"meta": {"body": text}} for text in [*DOCUMENTS[:9], None, *DOCUMENTS[9:], None]]
    path.write_bytes(gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in lines)))
    return path


def test_train__rows_with_what_was_skipped(
    rows: Path, output: Path, train: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: training on the same documents as a file of text with separators."""
    text = rows.parent.parent / "rows.txt"
    text.write_text("<|endoftext|>".join(DOCUMENTS))
    assert train("--input", text, "--vocab", 270, "--output", output / "text", "--quiet") == 0
    options = ["--vocab", 270, "--output", output / "rows", "--column", "meta.body"]
    assert train("--input", rows.parent, *options, "--quiet") == 1
    error = capsys.readouterr().err
    assert f"cannot read line 10 of '{rows}', at byte " in error
    assert "'meta.body' is null, not text" in error
    assert (
        train(
            "--input",
            rows.parent,
            *options,
            "--on-bad",
            "skip",
            "--name",
            "rows",
            "--json",
            "--check",
        )
        == 0
    )
    captured = capsys.readouterr()
    assert json.loads(captured.out)["skipped"]["rows"] == 2
    assert "skipped  2 rows; the first: cannot read line 10 of " in captured.err
    for name in ("rows_vocab.pkl", "rows_merges.pkl", "rows.json"):
        assert (output / "rows" / name).read_bytes() == (output / "text" / name).read_bytes()


def test_train__names_results_without_the_suffix_of_an_archive(
    rows: Path, output: Path, train: Callable[..., int]
) -> None:
    """Truth: the habit of naming results after the input."""
    options = ["--field", "meta.body", "--on-bad", "skip", "--output", output, "--quiet"]
    assert train("--input", rows, "--vocab", 260, *options) == 0
    assert (output / "rows.json").is_file()


def test_encode__prints_a_line_for_each_row(
    rows: Path, tokenizer_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the ids of the documents, given one by one."""
    command = ["encode", "--tokenizer", str(tokenizer_folder / "tokenizer.json")]
    assert cli.main([*command, *(part for text in DOCUMENTS for part in ("--text", text))]) == 0
    expected = capsys.readouterr().out
    options = ["--input", str(rows), "--column", "meta.body", "--on-bad", "skip"]
    assert cli.main([*command, *options]) == 0
    assert capsys.readouterr().out == expected
    assert cli.main([*command, *options, "--count"]) == 0
    assert int(capsys.readouterr().out) == len(expected.split())


def test_encode__reads_a_table_as_text_if_it_is_told_to(
    tmp_path: Path, tokenizer_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the ids of the bytes of the file."""
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "a"}')
    command = ["encode", "--tokenizer", str(tokenizer_folder / "tokenizer.json")]
    assert cli.main([*command, "--text", '{"text": "a"}']) == 0
    expected = capsys.readouterr().out
    assert cli.main([*command, "--input", str(path), "--input-format", "text"]) == 0
    assert capsys.readouterr().out == expected
