"""The merging kernel against the plain trainer that recounts every pair at every step."""

import random

import numpy as np
import pytest

from numbpe import merging, pair_listing, reference, weighted_cells
from numbpe_kernels import heap, pair_births, training
from numbpe_kernels.heap import TIE_GREATEST_SYMBOLS, TIE_SMALLEST_IDS
from numbpe_kernels.pair_table import EMPTY_KEY, ROW_WIDTH
from numbpe_kernels.training_state import HEAP_SIZE

TIE_RULES = {"greatest_bytes": TIE_GREATEST_SYMBOLS, "smallest_ids": TIE_SMALLEST_IDS}


def lay_out_run(words, n_merges, tie, **options):
    """A run over words given as {symbols: count}."""
    symbol_type = np.uint8 if options.get("symbol_bits", 8) == 8 else np.int32
    contents = np.array([s for word in words for s in word], dtype=symbol_type)
    offsets = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    counts = np.array(list(words.values()), dtype=np.int64)
    return merging.MergeRun(
        contents, offsets, counts, n_merges=n_merges, tie_rule=TIE_RULES[tie], **options
    )


def run_kernel(words, n_merges, tie, **options):
    """Merge words given as {symbols: count}; returns what reference.train_symbols returns."""
    result = lay_out_run(words, n_merges, tie, **options).finish()
    pairs = [(int(left), int(right)) for left, right in result.pairs]
    return list(zip(pairs, result.counts.tolist(), strict=True)), result.stopped_early


def make_random_words(seed):
    """Words over a small alphabet, so that runs, overlaps and ties are everywhere."""
    rng = random.Random(seed)
    alphabet = rng.sample(range(256), rng.randint(1, 6))
    words = {}
    for _ in range(rng.randint(1, 25)):
        word = tuple(rng.choice(alphabet) for _ in range(rng.randint(1, 24)))
        words[word] = rng.choice([1, 1, 1, 2, 3, rng.randint(1, 40)])
    return words


@pytest.mark.parametrize("tie", TIE_RULES)
def test_trainer_merge__random_corpora(tie):
    """Truth: reference.train_symbols on 500 seeded corpora for each tie rule."""
    for seed in range(500):
        words = make_random_words(seed)
        expected = reference.train_symbols(words, 40, tie=tie)
        actual, stopped_early = run_kernel(words, 40, tie)
        assert actual == expected, f"seed {seed}"
        assert stopped_early == (len(expected) < 40)


@pytest.mark.parametrize("floor", [1, 2, 5, 1000])
def test_trainer_merge__floor(monkeypatch, floor):
    """Truth: reference.train_symbols; the floor that the run begins with changes nothing."""
    monkeypatch.setattr(merging.MergeRun, "_guess_floor", lambda run: floor)
    for seed in range(60):
        words = make_random_words(seed)
        expected = reference.train_symbols(words, 30, tie="greatest_bytes")
        assert run_kernel(words, 30, "greatest_bytes")[0] == expected, f"seed {seed}"


def test_trainer_merge__short_pauses(monkeypatch):
    """Truth: reference.train_symbols; a run that is paused after every merge gives the same."""
    monkeypatch.setattr(merging, "WORK_PER_CALL", 0)
    for seed in range(30):
        words = make_random_words(seed)
        expected = reference.train_symbols(words, 30, tie="smallest_ids")
        assert run_kernel(words, 30, "smallest_ids")[0] == expected, f"seed {seed}"


@pytest.mark.parametrize("threads", [2, 5])
def test_trainer_merge__threads(monkeypatch, threads):
    """Truth: reference.train_symbols; words laid out and listed by several threads give the same."""
    monkeypatch.setattr(weighted_cells, "CELLS_PER_PART", 16)
    for seed in range(60):
        words = make_random_words(seed)
        expected = reference.train_symbols(words, 30, tie="greatest_bytes")
        assert run_kernel(words, 30, "greatest_bytes", threads=threads)[0] == expected, seed


def test_trainer_merge__limits():
    """Truth: reference.train_symbols with min_frequency and max_length."""
    for seed in range(60):
        words = make_random_words(seed)
        limits = {"min_frequency": seed % 5, "max_length": 2 + seed % 4}
        expected = reference.train_symbols(words, 40, tie="greatest_bytes", **limits)
        actual, _ = run_kernel(
            words, 40, "greatest_bytes",
            min_frequency=limits["min_frequency"], max_cells=limits["max_length"],
        )  # fmt: skip
        assert actual == expected, f"seed {seed}"


def test_trainer_merge__any_alphabet():
    """Truth: reference.train_symbols over numbers beyond a byte, as code points are."""
    for seed in range(40):
        rng = random.Random(seed)
        words = {
            tuple(1000 * s + rng.randint(0, 1) for s in word): count
            for word, count in make_random_words(seed).items()
        }
        options = {"n_symbols": 256_001}
        expected = reference.train_symbols(words, 20, tie="greatest_bytes", **options)
        actual, _ = run_kernel(words, 20, "greatest_bytes", symbol_bits=32, **options)
        assert actual == expected, f"seed {seed}"


def test_trainer_merge__interpreted(monkeypatch):
    """Truth: the compiled kernel; the same functions run as plain Python give the same."""
    for room in (training, pair_births):
        for name, value in list(vars(room).items()):
            if hasattr(value, "py_func") and name.startswith(("trainer_", "cells_")):
                monkeypatch.setattr(room, name, value.py_func)
    monkeypatch.setattr(merging, "trainer_merge", training.trainer_merge)
    for seed in range(5):
        words = make_random_words(seed)
        expected = reference.train_symbols(words, 20, tie="greatest_bytes")
        assert run_kernel(words, 20, "greatest_bytes")[0] == expected, f"seed {seed}"


