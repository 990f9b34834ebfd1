"""Rows to bytes: compiled and as plain Python."""

from typing import Any

import numpy as np

from numbpe.arrays import join_byte_strings
from numbpe_kernels.tuple_decoding import (
    TupleSpellings,
    tuple_copy,
    tuple_find_bad_row,
    tuple_measure,
)

CORES = [b"", b"a", b"core", b"a core of more than eight bytes", b"", b"A", b"CORE", b"\xff" * 17]
PREFIXES = [b"", b" ", b"(((((((((("]
SUFFIXES = [b"", b",", b"\n" * 9]


def make_spellings() -> TupleSpellings:
    tables = [join_byte_strings(items) for items in (CORES, PREFIXES, SUFFIXES)]
    arrays = [array for contents, offsets in tables for array in (offsets, contents)]
    return TupleSpellings(*arrays, np.array([2, 3, 4, 3], dtype=np.int64))


def decode(rows: Any, bounds: Any, measure: Any, copy: Any) -> tuple[int, bytes, list[int]]:
    flat = np.ascontiguousarray(rows, dtype=np.int32).reshape(-1)
    ends = np.zeros(len(bounds), dtype=np.int64)
    bad = int(measure(make_spellings(), flat, np.array(bounds, dtype=np.int64), ends))
    if bad >= 0:
        return bad, b"", []
    text = np.full(int(ends[-1]) + 8, 7, dtype=np.uint8)
    copy(make_spellings(), flat, text)
    return bad, text[: ends[-1]].tobytes(), ends.tolist()


def test_tuple_copy__equals_joining() -> None:
    """Truth: the byte strings themselves, joined."""
    generator = np.random.default_rng(4)
    rows = generator.integers(0, [2, 3, 4, 3], (200, 4))
    spelled = [PREFIXES[p] + CORES[4 * v + c] + SUFFIXES[s] for v, p, c, s in rows.tolist()]
    bounds = [0, 50, 50, 200]
    ends = [len(b"".join(spelled[:n])) for n in bounds]
    expected = (-1, b"".join(spelled), ends)
    assert decode(rows, bounds, tuple_measure, tuple_copy) == expected
    py_funcs = (
        getattr(tuple_measure, "py_func", tuple_measure),
        getattr(tuple_copy, "py_func", tuple_copy),
    )
    assert decode(rows, bounds, *py_funcs) == expected


def test_tuple_measure__says_which_index_is_bad() -> None:
    """Truth: hand-computed places in the flat array."""
    for row, column, value in ((1, 0, 2), (2, 1, -1), (0, 2, 4), (2, 3, 3)):
        rows = np.zeros((3, 4), dtype=np.int32)
        rows[row, column] = value
        expected = 4 * row + column
        assert decode(rows, [0, 1, 3], tuple_measure, tuple_copy)[0] == expected
        assert tuple_find_bad_row(rows.reshape(-1), make_spellings().sizes) == expected
        assert (
            decode(
                rows,
                [0, 1, 3],
                getattr(tuple_measure, "py_func", tuple_measure),
                getattr(tuple_copy, "py_func", tuple_copy),
            )[0]
            == expected
        )
