"""The table that counts words, against a dictionary."""

import itertools
import random
from collections import Counter
from itertools import chain

import numpy as np
import pytest

from numbpe import word_sums
from numbpe.arrays import copy_text
from numbpe.spilling import export_parts, export_words
from numbpe.word_tables import grow_rows
from numbpe_kernels import word_table as kernel
from numbpe_kernels.word_cache import CACHE_SALT
from numbpe_kernels.word_table import ARENA_END, N_WORDS, make_word_table


def make_words(seed, n_words=400):
    """Words of 1 to 40 bytes, many of them alike in length, head or tail."""
    rng = random.Random(seed)
    heads = [bytes(rng.choice(b"ab\0\xff") for _ in range(n)) for n in (1, 7, 8, 9, 14, 15, 16, 17)]
    return [rng.choice(heads) + rng.randbytes(rng.choice([0, 0, 1, 2, 24])) for _ in range(n_words)]


@pytest.fixture
def interpreted(monkeypatch):
    """Replace all kernels of the table by the plain Python that they are compiled from."""
    for name, value in list(vars(kernel).items()):
        if name.startswith("word_") and hasattr(value, "py_func"):
            monkeypatch.setattr(kernel, name, value.py_func)
    for name in ("word_table_measure_slices", "word_table_absorb_slice", "word_table_export"):
        monkeypatch.setattr(word_sums, name, getattr(word_sums, name).py_func)


def lay_out(words):
    text = copy_text(b"".join(words))
    ends = np.cumsum([len(word) for word in words], dtype=np.int64)
    return text, ends


def read_words(contents, offsets, counts):
    data = contents.tobytes()
    words = [data[i:j] for i, j in itertools.pairwise(offsets)]
    assert len(set(words)) == len(words)
    return dict(zip(words, counts.tolist(), strict=True))


def export(table):
    """The words of a table, of the whole and of its parts, which must add up to it."""
    words = read_words(*export_words(table))
    parts = {}
    for part in chain.from_iterable(export_parts(table, 4, 2)):
        some = read_words(*part)
        assert not parts.keys() & some.keys()
        parts |= some
    assert parts == words
    assert len(words) == table.state[N_WORDS]
    return words


@pytest.mark.parametrize("seed", range(8))
def test_word_table_add__counts(seed):
    """Truth: collections.Counter."""
    words = make_words(seed)
    text, ends = lay_out(words)
    table = make_word_table(1024, 1 << 15)
    assert kernel.word_table_add(table, text, 0, ends, 0, len(ends)) == len(words)
    assert export(table) == dict(Counter(words))


COMPILED_ADD = kernel.word_table_add


@pytest.mark.usefixtures("interpreted")
def test_word_table_add__interpreted():
    """Truth: the compiled kernel; the same function as plain Python writes the same rows."""
    text, ends = lay_out(make_words(1))
    tables = []
    for add in (COMPILED_ADD, kernel.word_table_add):
        table = make_word_table(1024, 1 << 15)
        with np.errstate(over="ignore"):
            assert add(table, text, 0, ends, 0, len(ends)) == len(ends)
        tables.append(table)
    np.testing.assert_array_equal(tables[0].rows, tables[1].rows)
    np.testing.assert_array_equal(tables[0].state, tables[1].state)


def test_word_table_add__full():
    """Truth: collections.Counter; a full table stops at a word, and goes on when it has grown."""
    words = make_words(3)
    text, ends = lay_out(words)
    table = make_word_table(64, 1 << 15)
    start = done = 0
    n_grown = 0
    while True:
        done = kernel.word_table_add(table, text, start, ends, done, len(ends))
        if done == len(ends):
            break
        start = int(ends[done - 1]) if done else 0
        grown = make_word_table(2 * len(table.rows) // kernel.ROW_WIDTH, 0)._replace(
            arena=table.arena
        )
        kernel.word_table_rehash(table.rows, grown)
        grown.state[:] = table.state
        table = grown
        n_grown += 1
    assert n_grown > 1
    assert export(table) == dict(Counter(words))


def test_word_table_add__arena_full():
    """Truth: by definition; no word is taken for which the arena might be too small."""
    text, ends = lay_out([b"x" * 100])
    table = make_word_table(64, 100)
    assert kernel.word_table_add(table, text, 0, ends, 0, 1) == 0
    assert table.state[ARENA_END] == 0


@pytest.mark.usefixtures("interpreted")
def test_word_table_add__equal_hashes(monkeypatch):
    """Truth: collections.Counter; long words are told apart by their bytes, not by their hash."""
    words = [b"a" * 20, b"b" * 20, b"a" * 20, b"a" * 19 + b"b", b"b" + b"a" * 19] * 3
    monkeypatch.setattr(kernel, "word_hash_long", lambda text, start, length: np.uint64(7))
    text, ends = lay_out(words)
    table = make_word_table(64, 1 << 12)
    kernel.word_table_add(table, text, 0, ends, 0, len(ends))
    assert export(table) == dict(Counter(words))


def measure_longest_run(table):
    """Return how many rows in use lie side by side at most: what a word may have to go past."""
    is_used = np.append(table.rows.reshape(-1, kernel.ROW_WIDTH)[:, kernel.HIGH] > 0, False)
    borders = np.flatnonzero(~is_used)
    return int(np.diff(borders, prepend=-1).max()) - 1