@pytest.mark.parametrize(
    "words, expected",
    [
        # Occurrences that touch: after (e, d) the pair (ed, ed) stands in "eded".
        ({b"eded": 3, b"de": 1}, [(b"e", b"d", 6), (b"ed", b"ed", 3), (b"d", b"e", 1)]),
        # Overlapping pairs all count, but merge from the left without overlap.
        ({b"aaaa": 5, b"aaa": 3, b"aab": 2}, [(b"a", b"a", 23)]),
        ({b"aa": 3_000_000_000, b"bc": 5}, [(b"a", b"a", 3_000_000_000), (b"b", b"c", 5)]),
        (
            {b"the": 6_000_000_000, b"cat": 10},
            [(b"t", b"h", 6_000_000_000), (b"th", b"e", 6_000_000_000)],
        ),
        # A word with more symbols than 16 bits can number.
        ({b"ab" * 40_000: 1}, [(b"a", b"b", 40_000), (b"ab", b"ab", 39_999)]),
    ],
)
def test_trainer_merge__known_answers(words, expected):
    """Truth: hand-computed; cases 1, 2, 4, 5 and 23 of public trainers' faults."""
    symbols = {tuple(word): count for word, count in words.items()}
    merges, _ = run_kernel(symbols, len(expected), "greatest_bytes")
    strings = [bytes([byte]) for byte in range(256)]
    actual = []
    for (left, right), count in merges:
        actual.append((strings[left], strings[right], count))
        strings.append(strings[left] + strings[right])
    assert actual == expected


def test_token_compare__strings():
    """Truth: Python's comparison of byte strings, with common prefixes and zero bytes."""
    rng = random.Random(7)
    strings = [bytes(rng.choice(b"\0a") for _ in range(rng.randint(1, 12))) for _ in range(60)]
    contents = np.array([b for s in strings for b in s], dtype=np.int32)
    offsets = np.zeros(len(strings) + 1, dtype=np.int64)
    np.cumsum([len(s) for s in strings], out=offsets[1:])
    prefixes = np.array(
        [int.from_bytes(s[:8].ljust(8, b"\0"), "big") for s in strings], dtype=np.uint64
    )
    order = heap.TokenOrder(TIE_GREATEST_SYMBOLS, np.uint64(8), prefixes, contents, offsets)
    for compare in (heap.token_compare, heap.token_compare.py_func):
        for i, one in enumerate(strings):
            for j, other in enumerate(strings):
                assert compare(order, i, j) == (one > other) - (one < other)


@pytest.mark.parametrize("seed", range(20))
def test_list_pairs__grid(monkeypatch, seed):
    """Truth: the table of pairs that is searched; a grid lists the same pairs at the same places.

    So do several, of parts of the corpus that may begin inside a word.
    """
    words = make_random_words(seed)
    floor = 1 + seed % 7
    listed = []
    for most in (pair_listing.MAX_SYMBOLS, 0):
        monkeypatch.setattr(pair_listing, "MAX_SYMBOLS", most)
        run = lay_out_run(words, 10, "smallest_ids")
        n_parts = 1 + seed % 4
        trainer = pair_listing.list_pairs(run.trainer, run.n_corpus_symbols, floor, n_parts)
        rows = trainer.table.rows.reshape(-1, ROW_WIDTH)
        pairs = {
            int(key): (int(count), trainer.pool[first : first + length].tolist())
            for key, count, first, length in rows
            if key != EMPTY_KEY
        }
        n_entries = int(trainer.state[HEAP_SIZE])
        entries = zip(trainer.heap.keys[:n_entries], trainer.heap.counts[:n_entries], strict=True)
        listed.append((pairs, dict(entries), trainer.state.tolist()))
        assert pairs or floor > 1
    assert listed[0] == listed[1]


def test_list_pairs__grid_interpreted(monkeypatch):
    """Truth: reference.train_symbols; the kernels of the grid as plain Python give the same."""
    for name in ("grid_count", "grid_place", "grid_list"):
        monkeypatch.setattr(pair_listing, name, getattr(pair_listing, name).py_func)
    for seed in range(2):
        words = make_random_words(seed)
        expected = reference.train_symbols(words, 20, tie="greatest_bytes")
        for n_parts in (1, 2):
            monkeypatch.setattr(merging, "count_parts", lambda *_, n_parts=n_parts: n_parts)
            assert run_kernel(words, 20, "greatest_bytes")[0] == expected, f"seed {seed}"


@pytest.mark.parametrize("n_symbols", [510, 511, 512, 600])
def test_list_pairs__alphabets_about_as_large_as_a_grid(n_symbols):
    """Truth: reference.train_symbols; the greatest symbol of an alphabet has its place, too."""
    for seed in range(10):
        words = {
            tuple(n_symbols - 1 - s % 7 for s in word): count
            for word, count in make_random_words(seed).items()
        }
        options = {"n_symbols": n_symbols}
        expected = reference.train_symbols(words, 20, tie="greatest_bytes", **options)
        actual, _ = run_kernel(words, 20, "greatest_bytes", symbol_bits=32, **options)
        assert actual == expected, f"seed {seed}"
