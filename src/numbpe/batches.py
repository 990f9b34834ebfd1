"""Token ids of many texts in one array, and the shapes that models take: cut, padded, as lists."""

import contextlib
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from numbpe.arrays import Offsets, TokenIds
from numbpe.errors import ArgumentError, shorten_value
from numbpe.id_arrays import as_id_array
from numbpe.ragged_batches import RaggedBatch

if TYPE_CHECKING:
    import pyarrow as pa

Side: TypeAlias = Literal["right", "left"]

_MAX_UINT32: Final = (1 << 32) - 1


class PaddedBatch(NamedTuple):
    """Texts of one length, as a matrix.

    ids: (n, width) token ids, the padding's id where a text has none.
    mask: (n, width) of the same type: 1 where ids are the text's, 0 where they are padding.
    """

    ids: NDArray[Any]
    mask: NDArray[Any]


class TokenWindows(NamedTuple):
    """Texts cut into overlapping windows.

    windows: the ids of every window, those of a text one after another.
    texts: (n_windows,) int64, the number of the text that each window comes from.
    """

    windows: "TokenBatch"
    texts: NDArray[np.int64]


class TokenBatch(RaggedBatch[TokenIds, list[int]]):
    """The token ids of n texts: a sequence of (length,) uint32 arrays, kept in one.

    Args:
        values: (N,) integers, the ids of all texts one after another.
        offsets: (n + 1,) integers: the ids of text i are ``values[offsets[i]:offsets[i + 1]]``.

    Raises ArgumentError where offsets do not begin at 0, decrease, or do not end at N.

    Arrays of the types uint32 and int64 are kept, not copied. Batches compare by their contents.

    Example:
        >>> batch = TokenBatch.from_list([[5, 6, 7], [8]])
        >>> batch[0]
        array([5, 6, 7], dtype=uint32)
        >>> batch.padded(0).ids
        array([[5, 6, 7],
               [8, 0, 0]], dtype=uint32)
    """

    __slots__ = ()

    def __init__(self, values: ArrayLike, offsets: ArrayLike) -> None:
        if isinstance(values, np.ndarray) and values.dtype == np.uint32 and values.ndim == 1:
            self.values = values
        else:
            self.values = _as_token_ids(as_id_array(values, "take"))
        if isinstance(offsets, np.ndarray) and offsets.dtype == np.int64 and offsets.ndim == 1:
            self.offsets = offsets
        else:
            self.offsets = as_id_array(offsets, "take offsets with")
        self._check_offsets("values")

    @classmethod
    def from_list(cls, texts: Iterable[ArrayLike]) -> Self:
        """Return the batch of texts that are lists or arrays of ids.

        Raises ArgumentError for what is no id; it names text and position.
        """
        values, offsets = as_token_batch(texts, "take")
        return cls(_as_token_ids(values), offsets)

    @classmethod
    def from_arrow(cls, array: "pa.Array | pa.ChunkedArray") -> Self:
        """Return the batch of a pyarrow array of lists of integers, such as a column of a table.

        Raises ArgumentError for an array of another type or with nulls.
        """
        values, offsets = _read_arrow_lists(array, "take")
        return cls(_as_token_ids(values), offsets)

    # A sequence of arrays

    @overload
    def __getitem__(self, key: int) -> TokenIds: ...

    @overload
    def __getitem__(self, key: slice) -> "TokenBatch": ...

    def __getitem__(self, key: int | slice) -> "TokenIds | TokenBatch":
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                return self.take(np.arange(start, stop, step))
            bounds = self.offsets[start : max(start, stop) + 1]
            return TokenBatch(self.values[bounds[0] : bounds[-1]], bounds - bounds[0])
        return self._get_text(key)

    def __repr__(self) -> str:
        return f"TokenBatch({len(self)} texts, {len(self.values)} tokens)"

    def take(self, rows: ArrayLike) -> "TokenBatch":
        """Return the batch of some texts, in the order given; IndexError if there is no such one.

        Example: ``batch.take(batch.lengths.argsort())`` has the shortest text first.
        """
        chosen = np.asarray(rows, dtype=np.int64).reshape(-1)
        if len(chosen) and not -len(self) <= chosen.min() <= chosen.max() < len(self):
            raise IndexError(
                f"there are no such texts: {shorten_value(chosen.tolist())}; "
                f"the batch has {len(self)} texts"
            )
        return self._gather(self.offsets[:-1][chosen], self.lengths[chosen])

    def _gather(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> "TokenBatch":
        """Return the batch of ranges of ``values``."""
        offsets = np.zeros(len(starts) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return TokenBatch(self.values[places], offsets)

    # Other shapes

    def to_arrow(self) -> "pa.LargeListArray":
        """Return the ids as a pyarrow array of lists of uint32; nothing is copied."""
        import pyarrow as pa

        values = pa.Array.from_buffers(
            pa.uint32(), len(self.values), [None, pa.py_buffer(np.ascontiguousarray(self.values))]
        )
        offsets = pa.py_buffer(np.ascontiguousarray(self.offsets))
        kind = pa.large_list(pa.uint32())
        return pa.Array.from_buffers(kind, len(self), [None, offsets], children=[values])

    def truncated(self, max_length: int, side: Side = "right") -> "TokenBatch":
        """Return the texts cut to ``max_length`` tokens at most.

        side: the end at which tokens are taken off. What is taken off is lost; see :meth:`windows`.

        Raises ArgumentError for a negative length or another side.
        """
        limit = _check_number("max_length", max_length, 0)
        is_left = _check_side(side)
        lengths = np.minimum(self.lengths, limit)
        starts = self.offsets[1:] - lengths if is_left else self.offsets[:-1]
        return self._gather(starts, lengths)

    def windows(self, max_length: int, stride: int = 0, side: Side = "right") -> TokenWindows:
        """Return the texts cut into windows of ``max_length`` tokens; nothing is lost.

        stride: how many tokens each window has in common with the one before it.
        side: ``"right"`` cuts from the start of a text on, so that its last window is the shorter
            one; ``"left"`` cuts from its end, and the first window is that of the end.

        A text that fits is one window, also one without tokens.

        Raises ArgumentError for a length below 1, a stride that is negative or not below the
        length, or another side.
        """
        limit = _check_number("max_length", max_length, 1)
        overlap = _check_number("stride", stride, 0)
        if overlap >= limit:
            raise ArgumentError(
                f"stride must be below max_length, which is {limit}, not {overlap}: "
                "windows would never reach the end of the text"
            )
        is_left = _check_side(side)
        step = limit - overlap
        lengths = self.lengths
        n_windows = 1 + np.maximum(-(-(lengths - limit) // step), 0)
        texts = np.repeat(np.arange(len(self)), n_windows)
        firsts = np.cumsum(n_windows) - n_windows
        moved = (np.arange(len(texts)) - np.repeat(firsts, n_windows)) * step
        window_lengths = np.minimum(lengths[texts] - moved, limit)
        if is_left:
            starts = self.offsets[1:][texts] - moved - window_lengths
        else:
            starts = self.offsets[:-1][texts] + moved
        return TokenWindows(self._gather(starts, window_lengths), texts)

    def padded(
        self,
        pad_id: int,
        length: int | None = None,
        side: Side = "right",
        multiple_of: int | None = None,
        dtype: DTypeLike = np.uint32,
    ) -> PaddedBatch:
        """Return the ids as a matrix with a row for each text, and a mask of what is not padding.

        pad_id: the id to fill rows up with.
        length: the width; None for the length of the longest text.
        side: the end at which padding stands.
        multiple_of: the width is raised to the next multiple of this.
        dtype: the integer type of both matrices.

        Raises ArgumentError if a text is longer than ``length`` (see :meth:`truncated`), or if an
        id does not fit into ``dtype``.

        Example: ``ids, mask = batch.padded(0, side="left", dtype=numpy.int64)``.
        """
        width = self._find_width(length, multiple_of)
        kind = _check_dtype(dtype, pad_id, int(self.values.max(initial=0)))
        lengths = self.lengths[:, np.newaxis]
        columns = np.arange(width)
        is_text = columns >= width - lengths if _check_side(side) else columns < lengths
        ids = np.full((len(self), width), pad_id, dtype=kind)
        ids[is_text] = self.values
        return PaddedBatch(ids, is_text.astype(kind))

    def _find_width(self, length: int | None, multiple_of: int | None) -> int:
        longest = int(self.lengths.max(initial=0))
        width = longest if length is None else _check_number("length", length, 0)
        if multiple_of is not None:
            unit = _check_number("multiple_of", multiple_of, 1)
            width = -(-width // unit) * unit
        if longest > width:
            row = int(self.lengths.argmax())
            raise ArgumentError(
                f"text {row} has {longest} tokens and cannot be padded to {width}; "
                f"cut texts first with batch.truncated({width})"
            )
        return width


def as_token_batch(
    batch: "TokenBatch | Iterable[ArrayLike]", action: str
) -> tuple[NDArray[np.int64], Offsets]:
    """Return the ids of many texts, (N,) int64, and the n + 1 offsets of the texts.

    batch: a TokenBatch, a pyarrow array of lists, or an iterable of lists or arrays of integers.

    Raises ArgumentError for anything else, naming text and position.
    """
    if isinstance(batch, TokenBatch):
        return np.require(batch.values, np.int64), np.require(batch.offsets, np.int64, ["C", "W"])
    if isinstance(batch, (str, bytes, dict, set)) or not isinstance(batch, Iterable):
        raise ArgumentError(
            f"cannot {action} {shorten_value(batch)}: a batch must be a TokenBatch or a list of "
            f"lists of integers, not {type(batch).__name__}"
        )
    if type(batch).__module__.partition(".")[0] == "pyarrow":
        return _read_arrow_lists(batch, action)
    texts = list(batch)
    if set(map(type, texts)) <= {list}:
        joined: list[Any] = list(chain.from_iterable(texts))  # type: ignore[arg-type]
        if set(map(type, joined)) <= {int}:
            with contextlib.suppress(OverflowError):  # which id it is, the slow way tells
                return np.array(joined, np.int64), _add_up(map(len, texts))  # type: ignore[arg-type]
    arrays = []
    for row, text in enumerate(texts):
        try:
            arrays.append(as_id_array(text, action))
        except ArgumentError as error:
            raise ArgumentError(f"text {row}: {error}") from None
    return np.concatenate([np.empty(0, np.int64), *arrays]), _add_up(map(len, arrays))


def _add_up(lengths: Iterable[int]) -> Offsets:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _read_arrow_lists(array: Any, action: str) -> tuple[NDArray[np.int64], Offsets]:
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    is_list = isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray))
    if not is_list or not pa.types.is_integer(array.type.value_type):
        raise ArgumentError(
            f"cannot {action} a pyarrow array of {getattr(array, 'type', type(array).__name__)}: "
            "it must be one of lists of integers"
        )
    if array.null_count or array.flatten().null_count:
        raise ArgumentError(f"cannot {action} a pyarrow array with nulls; fill or drop them first")
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    return as_id_array(array.flatten().to_numpy(), action), _add_up(lengths.tolist())


def _as_token_ids(values: NDArray[np.int64]) -> TokenIds:
    is_bad = (values < 0) | (values > _MAX_UINT32)
    if is_bad.any():
        position = int(is_bad.argmax())
        raise ArgumentError(
            f"cannot take id {values[position]} at position {position}: "
            f"ids are from 0 to {_MAX_UINT32}"
        )
    return values.astype(np.uint32)


def _check_number(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ArgumentError(
            f"{name} must be an integer of {least} or more, not {shorten_value(value)}"
        )
    return int(value)


def _check_side(side: str) -> bool:
    """Return whether ``side`` is the left one."""
    if side not in ("right", "left"):
        raise ArgumentError(f'side must be "right" or "left", not {shorten_value(side)}')
    return side == "left"


def _check_dtype(dtype: DTypeLike, pad_id: int, greatest: int) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind.kind not in "iu":
        raise ArgumentError(f"dtype must be an integer type such as numpy.int64, not {kind}")
    limits = np.iinfo(kind)
    if isinstance(pad_id, bool) or not isinstance(pad_id, (int, np.integer)):
        raise ArgumentError(f"pad_id must be an integer, not {shorten_value(pad_id)}")
    for name, number in (("pad_id", int(pad_id)), ("the id", greatest)):
        if not limits.min <= number <= limits.max:
            raise ArgumentError(
                f"{name} {number} does not fit into {kind}, which holds {limits.min} to "
                f"{limits.max}; pass a wider dtype, such as numpy.int64"
            )
    return kind
