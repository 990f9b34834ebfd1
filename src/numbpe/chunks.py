"""Chunks of text: the unit of parallel work, and how one is filled."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, allocate_text
from numbpe_kernels.constants import TEXT_PADDING


@dataclass(slots=True)
class Chunk:
    """Text for one unit of work.

    text : bytes of UTF-8, readable ``TEXT_PADDING`` bytes past the last stop.
    documents : (n, 2) int64, start and stop of the parts of ``text`` to be split, each on its own:
        none is empty, and both of its ends are ends of pieces.
    n_bytes : bytes of the source that were read for it; over all chunks they add up to the source.
    """

    text: TextArray
    documents: NDArray[np.int64]
    n_bytes: int


class OpenChunk:
    """The chunk that is being filled.

    ``text[:filled]`` is there, of which ``[:valid_stop]`` is known to be UTF-8, and special tokens
    that begin in ``[:decided_stop]`` are found. The open part, that of the current document after
    its last special token, begins at ``part_start``; no cut of it lies before ``searched_stop``.
    """

    def __init__(self, text: TextArray) -> None:
        self.text = text
        self.capacity = len(text) - TEXT_PADDING
        self.filled = 0
        self.valid_stop = 0
        self.decided_stop = 0
        self.part_start = 0
        self.searched_stop = 0
        self.parts: list[NDArray[np.int64]] = []
        self.n_bytes = 0

    def begin_document(self) -> None:
        """Let a document begin where the text ends."""
        self.valid_stop = self.decided_stop = self.part_start = self.searched_stop = self.filled

    def end_part(self, stop: int, next_start: int) -> None:
        """Let the open part end at ``stop``, and the next one begin at ``next_start``."""
        if stop > self.part_start:
            self.parts.append(np.array([[self.part_start, stop]], dtype=np.int64))
        self.part_start = next_start

    def add_matches(self, matches: NDArray[np.int64]) -> None:
        """End a part at each of the special tokens found; (n, 3) rows of start, stop, index."""
        parts = np.empty((len(matches), 2), dtype=np.int64)
        parts[0, 0] = self.part_start
        parts[1:, 0] = matches[:-1, 1]
        parts[:, 1] = matches[:, 0]
        self.parts.append(parts[parts[:, 0] < parts[:, 1]])
        self.part_start = int(matches[-1, 1])

    def carry_over(self, other: Self, start: int) -> None:
        """Move what stands behind ``start`` to the empty chunk ``other``."""
        other.text[: self.filled - start] = self.text[start : self.filled]
        other.filled = self.filled - start
        other.valid_stop = self.valid_stop - start
        other.decided_stop = max(0, self.decided_stop - start)
        other.part_start = max(0, self.part_start - start)
        other.searched_stop = max(0, self.searched_stop - start)

    def grow(self) -> None:
        """Double the buffer."""
        text = allocate_text(2 * self.capacity)
        text[: self.filled] = self.text[: self.filled]
        self.text = text
        self.capacity *= 2

    def finish(self) -> Chunk:
        """Return what was found so far as a chunk; the open part is not in it."""
        documents = np.concatenate(self.parts) if self.parts else np.empty((0, 2), dtype=np.int64)
        return Chunk(self.text, documents, self.n_bytes)
