"""Tables: Parquet and Arrow files, and Arrow's tables in memory; one column holds the documents.

A file is read a row group or a record batch at a time, of which only the column is read. This is the
one module, with ``remote_files``, that needs pyarrow for reading; it is imported when it is used.
"""

from collections.abc import Generator, Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from numbpe.bad_input import SKIP_HINT, BadInput
from numbpe.columns import ColumnPath, escape_name, list_names
from numbpe.documents import NameDocument
from numbpe.errors import DataError
from numbpe.json_lines import RowBlock

_BATCH_NBYTES: Final = 1 << 20
"""About how much text is taken out of a row group at once."""

_ROWS_A_SLICE: Final = 1 << 16
_VIEW_TESTS: Final = ("is_string_view", "is_binary_view")

ARROW_ERRORS: Final = (pa.ArrowException, OSError)
"""What pyarrow raises for files that it cannot read."""


class ColumnReader:
    """Finds a column in schemas and takes its texts out of arrays.

    name: what the table is called in messages, which number rows from 0.
    """

    def __init__(self, name: str, column: ColumnPath, bad: BadInput) -> None:
        self.name = name
        self.bad = bad
        self._path = column
        self.n_rows_before = 0

    def choose(self, schema: Any) -> ColumnPath:
        """Return the path of the column to read in tables of ``schema``.

        Where none was asked for, and none has the usual name, it is the only one that holds text.
        Raises DataError, with the columns that are there, if there is no such column or no text in it.
        """
        path = self._path
        fields = {field.name: field for field in schema}
        texts = [name for name, field in fields.items() if _holds_text(field.type)]
        if not path.is_given and path.names[0] not in fields and len(texts) == 1:
            path = ColumnPath((texts[0],), False)
        kind = None
        for depth, name in enumerate(path.names):
            if name not in fields:
                where = f" within '{ColumnPath(path.names[:depth], True)}'" if depth else ""
                raise DataError(
                    f"cannot read {self.name}: there is no column '{escape_name(name)}'{where}; its "
                    f"columns are {_list_fields(fields)}; name the one that holds the text: "
                    "column=... (--column)"
                )
            kind = fields[name].type
            fields = {field.name: field for field in kind} if pa.types.is_struct(kind) else {}
        if not _holds_text(kind):
            raise DataError(
                f"cannot read {self.name}: its column '{path}' holds {kind}, not text; columns with "
                f"text are {list_names(texts) or 'none'}; name one: column=... (--column)"
            )
        return path

    def take(self, array: Any) -> Generator[RowBlock, None, None]:
        """Yield the texts of an array of the column; nulls go to ``bad``."""
        for start in range(0, len(array), _ROWS_A_SLICE):
            yield from self._take_slice(array.slice(start, _ROWS_A_SLICE))

    def _take_slice(self, array: Any) -> Generator[RowBlock, None, None]:
        first = self.n_rows_before
        self.n_rows_before += len(array)
        positions = None
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if array.null_count:
            is_null = array.is_null().to_numpy(zero_copy_only=False)
            place = first + int(np.flatnonzero(is_null)[0])
            error = DataError(f"cannot read row {place:,} of {self.name}: it is null{SKIP_HINT}")
            self.bad.add_rows(int(is_null.sum()), error)
            positions = first + np.flatnonzero(~is_null)
            array = array.drop_null()
        if len(array) and not pa.types.is_null(array.type):
            yield (*_view_binary(array), self._make_name(first, positions))

    def _make_name(self, first: int, positions: Any) -> NameDocument:
        if positions is None:
            return lambda place: f"row {first + place:,} of {self.name}"
        return lambda place: f"row {positions[place]:,} of {self.name}"


def _list_fields(fields: dict[str, Any]) -> str:
    return list_names(fields) or "none"


def _holds_text(kind: Any) -> bool:
    """Return whether an Arrow type is one of text; one of nulls alone may stand for any."""
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = [
        types.is_string, types.is_large_string, types.is_binary, types.is_large_binary,
        types.is_fixed_size_binary, types.is_null,
    ]  # fmt: skip
    tests += [getattr(types, name) for name in _VIEW_TESTS if hasattr(types, name)]
    return any(test(kind) for test in tests)


