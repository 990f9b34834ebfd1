"""``numbpe inspect``: what it says of a tokenizer, and how it shows tokens."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import numbpe
from numbpe.command_options import wants_color
from numbpe.token_display import show_text, show_token

Run: TypeAlias = Callable[..., int]
ReadOneError: TypeAlias = Callable[[], str]


def test_inspect__says_what_a_tokenizer_is_made_of(
    tokenizer_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: the training run: 256 bytes, a special token and 243 merges."""
    tokenizer = numbpe.load(tokenizer_path)
    assert run("inspect", tokenizer_path, "--longest", 3) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for expected in ("500; ", "243", "1: <|endoftext|> 256", "gpt2", "longest"):
        assert expected in captured.out
    assert run("inspect", tokenizer_path, "--json", "--longest", 3) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["vocab_size"], figures["n_merges"]) == (500, 243)
    assert figures["special_tokens"] == {"<|endoftext|>": 256}
    lengths = sorted((len(token) for token in tokenizer.vocab.values()), reverse=True)
    assert [row["n_bytes"] for row in figures["longest_tokens"]] == lengths[:3]


def test_text__is_shown_token_by_token(
    tokenizer_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truth: Tokenizer.encode; colours only where they are asked for."""
    tokenizer = numbpe.load(tokenizer_path)
    text = "the cat\n\tsat \u4e2d"
    ids = tokenizer.encode(text).tolist()
    shown = [show_token(tokenizer.token_bytes(token_id)) for token_id in ids]
    command = ["inspect", tokenizer_path, "--quiet", "--text", text]
    assert run(*command) == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    lines = plain.splitlines()
    results = tokenizer.vocabulary.merge_results.tolist()
    made = dict(zip(results, tokenizer.merge_counts.tolist(), strict=True))
    counts = [made.get(token_id) for token_id in ids]
    assert [line.split() for line in lines[-len(ids) :]] == [
        [str(token_id), *([f"{count:,}"] if count else []), token]
        for token_id, count, token in zip(ids, counts, shown, strict=True)
    ]
    assert f"{len(ids)} tokens, {len(text.encode())} bytes" in plain
    assert run(*command, "--color", "always") == 0
    colored = capsys.readouterr().out
    assert colored.count("\x1b[0m") == len(ids)
    bare = re.sub("\x1b\\[[0-9;]*m", "", colored)
    assert bare.splitlines()[0] == "the\u00b7cat\u23ce"
    assert run(*command, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["texts"]
    assert found == {"ids": ids, "tokens": shown, "merge_counts": counts}


def test_show_token__makes_everything_visible() -> None:
    """Truth: the docstring; no control character may reach the terminal."""
    for content, expected in (
        (b" caf\xc3\xa9", "\u00b7caf\u00e9"),
        (b"\xc3", "\\xc3"),
        (b"\n\t\r", "\u23ce\u2192\u240d"),
        (b"\x1b[31m\x00\x7f", "\\x1b[31m\\x00\\x7f"),
        ("\u200b\u202e\u3000".encode(), "\\u200b\\u202e\\u3000"),
        (b"<|x|>", "<|x|>"),
    ):
        assert show_token(content) == expected
    assert show_text([b"a\n", b"b", b" c"], in_color=False) == ["a\u23ce", "b|\u00b7c"]
    assert show_text([], in_color=True) == [""]


def test_color__is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: https://no-color.org."""

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert not wants_color("auto")
    monkeypatch.setattr("sys.stdout", Terminal())
    assert wants_color("auto")
    assert not wants_color("never")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color("auto")
    assert wants_color("always")
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color("auto")


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["missing.json"], 1, "missing.json"),
        (["TOKENIZER", "--longest", "-1"], 2, "--longest"),
        (["TOKENIZER", "--text", "<|endoftext|>", "--special", "error"], 2, "endoftext"),
    ],
)
def test_bad_input__is_one_line(
    tokenizer_path: Path,
    arguments: list[str],
    code: int,
    part: str,
    run: Run,
    read_one_error: ReadOneError,
) -> None:
    """Truth: the habit that an error says what was found and what is allowed."""
    filled = [str(tokenizer_path) if word == "TOKENIZER" else word for word in arguments]
    assert run("inspect", *filled) == code
    assert part in read_one_error()
