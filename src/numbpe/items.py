"""The documents of iterables: of str, bytes, objects with fields, and of Arrow's tables."""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from numbpe.bad_input import BadInput
from numbpe.columns import ColumnPath, choose_text
from numbpe.documents import (
    Batch,
    BytesReader,
    Stream,
    TextReader,
    encode_text,
    join_items,
    split_documents,
)
from numbpe.errors import DataError, shorten_value

_MAX_AHEAD = 64
"""Most items taken from an iterable before the first of them is used."""


class ItemReader:
    """Makes documents of the items of an iterable.

    column: the field of items that have fields.
    bad: what decides about items without text.
    """

    def __init__(self, column: ColumnPath, bad: BadInput) -> None:
        self._column = column
        self._bad = bad

    def read(self, items: Iterable[object], batch_nbytes: int) -> Iterator[Stream | Batch]:
        """Yield short items in batches and long ones as streams, taking only a few items ahead."""
        iterator = iter(items)
        batch = _GrowingBatch()
        position = 0
        n_ahead = 1
        while group := list(islice(iterator, n_ahead)):
            texts, places = self._choose_texts(group, position)
            position += len(group)
            whole = _encode_group(texts, batch_nbytes)
            # If one of them is long or a table, each is looked at alone.
            runs = [(texts, places)]
            if whole is None:
                runs = [([text], [place]) for text, place in zip(texts, places, strict=True)]
            n_bytes = 0
            for run, run_places in runs:
                encoded = whole or _encode_group(run, batch_nbytes)
                n_bytes = sum(map(len, encoded or ()))
                if batch.items and (encoded is None or batch.n_bytes + n_bytes > batch_nbytes):
                    yield batch.finish()
                    batch = _GrowingBatch()
                if encoded is None:
                    yield from self._open(run[0], run_places[0], batch_nbytes)
                else:
                    batch.add(encoded, run_places, n_bytes)
            is_short = whole is not None and 4 * n_bytes < batch_nbytes
            n_ahead = min(2 * n_ahead, _MAX_AHEAD) if is_short else 1
        if batch.items:
            yield batch.finish()

    def _choose_texts(self, group: list[object], position: int) -> tuple[list[Any], list[int]]:
        """Return the texts of items, and tables as they are, with their places in the iterable."""
        places = list(range(position, position + len(group)))
        if set(map(type, group)) <= {str, bytes}:
            return group, places
        texts: list[Any] = []
        kept = []
        for item, place in zip(group, places, strict=True):
            try:
                texts.append(self._choose_text(item, place))
                kept.append(place)
            except DataError as error:
                self._bad.add_rows(1, error)
        return texts, kept

    def _choose_text(self, item: object, place: int) -> object:
        if isinstance(item, Mapping):
            item = choose_text(item, self._column, f"item {place:,} of the iterable")
        if isinstance(item, str):  # perhaps of a class derived from it
            return str.__str__(item)
        if isinstance(item, bytes):
            return bytes(item)
        if is_arrow(item):
            return item
        raise _word_item_error(item, place)

    def _open(self, item: Any, place: int, batch_nbytes: int) -> Iterator[Stream | Batch]:
        name = f"item {place:,}"
        if isinstance(item, str):
            yield Stream(name, TextReader(item))
        elif isinstance(item, bytes):
            yield Stream(name, BytesReader(item))
        else:
            yield from open_arrow_documents(
                item, f"{name} of the iterable", self._column, self._bad, batch_nbytes
            )


class _GrowingBatch:
    """Short items that were taken so far."""

    def __init__(self) -> None:
        self.items: list[bytes] = []
        self.n_bytes = 0
        self._places: list[int] = []

    def add(self, items: list[bytes], places: list[int], n_bytes: int) -> None:
        """Add items of ``n_bytes`` in all."""
        self.items += items
        self._places += places
        self.n_bytes += n_bytes

    def finish(self) -> Batch:
        """Return the items as a batch."""
        places = self._places
        return join_items(self.items, lambda place: f"item {places[place]:,}")


def _encode_group(group: list[Any], batch_nbytes: int) -> list[bytes] | None:
    """Return items as bytes; ``None`` if they are too long together, or not alike."""
    kinds = set(map(type, group))
    if kinds == {bytes}:
        encoded = cast("list[bytes]", group)
    elif kinds == {str}:
        texts = cast("list[str]", group)
        if sum(map(len, texts)) > batch_nbytes:
            return None
        try:
            encoded = list(map(str.encode, texts))
        except UnicodeEncodeError:
            encoded = list(map(encode_text, texts))
    else:
        return None
    return encoded if sum(map(len, encoded)) <= batch_nbytes else None


def _word_item_error(item: object, position: int) -> DataError:
    hint = ""
    if isinstance(item, os.PathLike):
        hint = "; give paths as a list, not through a generator"
    return DataError(
        f"cannot read item {position:,} of the iterable: it is {shorten_value(item)}, of type "
        f"{type(item).__name__}; each item must be one document, a str or bytes, or an object with a "
        f"field that is{hint}"
    )


def is_arrow(source: object) -> bool:
    """Return whether something is a table, dataset, array or stream of pyarrow's, or can give one."""
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return True
    names = ("Dataset", "Scanner", "RecordBatchReader")
    return any(
        kind.__name__ in names and kind.__module__.partition(".")[0] == "pyarrow"
        for kind in type(source).__mro__
    )


def open_arrow_documents(
    source: Any, name: str, column: ColumnPath, bad: BadInput, batch_nbytes: int
) -> Iterator[Stream | Batch]:
    """Yield the documents of a table, dataset, array or stream for which :func:`is_arrow` holds."""
    from numbpe import tables

    reader = tables.ColumnReader(name, column, bad)
    for contents, offsets, name_row in tables.read_in_memory(source, reader):
        yield from split_documents(contents, offsets, name_row, batch_nbytes)