def _view_binary(array: Any) -> tuple[Any, Any]:
    """Return the (n,) uint8 contents and (m + 1,) int64 offsets of an array without nulls."""
    kind = array.type
    is_short = pa.types.is_string(kind) or pa.types.is_binary(kind)
    if not (is_short or pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)):
        array = array.cast(pa.large_binary())
    _, offset_buffer, content_buffer = array.buffers()
    first, stop = array.offset, array.offset + len(array) + 1
    offsets = np.frombuffer(offset_buffer, dtype=np.int32 if is_short else np.int64)[
        first:stop
    ].astype(np.int64, copy=False)
    contents = np.frombuffer(content_buffer or b"", dtype=np.uint8)
    if offsets[0] < 0 or offsets[-1] > len(contents) or np.any(offsets[1:] < offsets[:-1]):
        raise pa.ArrowInvalid("the places of its texts are not in order")
    return contents, offsets


def pick_array(batch: Any, path: ColumnPath) -> Any:
    """Return the array of a column in a record batch; a row is null where what holds it is."""
    array = batch.column(batch.schema.get_field_index(path.names[0]))
    for name in path.names[1:]:
        array = pc.struct_field(array, name)
    return array


def read_batches(batches: Iterable[Any], reader: ColumnReader) -> Generator[RowBlock, None, None]:
    """Yield the texts of record batches, one after another."""
    path, schema = None, None
    for batch in batches:
        if path is None or not batch.schema.equals(schema):
            path, schema = reader.choose(batch.schema), batch.schema
        yield from reader.take(pick_array(batch, path))


def read_parquet(file: Any, reader: ColumnReader) -> Generator[RowBlock, None, None]:
    """Yield the texts of a Parquet file, a part of a row group at a time.

    file: a ``pyarrow.NativeFile`` that can seek.

    A row group that is damaged goes to ``reader.bad`` with the rows that it has left.
    """
    import pyarrow.parquet as pq

    try:
        parquet = pq.ParquetFile(
            file, buffer_size=_BATCH_NBYTES, pre_buffer=False, page_checksum_verification=True
        )
        schema = parquet.schema_arrow
    except ARROW_ERRORS as error:
        reader.bad.add_damage(_word_damage(reader.name, error))
        return
    path = reader.choose(schema)
    for number in range(parquet.num_row_groups):
        n_rows = parquet.metadata.row_group(number).num_rows
        n_before = reader.n_rows_before
        try:
            for batch in parquet.iter_batches(
                _count_rows(parquet, number, path),
                row_groups=[number],
                columns=[".".join(path.names)],
                use_threads=False,
            ):
                yield from reader.take(pick_array(batch, path))
        except ARROW_ERRORS as error:
            n_left = n_before + n_rows - reader.n_rows_before
            what = f"row group {number} (rows from {n_before:,} on) of {reader.name}"
            reader.bad.add_damage(_word_damage(what, error), n_left)
        reader.n_rows_before = n_before + n_rows


