"""Words to token ids by merging: the bridge from a vocabulary to the merging kernel."""

import numpy as np

from numbpe.arrays import Offsets, TextArray, TokenIds, copy_text
from numbpe.encoder_state import make_scratch
from numbpe.errors import DataError
from numbpe.recipes import N_BYTES
from numbpe.vocabulary import Vocabulary
from numbpe_kernels.ranks import (
    EMPTY_KEY,
    MergeTable,
    merge_table_fill,
    merge_words,
)


class WordMerger:
    """Merges words by a vocabulary: lowest rank first, then leftmost, one merge at a time.

    It holds tables that are only read, so that any number of threads may use one object.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        byte_ids = np.full(N_BYTES, -1, dtype=np.int32)
        for byte in range(N_BYTES):
            byte_ids[byte] = vocabulary.ordinary_ids.get(bytes([byte]), -1)
        # Four slots a merge: most look-ups are for pairs that no merge joins.
        n_slots = 1 << max(4, (4 * vocabulary.n_merges - 1).bit_length())
        self._table = MergeTable(
            keys=np.full(n_slots, EMPTY_KEY, dtype=np.int64),
            values=np.zeros(n_slots, dtype=np.int64),
            byte_ids=byte_ids,
        )
        # Kernels are compiled for arrays that can be written to; a vocabulary's cannot.
        merge_table_fill(
            self._table,
            vocabulary.merge_pairs.copy(),
            vocabulary.merge_results.copy(),
            np.arange(vocabulary.n_merges, dtype=np.int32),
        )

    def merge_word(self, word: bytes) -> TokenIds:
        """Return the ids of one word; DataError if one of its bytes has no token."""
        return self.merge_words(copy_text(word), 0, np.array([len(word)], dtype=np.int64))

    def merge_words(self, text: TextArray, start: int, ends: Offsets) -> TokenIds:
        """Return the ids of successive words of ``text``, of which the first begins at ``start``.

        ends: where each word ends and the next begins.

        Raises DataError for a byte that has no token.
        """
        n_bytes = int(ends[-1]) - start if len(ends) else 0
        longest = int(np.diff(ends, prepend=start).max(initial=0))
        ids = np.empty(n_bytes, dtype=np.uint32)
        n_ids = merge_words(self._table, text, start, ends, make_scratch(longest), ids)
        if n_ids < 0:
            position = -1 - n_ids
            raise DataError(
                f"cannot encode byte {int(text[position])} at byte {position} of the text: "
                "the vocabulary has no token for it"
            )
        return ids[:n_ids].copy()
