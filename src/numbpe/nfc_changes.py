"""Changing texts to NFC where they are not yet: nearly all text is, and stays untouched."""

from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, join_texts
from numbpe.nfc_table import Composition, load_composition
from numbpe.normalizers import normalize_text
from numbpe_kernels._jit import prepare_kernel
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.nfc import CHAIN_SIZE, TOO_MANY, nfc_find_in_text, nfc_find_regions

MIN_NBYTES: Final = 1024
"""Bytes of a text from which on it takes less time to call the kernel than to normalize it all."""

_MOST_REGIONS: Final = 64
_BYTES_A_REGION: Final = 128
"""Where more is to be changed than a piece of so many bytes, the whole is as quickly changed."""


class Composer:
    """Finds what NFC changes in texts, and changes that alone; never changes itself.

    Bytes that are not UTF-8 stay as they are.
    """

    def __init__(self) -> None:
        self._idle_rooms: deque[tuple[NDArray[np.int64], NDArray[np.int64]]] = deque()

    @cached_property
    def _composition(self) -> Composition:
        return load_composition()

    @cached_property
    def _find_in_text(self) -> Callable[..., int]:
        descriptor, text = self._composition.descriptor, np.empty(0, dtype=np.uint8)
        return prepare_kernel(nfc_find_in_text, descriptor, text, 0, *_make_rooms())

    def change_short_text(
        self, text: TextArray, n_bytes: int, parts: NDArray[np.int64], n_parts: int
    ) -> int:
        """Change a text to NFC, see ChangeText.

        Returns -1 for one in which much is to be changed, or in several parts anything, or that finds no room.
        """
        try:
            # Making them takes longer than looking at a sentence.
            rooms = self._idle_rooms.pop()
        except IndexError:
            rooms = _make_rooms()
        try:
            n_regions = self._find_in_text(self._composition.descriptor, text, n_bytes, *rooms)
            if n_regions == 0:
                return n_bytes  # Nor is anything to be changed in a part then.
            if n_regions == TOO_MANY or n_parts > 1:
                return -1
            data, _ = _replace_regions(text[:n_bytes].tobytes(), rooms[1][:n_regions], 0)
        finally:
            self._idle_rooms.append(rooms)
        if len(data) + TEXT_PADDING > len(text):
            return -1
        text[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        return len(data)

    def change_parts(
        self, text: TextArray, parts: NDArray[np.int64]
    ) -> tuple[TextArray, NDArray[np.int64]] | None:
        """Return parts of a text in NFC: another text, and where they lie in it.

        parts: (p, 3) int64, start and stop of each, ascending, and what is to be kept.

        Returns None if all stay as they are.
        """
        regions = self._find_regions(text, parts)
        if not len(regions):
            return None
        start, stop = int(parts[0, 0]), int(parts[-1, 1])
        data, lengths = _replace_regions(text[start:stop].tobytes(), regions, start)
        growth = np.zeros(len(parts), dtype=np.int64)
        np.add.at(growth, regions[:, 0], lengths - (regions[:, 2] - regions[:, 1]))
        changed_parts = parts.copy()
        changed_parts[:, 1] += np.cumsum(growth) - start
        changed_parts[1:, 0] += np.cumsum(growth[:-1])
        changed_parts[:, 0] -= start
        return join_texts([data]), changed_parts

    def change_text(self, content: bytes) -> bytes:
        """Return one text in NFC, the same object if it is."""
        if len(content) < MIN_NBYTES:
            return normalize_bytes(content)
        parts = np.array([[0, len(content), -1]], dtype=np.int64)
        regions = self._find_regions(join_texts([content]), parts)
        return _replace_regions(content, regions, 0)[0] if len(regions) else content

    def _find_regions(self, text: TextArray, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (k, 3) part, start and stop of what NFC changes; more than that if it is much."""
        n_bytes = int(parts[-1, 1] - parts[0, 0])
        chain = np.empty(CHAIN_SIZE, dtype=np.int64)
        regions = np.empty((_MOST_REGIONS + n_bytes // _BYTES_A_REGION, 3), dtype=np.int64)
        n_regions = nfc_find_regions(self._composition.descriptor, text, parts, chain, regions)
        if n_regions != TOO_MANY:
            return regions[:n_regions]
        regions = np.empty_like(parts)
        regions[:, 0] = np.arange(len(parts))
        regions[:, 1:] = parts[:, :2]
        return regions


def _make_rooms() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return room for a chain, and for the regions of a text."""
    return np.empty(CHAIN_SIZE, dtype=np.int64), np.empty((_MOST_REGIONS, 3), dtype=np.int64)


def _replace_regions(
    data: bytes, regions: NDArray[np.int64], first: int
) -> tuple[bytes, NDArray[np.int64]]:
    """Return a text that begins at ``first`` with its regions in NFC, and their new lengths."""
    known: dict[bytes, bytes] = {}
    pieces: list[bytes] = []
    lengths: list[int] = []
    end = 0
    for start, stop in (regions[:, 1:] - first).tolist():
        region = data[start:stop]
        changed = known.get(region)
        if changed is None:
            changed = known[region] = normalize_bytes(region)
        pieces += (data[end:start], changed)
        lengths.append(len(changed))
        end = stop
    return b"".join([*pieces, data[end:]]), np.array(lengths, dtype=np.int64)


def normalize_bytes(content: bytes) -> bytes:
    """Return a text in NFC, the same object if it is."""
    text = content.decode("utf-8", "surrogateescape")
    changed = normalize_text("NFC", text)
    return content if changed is text else changed.encode("utf-8", "surrogateescape")
