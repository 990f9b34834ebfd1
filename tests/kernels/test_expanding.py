"""The kernel that replaces a byte by several, against ``bytes.replace``."""

import os

import numpy as np
import pytest

from numbpe.arrays import join_texts
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.expanding import RULE_SIZE, expanding_replace

COMPILED_AND_PLAIN = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def make_rule(byte: bytes, content: bytes, prefix: bytes) -> np.ndarray:
    numbers = (byte[0], int.from_bytes(content, "little"), len(content))
    prefixes = (int.from_bytes(prefix, "little"), len(prefix))
    return np.array([*numbers, *prefixes], dtype=np.uint64)


def run(
    contents: list[bytes],
    byte: bytes,
    content: bytes,
    prefix: bytes,
    room: int,
    compiled: bool,
) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the result, the text and the parts, of parts with something between them."""
    between = b"# #"
    lengths = np.array([len(part) for part in contents], dtype=np.int64)
    stops = np.cumsum(lengths + len(between)) - len(between)
    parts = np.stack([stops - lengths, stops, np.arange(len(contents))], axis=1)
    if len(contents) == 1:
        parts[0, :2] = -7  # of a single part they need not be there
    data = between.join(contents)
    text = np.full(room + TEXT_PADDING, 0x20, dtype=np.uint8)
    text[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    rule, source = make_rule(byte, content, prefix), np.full_like(text, 0x20)
    assert len(rule) == RULE_SIZE
    function = expanding_replace
    if not compiled:
        function = getattr(function, "py_func", function)
    return function(text, len(data), parts, len(contents), rule, source), text, parts


@pytest.mark.parametrize("content", [b"\xe2\x96\x81", b"_", b"12345678"])
@pytest.mark.parametrize("prefix", [b"", b"\xe2\x96\x81", b"abcdefgh"])
@COMPILED_AND_PLAIN
def test_replace__parts_at_random(
    content: bytes, prefix: bytes, compiled: bool, rng: np.random.Generator
) -> None:
    """Truth: bytes.replace on each part, the prefix before those that are not empty."""
    for _ in range(300 if compiled and IS_COMPILED else 20):
        n_parts = int(rng.integers(1, 6))
        sizes = rng.choice([0, 1, 7, 8, 9, 63, 64, 65, 200], size=n_parts)
        letters = rng.choice([*b" ax#", 0xE2, 0xFF], p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1], size=2000)
        texts = [letters[:size].astype(np.uint8).tobytes() for size in sizes.tolist()]
        expected = [text and prefix + text.replace(b" ", content) for text in texts]
        n_bytes, text, parts = run(texts, b" ", content, prefix, 20_000, compiled)
        assert text[:n_bytes].tobytes() == b"".join(expected)
        assert [text[a:b].tobytes() for a, b, _ in parts.tolist()] == expected
        assert parts[:, 2].tolist() == list(range(n_parts))


@COMPILED_AND_PLAIN
def test_replace__no_room(compiled: bool) -> None:
    """Truth: the contract: what does not fit is left as it is; a byte that becomes three counts for four."""
    texts = [b"a b", b"c d e"]
    n_given = len(b"a b# #c d e")
    n_needed = n_given + 4 * 3 + 2 * 1
    for room, fits in ((n_needed - 1, False), (n_needed, True)):
        n_bytes, text, parts = run(texts, b" ", b"+++", b"^", room, compiled)
        if fits:
            assert text[:n_bytes].tobytes() == b"^a+++b^c+++d+++e"
        else:
            assert n_bytes == -1
            assert text[:n_given].tobytes() == b"a b# #c d e"
            assert parts.tolist() == [[0, 3, 0], [6, 11, 1]]


def test_replace__what_stands_behind_the_text() -> None:
    """Truth: the contract: bytes behind the text, of those to be replaced, change nothing."""
    text = join_texts([b"a" * 70 + b" " * 30])
    parts = np.zeros((1, 3), dtype=np.int64)
    source = np.empty_like(text)
    rule = make_rule(b" ", b"_", b"")
    for stop in (0, 1, 63, 64, 70):
        assert expanding_replace(text.copy(), stop, parts, 1, rule, source) == stop
        assert parts.tolist() == [[0, stop, 0]]
