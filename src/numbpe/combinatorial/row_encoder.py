"""Parts of text to rows: the bridge from a combinatorial vocabulary to the kernels."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets, TextArray, copy_text
from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.encoder_state import RowState
from numbpe.combinatorial.encoder_tables import build_tuple_model
from numbpe.combinatorial.row_arrays import Rows
from numbpe_kernels.tuple_words import tuple_find_cut


class RowEncoder:
    """Encodes with one vocabulary; any number of threads may use one object."""

    def __init__(self, vocabulary: CombinatorialVocabulary) -> None:
        self._model = build_tuple_model(vocabulary)
        self._punct_to_next = vocabulary.punct_to_next
        self._idle_states: deque[RowState] = deque()

    def encode_parts(
        self, text: TextArray, parts: NDArray[np.int64], *, is_lean: bool = False
    ) -> tuple[Rows, Offsets]:
        """Return the rows of parts of ``text`` and where those of each part begin.

        text: readable ``TEXT_PADDING`` bytes past the last stop; UTF-8 or not.
        parts: (p, 3) int64: start, stop, and the core of the special token behind it, -1 for none.
            Each is a text of its own, or ends where a unit ends; it may be empty.
        is_lean: as for ``Encoder.encode_parts``; no tables are made later here in any case.

        Returns (n, 4) int32 and (p + 1,) int64: the rows of part i, with the special token behind
        it, are ``values[offsets[i]:offsets[i + 1]]``.
        """
        try:
            state = self._idle_states.pop()
        except IndexError:
            state = RowState(self._model)
        try:
            return state.encode(text, parts)
        finally:
            state.shrink()
            self._idle_states.append(state)

    def encode_text(self, content: bytes, *, is_lean: bool = False) -> Rows:
        """Return the rows of one text without special tokens. is_lean: as for encode_parts."""
        parts = np.array([[0, len(content), -1]], dtype=np.int64)
        return self.encode_parts(copy_text(content), parts)[0]

    def find_cut(self, text: TextArray, start: int, stop: int) -> int:
        """Return the last place inside text[start:stop] where a unit ends, so that cutting there
        changes no rows, or -1; ``start`` and ``stop`` may lie inside a character."""
        classes = self._model.classes
        return int(tuple_find_cut(classes, self._punct_to_next, text, start, stop))
