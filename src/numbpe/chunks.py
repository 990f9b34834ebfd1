"""Chunks of text: the unit of parallel work, and how one is filled."""

from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, allocate_text
from numbpe_kernels.constants import TEXT_PADDING
from numbpe_kernels.literals import END_OF_DOCUMENT

__all__ = ["CUT", "END_OF_DOCUMENT", "Chunk", "OpenChunk"]

CUT: Final = -1
"""The mark of a part whose document goes on right behind it."""


def _make_no_parts() -> NDArray[np.int64]:
    return np.empty((0, 3), dtype=np.int64)


@dataclass(slots=True)
class Chunk:
    """Text for one unit of work.

    text : bytes of UTF-8, readable ``TEXT_PADDING`` bytes past the last stop.
    documents : (n, 2) int64, start and stop of the parts of ``text`` to be split, each on its own:
        none is empty, and both of its ends are ends of pieces.
    n_bytes : bytes of the source that were read for it; over all chunks they add up to the source.
    parts : (p, 3) int64, the same parts with the empty ones, in order, and what stands behind each: the
        place of a special token in the list that the reader was given, ``CUT`` where the document
        goes on, ``END_OF_DOCUMENT`` at the end of a file or an item. Parts and special tokens fill
        the text without a gap.
    is_file : whether all of it is text of files, rather than items of an iterable.
    """

    text: TextArray
    documents: NDArray[np.int64]
    n_bytes: int
    parts: NDArray[np.int64] = field(default_factory=_make_no_parts)
    is_file: bool = False


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
        self.is_file = False

    def begin_document(self) -> None:
        """Let a document begin where the text ends."""
        self.valid_stop = self.decided_stop = self.part_start = self.searched_stop = self.filled

    def end_part(self, stop: int, mark: int) -> None:
        """Let the open part end at ``stop``, ``CUT`` or at the ``END_OF_DOCUMENT``."""
        self.parts.append(np.array([[self.part_start, stop, mark]], dtype=np.int64))
        self.part_start = stop

    def add_matches(self, matches: NDArray[np.int64]) -> None:
        """End a part at each of the special tokens found; (n, 3) rows of start, stop, place."""
        parts = np.empty((len(matches), 3), dtype=np.int64)
        parts[0, 0] = self.part_start
        parts[1:, 0] = matches[:-1, 1]
        parts[:, 1] = matches[:, 0]
        parts[:, 2] = matches[:, 2]
        self.parts.append(parts)
        self.part_start = int(matches[-1, 1])

    def carry_over(self, other: Self, start: int) -> None:
        """Move what stands behind ``start`` to the empty chunk ``other``."""
        other.text[: self.filled - start] = self.text[start : self.filled]
        other.is_file = self.is_file
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
        parts = np.concatenate(self.parts) if self.parts else _make_no_parts()
        documents = np.ascontiguousarray(parts[parts[:, 0] < parts[:, 1], :2])
        return Chunk(self.text, documents, self.n_bytes, parts, self.is_file)
