"""Whatever holds rows of Combinatorial BPE, to one array type: the gate through which rows enter."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbpe.errors import ArgumentError, shorten_value

Rows: TypeAlias = NDArray[np.int32]
"""(n, 4) token rows: variation, prefix, core, suffix."""

WIDTH: Final = 4
COLUMNS: Final = ("variation", "prefix", "core", "suffix")
"""What the places of a row are, in the order of a vocabulary's ``sizes``."""

_MAX_INT32: Final = (1 << 31) - 1


def as_row_array(rows: Any, action: str = "decode") -> Rows:
    """Return ``rows`` as an (n, 4) int32 array that kernels may take.

    rows: an (n, 4) array of integers of any kind, or an iterable of rows of four integers. Whether
        tables have the indices is not checked; what no int32 holds becomes -1, which none has.
    action: what is being done, for messages.

    Raises ArgumentError for another shape, and for what is no integer.
    """
    if isinstance(rows, (str, bytes, Mapping)) or rows is None:
        raise _describe_kind(rows, action)
    if not hasattr(rows, "__array__"):
        if not isinstance(rows, Iterable):
            raise _describe_kind(rows, action)
        rows = _check_rows(list(rows), action)
    array = np.asarray(rows)
    if array.size == 0 and array.ndim in (1, 2) and array.shape[-1] in (0, WIDTH):
        return np.empty((0, WIDTH), dtype=np.int32)
    if array.ndim != 2 or array.shape[1] != WIDTH:
        hint = "; for one row write [row]" if array.shape == (WIDTH,) else ""
        raise ArgumentError(
            f"cannot {action} an array of shape {array.shape}: rows must have the shape (n, 4), each "
            f"with its {', '.join(COLUMNS)}{hint}"
        )
    if array.dtype.kind not in "iu":
        raise ArgumentError(
            f"cannot {action} an array of {array.dtype}: the indices in rows must be integers; if "
            "these are whole numbers, convert them with .astype(numpy.int32)"
        )
    if array.dtype.itemsize >= WIDTH and array.dtype != np.int32:
        array = np.where((array < 0) | (array > _MAX_INT32), -1, array)
    return np.require(array, dtype=np.int32, requirements=["C", "W", "A", "E"])


def _check_rows(rows: list[Any], action: str) -> list[Any]:
    for position, row in enumerate(rows):
        try:
            is_row = len(row) == WIDTH and not isinstance(row, (str, bytes, Mapping))
        except TypeError:
            hint = f"; for one row write [{rows}]" if len(rows) == WIDTH else ""
            raise ArgumentError(
                f"cannot {action} {shorten_value(row)} at position {position}: it must be a row of "
                f"four integers, {', '.join(COLUMNS)}{hint}"
            ) from None
        if not is_row:
            raise ArgumentError(
                f"cannot {action} row {position}, {shorten_value(row)}: it must be four integers, "
                f"{', '.join(COLUMNS)}"
            )
        for index in row:
            if not isinstance(index, (int, np.integer)) or isinstance(index, bool):
                raise ArgumentError(
                    f"cannot {action} row {position}, {shorten_value(row)}: {shorten_value(index)} "
                    f"must be an integer, not {type(index).__name__}"
                )
    return [[int(i) if -1 <= i <= _MAX_INT32 else -1 for i in row] for row in rows]


def _describe_kind(rows: object, action: str) -> ArgumentError:
    return ArgumentError(
        f"cannot {action} {shorten_value(rows)}: rows must be an (n, 4) array of integers, or a list "
        f"of rows of four integers, not {type(rows).__name__}"
    )


def describe_bad_index(
    rows: Any, place: int, sizes: Mapping[str, int], action: str
) -> ArgumentError:
    """Return the error for the index at ``place`` of flattened rows, which its table does not have."""
    row, column = divmod(place, WIDTH)
    name = COLUMNS[column]
    found = int(np.asarray(rows).reshape(-1, WIDTH)[row, column])
    return ArgumentError(
        f"cannot {action} row {row}: its {name} is {found}, but the vocabulary has {sizes[name]:,} "
        f"rows of that kind, 0 to {sizes[name] - 1:,}"
    )
