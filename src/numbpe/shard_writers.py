"""Token ids into files: flat ones, and ones with a row for each document."""

import contextlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.files import write_atomically
from numbpe.held_documents import HeldDocuments
from numbpe.shard_settings import ShardSettings

IDS_A_ROW_GROUP: Final = 1 << 22
"""How many ids a row group or a record batch holds before it is written: 8 or 16 MB."""

_MAX_ROW_IDS: Final = (1 << 31) - 1 - IDS_A_ROW_GROUP
"""Offsets of Arrow lists are 32 bits."""

COLUMN: Final = "ids"


class IdWriter(Protocol):
    """Takes the ids of documents, one after another."""

    def write(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> None:
        """Take (n,) ids; documents end before the positions ``ends`` in them.

        What stands behind the last end belongs to a document that goes on with the next call.
        """

    def finish(self) -> None:
        """Write what is still held; all documents have ended."""

    def abandon(self) -> None:
        """Let go of the file: what was written is not wanted."""


@contextmanager
def open_writer(path: Path, settings: ShardSettings) -> Iterator[IdWriter]:
    """Return a writer to a file that appears whole when the block is left without an error.

    Raises OSError that names the file, ArgumentError for a form that needs a file and a target that
    is none, such as a pipe.
    """
    with write_atomically(path) as file:
        writer = _make_writer(file, path, settings)
        try:
            yield writer
            writer.finish()
        except BaseException:
            writer.abandon()
            raise


def _make_writer(file: BinaryIO, path: Path, settings: ShardSettings) -> IdWriter:
    if settings.form == ".bin":
        return _FlatWriter(file)
    if settings.form == ".npy":
        if not file.seekable():
            raise ArgumentError(
                f"cannot write {shorten_value(str(path))}: the header of a .npy file is written last, "
                "which a pipe does not allow; give a .bin file"
            )
        return _NpyWriter(file, settings.numpy_type)
    if settings.form == ".parquet":
        return _ParquetWriter(file, settings)
    return _ArrowWriter(file, settings)


class _FlatWriter:
    """Nothing but ids."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._n_ids = 0

    def write(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> None:
        self._n_ids += len(ids)
        self._file.write(ids.data.cast("B") if len(ids) else b"")

    def finish(self) -> None:
        """Nothing is held."""

    def abandon(self) -> None:
        """Nothing is held."""


class _NpyWriter(_FlatWriter):
    """A NumPy header, whose length does not depend on the number of ids, and then ids."""

    def __init__(self, file: BinaryIO, id_type: "np.dtype[Any]") -> None:
        super().__init__(file)
        self._id_type = id_type
        self._file.write(self._make_header())

    def finish(self) -> None:
        self._file.seek(0)
        self._file.write(self._make_header())

    def _make_header(self) -> bytes:
        """Return the header for the ids so far; NumPy leaves room for 21 digits."""
        header = io.BytesIO()
        fields = {"descr": self._id_type.str, "fortran_order": False, "shape": (self._n_ids,)}
        np.lib.format.write_array_header_1_0(header, fields)
        return header.getvalue()


class _RowWriter:
    """Gathers whole documents until they fill a row group."""

    def __init__(self, settings: ShardSettings) -> None:
        import pyarrow as pa

        self._value_type = pa.uint16() if settings.id_type == "uint16" else pa.uint32()
        self.schema = pa.schema([pa.field(COLUMN, pa.list_(self._value_type), nullable=False)])
        self._held = HeldDocuments()

    def write(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> None:
        self._held.add(ids, ends)
        if len(self._held) >= IDS_A_ROW_GROUP and self._held.any_ended:
            self._write_rows()
        if len(self._held) > _MAX_ROW_IDS:
            raise DataError(
                f"a document has more than {_MAX_ROW_IDS:,} ids, which no row can hold; write a .bin "
                "or .npy file, or name the token that ends documents by separator="
            )

    def _write_rows(self) -> None:
        import pyarrow as pa

        values, offsets = self._held.take()
        lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, type=self._value_type))
        self.write_batch(pa.RecordBatch.from_arrays([lists], schema=self.schema))

    def write_batch(self, batch: Any) -> None:
        raise NotImplementedError

    def abandon(self) -> None:
        # Arrow would write the end of the file when the object goes, long after the file is closed.
        with contextlib.suppress(Exception):
            self.close()

    def close(self) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        if self._held.any_ended:
            self._write_rows()
        self.close()


class _ParquetWriter(_RowWriter):
    def __init__(self, file: BinaryIO, settings: ShardSettings) -> None:
        super().__init__(settings)
        import pyarrow.parquet as pq

        # Without minima and maxima of ids, which tell nobody anything.
        self._writer = pq.ParquetWriter(
            file, self.schema, compression="zstd", write_statistics=False
        )

    def write_batch(self, batch: Any) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_batches([batch]), row_group_size=len(batch))

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._writer.is_open = False


class _ArrowWriter(_RowWriter):
    def __init__(self, file: BinaryIO, settings: ShardSettings) -> None:
        super().__init__(settings)
        import pyarrow as pa

        self._writer = pa.ipc.new_file(file, self.schema)

    def write_batch(self, batch: Any) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()
