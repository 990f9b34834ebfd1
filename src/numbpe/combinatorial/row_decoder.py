"""Rows to bytes: what every core stands for under every variation, and the bridge to the kernels."""

from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import join_byte_strings
from numbpe.combinatorial.definition import (
    N_BYTES,
    TRADITIONAL_SCRIPT,
    UPPER,
    CombinatorialVocabulary,
)
from numbpe.combinatorial.folding import load_case_mappings, load_traditional_forms
from numbpe.combinatorial.row_arrays import Rows, as_row_array, describe_bad_index
from numbpe.combinatorial.row_batches import RowBatch
from numbpe_kernels.tuple_decoding import (
    TupleSpellings,
    tuple_copy,
    tuple_find_bad_row,
    tuple_measure,
)

_SLACK: Final = 8
"""Bytes that the kernel may write past the end."""


class RowDecoder:
    """Decodes with one vocabulary; any number of threads may use one object."""

    def __init__(self, vocabulary: CombinatorialVocabulary) -> None:
        self._vocabulary = vocabulary

    @cached_property
    def spellings(self) -> TupleSpellings:
        """The bytes of all cores under all variations, and of the affixes."""
        vocabulary = self._vocabulary
        contents, offsets = join_byte_strings(spell_cores(vocabulary))
        prefix_contents, prefix_offsets = join_byte_strings(_encode_all(vocabulary.prefixes))
        suffix_contents, suffix_offsets = join_byte_strings(_encode_all(vocabulary.suffixes))
        sizes = np.array(list(vocabulary.sizes.values()), dtype=np.int64)
        return TupleSpellings(
            offsets,
            contents,
            prefix_offsets,
            prefix_contents,
            suffix_offsets,
            suffix_contents,
            sizes,
        )

    def check(self, rows: Any, action: str) -> Rows:
        """Return rows as an array; ArgumentError for a wrong shape or type, or an index that its
        table does not have, which it names with its place."""
        array = as_row_array(rows, action)
        place = tuple_find_bad_row(array.reshape(-1), self.spellings.sizes)
        if place >= 0:
            raise describe_bad_index(rows, int(place), self._vocabulary.sizes, action)
        return array

    def decode_bytes(self, rows: Any) -> bytes:
        """Return the bytes of rows; ArgumentError as for :meth:`check`."""
        array = as_row_array(rows)
        bounds = np.array([0, len(array)], dtype=np.int64)
        text, ends = self._decode(array, bounds, rows)
        return text[: int(ends[-1])].tobytes()

    def decode_batch(self, batch: RowBatch) -> list[bytes]:
        """Return the bytes of each text of a batch; ArgumentError as for :meth:`check`."""
        values = as_row_array(batch.values)
        text, ends = self._decode(values, batch.offsets, batch.values)
        data = text.tobytes()
        return [data[start:stop] for start, stop in pairwise(ends.tolist())]

    def _decode(
        self, array: Rows, bounds: NDArray[np.int64], rows: Any
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        flat = array.reshape(-1)
        ends = np.empty(len(bounds), dtype=np.int64)
        place = tuple_measure(self.spellings, flat, bounds, ends)
        if place >= 0:
            raise describe_bad_index(rows, int(place), self._vocabulary.sizes, "decode")
        text = np.empty(int(ends[-1]) + _SLACK, dtype=np.uint8)
        tuple_copy(self.spellings, flat, text)
        return text, ends


def _encode_all(strings: tuple[str, ...]) -> list[bytes]:
    return [string.encode() for string in strings]


def spell_cores(vocabulary: CombinatorialVocabulary) -> list[bytes]:
    """Return the bytes of every core under every variation, those of variation 0 first.

    No variation changes bytes and special tokens.
    """
    cores = vocabulary.core_strings
    first, last = N_BYTES, vocabulary.first_special_id
    upper = str.maketrans(load_case_mappings()[1].to_dict())
    forms = str.maketrans(dict(load_traditional_forms().tolist()))
    raw_bytes = [bytes([byte]) for byte in range(N_BYTES)]
    special = _encode_all(cores[last:])
    spelled: list[bytes] = []
    for variation in range(vocabulary.n_var):
        if variation == 0:
            words = list(cores[first:last])
        elif variation == UPPER:
            words = [core.translate(upper) for core in cores[first:last]]
        elif variation == TRADITIONAL_SCRIPT:
            words = [core.translate(forms) for core in cores[first:last]]
        else:
            words = [core[:1].translate(upper) + core[1:] for core in cores[first:last]]
        spelled += raw_bytes + _encode_all(tuple(words)) + special
    return spelled
