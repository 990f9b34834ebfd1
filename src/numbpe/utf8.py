"""``str`` to UTF-8, surrogates repaired.

Text outside ASCII is written by a kernel, from the memory in which CPython keeps characters (PEP 393). That
is no public interface: where the memory of three examples does not look as it should, Python writes.
"""

import ctypes
import functools
import sys
from collections import deque
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray
from numbpe.errors import ArgumentError, shorten_value
from numbpe_kernels._jit import Kernel, prepare_kernel
from numbpe_kernels.utf8_writing import SLACK, utf8_write

LEAST_CHARACTERS: Final = 128
MOST_CHARACTERS: Final = 1 << 16
"""Of a shorter text Python writes the bytes sooner; a longer one would take much memory twice."""

_STATE: Final = object.__basicsize__ + 16
"""Where the state of a str stands: 3 bits from the third on say how many bytes a character takes, the sixth
that the characters follow the object itself."""

_CHARACTERS: Final = str.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
"""Where the characters of a str begin that is not all ASCII."""

_idle_buffers: deque[TextArray] = deque()


def encode_utf8(text: object) -> bytes:
    """Return the bytes of a text, surrogates repaired; ArgumentError if it is no text."""
    if type(text) is str and text.isascii():
        return text.encode()
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise ArgumentError(
            f"text must be a str or bytes, not {type(text).__name__} ({shorten_value(text)})"
        )
    if LEAST_CHARACTERS <= len(text) <= MOST_CHARACTERS and not text.isascii():
        content = _write_by_kernel(text)
        if content is not None:
            return content
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return repair_surrogates(text).encode("utf-8")


def write_utf8(text: str, room: TextArray, room_view: memoryview) -> int:
    """Write a str that is not all ASCII to an array; return how many bytes, or -1 for a text that is not written.

    It is none of a subclass. Not written are those that ``room`` might not hold, those with a surrogate, and long
    ones where Python alone can.

    room, room_view: the same memory.
    """
    n_characters = len(text)
    if n_characters < LEAST_CHARACTERS:
        try:
            content = text.encode()
        except UnicodeEncodeError:
            return -1
        room_view[: len(content)] = content
        return len(content)
    write = _prepare_writing()
    if write is None or n_characters > (len(room) - SLACK) // 4:
        return -1
    return write(id(text), n_characters, _STATE, _CHARACTERS, room)


def repair_surrogates(text: str) -> str:
    """Return ``text`` with pairs of surrogates joined, and U+FFFD for each that has no partner."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _write_by_kernel(text: str) -> bytes | None:
    """Return the bytes of a text that is not all ASCII; None if it holds a surrogate."""
    write = _prepare_writing()
    if write is None or type(text) is not str:
        return None
    try:
        buffer = _idle_buffers.pop()
    except IndexError:
        buffer = np.empty(4 * MOST_CHARACTERS + SLACK, dtype=np.uint8)
    n_bytes = write(id(text), len(text), _STATE, _CHARACTERS, buffer)
    content = buffer[:n_bytes].tobytes() if n_bytes >= 0 else None
    _idle_buffers.append(buffer)
    return content


@functools.cache
def _prepare_writing() -> Callable[[int, int, int, int, NDArray[np.uint8]], int] | None:
    """Return the kernel, or None where it is not compiled or this Python keeps characters otherwise."""
    if not isinstance(utf8_write, Kernel) or not _is_layout_known():
        return None
    return prepare_kernel(utf8_write, 0, 0, _STATE, _CHARACTERS, np.zeros(SLACK, dtype=np.uint8))


def _is_layout_known() -> bool:
    if sys.implementation.name != "cpython" or sys.byteorder != "little":
        return False
    for n_bytes, character in ((1, "\xe9"), (2, "\u4e2d"), (4, "\U0001f600")):
        text = character * 3
        state = ctypes.c_uint32.from_address(id(text) + _STATE).value
        content = b"".join(ord(letter).to_bytes(n_bytes, "little") for letter in text)
        found = ctypes.string_at(id(text) + _CHARACTERS, len(content))
        if (state >> 2 & 7, state >> 5 & 1, found) != (n_bytes, 1, content):
            return False
    return True
