"""Kernels that find what is not UTF-8, against Python's decoder."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from numbpe.arrays import copy_text
from numbpe_kernels import utf8

# Bytes on either side of every border in the definition of UTF-8.
BORDER_BYTES = bytes.fromhex(
    "00 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 f7 f8 ff"
)
NASTY_PARTS = [
    b"a",
    b"ascii text that is longer than a step of the kernel is",
    "é".encode(),
    "€".encode(),
    "\U0001f600".encode(),
    "\ud7ff\ue000\ufffd\uffff".encode(),
    b"\0",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xe0\x9f\xbf",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xff",
    b"\x80",
]

Finder = Callable[[np.ndarray, int, int], int]
COMPILED_AND_PLAIN = pytest.mark.parametrize(
    "find_invalid",
    [utf8.utf8_find_invalid, getattr(utf8.utf8_find_invalid, "py_func", utf8.utf8_find_invalid)],
    ids=["compiled", "plain"],
)


def find_invalid_by_decoding(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


@COMPILED_AND_PLAIN
def test_utf8_find_invalid__short_strings(find_invalid: Finder) -> None:
    """Truth: bytes.decode on every sequence of 1 to 3 border bytes, and of 4 that may begin one."""
    leads = b"\xf0\xf1\xf4\xf5\xe0"
    sequences = [bytes(s) for n in (1, 2, 3) for s in itertools.product(BORDER_BYTES, repeat=n)]
    sequences += [
        bytes((lead, *s)) for lead in leads for s in itertools.product(BORDER_BYTES, repeat=3)
    ]
    step = 1 if find_invalid is utf8.utf8_find_invalid else 29
    for sequence in sequences[::step]:
        actual = find_invalid(copy_text(sequence), 0, len(sequence))
        assert actual == find_invalid_by_decoding(sequence), sequence


@COMPILED_AND_PLAIN
def test_utf8_find_invalid__random_texts(find_invalid: Finder, rng: np.random.Generator) -> None:
    """Truth: bytes.decode on the same range."""
    for _ in range(2000 if find_invalid is utf8.utf8_find_invalid else 100):
        # Mostly valid parts, so that errors also come late.
        n_kinds = 7 if rng.random() < 0.5 else len(NASTY_PARTS)
        data = b"".join(NASTY_PARTS[i] for i in rng.integers(n_kinds, size=rng.integers(40)))
        data = data[: len(data) - int(rng.integers(4))]
        text = copy_text(b"\xff" * 3 + data)
        expected = find_invalid_by_decoding(data)
        actual = find_invalid(text, 3, 3 + len(data))
        assert actual == (expected + 3 if expected >= 0 else -1), data


def test_utf8_find_invalid__every_code_point() -> None:
    """Truth: str.encode makes valid UTF-8 of every code point but the surrogates."""
    scalars = [*range(0xD800), *range(0xE000, 0x110000)]
    data = "".join(map(chr, scalars)).encode()
    assert utf8.utf8_find_invalid(copy_text(data), 0, len(data)) == -1


def test_utf8_find_invalid__ignores_what_lies_behind_the_text() -> None:
    """Truth: the contract of text arrays; padding never changes a result."""
    for data in (b"", b"a", "é€\U0001f600".encode(), b"x" * 33):
        for padding in (b"\xff", b"\x80", b"a"):
            text = copy_text(data + padding * 64)
            assert utf8.utf8_find_invalid(text, 0, len(data)) == -1
    text = copy_text("€".encode())
    assert utf8.utf8_find_invalid(text, 0, 2) == 0


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_utf8_find_truncated__leaves_out_what_more_bytes_may_complete(compiled: bool) -> None:
    """Truth: Python's incremental decoder, which keeps the same bytes back or fewer."""
    function = utf8.utf8_find_truncated
    find_truncated = function if compiled else getattr(function, "py_func", function)
    for character in ("a", "é", "€", "\U0001f600"):
        encoded = character.encode()
        for n_present in range(1, len(encoded) + 1):
            for before in (b"", b"x", "€".encode()):
                data = before + encoded[:n_present]
                expected = len(before) if n_present < len(encoded) else len(data)
                assert find_truncated(copy_text(data), 0, len(data)) == expected
    for data in (b"\x80", b"\xc1", b"\xff", b"\x80\x80\x80\x80", b"\xf5\x80", b""):
        assert find_truncated(copy_text(data), 0, len(data)) == len(data)
    assert find_truncated(copy_text(b"\xe2\x82"), 1, 2) == 2


def test_utf8_count_beyond_ascii__equals_numpy(rng: np.random.Generator) -> None:
    """Truth: NumPy's count, for texts of any length, aligned or not."""
    count = utf8.utf8_count_beyond_ascii
    for n in [*range(40), 1000]:
        text = rng.integers(0, 256, n + 1).astype(np.uint8)[int(rng.integers(2)) :]
        expected = np.count_nonzero(text >= 0x80)
        assert count(text) == getattr(count, "py_func", count)(text) == expected
