"""Ragged arrays: the order of their items, and their layout as cells, against lists."""

import random
from itertools import pairwise

import numpy as np
import pytest

from numbpe import weighted_cells
from numbpe_kernels import csr, training_state

N_WEIGHTS = 5


@pytest.fixture(params=["compiled", "plain"])
def kernels(request):
    """The kernels, compiled and as plain Python."""
    names = ("csr_order_by_weight", "csr_count_cells", "csr_write_cells", "csr_write_tokens")
    found = {name: getattr(csr, name) for name in names}
    if request.param == "plain":
        found = {name: kernel.py_func for name, kernel in found.items()}
    return found


def make_items(seed):
    """Symbols of items, some empty or of one symbol, and their weights."""
    rng = random.Random(seed)
    items = [[rng.randrange(4) for _ in range(rng.choice([0, 1, 2, 3, 9, 17]))] for _ in range(60)]
    return items, [rng.choice([1, 2, 3, 4, 5, 900]) for _ in items]


def join(items, dtype):
    """Contents and offsets of items."""
    offsets = np.cumsum([0, *map(len, items)], dtype=np.int64)
    return np.array([symbol for item in items for symbol in item], dtype=dtype), offsets


@pytest.mark.parametrize("seed", range(6))
def test_csr_order_by_weight__sorts(kernels, seed):
    """Truth: sorted(), which keeps what is alike in order; weights of N_WEIGHTS - 1 and more count as that."""
    items, weights = make_items(seed)
    _, offsets = join(items, np.uint8)
    bounds, cells = np.zeros((2, N_WEIGHTS), dtype=np.int64)
    order = np.full(len(items), -1, dtype=np.int64)
    arguments = offsets, 2 * offsets, np.array(weights), bounds, cells, order
    n_listed, n_heaviest = kernels["csr_order_by_weight"](*arguments)
    listed = [i for i, item in enumerate(items) if len(item) > 1]
    bounded = [min(weight, N_WEIGHTS - 1) for weight in weights]
    assert order[:n_listed].tolist() == sorted(listed, key=lambda i: -bounded[i])
    assert n_heaviest == sum(weights[i] >= N_WEIGHTS - 1 for i in listed)
    for weight in range(N_WEIGHTS):
        expected = sum(2 * len(items[i]) + 1 for i in listed if bounded[i] == weight)
        assert cells[weight] == expected
    order = order[:n_listed]
    assert kernels["csr_count_cells"](2 * offsets, order) == int(cells.sum())


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_csr_write_cells__lists(kernels, dtype):
    """Truth: lists; the last item may end with the contents, and the first be the longest."""
    items, _ = make_items(3)
    contents, offsets = join(items, dtype)
    order = [i for i, item in enumerate(items) if item][::-1]
    expected = [-1] + [cell for i in order for cell in (*items[i], -1)]
    cells = np.zeros(len(expected), dtype=np.int32)
    kernels["csr_write_cells"](contents, offsets, np.array(order), cells)
    assert cells.tolist() == expected


def test_csr_write_tokens__lists(kernels):
    """Truth: lists; a token stands in its first cell and in its last."""
    items, _ = make_items(4)
    tokens, offsets = join(items, np.int32)
    lengths = np.array([1, 2, 3, 5], dtype=np.int32)
    order = [i for i, item in enumerate(items) if item]
    spelled = {0: [0], 1: [1, 1], 2: [2, -9, 2], 3: [3, -9, -9, -9, 3]}
    expected = [-1]
    for i in order:
        expected += [cell for token in items[i] for cell in spelled[token]] + [-1]
    cells = np.zeros(len(expected), dtype=np.int32)
    kernels["csr_write_tokens"](tokens, offsets, lengths, -9, np.array(order), cells)
    assert cells.tolist() == expected


@pytest.mark.parametrize("heavy", [2, 4, 1000])
@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_build_weighted_cells__runs(monkeypatch, heavy, threads):
    """Truth: words sorted by their counts; where a count begins, and the words that have it."""
    monkeypatch.setattr(weighted_cells, "HEAVY", heavy)
    monkeypatch.setattr(weighted_cells, "CELLS_PER_PART", 20)
    items, weights = make_items(7)
    contents, offsets = join(items, np.uint8)
    corpus = weighted_cells.build_weighted_cells(
        contents, offsets, np.array(weights, dtype=np.int64), threads=threads
    )
    assert corpus.run_counts.tolist() == sorted(set(weights), reverse=True)
    assert corpus.cells[0] == corpus.cells[-1] == -1
    assert corpus.run_starts[0] == 0
    assert corpus.run_starts[-1] == len(corpus.cells)
    for count, (start, stop) in zip(
        corpus.run_counts.tolist(), pairwise(corpus.run_starts.tolist()), strict=True
    ):
        cells = corpus.cells[max(start, 1) : stop]
        words = np.split(cells, np.flatnonzero(cells == -1) + 1)[:-1]
        expected = [
            item for item, weight in zip(items, weights, strict=True)
            if weight == count and len(item) > 1
        ]  # fmt: skip
        assert sorted(word[:-1].tolist() for word in words) == sorted(expected)
    starts = np.arange(0, len(corpus.cells), 1 << training_state.BLOCK_SHIFT)
    runs = np.searchsorted(corpus.run_starts, starts, side="right") - 1
    assert corpus.block_runs.tolist() == runs.tolist()


def test_build_weighted_cells__no_pairs():
    """Truth: by definition; no word of two symbols, or no word at all."""
    for items in ([], [[1], [2]]):
        contents, offsets = join(items, np.uint8)
        corpus = weighted_cells.build_weighted_cells(
            contents, offsets, np.ones(len(items), np.int64)
        )
        assert corpus.cells.tolist() == [-1]
        assert corpus.run_starts.tolist() == [0, 1]
        assert corpus.run_counts.tolist() == [0]
