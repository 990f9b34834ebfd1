"""Arrays made from addresses, compiled and plain."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from numbpe_kernels import views
from numbpe_kernels._jit import njit


@njit
def read_u8(address: int, length: int, place: int) -> int:
    return np.int64(views.view_u8(address, length)[place])


@njit
def write_i64(address: int, length: int, place: int, value: int) -> int:
    array = views.view_i64(address, length)
    array[place] = value
    return array.shape[0]


@njit
def read_matrix(address: int, n_rows: int, n_columns: int, row: int, column: int) -> int:
    matrix = views.view_u8_matrix(address, n_rows, n_columns)
    return np.int64(matrix[row, column]) + 1000 * matrix.shape[0] + 100_000 * matrix.shape[1]


def choose(kernel: Any, mode: str) -> Callable[..., int]:
    return getattr(kernel, "py_func", kernel) if mode == "plain" else kernel  # type: ignore[no-any-return]


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_views__read_and_write_the_array_itself(mode: str) -> None:
    """Truth: NumPy's own view of the same memory."""
    content = np.arange(40, dtype=np.uint8)
    numbers = np.zeros(7, dtype=np.int64)
    assert choose(read_u8, mode)(content.ctypes.data, 40, 39) == 39
    assert choose(write_i64, mode)(numbers.ctypes.data, 7, 3, -5) == 7
    assert numbers.tolist() == [0, 0, 0, -5, 0, 0, 0]


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_view_u8_matrix__lies_row_by_row(mode: str) -> None:
    """Truth: NumPy's C order."""
    matrix = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert choose(read_matrix, mode)(matrix.ctypes.data, 3, 4, 2, 1) == 9 + 3000 + 400_000


@pytest.mark.parametrize("name", [name for name in vars(views) if name.startswith("view_")])
def test_views__of_nothing_are_empty(name: str) -> None:
    """Truth: an array of no elements has no address that may be read."""
    shape = (0, 0) if "matrix" in name else (0,)
    assert getattr(views, name)(0, *shape).shape == shape
