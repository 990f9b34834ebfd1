"""Corpora to files of rows: any size of text in bounded memory, each file whole or absent."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from numbpe.added_tokens import SpecialPolicy, check_policy
from numbpe.combinatorial.row_arrays import WIDTH
from numbpe.combinatorial.text_route import TextRoute
from numbpe.corpus import CHUNK_NBYTES, ErrorPolicy
from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.files import FilePath, write_atomically
from numbpe.held_documents import HeldDocuments
from numbpe.memory_budget import open_budget
from numbpe.parallel import resolve_threads
from numbpe.progress import Progress
from numbpe.shard_checks import check_paths
from numbpe.shard_settings import DEFAULT_SEPARATOR, ShardSettings, find_separator
from numbpe.shards import EncodingRun
from numbpe.sources import ReadingOptions, Source, describe_source, resolve_source

SUFFIXES: Final = (".npy", ".parquet")
COLUMN: Final = "rows"

_ROWS_A_GROUP: Final = 1 << 20
"""How many rows a row group of a Parquet file holds before it is written: 16 MB."""

_MAX_DOCUMENT_ROWS: Final = (1 << 31) - 1 - _ROWS_A_GROUP
"""Offsets of Arrow lists are 32 bits."""


@dataclass(frozen=True)
class RowReport:
    """What was written: documents, rows, bytes of the source, seconds, and the file."""

    n_documents: int
    n_rows: int
    n_source_bytes: int
    seconds: float
    file: Path


class RowSettings(ShardSettings):
    """Settings of a run that writes rows."""

    @property
    def numpy_type(self) -> "np.dtype[Any]":
        """The type of the four indices as they lie in a file: little-endian."""
        return np.dtype("<i4")


def encode_files(
    route: TextRoute,
    source: Source,
    output: FilePath,
    *,
    separator: str | None = DEFAULT_SEPARATOR,
    special: SpecialPolicy = "allow",
    errors: ErrorPolicy = "replace",
    threads: int | None = None,
    memory: int | str | None = None,
    progress: bool | Progress = True,
    chunk_nbytes: int = CHUNK_NBYTES // 4,
    **reading: Unpack[ReadingOptions],
) -> RowReport:
    """Write the rows of a corpus to a file; see ``CombinatorialTokenizer.encode_files``."""
    started = time.perf_counter()
    target = Path(os.fspath(output))
    settings = _make_settings(route, target, separator, special, errors)
    resolved = resolve_source(describe_source(source, reading))
    check_paths([target], resolved)
    run = EncodingRun(route.as_tokenizer(), settings, resolve_threads(threads), open_budget(memory))
    n_documents = n_rows = 0
    with (
        run.encode(resolved, 1, 1, (), progress, chunk_nbytes) as results,
        _open_writer(target, settings) as writer,
    ):
        for encoded in results:
            writer.write(encoded.ids, encoded.ends)
            n_documents += len(encoded.ends)
            n_rows += len(encoded.ids)
    seconds = time.perf_counter() - started
    return RowReport(n_documents, n_rows, run.n_source_bytes, seconds, target)


def _make_settings(
    route: TextRoute,
    target: Path,
    separator: str | None,
    special: SpecialPolicy,
    errors: ErrorPolicy,
) -> RowSettings:
    check_policy(special)
    form = target.suffix.lower()
    if form not in SUFFIXES:
        raise ArgumentError(
            f"cannot tell the form of the output {shorten_value(str(target))} by its suffix; give it "
            f"one of {', '.join(SUFFIXES)}"
        )
    name, core = find_separator(route.definition, separator)
    return RowSettings(
        form=form,
        id_type="uint32",
        special=special,
        errors=errors,
        separator=name,
        separator_id=core,
        writes_separator=form == ".npy" and core is not None,
        template_prefix=(),
        template_suffix=(),
    )


@contextmanager
def _open_writer(path: Path, settings: RowSettings) -> Iterator["_NpyWriter | _ParquetWriter"]:
    """Return a writer to a file that appears whole when the block is left without an error."""
    with write_atomically(path) as file:
        if settings.form == ".npy":
            if not file.seekable():
                raise ArgumentError(
                    f"cannot write {shorten_value(str(path))}: the header of a .npy file is written "
                    "last, which a pipe does not allow; give the name of a file"
                )
            yield (npy := _NpyWriter(file))
            npy.finish()
            return
        parquet = _ParquetWriter(file)
        try:
            yield parquet
            parquet.finish()
        finally:
            parquet.close()


class _NpyWriter:
    """A NumPy header, whose length does not depend on the number of rows, and then rows."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._n_rows = 0
        self._write_header()

    def write(self, rows: NDArray[Any], ends: NDArray[np.int64]) -> None:
        """Take (n, 4) rows; where documents end is not written."""
        self._n_rows += len(rows)
        self._file.write(np.ascontiguousarray(rows).data.cast("B") if len(rows) else b"")

    def finish(self) -> None:
        """Write the header again, which now knows the number of rows."""
        self._file.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        fields = {"descr": "<i4", "fortran_order": False, "shape": (self._n_rows, WIDTH)}
        np.lib.format.write_array_header_1_0(self._file, fields)


class _ParquetWriter:
    """A row of the file for each document, with a list of four int32 for each token."""

    def __init__(self, file: BinaryIO) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        kind = pa.list_(pa.list_(pa.field("element", pa.int32(), nullable=False), WIDTH))
        self._schema = pa.schema([pa.field(COLUMN, kind, nullable=False)])
        self._writer = pq.ParquetWriter(
            file, self._schema, compression="zstd", write_statistics=False
        )
        self._held = HeldDocuments()

    def write(self, rows: NDArray[Any], ends: NDArray[np.int64]) -> None:
        """Take (n, 4) rows; documents end before the positions ``ends`` in them.

        What stands behind the last end belongs to a document that goes on with the next call.
        """
        self._held.add(rows, ends)
        if len(self._held) >= _ROWS_A_GROUP and self._held.any_ended:
            self._write_group()
        if len(self._held) > _MAX_DOCUMENT_ROWS:
            raise DataError(
                f"a document has more than {_MAX_DOCUMENT_ROWS:,} rows, which no list can hold; "
                "write a .npy file, or name the token that ends documents by separator="
            )

    def finish(self) -> None:
        """Write what is still held; all documents have ended."""
        if self._held.any_ended:
            self._write_group()

    def close(self) -> None:
        """Write the end of the file, and let go of it."""
        self._writer.close()

    def _write_group(self) -> None:
        import pyarrow as pa

        values, offsets = self._held.take()
        column = self._schema.field(COLUMN).type
        rows = pa.FixedSizeListArray.from_arrays(
            pa.array(values.reshape(-1)), type=column.value_type
        )
        lists = pa.ListArray.from_arrays(pa.array(offsets), rows, type=column)
        batch = pa.RecordBatch.from_arrays([lists], schema=self._schema)
        self._writer.write_table(pa.Table.from_batches([batch]), row_group_size=len(batch))
