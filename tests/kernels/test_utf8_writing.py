"""Characters to UTF-8, sixteen at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from numbpe_kernels._jit import njit
from numbpe_kernels.utf8_writing import (
    BLOCK,
    SLACK,
    narrow_block,
    utf8_write_character,
    utf8_write_units,
    write_block,
)

LIMITS = {np.uint8: 0x100, np.uint16: 0x10000, np.uint32: 0x110000}
EDGES = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]


@njit
def narrow(units: Any, index: np.uint64, out: Any, place: np.uint64) -> bool:
    return narrow_block(units, index, out, place)


@njit
def write(units: Any, index: np.uint64, out: Any, place: np.uint64) -> np.uint64:
    return write_block(units, index, out, place)


def choose(kernel: Any, mode: str) -> Callable[..., Any]:
    return getattr(kernel, "py_func", kernel) if mode == "plain" else kernel  # type: ignore[no-any-return]


def draw_text(rng: np.random.Generator, dtype: Any, length: int) -> str:
    """Return characters of all lengths in runs, many of them at the edges of their ranges."""
    limit = LIMITS[dtype]
    tops = [top for top in (0x80, 0x100, 0x800, 0x10000, 0x110000) if top <= limit]
    codes: list[int] = []
    while len(codes) < length:
        top = int(rng.choice(tops))
        run = rng.integers(0, top, size=int(rng.integers(1, 40))).tolist()
        codes += run if rng.random() < 0.8 else [edge for edge in EDGES if edge < top]
    return "".join(chr(code) for code in codes[:length] if not 0xD800 <= code < 0xE000)


def list_units(text: str, dtype: Any) -> Any:
    return np.array([ord(character) for character in text], dtype=dtype)


@pytest.mark.parametrize("mode", ["compiled", "plain"])
@pytest.mark.parametrize("dtype", LIMITS)
def test_utf8_write_units__is_utf8(dtype: Any, mode: str, rng: np.random.Generator) -> None:
    """Truth: Python's own codec."""
    function = choose(utf8_write_units, mode)
    for length in [*range(3 * BLOCK), *rng.integers(0, 500, size=60).tolist()]:
        text = draw_text(rng, dtype, length)
        expected = text.encode()
        out = np.zeros(len(expected) + SLACK, dtype=np.uint8)
        assert function(list_units(text, dtype), out) == len(expected)
        assert out[: len(expected)].tobytes() == expected


@pytest.mark.parametrize("mode", ["compiled", "plain"])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("surrogate", [0xD800, 0xDBFF, 0xDC00, 0xDFFF])
def test_utf8_write_units__finds_surrogates(dtype: Any, mode: str, surrogate: int) -> None:
    """Truth: by definition; a surrogate has no UTF-8, wherever it stands."""
    function = choose(utf8_write_units, mode)
    for length in (1, BLOCK - 1, BLOCK, 2 * BLOCK + 3):
        for place in (0, length // 2, length - 1):
            units = np.full(length, ord("a"), dtype=dtype)
            units[place] = surrogate
            out = np.zeros(4 * length + SLACK, dtype=np.uint8)
            assert function(units, out) == -1


@pytest.mark.parametrize("dtype", LIMITS)
def test_blocks__compiled_as_plain(dtype: Any, rng: np.random.Generator) -> None:
    """Truth: the functions in plain Python."""
    for _ in range(200):
        text = draw_text(rng, dtype, 3 * BLOCK)
        units = list_units(text + "." * (3 * BLOCK - len(text)), dtype)
        index = np.uint64(rng.integers(0, 2 * BLOCK + 1))
        place = np.uint64(rng.integers(0, 20))
        outs = [np.zeros(300, dtype=np.uint8) for _ in range(4)]
        assert narrow(units, index, outs[0], place) == narrow_block(units, index, outs[1], place)
        assert (outs[0] == outs[1]).all()
        stop = write(units, index, outs[2], place)
        assert stop == write_block(units, index, outs[3], place)
        assert (outs[2][: int(stop)] == outs[3][: int(stop)]).all()


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_utf8_write_character(mode: str) -> None:
    """Truth: Python's own codec."""
    function = choose(utf8_write_character, mode)
    for code in EDGES:
        out = np.zeros(6, dtype=np.uint8)
        expected = chr(code).encode()
        assert function(np.uint64(code), out, np.uint64(1)) == len(expected)
        assert out[1 : 1 + len(expected)].tobytes() == expected
