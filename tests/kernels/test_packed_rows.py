"""Two numbers of a row at once: compiled and plain agree."""

import numpy as np
import pytest
from numpy.typing import NDArray

from numbpe_kernels import packed_rows
from numbpe_kernels._jit import njit
from numbpe_kernels.packed_rows import PACKED_BITS


@njit
def pairs_agree(
    left: NDArray[np.uint64], i: np.uint64, right: NDArray[np.uint64], j: np.uint64
) -> bool:
    return packed_rows.pairs_agree(left, i, right, j)


@njit
def load_masked_pair(
    text: NDArray[np.uint8],
    index: np.uint64,
    table: NDArray[np.uint64],
    row: np.uint64,
    out: NDArray[np.uint64],
    place: np.uint64,
) -> None:
    packed_rows.load_masked_pair(text, index, table, row, out, place)


@njit
def unpack_ids(
    words: NDArray[np.uint64], index: np.uint64, ids_out: NDArray[np.uint32], place: np.uint64
) -> None:
    packed_rows.unpack_ids(words, index, ids_out, place)


def test_pairs_agree__looks_at_both_numbers(rng: np.random.Generator) -> None:
    """Truth: equality of Python's numbers; pairs that differ in one bit, at any place."""
    words = rng.integers(0, 2**64, 40, dtype=np.uint64)
    for i in range(38):
        for bit in (None, 0, 63, 64, 127):
            other = words[i : i + 2].copy()
            if bit is not None:
                other[bit // 64] ^= np.uint64(1 << bit % 64)
            for agree in (pairs_agree, packed_rows.pairs_agree):
                assert agree(words, np.uint64(i), other, np.uint64(0)) == (bit is None)


@pytest.mark.parametrize("load", [load_masked_pair, packed_rows.load_masked_pair])
def test_load_masked_pair__clears_and_sets_bits(load: object, rng: np.random.Generator) -> None:
    """Truth: NumPy's operations on the bytes, at any alignment."""
    text = rng.integers(0, 256, 64, dtype=np.uint8)
    table = rng.integers(0, 2**64, 12, dtype=np.uint64)
    for index in range(48):
        row = 4 * (index % 3)
        out = np.zeros(6, dtype=np.uint64)
        load(text, np.uint64(index), table, np.uint64(row), out, np.uint64(3))  # type: ignore[operator]
        loaded = np.frombuffer(text[index : index + 16].tobytes(), dtype=np.uint64)
        expected = loaded & table[row : row + 2] | table[row + 2 : row + 4]
        assert out.tolist() == [0, 0, 0, *expected.tolist(), 0]


@pytest.mark.parametrize("unpack", [unpack_ids, packed_rows.unpack_ids])
def test_unpack_ids__gives_the_first_four(unpack: object, rng: np.random.Generator) -> None:
    """Truth: the numbers that were packed, by shifting Python's."""
    for _ in range(50):
        ids = [int(i) for i in rng.integers(0, 1 << PACKED_BITS, 4)]
        first = sum(token << PACKED_BITS * i for i, token in enumerate(ids[:3]))
        second = ids[3] | int(rng.integers(0, 2**43)) << PACKED_BITS
        words = np.array([7, first, second], dtype=np.uint64)
        out = np.zeros(6, dtype=np.uint32)
        unpack(words, np.uint64(1), out, np.uint64(1))  # type: ignore[operator]
        assert out.tolist() == [0, *ids, 0]
