"""Numbers that more than one kernel, or a kernel and its caller, must agree on."""

from typing import Final

TEXT_PADDING: Final = 64
"""Bytes that must be readable past the last stop of a text array, so that a kernel may load 8, 16
or 64 bytes at once. Their values never change a result."""
