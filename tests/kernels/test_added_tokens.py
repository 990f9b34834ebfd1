"""The kernel that cuts texts at added tokens, compiled and plain, with little room for the result."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from numbpe.arrays import copy_text
from numbpe.literals import build_literals
from numbpe_kernels import added_tokens as kernels

WORD_CHARACTERS = np.array([ord("A"), ord("z") + 1, 0xE9, 0xEA], dtype=np.int32)
WHITE_SPACE = np.array([ord(" "), ord(" ") + 1, 0x3000, 0x3001], dtype=np.int32)

PIECES = ["a", "b", "ab", " ", "  ", "\u3000", "\u00e9", "<", "<a>"]


def make_tokens(contents: list[str], rules: list[int]) -> kernels.AddedTokens:
    literals = build_literals([content.encode() for content in contents])
    return kernels.AddedTokens(
        literals,
        literals.positions + 100,
        np.array(rules, dtype=np.uint8)[literals.positions],
        WORD_CHARACTERS,
        WHITE_SPACE,
    )


def cut_by_hand(text: str, contents: list[str], rules: list[int]) -> list[tuple[str, int]]:
    """Return the texts of parts and the ids behind them, by the words of the contract."""
    parts: list[tuple[str, int]] = []
    part_start = position = 0
    while position < len(text):
        here = [i for i, content in enumerate(contents) if text.startswith(content, position)]
        if not here:
            position += 1
            continue
        token = max(here, key=lambda i: len(contents[i]))
        start, stop = position, position + len(contents[token])
        position = stop
        beside = text[start - 1 : start] + text[stop : stop + 1]
        words = [c for c in beside if c.isalpha()]
        if rules[token] & kernels.IGNORED or (rules[token] & kernels.SINGLE_WORD and words):
            continue
        if rules[token] & kernels.TAKES_RIGHT:
            stop += len(text[stop:]) - len(text[stop:].lstrip(" \u3000"))
        if rules[token] & kernels.TAKES_LEFT:
            start = max(part_start, len(text[:start].rstrip(" \u3000")))
            if start >= stop:
                continue
        parts.append((text[part_start:start], token + 100))
        part_start = stop
    return [*parts, (text[part_start:], -1)]


def cut(
    tokens: kernels.AddedTokens, texts: list[str], n_rows: int, compiled: bool
) -> list[list[tuple[str, int]]]:
    """Return the parts of each text, from a kernel that is called anew whenever its room is full."""
    function = kernels.added_tokens_cut
    if not compiled:
        function = getattr(function, "py_func", function)
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)])
    rows: NDArray[np.int64] = np.stack([offsets[:-1], offsets[1:]], axis=1)
    text = copy_text(b"".join(encoded))
    progress = np.zeros(4, dtype=np.int64)
    first_parts = np.zeros(len(texts) + 1, dtype=np.int64)
    parts = np.empty((n_rows, 3), dtype=np.int64)
    while (status := function(tokens, text, rows, progress, parts, first_parts)) == -2:
        assert progress[3] == len(parts)
        parts = np.concatenate([parts, np.empty((1, 3), dtype=np.int64)])
    assert status == -1
    found = [
        (text[start:stop].tobytes().decode(), token_id)
        for start, stop, token_id in parts[: progress[3]].tolist()
    ]
    return [found[a:b] for a, b in pairwise(first_parts.tolist())]


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_added_tokens_cut__random_rules_and_texts(compiled: bool, rng: np.random.Generator) -> None:
    """Truth: the rules written out for str, character by character."""
    for _ in range(400 if compiled else 40):
        n_tokens = int(rng.integers(1, 5))
        contents = [PIECES[i] for i in rng.permutation(len(PIECES))[:n_tokens]]
        rules = rng.integers(0, 16, size=n_tokens).tolist()
        texts = [
            "".join(PIECES[i] for i in rng.integers(len(PIECES), size=rng.integers(0, 12)))
            for _ in range(4)
        ]
        actual = cut(make_tokens(contents, rules), texts, int(rng.integers(1, 9)), compiled)
        assert actual == [cut_by_hand(text, contents, rules) for text in texts], (contents, rules)


def test_added_tokens_cut__tells_where_a_refused_token_stands() -> None:
    """Truth: hand-computed."""
    tokens = make_tokens(["<a>", "b"], [kernels.REFUSED, 0])
    progress = np.zeros(4, dtype=np.int64)
    rows = np.array([[0, 3], [3, 9]], dtype=np.int64)
    parts, first_parts = np.empty((8, 3), dtype=np.int64), np.zeros(3, dtype=np.int64)
    text = copy_text("ab b\u00e9<a>".encode())
    status = kernels.added_tokens_cut(tokens, text, rows, progress, parts, first_parts)
    assert tokens.literals.positions[status] == 0
    assert progress[:2].tolist() == [1, 3]


def test_added_tokens_run__equals_added_tokens_cut() -> None:
    """Truth: added_tokens_cut with the same arrays."""
    tokens = make_tokens(["<a>", "b"], [kernels.TAKES_LEFT, kernels.SINGLE_WORD])
    arrays = (*tokens.literals, *tokens[1:])
    numbers = [number for array in arrays for number in (array.ctypes.data, *array.shape)]
    text = copy_text(b"b  <a>ab<a> b")
    rows = np.array([[0, 13]], dtype=np.int64)
    results = []
    for function, first in (
        (kernels.added_tokens_cut, tokens),
        (kernels.added_tokens_run, np.array(numbers, dtype=np.int64)),
    ):
        parts, first_parts = np.zeros((8, 3), dtype=np.int64), np.zeros(2, dtype=np.int64)
        progress = np.zeros(4, dtype=np.int64)
        assert function(first, text, rows, progress, parts, first_parts) == -1
        results.append([*parts.ravel().tolist(), *first_parts.tolist()])
    assert results[0] == results[1]
    assert results[0][-1] == 5
