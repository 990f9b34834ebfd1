"""Arrays by their addresses, so that a kernel with many arrays can be called with one argument.

Each array that is handed to a compiled function costs a tenth of a microsecond or more, and an
encoder has some forty of them: as long as encoding a sentence takes. A *descriptor* is an int64
array with the address and the length of each; a kernel makes its arrays from that again.

Each function here is plain Python; what compiled code does instead is in ``views_intrinsics``.
Whoever writes a descriptor keeps the arrays alive as long as it is used.
"""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _view(dtype: type, address: int, *shape: int) -> NDArray[Any]:
    """Return memory as an array, in plain Python."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if n_bytes == 0:
        return np.empty(shape, dtype=dtype)
    memory = (ctypes.c_char * n_bytes).from_address(int(address))
    return np.frombuffer(memoryview(memory), dtype=dtype).reshape(shape)


def view_u8(address: int, length: int) -> NDArray[np.uint8]:
    """Return the (length,) uint8 array at an address, int64."""
    return _view(np.uint8, address, length)


def view_u16(address: int, length: int) -> NDArray[np.uint16]:
    """Return the (length,) uint16 array at an address, int64."""
    return _view(np.uint16, address, length)


def view_u32(address: int, length: int) -> NDArray[np.uint32]:
    """Return the (length,) uint32 array at an address, int64."""
    return _view(np.uint32, address, length)


def view_u64(address: int, length: int) -> NDArray[np.uint64]:
    """Return the (length,) uint64 array at an address, int64."""
    return _view(np.uint64, address, length)


def view_i32(address: int, length: int) -> NDArray[np.int32]:
    """Return the (length,) int32 array at an address, int64."""
    return _view(np.int32, address, length)


def view_i64(address: int, length: int) -> NDArray[np.int64]:
    """Return the (length,) int64 array at an address, int64."""
    return _view(np.int64, address, length)


def view_u8_matrix(address: int, n_rows: int, n_columns: int) -> NDArray[np.uint8]:
    """Return the (n_rows, n_columns) uint8 array at an address, int64."""
    return _view(np.uint8, address, n_rows, n_columns)


def view_i64_matrix(address: int, n_rows: int, n_columns: int) -> NDArray[np.int64]:
    """Return the (n_rows, n_columns) int64 array at an address, int64."""
    return _view(np.int64, address, n_rows, n_columns)