@pytest.mark.parametrize("n_random", [6, 20])
def test_salt__spreads_words_that_come_in_the_order_of_another_table(n_random):
    """Truth: by construction: the first sixteenth of a large table are words with the least hashes,
    short or long; they fill a third of a small one, and with its salt crowd nowhere."""
    words = [random.Random(n).randbytes(n_random) for n in range(20_000)]
    counted = make_word_table(1 << 16, 1 << 20)
    text, ends = lay_out(words)
    assert kernel.word_table_add(counted, text, 0, ends, 0, len(ends)) == len(words)
    text, ends = lay_out(list(export(counted))[: 20_000 // 16])
    runs = []
    for salt in (counted.salt, CACHE_SALT):
        table = make_word_table(1 << 12, 1 << 20, salt)
        assert kernel.word_table_add(table, text, 0, ends, 0, len(ends)) == len(ends)
        runs.append(measure_longest_run(grow_rows(table)))
        runs.append(measure_longest_run(table))
    assert min(runs[:2]) > 500
    assert max(runs[2:]) < 60


def count(words, n_slots):
    """A table of the words of a list."""
    text, ends = lay_out(words)
    table = make_word_table(n_slots, 1 << 16)
    assert kernel.word_table_add(table, text, 0, ends, 0, len(ends)) == len(ends)
    return table


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slice_words", [1, 30, 1 << 15])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_table_sum__sums(monkeypatch, seed, slice_words, threads):
    """Truth: the sum of three collections.Counter; tables of any size, cut into any slices.

    The order of the words does not depend on threads.
    """
    monkeypatch.setattr(word_sums, "SLICE_WORDS", slice_words)
    lists = [make_words(seed * 3 + part) + make_words(99) for part in range(3)]
    tables = [
        count(words, n_slots) for words, n_slots in zip(lists, (2048, 1024, 4096), strict=True)
    ]
    total = sum(map(Counter, lists), Counter())
    words = word_sums.TableSum(tables, threads).add_up()
    assert read_words(*words) == dict(total)
    for one, other in zip(words, word_sums.TableSum(tables).add_up(), strict=True):
        n_bytes = int(words[1][-1]) if one.dtype == np.uint8 else None
        assert one[:n_bytes].tolist() == other[:n_bytes].tolist()


def test_gathered_words__sections_that_are_full():
    """Truth: by construction; what is written behind the last word of a section spoils no other."""
    tables = [count([b"%d-%d" % (part, word) for word in range(40)], 128) for part in range(3)]
    sizes = [(40, sum(len(word) for word in export(table))) for table in tables]
    gathered = word_sums.GatheredWords(sizes)
    for section in (2, 1, 0):
        gathered.add(tables[section], section)
    assert gathered.n_words == 120
    assert read_words(*gathered.finish()) == {
        b"%d-%d" % (part, word): 1 for part in range(3) for word in range(40)
    }


def test_table_sum__slices_that_run_over(monkeypatch, interpreted):
    """Truth: collections.Counter; in a table that is nearly full, words of a slice stand behind its rows.

    Those of the last slice even stand in the first rows of the table.
    """
    monkeypatch.setattr(word_sums, "SLICE_WORDS", 8)
    for seed in range(20):
        words = make_words(seed, 47)
        table = count(words, 64)
        other = count(words[:20], 64)
        assert read_words(*word_sums.TableSum([table, other]).add_up()) == dict(
            Counter(words) + Counter(words[:20])
        )


def test_table_sum__no_words():
    """Truth: by definition."""
    contents, offsets, counts = word_sums.TableSum([make_word_table(64, 128)] * 2).add_up()
    assert len(contents) >= 64
    assert (offsets.tolist(), counts.tolist()) == ([0], [])


def test_word_table__counts_beyond_32_bits():
    """Truth: by arithmetic."""
    text, ends = lay_out([b"the"])
    table = make_word_table(64, 128)
    kernel.word_table_add(table, text, 0, ends, 0, 1)
    rows = table.rows.reshape(-1, kernel.ROW_WIDTH)
    rows[rows[:, 1] != 0, 2] = 3_000_000_000
    words = word_sums.TableSum([table, table]).add_up()
    assert read_words(*words) == {b"the": 6_000_000_000}


@pytest.mark.parametrize("seed", range(4))
def test_word_table_add_counted__sums(seed):
    """Truth: by arithmetic; a table that is too small stops at a word and goes on when it has grown."""
    words = list(dict.fromkeys(make_words(seed)))
    text, ends = lay_out(words)
    offsets = np.append(np.zeros(1, dtype=np.int64), ends)
    numbers = np.arange(1, len(words) + 1, dtype=np.int64) * 5_000_000_000
    table = make_word_table(64, 1 << 15)
    for _ in range(2):
        done = 0
        while (done := kernel.word_table_add_counted(table, text, offsets, numbers, done)) < len(
            words
        ):
            grown = make_word_table(2 * len(table.rows) // kernel.ROW_WIDTH, 0)
            grown = grown._replace(arena=table.arena)
            kernel.word_table_rehash(table.rows, grown)
            grown.state[:] = table.state
            table = grown
    assert export(table) == dict(zip(words, (2 * numbers).tolist(), strict=True))
