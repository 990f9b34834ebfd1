"""The kernels that search for literals, against the re module."""

import re

import numpy as np
import pytest

from numbpe.arrays import copy_text
from numbpe.literals import build_literals
from numbpe_kernels import literals as kernels

SETS = [
    [],
    [b"<|endoftext|>"],
    [b"<a", b"<a>"],
    [b"<a>", b"<a"],
    [b"aba"],
    [b"a", b"ab", b"abc", b"bc", b"c"],
    [b"a.c", b"(x|y)+", b"[INST]", b"$", b"^"],
    [b"< >", b" ", b"<"],
    ["<é>".encode(), "é".encode(), b"\0"],
    [b"x" * 40, b"x" * 7],
]


def find_by_re(strings: list[bytes], data: bytes) -> list[tuple[int, int]]:
    """Return the leftmost-longest matches: an alternation takes the first that fits."""
    if not strings:
        return []
    longest_first = sorted(strings, key=len, reverse=True)
    pattern = re.compile(b"|".join(map(re.escape, longest_first)))
    return [match.span() for match in pattern.finditer(data)]


def make_text(strings: list[bytes], rng: np.random.Generator) -> bytes:
    """Return random bytes in which the strings, their parts and near misses are frequent."""
    parts = [
        b"a",
        b"b",
        b"<",
        b" ",
        b"abc (x|y)+ y a.c",
        b"plain text without any of them, quite long",
    ]
    for string in strings:
        parts += [string, string[:-1], string[1:]]
    return b"".join(parts[i] for i in rng.integers(len(parts), size=rng.integers(1, 60)))


def find_all(
    strings: list[bytes], data: bytes, n_rows: int, compiled: bool = True
) -> list[tuple[int, int]]:
    """Return all matches with a buffer of ``n_rows``, so that the search is resumed."""
    find = kernels.literals_find
    if not compiled:
        find = getattr(find, "py_func", find)
    literals = build_literals(strings)
    text = copy_text(data + b"<aab" * 3)
    matches = np.empty((n_rows, 3), dtype=np.int64)
    found: list[tuple[int, int]] = []
    start, stop = 0, len(data)
    while True:
        n_found = find(literals, text, start, stop, stop, matches)
        for match_start, match_stop, index in matches[:n_found].tolist():
            assert data[match_start:match_stop] == strings[literals.positions[index]]
            found.append((match_start, match_stop))
        if n_found < n_rows:
            return found
        start = found[-1][1]


@pytest.mark.parametrize("strings", SETS, ids=repr)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_literals_find__random_texts(
    strings: list[bytes], compiled: bool, rng: np.random.Generator
) -> None:
    """Truth: the re module, with an alternation of escaped strings, the longest first."""
    for _ in range(200 if compiled else 10):
        data = make_text(strings, rng)
        expected = find_by_re(strings, data)
        actual = find_all(strings, data, n_rows=int(rng.integers(1, 6)), compiled=compiled)
        assert actual == expected, data


def test_literals_find__every_byte_in_every_place() -> None:
    """Truth: bytes.index, for one first byte (8 bytes at a time) and for two (by a table)."""
    matches = np.empty((1, 3), dtype=np.int64)
    for byte in range(256):
        string = bytes([byte])
        other = bytes([byte ^ 0x80])
        for place in (0, 1, 7, 8, 15, 31, 32, 63, 64, 70):
            data = other * place + string + other * 9
            text = copy_text(data)
            for strings in ([string], [string, other + b"no"]):
                literals = build_literals(strings)
                n_found = kernels.literals_find(literals, text, 0, len(data), len(data), matches)
                assert n_found == 1
                assert matches[0, 0] == data.index(string)


def test_literals_find__begins_no_match_at_the_limit_or_behind_it() -> None:
    """Truth: hand-computed."""
    literals = build_literals([b"aba", b"b"])
    text = copy_text(b"xababa")
    matches = np.empty((8, 3), dtype=np.int64)
    assert kernels.literals_find(literals, text, 0, 1, 6, matches) == 0
    assert kernels.literals_find(literals, text, 0, 2, 6, matches) == 1
    assert matches[0, :2].tolist() == [1, 4]
    # With a stop at 3 the longer one does not fit, and the shorter one is found behind it.
    assert kernels.literals_find(literals, text, 0, 3, 3, matches) == 1
    assert matches[0, :2].tolist() == [2, 3]


