"""Token ids to bytes and text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbpe.definition import TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value

if TYPE_CHECKING:
    from numbpe.batches import TokenBatch


class Decoder:
    """Decodes with one definition; any number of threads may use one object."""

    def __init__(self, definition: TokenizerDefinition) -> None:
        self._vocabulary = definition.vocabulary

    def decode_bytes(self, ids: ArrayLike, skip_special_tokens: bool = False) -> bytes:
        """Return the bytes of token ids; ArgumentError for an id that no token has."""
        values = self._check_ids(ids)
        return b"".join(map(self._vocabulary.tokens.__getitem__, values.tolist()))

    def decode_batch(
        self,
        batch: "TokenBatch | Sequence[ArrayLike]",
        errors: str,
        skip_special_tokens: bool,
    ) -> list[str]:
        """Return the texts of many sequences of ids."""
        raise NotImplementedError

    def _check_ids(self, ids: "ArrayLike") -> NDArray[Any]:
        """Return ``ids`` as an array of integers that all are ids of tokens."""
        try:
            values = np.asarray(ids)
        except (ValueError, OverflowError):
            values = np.array(ids, dtype=object)
        if values.ndim != 1:
            raise ArgumentError(
                f"ids must be a list or a flat array of integers, not {shorten_value(ids)}"
            )
        if values.size == 0:
            return np.empty(0, dtype=np.int64)
        if values.dtype.kind not in "iu":
            # Numbers over 64 bits, and mixed ones, arrive as floats or objects.
            values = _narrow(ids if isinstance(ids, Sequence) else values.tolist(), self._n_ids)
        is_bad = (values < 0) | (values >= self._n_ids)
        lengths = np.diff(self._vocabulary.offsets)
        is_bad |= lengths[np.where(is_bad, 0, values)] == 0
        if is_bad.any():
            position = int(np.flatnonzero(is_bad)[0])
            raise self._describe_bad_id(int(values[position]), position)
        return values

    @property
    def _n_ids(self) -> int:
        return self._vocabulary.n_ids

    def _describe_bad_id(self, token_id: int, position: int) -> ArgumentError:
        return ArgumentError(
            f"cannot decode id {token_id} at position {position}: no token has it; "
            f"ids are from 0 to {self._n_ids - 1}"
        )


def _narrow(ids: Any, n_ids: int) -> NDArray[np.int64]:
    """Return integers of any size as int64; ArgumentError for what is none or is too large."""
    for position, token_id in enumerate(ids):
        if not isinstance(token_id, (int, np.integer)) or isinstance(token_id, bool):
            raise ArgumentError(
                f"cannot decode {shorten_value(token_id)} at position {position}: "
                "ids must be integers"
            )
        if not 0 <= token_id < n_ids:
            raise ArgumentError(
                f"cannot decode id {token_id} at position {position}: no token has it; "
                f"ids are from 0 to {n_ids - 1}"
            )
    return np.array([int(token_id) for token_id in ids], dtype=np.int64)
