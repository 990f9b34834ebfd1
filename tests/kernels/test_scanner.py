"""The scanner by bit masks against the automaton and the regex module."""

import random

import numpy as np
import pytest

from numbpe import reference
from numbpe.arrays import copy_text
from numbpe.patterns import compile_pattern
from numbpe_kernels import memory
from numbpe_kernels._jit import njit
from numbpe_kernels.scanner import KIND_AUTOMATON, KIND_GPT2, Scanner, scanner_split

SOUP = [
    "a",
    "Z",
    "th",
    "0",
    "12",
    " ",
    "  ",
    "\n",
    "\t",
    "\r\n",
    "\v\f",
    "'",
    "''",
    "'s",
    "'S",
    "'t",
    "'re",
    "'ve",
    "'ll",
    "'l",
    "'r",
    "'d",
    "'m",
    "!",
    "?!",
    "_",
    "\0",
    "\x1c",
    "\x7f",
    "word",
    " the",
]
OTHER = ["é", "ſ", "\u00a0", "\u3000", "中文", "é", "🙃", "٣", "\u2028", "ш"]  # fmt: skip


def split(kind, text, start, stop, n_ends=256):
    """All ends that a scanner finds in text[start:stop]."""
    pattern = compile_pattern("gpt2")
    scanner = Scanner(kind, pattern.automaton)
    level_stops = pattern.new_level_stops()
    ends = np.empty(n_ends, dtype=np.int64)
    found = []
    position = start
    while position < stop:
        n = scanner_split(scanner, level_stops, text, position, stop, ends)
        assert 0 < n <= n_ends
        found += ends[:n].tolist()
        position = found[-1]
    return found


def make_soup(seed, length, parts=SOUP):
    rng = random.Random(seed)
    return "".join(rng.choice(parts) for _ in range(length))


@pytest.mark.parametrize("seed", range(40))
def test_scanner_split__ascii(seed):
    """Truth: the regex module, on ASCII where all versions of Unicode agree."""
    soup = make_soup(seed, 400)
    pieces = reference.split_pieces(soup, [reference.GPT2_PATTERN])
    expected = np.cumsum([len(piece) for piece in pieces]).tolist()
    assert split(KIND_GPT2, copy_text(soup.encode()), 0, len(soup)) == expected


@pytest.mark.parametrize("seed", range(4))
def test_scanner_split__alignment(seed):
    """Truth: the automaton, at all 64 alignments and with text behind the end that must not count."""
    data = make_soup(seed, 120).encode()
    behind = make_soup(seed + 100, 40).encode()
    for shift in range(64):
        text = copy_text(b"s" * shift + data + behind)
        for stop in (shift + len(data), shift + len(data) - seed - 1):
            expected = split(KIND_AUTOMATON, text, shift, stop)
            assert split(KIND_GPT2, text, shift, stop) == expected, shift


@pytest.mark.parametrize("seed", range(20))
def test_scanner_split__mixed(seed):
    """Truth: the automaton, on text with characters outside ASCII now and then."""
    rng = random.Random(seed)
    parts = SOUP * rng.choice([1, 5, 40]) + OTHER
    data = make_soup(seed, 1500, parts).encode()
    text = copy_text(data)
    expected = split(KIND_AUTOMATON, text, 0, len(data))
    for n_ends in (1, 63, 64, 65, 300):
        assert split(KIND_GPT2, text, 0, len(data), n_ends) == expected


def test_scanner_split__contraction_in_every_place():
    """Truth: the automaton; a contraction over the border of a block, then each kind of character."""
    for contraction in ("'s", "'re", "'ll", "'l", "'x"):
        for follower in ("a", "1", " ", "!", "'", "\n", "'s", ""):
            for n_before in range(55, 70):
                data = ("a" * n_before + contraction + follower + " b" * 40).encode()
                text = copy_text(data)
                expected = split(KIND_AUTOMATON, text, 0, len(data))
                assert split(KIND_GPT2, text, 0, len(data)) == expected


def test_scanner_split__long_piece():
    """Truth: by definition; a megabyte of letters is one piece, with or without an end in é."""
    for tail in (b"", "é".encode()):
        data = b"a" * 1_000_000 + tail
        assert split(KIND_GPT2, copy_text(data), 0, len(data)) == [len(data)]


@njit
def mask_letters(text, index):
    """Call mask_block as the scanner does. text : uint8; index : int64. Reads only."""
    return memory.mask_block(text, index, np.uint8(0x20), np.uint8(97), np.uint8(25))


def test_mask_block__all_alignments(rng):
    """Truth: the plain Python body of mask_block."""
    text = rng.integers(0, 256, 400).astype(np.uint8)
    for index in range(300):
        assert mask_letters(text, index) == mask_letters.py_func(text, index)
