"""Whatever holds token ids, to one array type: the gate through which ids of users enter."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import index
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbpe.errors import ArgumentError, shorten_value

_MAX_INT64: Final = (1 << 63) - 1


def as_id_array(ids: "ArrayLike | Iterable[int]", action: str = "decode") -> NDArray[np.int64]:
    """Return ``ids`` as an (n,) int64 array that kernels may take; which ids exist is not checked.

    ids: an iterable of integers, or a flat array of them of any kind: NumPy, pyarrow, and what has
        ``__array__``, such as tensors.
    action: what is being done, for messages.

    Raises ArgumentError for anything else, naming the position: floats, truth values, None, text,
    lists of lists, and numbers of more than 63 bits.
    """
    if isinstance(ids, (list, tuple)):
        return _convert_elements(ids, action)
    if isinstance(ids, range):
        return _convert_elements(list(ids), action)
    if isinstance(ids, np.ndarray):
        return _convert_array(ids, action)
    if isinstance(ids, (str, bytes, bytearray, Mapping, AbstractSet)) or ids is None:
        raise _describe_container(ids, action)
    if isinstance(ids, (int, float, np.generic)):
        raise ArgumentError(
            f"cannot {action} {shorten_value(ids)}: ids must be a list or a flat array of "
            f"integers; for one id write [{ids}]"
        )
    if getattr(ids, "null_count", 0):
        return _convert_elements(ids.to_pylist(), action)  # type: ignore[union-attr]
    if hasattr(ids, "__array__") or isinstance(ids, memoryview) or hasattr(ids, "typecode"):
        return _convert_array(np.asarray(ids), action)
    if isinstance(ids, Iterable):
        return _convert_elements(list(ids), action)
    raise _describe_container(ids, action)


def _convert_elements(ids: Sequence[Any], action: str) -> NDArray[np.int64]:
    if set(map(type, ids)) <= {int}:
        try:
            return np.array(ids, dtype=np.int64)
        except OverflowError:
            pass
    for position, token_id in enumerate(ids):
        if isinstance(token_id, (list, tuple, np.ndarray)):
            raise ArgumentError(
                f"cannot {action} {shorten_value(token_id)} at position {position}: ids must be a "
                "list of integers, not of lists; for many texts there is decode_batch"
            )
        if not isinstance(token_id, (int, np.integer)) or isinstance(token_id, bool):
            raise ArgumentError(
                f"cannot {action} {shorten_value(token_id)} at position {position}: "
                f"ids must be integers, not {type(token_id).__name__}"
            )
        if not -_MAX_INT64 <= token_id <= _MAX_INT64:
            raise describe_impossible_id(int(token_id), position, action)
    return np.array([index(token_id) for token_id in ids], dtype=np.int64)


def _convert_array(ids: NDArray[Any], action: str) -> NDArray[np.int64]:
    if ids.ndim != 1:
        raise ArgumentError(
            f"cannot {action} an array of shape {ids.shape}: ids must be a list or a flat array "
            "of integers"
        )
    if ids.size == 0:
        return np.empty(0, dtype=np.int64)
    if ids.dtype.kind == "O":
        return _convert_elements(ids.tolist(), action)
    if ids.dtype.kind not in "iu":
        raise ArgumentError(
            f"cannot {action} an array of {ids.dtype}: ids must be integers; "
            "if these are whole numbers, convert them with .astype(numpy.int64)"
        )
    if ids.dtype.kind == "u" and ids.dtype.itemsize == 8 and ids.max() > _MAX_INT64:
        position = int((ids > _MAX_INT64).argmax())
        raise describe_impossible_id(int(ids[position]), position, action)
    return np.require(ids, dtype=np.int64, requirements=["C", "W", "A", "E"])


def _describe_container(ids: object, action: str) -> ArgumentError:
    return ArgumentError(
        f"cannot {action} {shorten_value(ids)}: ids must be a list or a flat array of integers, "
        f"not {type(ids).__name__}"
    )


def describe_impossible_id(token_id: int, position: int, action: str) -> ArgumentError:
    """Return the error for a number that can be no token's id."""
    return ArgumentError(
        f"cannot {action} id {token_id} at position {position}: no token has it; "
        "ids are whole numbers from 0 on"
    )
