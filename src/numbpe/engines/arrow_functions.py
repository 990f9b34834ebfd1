"""Pure functions from Arrow table to Arrow table, for whatever engine maps over Arrow batches.

Counts are tables with the columns ``word`` (large_binary) and ``count`` (int64). They may be added up
by word in any way and order; ``WordCounts.from_arrow`` takes the sums.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from numbpe.added_tokens import SpecialPolicy
from numbpe.bad_input import BadInput, BadPolicy
from numbpe.columns import parse_column
from numbpe.corpus import CHUNK_NBYTES, ErrorPolicy
from numbpe.counting import CountingRun
from numbpe.engines.counting import add_parts
from numbpe.engines.document_encoding import BlockEncoder
from numbpe.errors import ArgumentError, shorten_value
from numbpe.file_documents import FileReading
from numbpe.memory_budget import open_budget
from numbpe.patterns import compile_pattern
from numbpe.shard_settings import make_settings
from numbpe.sources import ResolvedSource, TextSource
from numbpe.special_tokens import check_special_tokens
from numbpe.spilling import WORDS_SCHEMA, make_batch

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer

Batch: TypeAlias = Any
"""A ``pyarrow.Table`` or ``pyarrow.RecordBatch``."""

IDS_COLUMN: Final = "ids"
ID_TYPES: Final = ("int32", "uint16", "uint32")
_SMALL_CHUNK_NBYTES: Final = 1 << 16


def count_batch(
    batch: Batch,
    *,
    pattern: str | Sequence[str] = "gpt2",
    special_tokens: Iterable[str | bytes] = ("<|endoftext|>",),
    column: str | None = None,
    errors: ErrorPolicy = "replace",
    on_bad: BadPolicy = "error",
    unicode_version: str = "16",
) -> Batch:
    """Return a table of the distinct words of a column of text, and how often each occurs.

    Each row is a document. The arguments are those of :func:`numbpe.count_words`, which gives the
    same for the same rows. Sums by word over the tables of all batches, with the same arguments to
    ``WordCounts.from_arrow``, are what ``count_words`` gives for all rows together.

    Example: ``sum_counts(count_batch(batch) for batch in table.to_batches())``
    """
    import pyarrow as pa

    names = check_special_tokens(special_tokens)
    compiled = compile_pattern(pattern, unicode_version)
    run = CountingRun(compiled, names, 1, open_budget(None))
    source = TextSource(batch, column=column, on_bad=on_bad)
    words = run.count(source, errors=errors, chunk_nbytes=_choose_chunk(batch), allow_empty=True)
    batch = make_batch(pa.schema(WORDS_SCHEMA), (words.contents, words.offsets, words.counts))
    return pa.Table.from_batches([batch])


def sum_counts(tables: Iterable[Batch]) -> Batch:
    """Return the sums by word of tables that :func:`count_batch` or this function gave."""
    import pyarrow as pa

    schema = pa.schema(WORDS_SCHEMA)
    batches = [batch.cast(schema) for table in tables for batch in _list_batches(table)]
    return pa.Table.from_batches([add_parts(*batches)])


def encode_batch(
    batch: Batch,
    tokenizer: "Tokenizer",
    *,
    column: str | None = None,
    special: SpecialPolicy = "allow",
    errors: ErrorPolicy = "replace",
    add_special_tokens: bool = False,
    dtype: str = "int32",
) -> Batch:
    """Return the rows of a batch with their token ids in one more column, ``ids``.

    Each row of ``column`` is a text, whose ids are those of ``tokenizer.encode``; a row that is null
    has none, but null. The arguments are those of ``encode_files``. ``dtype`` is "int32", which every
    engine knows, "uint16" or "uint32".

    Example: ``encode_batch(pa.table({"text": ["a b"]}), tokenizer)["ids"]``
    """
    import pyarrow as pa

    from numbpe import tables

    value_type, id_type = _check_id_type(dtype)
    settings = make_settings(
        tokenizer.definition, Path("ids.bin"), separator=None, write_separator=False,
        special=special, errors=errors, dtype=id_type, add_special_tokens=add_special_tokens,
    )  # fmt: skip
    table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
    if IDS_COLUMN in table.column_names:
        raise ArgumentError(
            f"cannot add the column {IDS_COLUMN!r} to a batch that has one; rename or drop it"
        )
    reading = FileReading(parse_column(column), BadInput())
    path = tables.ColumnReader("the batch", reading.column, reading.bad).choose(table.schema)
    encoder = BlockEncoder(tokenizer, settings)
    chunks = []
    for part in table.to_batches():
        texts = tables.pick_array(part, path)
        source = ResolvedSource(reading, table=texts.drop_null(), table_name="the batch")
        encoded = encoder.encode(source, _choose_chunk(texts), 1)
        chunks.append(_make_lists(encoded.ids, encoded.ends, texts, value_type))
    column_type = pa.list_(value_type)
    return table.append_column(IDS_COLUMN, pa.chunked_array(chunks, type=column_type))


def _list_batches(table: Batch) -> list[Any]:
    import pyarrow as pa

    return [table] if isinstance(table, pa.RecordBatch) else cast("list[Any]", table.to_batches())


def _choose_chunk(batch: Batch) -> int:
    """Return a size of chunks: small for batches that are small, of which there may be many."""
    return int(min(CHUNK_NBYTES, max(_SMALL_CHUNK_NBYTES, batch.nbytes)))


def _check_id_type(dtype: str) -> tuple[Any, str]:
    """Return Arrow's type of ids, and one in which they can be made."""
    import pyarrow as pa

    if dtype not in ID_TYPES:
        raise ArgumentError(
            f"dtype must be one of {', '.join(map(repr, ID_TYPES))}, not {shorten_value(dtype)}"
        )
    types = {"int32": pa.int32(), "uint16": pa.uint16(), "uint32": pa.uint32()}
    return types[dtype], "uint32" if dtype == "int32" else dtype


def _make_lists(ids: Any, ends: Any, texts: Any, value_type: Any) -> Any:
    """Return the ids of texts as lists, null where the text is."""
    import pyarrow as pa

    is_text = texts.is_valid().to_numpy(zero_copy_only=False)
    lengths = np.zeros(len(texts), dtype=np.int64)
    lengths[is_text] = np.diff(ends, prepend=0)
    offsets = np.zeros(len(texts) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(
        pa.array(offsets),
        pa.array(ids).cast(value_type),
        mask=pa.array(~is_text) if not is_text.all() else None,
    )
