"""Normalizing short texts where they lie, for the few kinds of steps that most tokenizers have."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray
from numbpe.definition import Normalization, Prepend, Replace, TextStep
from numbpe.nfc_changes import Composer
from numbpe.quick_ways import ChangeText
from numbpe_kernels._jit import prepare_kernel
from numbpe_kernels.expanding import (
    MOST_NBYTES,
    RULE_BYTE,
    RULE_CONTENT,
    RULE_N_CONTENT,
    RULE_N_PREFIX,
    RULE_PREFIX,
    RULE_SIZE,
    expanding_replace,
)


def find_short_change(steps: Sequence[TextStep]) -> ChangeText | None:
    """Return what does to a short text what ``steps`` do, None if there is nothing that is quick."""
    match tuple(steps):
        case (Normalization("NFC"),):
            return Composer().change_short_text
        case (Replace() as replace,):
            return _find_expansion(replace, "")
        case (Replace() as replace, Prepend(content, "", False)):
            return _find_expansion(replace, content)
        case (Prepend(content, "", False), Replace() as replace) if not replace.is_regex:
            return _find_expansion(replace, content.replace(replace.pattern, replace.content))
    return None


def _find_expansion(replace: Replace, prefix: str) -> ChangeText | None:
    """Return the same for a replacement that is done before ``prefix`` is put before the text."""
    if replace.is_regex or len(replace.pattern) != 1 or not replace.content:
        return None
    if not replace.pattern.isascii():
        return None
    try:
        byte, content, head = (part.encode() for part in (replace.pattern, replace.content, prefix))
    except UnicodeEncodeError:  # half a pair of surrogates
        return None
    if max(len(content), len(head)) > MOST_NBYTES:
        return None
    return Expander(byte, content, head).change_short_text


class Expander:
    """Replaces a byte, and puts a prefix before each part that is not empty; never changes itself.

    byte : what is replaced, an ASCII character; content, prefix : at most MOST_NBYTES
    """

    def __init__(self, byte: bytes, content: bytes, prefix: bytes) -> None:
        self._rule = np.zeros(RULE_SIZE, dtype=np.uint64)
        self._rule[RULE_BYTE] = byte[0]
        self._rule[[RULE_CONTENT, RULE_N_CONTENT]] = int.from_bytes(content, "little"), len(content)
        self._rule[[RULE_PREFIX, RULE_N_PREFIX]] = int.from_bytes(prefix, "little"), len(prefix)
        self._idle_sources: deque[TextArray] = deque()

    @cached_property
    def _replace(self) -> Callable[..., int]:
        text, parts = np.empty(0, dtype=np.uint8), np.empty((0, 3), dtype=np.int64)
        return prepare_kernel(expanding_replace, text, 0, parts, 0, self._rule, text)

    def change_short_text(
        self, text: TextArray, n_bytes: int, parts: NDArray[np.int64], n_parts: int
    ) -> int:
        """Change the parts of a text, see ChangeText; -1 if the changed text finds no room."""
        try:
            source = self._idle_sources.pop()
        except IndexError:
            source = np.empty(0, dtype=np.uint8)
        if len(source) < len(text):
            source = np.empty_like(text)
        n_changed = self._replace(text, n_bytes, parts, n_parts, self._rule, source)
        self._idle_sources.append(source)
        return n_changed
