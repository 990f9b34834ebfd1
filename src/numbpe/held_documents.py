"""Documents that are held until enough of them have come to be written together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class HeldDocuments:
    """What documents became, one after another, of which the last may not have ended yet."""

    def __init__(self) -> None:
        self._held: list[NDArray[Any]] = []
        self._ends: list[NDArray[np.int64]] = []
        self._n_held = 0

    def __len__(self) -> int:
        """Return how many ids or rows are held."""
        return self._n_held

    @property
    def any_ended(self) -> bool:
        """Whether a whole document is held."""
        return any(map(len, self._ends))

    def add(self, values: NDArray[Any], ends: NDArray[np.int64]) -> None:
        """Take (n, ...) ids or rows; documents end before the positions ``ends`` in them.

        What stands behind the last end belongs to a document that goes on with the next call.
        """
        self._held.append(values)
        self._ends.append(ends + self._n_held)
        self._n_held += len(values)

    def take(self) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Return all whole documents, and the n + 1 offsets that Arrow wants; keep the rest.

        There must be one.
        """
        ends = np.concatenate(self._ends)
        values = np.concatenate(self._held)
        offsets = np.zeros(len(ends) + 1, dtype=np.int32)
        offsets[1:] = ends
        last = int(offsets[-1])
        self._held = [values[last:].copy()]
        self._ends = []
        self._n_held -= last
        return values[:last], offsets
