"""Where words lie in text, and where it may be cut: the masks against the specification."""

from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from numbpe.arrays import copy_text
from numbpe.combinatorial.encoder_tables import load_word_classes
from numbpe.combinatorial.reference import split_camel_case, split_units
from numbpe_kernels import characters, class_masks, masks, tuple_words, utf8
from numbpe_kernels.tuple_words import (
    N_ENDS,
    N_STARTS,
    POSITION,
    ROOM_A_BLOCK,
    WORD_SCAN_SIZE,
    tuple_mask_block,
    tuple_mask_characters,
)

_PIECES = [
    *(bytes([byte]) for byte in b"abzAZ019 .,_'\n\t"),
    *map(str.encode, ["é", "É", "\u0301", "中文", "\u01c5", "Σσ", "\u2160", "½", "\u3000", "\xa0"]),
    *map(str.encode, ["\U0001d400", "\U0001f600", "\u200b", "\u1e9e", "нет", "ДА", "\u0939\u093f"]),
    b"\xff", b"\xc3", b"\xe4\xb8", b"\xf0\x9f", b"\xed\xa0\x80", b"word", b"WORDS", b"camelCase",
]  # fmt: skip


@pytest.fixture(params=["compiled", "plain Python"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the kernels be called as compiled, or as the Python that they are written in."""
    if request.param == "plain Python":
        for module in (tuple_words, masks, class_masks, characters, utf8):
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(module, name, value.py_func)
    return str(request.param)


def make_texts(n_texts: int, seed: int) -> list[bytes]:
    """Return random texts, UTF-8 or not, with runs long enough for whole blocks of one class."""
    generator = np.random.default_rng(seed)
    texts = []
    for _ in range(n_texts):
        n_pieces = int(generator.integers(0, 90))
        chosen = generator.integers(0, len(_PIECES), n_pieces).tolist()
        repeats = generator.choice([1, 1, 1, 1, 2, 70], n_pieces).tolist()
        texts.append(b"".join(_PIECES[i] * n for i, n in zip(chosen, repeats, strict=True)))
    return texts


def decode(data: bytes) -> str:
    """Return text in which each byte that is not UTF-8 is a surrogate: neither letter nor space."""
    return data.decode("utf-8", "surrogateescape")


def find_words_slowly(data: bytes, splits_case: bool) -> list[tuple[int, int]]:
    words = []
    place = 0
    for before, word, behind in split_units(decode(data)):
        if not word:
            continue
        place += len(before.encode("utf-8", "surrogateescape"))
        for part in split_camel_case(word) if splits_case else [word]:
            n_bytes = len(part.encode("utf-8", "surrogateescape"))
            words.append((place, place + n_bytes))
            place += n_bytes
        place += len(behind.encode("utf-8", "surrogateescape"))
    return words


def find_words(find: Any, data: bytes, splits_case: bool) -> list[tuple[int, int]]:
    """Return what a kernel finds with room for few words a call."""
    text = copy_text(data + b"Xy9")
    starts, ends = np.zeros((2, ROOM_A_BLOCK + 20), dtype=np.int64)
    scan = np.zeros(WORD_SCAN_SIZE, dtype=np.int64)
    found: list[tuple[int, int]] = []
    while scan[POSITION] < len(data):
        find(load_word_classes(), splits_case, text, len(data), scan, starts, ends)
        n_starts, n_ends = int(scan[N_STARTS]), int(scan[N_ENDS])
        found += zip(starts[:n_ends].tolist(), ends[:n_ends].tolist(), strict=True)
        starts[0] = starts[n_ends]
        scan[N_STARTS], scan[N_ENDS] = n_starts - n_ends, 0
    return found


@pytest.mark.parametrize("splits_case", [False, True])
def test_tuple_find_words__equals_the_specification(kernels: str, splits_case: bool) -> None:
    """Truth: combinatorial/reference.py, with what is not UTF-8 as surrogates."""
    with np.errstate(over="ignore"):
        for data in make_texts(400 if kernels == "compiled" else 12, seed=1):
            expected = find_words_slowly(data, splits_case)
            assert find_words(tuple_words.tuple_find_words, data, splits_case) == expected, data


def test_tuple_mask_characters__equals_the_masks_of_blocks() -> None:
    """Truth: two ways to the same masks, on text that is UTF-8."""
    classes = load_word_classes()
    for data in make_texts(60, seed=2):
        text = copy_text(decode(data).encode("utf-8", "ignore"))
        stop = len(text) - 64
        if stop == 0:
            continue
        quick, slow = tuple_mask_block(classes, text, 0, stop), None
        slow = tuple_mask_characters(classes, text, 0, stop)
        inside = (1 << quick.n_bytes) - 1
        assert quick.n_bytes == slow.n_bytes
        for name in ("continuation", "letter", "number", "upper", "lower"):
            assert int(getattr(quick, name)) & inside == int(getattr(slow, name)), name


@pytest.mark.parametrize("punct_to_next", [False, True])
def test_tuple_find_cut__is_the_last_end_of_a_unit(kernels: str, punct_to_next: bool) -> None:
    """Truth: the units of combinatorial/reference.py; from a later start it may find none."""
    classes = load_word_classes()
    generator = np.random.default_rng(3)
    for data in make_texts(120 if kernels == "compiled" else 20, seed=3):
        whole = decode(data).encode("utf-8", "ignore")
        stop = int(generator.integers(0, len(whole) + 1))
        known = whole[:stop].decode("utf-8", "ignore")
        units = split_units(known, punct_to_next=punct_to_next)
        ends = list(accumulate(len("".join(unit).encode()) for unit in units))
        expected = ends[-2] if len(ends) > 1 else -1
        text = copy_text(whole)
        find = tuple_words.tuple_find_cut
        assert find(classes, punct_to_next, text, 0, stop) == expected, whole[:stop]
        start = int(generator.integers(0, stop + 1))
        later = find(classes, punct_to_next, text, start, stop)
        assert later in (expected, -1)
        assert later == -1 or later > start