def _count_rows(parquet: Any, number: int, path: ColumnPath) -> int:
    """Return how many rows of a row group hold about as much text as is taken at once."""
    n_rows = parquet.metadata.row_group(number).num_rows
    n_bytes = measure_row_group(parquet.metadata.row_group(number), path)
    return int(min(_ROWS_A_SLICE, max(1, _BATCH_NBYTES * n_rows // max(1, n_bytes))))


def measure_row_group(group: Any, path: ColumnPath) -> int:
    """Return the bytes of a column in a row group before they were compressed."""
    name = ".".join(path.names)
    columns = (group.column(place) for place in range(group.num_columns))
    return sum(
        column.total_uncompressed_size for column in columns if column.path_in_schema == name
    )


def measure_parquet(file: Any, reader: ColumnReader) -> int:
    """Return about how much text a Parquet file holds: what its column takes uncompressed."""
    import pyarrow.parquet as pq

    try:
        parquet = pq.ParquetFile(file)
        path = reader.choose(parquet.schema_arrow)
    except ARROW_ERRORS:
        return 0
    groups = range(parquet.num_row_groups)
    return sum(measure_row_group(parquet.metadata.row_group(number), path) for number in groups)


def measure_arrow_file(file: Any, reader: ColumnReader) -> int:
    """Return about how much text an Arrow file holds, by its first record batch."""
    try:
        arrow = pa.ipc.open_file(file)
        path = reader.choose(arrow.schema)
        first = pick_array(arrow.get_batch(0), path)
        return int(first.get_total_buffer_size()) * int(arrow.num_record_batches)
    except (*ARROW_ERRORS, IndexError):
        return 0


def read_arrow_file(file: Any, reader: ColumnReader) -> Generator[RowBlock, None, None]:
    """Yield the texts of an Arrow (Feather) file, a record batch at a time.

    file: a ``pyarrow.NativeFile`` that can seek.

    A record batch that is damaged goes to ``reader.bad``.
    """
    try:
        arrow = pa.ipc.open_file(file)
        path = reader.choose(arrow.schema)
        place = arrow.schema.get_field_index(path.names[0])
        file.seek(0)
        arrow = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=[place]))
    except ARROW_ERRORS as error:
        reader.bad.add_damage(_word_damage(reader.name, error))
        return
    for number in range(arrow.num_record_batches):
        try:
            batch = arrow.get_batch(number)
            batch.validate()
        except ARROW_ERRORS as error:
            what = f"record batch {number} of {reader.name}"
            reader.bad.add_damage(_word_damage(what, error))
            continue
        yield from reader.take(pick_array(batch, path))


def read_arrow_stream(file: Any, reader: ColumnReader) -> Generator[RowBlock, None, None]:
    """Yield the texts of a stream of Arrow, a record batch at a time; damage goes to ``reader.bad``."""
    try:
        arrow = pa.ipc.open_stream(file)
        path = reader.choose(arrow.schema)
        while True:
            try:
                batch = arrow.read_next_batch()
            except StopIteration:
                return
            batch.validate()
            yield from reader.take(pick_array(batch, path))
    except ARROW_ERRORS as error:
        what = f"{reader.name}, from row {reader.n_rows_before:,} on"
        reader.bad.add_damage(_word_damage(what, error))


def _word_damage(what: str, error: BaseException) -> DataError:
    return DataError(
        f"cannot read {what}: it is damaged or cut short ({error}); fetch or make it anew, or pass "
        'on_bad="skip" (--on-bad skip) to leave it out'
    )


def read_in_memory(source: Any, reader: ColumnReader) -> Generator[RowBlock, None, None]:
    """Yield the texts of a table, dataset, array or stream of pyarrow's, or of what gives one.

    An array, or a column of another library, is the column itself.
    """
    if isinstance(source, pa.Array | pa.ChunkedArray):
        yield from _read_arrays(source, reader)
    elif isinstance(source, pa.RecordBatch):
        yield from read_batches([source], reader)
    elif isinstance(source, pa.Table):
        yield from read_batches(source.to_batches(), reader)
    elif isinstance(source, pa.RecordBatchReader):
        yield from read_batches(source, reader)
    elif hasattr(source, "to_batches"):
        yield from read_batches(_scan(source, reader), reader)
    elif hasattr(source, "__arrow_c_stream__"):
        try:
            stream = pa.RecordBatchReader.from_stream(source)
        except (pa.ArrowException, TypeError):
            yield from _read_arrays(pa.chunked_array(source), reader)
            return
        yield from read_batches(stream, reader)
    else:
        yield from _read_arrays(pa.array(source), reader)


def _read_arrays(source: Any, reader: ColumnReader) -> Generator[RowBlock, None, None]:
    if pa.types.is_struct(source.type):
        chunks = source.chunks if isinstance(source, pa.ChunkedArray) else [source]
        yield from read_batches(map(pa.RecordBatch.from_struct_array, chunks), reader)
        return
    if not _holds_text(source.type):
        raise DataError(f"cannot read {reader.name}: it is an array of {source.type}, not of text")
    for chunk in source.chunks if isinstance(source, pa.ChunkedArray) else [source]:
        yield from reader.take(chunk)


def _scan(source: Any, reader: ColumnReader) -> Any:
    """Return the batches of a dataset, of which only the column is read, few of them ahead."""
    if not hasattr(source, "scanner"):  # a scanner, in which columns were chosen
        return source.to_batches()
    path = reader.choose(source.schema)
    return source.to_batches(
        columns=[path.names[0]], batch_size=1 << 12, batch_readahead=1, fragment_readahead=1
    )