@pytest.mark.parametrize("strings", SETS, ids=repr)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_literals_split__random_documents(
    strings: list[bytes], compiled: bool, rng: np.random.Generator
) -> None:
    """Truth: the parts between matches of the re module, each document on its own."""
    split = kernels.literals_split
    if not compiled:
        split = getattr(split, "py_func", split)
    literals = build_literals(strings)
    for _ in range(50 if compiled else 4):
        items = [
            make_text(strings, rng)[: int(rng.integers(30))] for _ in range(rng.integers(1, 8))
        ]
        offsets = np.cumsum([0, *map(len, items)])
        documents = np.stack([offsets[:-1], offsets[1:]], axis=1).astype(np.int64)
        expected = []
        for item, offset in zip(items, offsets.tolist(), strict=False):
            spans = [span[:2] for span in find_by_re(strings, item)]
            borders = [0, *(border for span in spans for border in span), len(item)]
            pairs = zip(borders[::2], borders[1::2], strict=True)
            found = [strings.index(item[a:b]) for a, b in spans]
            marks = [literals.positions.tolist().index(place) for place in found]
            marks.append(kernels.END_OF_DOCUMENT)
            expected += [
                [offset + a, offset + b, mark] for (a, b), mark in zip(pairs, marks, strict=True)
            ]
        progress = np.zeros(2, dtype=np.int64)
        parts = np.empty((int(rng.integers(1, 5)), 3), dtype=np.int64)
        actual = []
        text = copy_text(b"".join(items))
        while progress[0] < len(documents):
            n_parts = split(literals, text, documents, progress, parts)
            actual += parts[:n_parts].tolist()
        assert actual == expected


def test_literals_match_at__thousands_of_literals_with_one_start() -> None:
    """Truth: a dictionary, asked for every start of the text from the longest on."""
    strings = [b"<unused%d>" % i for i in range(3000)] + [b"\n" * i for i in range(2, 32)]
    strings += [b"<unused", b"<", b"<unused1", b"\xe2\x96\x81" * 3]
    literals = build_literals(strings)
    places = {string: place for place, string in enumerate(strings)}
    data = b"<unused12><unused3000><unused7<\n\n\n" + b"\n" * 40 + b"\xe2\x96\x81" * 4
    text = copy_text(data)
    for stop in (len(data), len(data) - 1, 30, 5):
        for position in range(stop):
            longest = (data[position:end] for end in range(stop, position, -1))
            expected = next((places[start] for start in longest if start in places), -1)
            found = kernels.literals_match_at(literals, text, position, stop)
            assert (literals.positions[found] if found >= 0 else -1) == expected


def test_literals_skip__finds_the_first_byte_among_few_ranges_and_many() -> None:
    """Truth: a loop over the bytes."""
    for firsts in (b"\t\n<[", b"abcdxy", b"\x00\x01\x02", b"\xff", bytes(range(0, 256, 17))):
        literals = build_literals([bytes([first, 0]) for first in firsts])
        data = bytes(range(255, -1, -1)) + b"~" * 70
        text = copy_text(data + firsts[:1])
        for start in range(0, len(data), 3):
            expected = next((i for i in range(start, len(data)) if data[i] in firsts), len(data))
            assert kernels.literals_skip(literals, text, start, len(data)) == expected


def test_build_literals__numbers_starts_by_length_and_order() -> None:
    """Truth: hand-computed: starts <, b, then <a and <b, then <a>; strings <, <a, <a>, <b, b."""
    literals = build_literals([b"<a", b"b", b"<a>", b"<", b"<b", b"b"])
    assert literals.positions.tolist() == [3, 0, 2, 4, 1]
    assert literals.lengths.tolist() == [1, 2, 3, 2, 1]
    assert bytes(literals.last_bytes) == b"<bab>"
    assert literals.children.tolist() == [2, 4, 4, 5, 5, 5]
    assert literals.ends.tolist() == [0, 4, 1, 3, 2]
    assert literals.first_nodes[[ord("<"), ord("b"), ord("a")]].tolist() == [0, 1, -1]
    assert literals.ranges.tolist() == [[ord("<"), 0], [ord("b"), 0]]
    assert build_literals([b"\t", b"\n", b"\xff", b"\x0b"]).ranges.tolist() == [[9, 2], [255, 0]]
