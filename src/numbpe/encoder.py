"""Parts of text to token ids: the bridge from a tokenizer's definition to the kernels."""

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import Offsets, TextArray, TokenIds
from numbpe.definition import TokenizerDefinition
from numbpe.patterns import Pattern
from numbpe.word_merger import WordMerger


class Encoder:
    """Encodes with one definition; any number of threads may use one object."""

    def __init__(self, definition: TokenizerDefinition, pattern: Pattern | None) -> None:
        self._pattern = pattern
        self._merger = WordMerger(definition.vocabulary)

    def encode_parts(self, text: TextArray, parts: NDArray[np.int64]) -> tuple[TokenIds, Offsets]:
        """Return the ids of parts of ``text`` and where those of each part begin.

        text: readable ``TEXT_PADDING`` bytes past the last stop.
        parts: (p, 3) int64: start, stop, and the id of the added token behind it, -1 for none. Each
            is a text of its own, or ends where pieces end; it may be empty.

        Returns (n,) uint32 and (p + 1,) int64: the ids of part i, with the added token behind it,
        are ``values[offsets[i]:offsets[i + 1]]``.

        Raises DataError for a byte or a character that has no token.
        """
        assert self._pattern is not None
        found: list[TokenIds] = []
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        for i, (start, stop, token_id) in enumerate(parts.tolist()):
            ends = self._pattern.find_ends(text, start, stop)
            found.append(self._merger.merge_words(text, start, ends))
            if token_id >= 0:
                found.append(np.array([token_id], dtype=np.uint32))
            offsets[i + 1] = sum(map(len, found))
        return np.concatenate([np.empty(0, dtype=np.uint32), *found]), offsets
