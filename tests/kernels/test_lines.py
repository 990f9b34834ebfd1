"""Cutting texts into lines, against bytes.split."""

from itertools import pairwise

import numpy as np
import pytest

from numbpe.arrays import copy_text
from numbpe_kernels.lines import lines_count, lines_split


def split_by_bytes(data: bytes, documents: list[tuple[int, int]]) -> list[list[int]]:
    rows = []
    for start, stop in documents:
        for line in data[start:stop].removesuffix(b"\n").split(b"\n"):
            rows.append([start, min(start + len(line) + 1, stop)])
            start += len(line) + 1
    return rows


@pytest.mark.parametrize("compiled", [True, False])
def test_lines_split__random_texts(compiled: bool, rng: np.random.Generator) -> None:
    """Truth: bytes.split on 60 seeded texts; lines from 1 byte to hundreds, and empty ones."""
    count = lines_count if compiled else getattr(lines_count, "py_func", lines_count)
    split = lines_split if compiled else getattr(lines_split, "py_func", lines_split)
    for seed in range(60):
        n_bytes = int(rng.integers(1, 400))
        letters = b"\n" + b"ab" * (1, 4, 60)[seed % 3]
        data = bytes(rng.choice(np.frombuffer(letters, np.uint8), n_bytes))
        cuts = np.unique(rng.integers(0, n_bytes + 1, 6)).tolist()
        documents = list(pairwise(cuts))[::2]
        rows = np.array(documents, dtype=np.int64).reshape(-1, 2)
        text = copy_text(data)
        text[n_bytes:] = ord("\n")  # what stands behind the text changes nothing
        expected = split_by_bytes(data, documents)
        assert count(text, rows) == len(expected)
        lines = np.zeros((len(expected), 2), dtype=np.int64)
        split(text, rows, lines)
        assert lines.tolist() == expected
