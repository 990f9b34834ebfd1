"""Names for the array types of the package, and the gate through which bytes enter kernels.

Numba compiles a kernel anew for every other dtype, layout and writeability, so everything that is
handed to one is made here or has exactly the type named here.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels.constants import TEXT_PADDING

_PADDING: Final = bytes(TEXT_PADDING)

TextArray: TypeAlias = NDArray[np.uint8]
"""Bytes of text, readable ``TEXT_PADDING`` bytes past the last stop."""

Offsets: TypeAlias = NDArray[np.int64]
"""n + 1 offsets of n items that lie one after another; not decreasing."""

Tokens: TypeAlias = NDArray[np.int32]
"""Token ids inside the trainer: non-negative, -1 between words."""

TokenIds: TypeAlias = NDArray[np.uint32]
"""Token ids as handed to users."""

Counts: TypeAlias = NDArray[np.int64]
"""Numbers of occurrences."""


def allocate_text(n_bytes: int) -> TextArray:
    """Return a writeable text array of ``n_bytes`` zero bytes and their padding."""
    return np.zeros(n_bytes + TEXT_PADDING, dtype=np.uint8)


def copy_text(data: bytes | bytearray | memoryview) -> TextArray:
    """Return ``data`` as a writeable text array with its padding.

    The result is ``TEXT_PADDING`` longer than ``data``; its text ends at ``len(data)``.
    """
    text = allocate_text(len(data))
    text[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    return text


def join_texts(contents: Sequence[bytes]) -> TextArray:
    """Return texts, one after another, as a writeable array with its padding; one copy."""
    return np.frombuffer(bytearray().join([*contents, _PADDING]), dtype=np.uint8)


def join_byte_strings(items: list[bytes]) -> tuple[TextArray, Offsets]:
    """Return ``items`` as one text array (with padding) and their n + 1 offsets."""
    offsets = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return copy_text(b"".join(items)), offsets


def read_binary_array(array: Any) -> tuple[Offsets, TextArray]:
    """Return offsets and contents of a pyarrow LargeBinaryArray, copied."""
    n = len(array)
    if n == 0:
        return np.zeros(1, dtype=np.int64), copy_text(b"")
    _, offset_buffer, content_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset : array.offset + n + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    contents = copy_text(memoryview(content_buffer)[first:last] if content_buffer else b"")
    return offsets - first, contents
