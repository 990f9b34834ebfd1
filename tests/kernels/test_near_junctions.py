"""Junctions between characters of one block: which tokens stand there, not which might."""

import numpy as np
import pytest

from numbpe.arrays import copy_text
from numbpe_kernels import near_junctions, near_learning
from numbpe_kernels.near_junctions import NearJunctions

THAI = [chr(code) for code in range(0xE01, 0xE09)]
HINDI = [chr(code) for code in (0x904, 0x915, 0x93F, 0x94D, 0x97F)]


def draw_text(rng: np.random.Generator, characters: list[str], least: int, most: int) -> str:
    n_characters = int(rng.integers(least, most + 1))
    return "".join(characters[i] for i in rng.integers(len(characters), size=n_characters))


def build_table(tokens: list[bytes], *, is_deep: bool, is_compiled: bool = True) -> NearJunctions:
    """Return the table of those tokens."""
    contents = copy_text(b"".join(tokens))
    offsets = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    table = NearJunctions(
        pairs=np.zeros(near_junctions.N_NEAR, dtype=np.uint8),
        spans=np.zeros(1 << 8, dtype=np.uint64),
        shift=np.uint64(64 - 8),
        is_deep=np.full(near_junctions.N_BLOCKS, is_deep, dtype=np.uint8),
    )
    learn = near_learning.near_learn_tokens
    learn = learn if is_compiled else learn.py_func
    learn(table, contents, offsets, np.arange(len(tokens)))
    return table


def cut(table: NearJunctions, word: str, *, is_compiled: bool = True) -> list[int]:
    """Return where a word of characters of one block is cut, perhaps behind a byte of ASCII."""
    content = word.encode()
    kernel = near_junctions.near_cut_spans
    kernel = kernel if is_compiled else kernel.py_func
    words_out = np.empty(len(content), dtype=np.int64)
    behind_first = np.uint64(3 + len(content) % 3)
    position, n_words = kernel(
        table, copy_text(content), behind_first, np.uint64(len(content)), words_out, np.uint64(0)
    )
    assert position == len(content)
    return words_out[: int(n_words)].tolist()


def find_unspanned(tokens: list[bytes], word: str) -> list[int]:
    """Return where characters of three bytes meet that no token spans that stands in the word."""
    content = word.encode()
    spanned = set()
    for token in tokens:
        for start in range(len(content)):
            if content.startswith(token, start):
                spanned.update(range(start + 1, start + len(token)))
    first = len(content) % 3 + 3
    return [place for place in range(first, len(content), 3) if place not in spanned]


@pytest.mark.parametrize("characters", [THAI, HINDI], ids=["thai", "hindi"])
def test_near_cut_spans__cuts_where_no_token_stands(
    rng: np.random.Generator, characters: list[str]
) -> None:
    """Truth: a search for every token at every place; one place in fifty may stay whole by chance."""
    n_cut = n_unspanned = 0
    for _ in range(40):
        tokens = [draw_text(rng, characters, 1, 5).encode() for _ in range(int(rng.integers(12)))]
        tokens += [b" " + draw_text(rng, characters, 1, 5).encode() for _ in range(3)]
        table = build_table(tokens, is_deep=True)
        for _ in range(20):
            word = " " * int(rng.integers(2)) + draw_text(rng, characters, 1, 30)
            found, expected = cut(table, word), find_unspanned(tokens, word)
            assert set(found) <= set(expected)
            assert found == cut(table, word, is_compiled=False)
            n_cut += len(found)
            n_unspanned += len(expected)
    assert n_cut > 0.98 * n_unspanned > 1000


@pytest.mark.parametrize("is_deep", [True, False])
def test_near_cut_spans__by_tokens_of_any_kind(rng: np.random.Generator, is_deep: bool) -> None:
    """Truth: a search for every token: long ones, parts of characters, other scripts, ASCII inside."""
    others = ["a", " ", "\u0915", "\u4e2d", "\u00e9"]
    n_cut = 0
    for _ in range(60):
        tokens = [draw_text(rng, THAI, 6, 12).encode() for _ in range(2)]
        for _ in range(6):
            token = draw_text(rng, [*THAI, *others], 2, 7).encode()
            start, stop = int(rng.integers(3)), len(token) - int(rng.integers(3))
            tokens.append(token[start:stop])
        table = build_table(tokens, is_deep=is_deep)
        # Parts of characters at a token's ends are said by other tables: these tokens join whole ones only.
        whole = [token for token in tokens if is_utf8(token)]
        for _ in range(20):
            i = int(rng.integers(len(whole))) if whole else 0
            inner = "".join(c for c in whole[i].decode() if c in THAI) if whole else ""
            word = draw_text(rng, THAI, 1, 9) + inner + draw_text(rng, THAI, 1, 9)
            found = cut(table, word)
            assert set(found) <= set(find_unspanned(whole, word))
            n_cut += len(found)
    assert n_cut > 1000


def is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_near_learn_tokens__compiled_and_not(rng: np.random.Generator) -> None:
    """Truth: the same kernel as plain Python."""
    tokens = [draw_text(rng, [*THAI, *HINDI, " ", "x"], 1, 8).encode() for _ in range(60)]
    tokens += [token[1:-1] for token in tokens if len(token) > 3]
    for is_deep in (False, True):
        compiled, plain = (
            build_table(tokens, is_deep=is_deep, is_compiled=kind) for kind in (True, False)
        )
        assert compiled.pairs.tolist() == plain.pairs.tolist()
        assert compiled.spans.tolist() == plain.spans.tolist()
        assert compiled.spans.any() == is_deep


def test_near_cut__looks_no_further_than_the_block() -> None:
    """Truth: by hand: characters of two blocks, of which the second is left to the caller."""
    tokens = ["\u0e01\u0e02\u0e03".encode(), " \u0e04\u0e01".encode()]
    table = build_table(tokens, is_deep=True)
    text = "\u0e01\u0e02\u0e03\u0e04\u0e01\u0915\u0915".encode()
    words_out = np.empty(9, dtype=np.int64)
    stop = np.uint64(len(text))
    position, n_words = near_junctions.near_cut_spans(
        table, copy_text(text), np.uint64(3), stop, words_out, np.uint64(0)
    )
    assert (int(position), words_out[: int(n_words)].tolist()) == (15, [9, 12])
    position, n_words = near_junctions.near_cut_spans(
        table, copy_text(b" " + text[9:15]), np.uint64(4), np.uint64(7), words_out, np.uint64(0)
    )
    assert (int(position), int(n_words)) == (7, 0)
