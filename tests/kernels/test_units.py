"""Kernels that count units and take them apart, against plain Python."""

import itertools
from typing import Any

import numpy as np
import pytest

from numbpe.arrays import copy_text, join_byte_strings
from numbpe.combinatorial.core_corpus import find_cases
from numbpe.combinatorial.folding import load_folding
from numbpe.combinatorial.reference import split_camel_case, split_units
from numbpe.combinatorial.unit_counting import find_word_characters
from numbpe_kernels import counted_table, units
from numbpe_kernels.word_table import COUNT, HIGH, N_WORDS, ROW_WIDTH, make_word_table

CHARACTERS = [*"abAB12 _.\n", "\u00e9", "\u0301", "\u01c5", "\u4e2d", "\U0001f600", "\U00010400"]


def choose(kernel: Any, compiled: bool) -> Any:
    return kernel if compiled else getattr(kernel, "py_func", kernel)


def make_strings(rng: np.random.Generator, n: int, longest: int = 12) -> list[str]:
    return ["".join(rng.choice(CHARACTERS, rng.integers(1, longest))) for _ in range(n)]


def read_table(table: Any, firsts: Any) -> list[tuple[int, int]]:
    used = table.rows[int(HIGH) :: ROW_WIDTH] != 0
    counts = table.rows[int(COUNT) :: ROW_WIDTH][used]
    return sorted(zip(firsts[used].tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("compiled", [True, False])
def test_counted_table__keeps_counts_and_first_places(
    compiled: bool, rng: np.random.Generator
) -> None:
    """Truth: a dictionary; batches come in any order, and the table moves to larger ones between."""
    words = [string.encode() * int(rng.integers(1, 6)) for string in make_strings(rng, 300, 4)]
    text, offsets = join_byte_strings(words)
    bounds = np.column_stack([offsets[:-1], offsets[1:]])
    bounds[7, 1] = bounds[7, 0]  # an empty word is left out
    counts = rng.integers(1, 9, len(words))
    positions = rng.permutation(10_000)[: len(words)].astype(np.int64)
    expected: dict[bytes, tuple[int, int]] = {}
    for i, word in enumerate(words):
        if i != 7:
            first, count = expected.get(word, (10_000, 0))
            expected[word] = (min(first, int(positions[i])), count + int(counts[i]))
    add = choose(counted_table.counted_table_add, compiled)
    rehash = choose(counted_table.counted_table_rehash, compiled)
    table, firsts = make_word_table(64, 1 << 14), np.zeros(64, dtype=np.int64)
    done = 0
    while (done := add(table, firsts, text, bounds, counts, positions, done)) < len(words):
        assert table.state[N_WORDS] == 3 * len(firsts) // 4
        grown = make_word_table(2 * len(firsts), 0)._replace(arena=table.arena)
        more = np.zeros(2 * len(firsts), dtype=np.int64)
        rehash(table.rows, firsts, grown, more)
        grown.state[:] = table.state
        table, firsts = grown, more
    assert read_table(table, firsts) == sorted(expected.values())


@pytest.mark.parametrize("compiled", [True, False])
def test_counted_table_add_ends__counts_documents(compiled: bool) -> None:
    """Truth: a dictionary; later text first, then earlier text, which has other first places."""
    words = [b"one", b" two", b"one", b"a much longer word than that", b" two", b"three"] * 9
    text, offsets = join_byte_strings(words)
    documents = np.array([[0, offsets[3]], [offsets[3], offsets[-1]]])
    table, firsts = make_word_table(256, 1 << 10), np.zeros(256, dtype=np.int64)
    add = choose(counted_table.counted_table_add_ends, compiled)
    for base, is_late in ((1000, False), (0, True)):
        progress = np.array([0, -1, 0], dtype=np.int64)
        args = (table, firsts, base, text, documents, offsets[1:].copy(), len(words), is_late)
        assert add(*args, progress)
    assert read_table(table, firsts) == [(0, 36), (3, 36), (10, 18), (42, 18)]
    full = make_word_table(2, 1 << 10)
    progress = np.array([0, -1, 0], dtype=np.int64)
    assert not add(full, firsts, 0, text, documents, offsets[1:].copy(), 3, False, progress)
    assert progress[counted_table.N_COUNTED] == 0


@pytest.mark.parametrize("compiled", [True, False])
def test_units_split__finds_the_word(compiled: bool, rng: np.random.Generator) -> None:
    """Truth: split_units, the regular expression of the specification."""
    parts = [unit for string in make_strings(rng, 60) for unit in split_units(string)]
    text, offsets = join_byte_strings(["".join(unit).encode() for unit in parts])
    bounds = np.empty((len(parts), 2), dtype=np.int64)
    choose(units.units_split, compiled)(find_word_characters(), text, offsets, bounds)
    assert [text[i:j].tobytes().decode() for i, j in bounds.tolist()] == [p.word for p in parts]


@pytest.mark.parametrize("compiled", [True, False])
def test_units_split_camel__cuts_as_the_regular_expression(
    compiled: bool, rng: np.random.Generator
) -> None:
    """Truth: split_camel_case, the regular expression of the specification."""
    words = make_strings(rng, 60)
    text, offsets = join_byte_strings([word.encode() for word in words])
    bounds = np.column_stack([offsets[:-1], offsets[1:]])
    cut = choose(units.units_split_camel, compiled)
    numbers, parts = np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.int64)
    n_parts = cut(find_cases(), text, bounds, numbers, parts)
    numbers, parts = np.empty(n_parts, dtype=np.int64), np.empty((n_parts, 2), dtype=np.int64)
    cut(find_cases(), text, bounds, numbers, parts)
    found = [text[i:j].tobytes().decode() for i, j in parts.tolist()]
    expected = [(i, part) for i, word in enumerate(words) for part in split_camel_case(word)]
    assert list(zip(numbers.tolist(), found, strict=True)) == expected


@pytest.mark.parametrize("compiled", [True, False])
def test_characters__are_folded_counted_and_numbered(
    compiled: bool, rng: np.random.Generator
) -> None:
    """Truth: plain Python over the same strings."""
    strings = make_strings(rng, 60)
    counts = rng.integers(1, 9, len(strings))
    targets, _ = load_folding(True, False).make_dense()
    folded = ["".join(chr(targets[ord(c)]) for c in string) for string in strings]
    assert folded != strings
    encoded = [string.encode() for string in strings]
    text = copy_text(b"".join(encoded))
    ends = np.cumsum([len(item) for item in encoded])
    bounds = np.column_stack([ends - [len(item) for item in encoded], ends])
    characters = np.empty(int(ends[-1]), dtype=np.int32)
    offsets = np.empty(len(strings) + 1, dtype=np.int64)
    choose(units.units_fold, compiled)(targets, text, bounds, characters, offsets)
    characters = characters[: offsets[-1]]
    assert "".join(map(chr, characters)) == "".join(folded)

    totals = np.zeros(0x110000, dtype=np.int64)
    choose(units.units_count_characters, compiled)(characters, offsets, counts, totals)
    positions = 1000 * rng.permutation(len(strings))
    firsts = np.full(0x110000, 10**9, dtype=np.int64)
    choose(units.units_find_first, compiled)(characters, offsets, positions, firsts)
    for character in set("".join(folded)):
        places = [positions[i] + f.index(character) for i, f in enumerate(folded) if character in f]
        total = sum(f.count(character) * int(n) for f, n in zip(folded, counts, strict=True))
        assert (totals[ord(character)], firsts[ord(character)]) == (total, min(places))

    numbers = np.full(0x110000, -1, dtype=np.int32)
    known = "ab1\u4e2d"
    numbers[[ord(c) for c in known]] = np.arange(len(known))
    symbols = np.empty(len(characters), dtype=np.int32)
    run_offsets = np.empty(len(characters) // 2 + 1, dtype=np.int64)
    run_counts = np.empty(len(characters) // 2, dtype=np.int64)
    n_runs = choose(units.units_number, compiled)(
        numbers, characters, offsets, counts, symbols, run_offsets, run_counts
    )
    bounds_of_runs = itertools.pairwise(run_offsets[: n_runs + 1])
    found = [symbols[i:j].tolist() for i, j in bounds_of_runs]
    runs = [
        ([known.index(c) for c in run], int(n))
        for string, n in zip(folded, counts, strict=True)
        for run in "".join(c if c in known else "|" for c in string).split("|")
        if len(run) > 1
    ]
    assert list(zip(found, run_counts[:n_runs].tolist(), strict=True)) == runs
