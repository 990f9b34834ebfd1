"""Files of token ids back to text, a part at a time."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe.errors import ArgumentError, DataError, FormatError, shorten_value
from numbpe.files import FilePath
from numbpe.shard_manifest import find_id_type
from numbpe.shard_settings import (
    DEFAULT_SEPARATOR,
    ROW_SUFFIXES,
    check_suffix,
    choose_id_type,
    find_separator,
)
from numbpe.shard_writers import COLUMN

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer

IDS_A_BLOCK: Final = 1 << 20
"""How many ids of a flat file are held at once."""

_ROWS_A_BATCH: Final = 1024


class IdRows(NamedTuple):
    """Successive rows of a file: row i is ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: NDArray[Any]
    offsets: NDArray[np.int64]


def decode_file(
    tokenizer: "Tokenizer",
    path: FilePath,
    *,
    dtype: str | None = None,
    separator: str | None = DEFAULT_SEPARATOR,
    skip_special_tokens: bool = False,
) -> Iterator[bytes]:
    """Yield the text of a file that :meth:`Tokenizer.encode_files` wrote, as bytes, in parts.

    dtype: the type of ids in a .bin file. By default what is written beside the file, or else
        uint16 if all ids of the tokenizer fit.
    separator: the special token that is written behind each row, unless the row ends with it; see
        :meth:`Tokenizer.encode_files`. In flat files it stands among the ids.
    skip_special_tokens: whether to leave special tokens out, the separator included.

    Raises ArgumentError for arguments that cannot be used, FormatError for a file that is not of
    the form that its name says, DataError for an id that no token has, OSError for a file that
    cannot be read.
    """
    file_path = Path(path)
    form = check_suffix(file_path)
    _, separator_id = find_separator(tokenizer.definition, separator)
    if form in ROW_SUFFIXES:
        batches = read_rows(file_path)
        return _decode_rows(tokenizer, file_path, batches, separator_id, skip_special_tokens)
    if form == ".npy":
        blocks = _read_npy(file_path)
    else:
        id_type = dtype or find_id_type(file_path)
        blocks = _read_flat(file_path, choose_id_type(tokenizer.definition, id_type))
    if _depends_on_place(tokenizer):
        blocks = _join_documents(blocks, separator_id)
    return _decode_blocks(tokenizer, file_path, blocks, skip_special_tokens)


def _depends_on_place(tokenizer: "Tokenizer") -> bool:
    """Return whether what a token stands for depends on where in a document it stands."""
    rules = tokenizer.definition.decoding
    return bool(rules.strip_left or rules.strip_right or rules.drops_first_metaspace)


def _read_flat(path: Path, dtype: str) -> Iterator[NDArray[Any]]:
    id_type = np.dtype(dtype).newbyteorder("<")
    with path.open("rb") as file:
        n_bytes = path.stat().st_size
        if n_bytes % id_type.itemsize:
            raise FormatError(
                f"cannot read {shorten_value(str(path), 200)} as ids of the type {dtype}: its "
                f"{n_bytes:,} bytes are no multiple of {id_type.itemsize}; give the type it was "
                "written with by dtype (--dtype)"
            )
        while len(block := np.fromfile(file, dtype=id_type, count=IDS_A_BLOCK)):
            yield block


def _read_npy(path: Path) -> Iterator[NDArray[Any]]:
    try:
        ids = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise FormatError(f"cannot read {shorten_value(str(path), 200)}: {error}") from None
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise FormatError(
            f"cannot read {shorten_value(str(path), 200)}: it must hold a flat array of integers"
        )
    for start in range(0, len(ids), IDS_A_BLOCK):
        yield np.array(ids[start : start + IDS_A_BLOCK])


def read_rows(path: Path) -> Iterator[IdRows]:
    """Yield the rows of a .parquet or .arrow file, some at a time.

    Raises FormatError for another kind of file, or one without a column of lists of integers.
    """
    import pyarrow as pa

    try:
        for batch in _read_batches(path):
            lists = batch.column(COLUMN)
            if lists.null_count or not pa.types.is_integer(lists.type.value_type):
                raise KeyError(COLUMN)
            offsets = np.asarray(lists.offsets, dtype=np.int64)
            ids = lists.values.to_numpy()[offsets[0] : offsets[-1]]
            yield IdRows(ids, offsets - offsets[0])
    except (KeyError, AttributeError):
        raise FormatError(
            f"cannot read {shorten_value(str(path), 200)}: it has no column {COLUMN!r} with a list "
            "of ids in each row"
        ) from None
    except pa.ArrowInvalid as error:
        name = shorten_value(str(path), 200)
        raise FormatError(f"cannot read {name}: {error}") from None


def _read_batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() == ".parquet":
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_ROWS_A_BATCH, columns=[COLUMN])
        return
    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as reader:
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _join_documents(
    blocks: Iterable[NDArray[Any]], separator_id: int | None
) -> Iterator[NDArray[Any]]:
    """Yield one document after another, each with its separator behind it as a block of its own."""
    held: list[NDArray[Any]] = []
    for block in blocks:
        start = 0
        for place in np.flatnonzero(block == separator_id).tolist():
            yield np.concatenate([*held, block[start:place]])
            yield block[place : place + 1]
            held, start = [], place + 1
        held.append(block[start:])
    yield np.concatenate([np.empty(0, dtype=np.uint32), *held])


def _decode_blocks(
    tokenizer: "Tokenizer", path: Path, blocks: Iterable[NDArray[Any]], skips: bool
) -> Iterator[bytes]:
    n_before = 0
    for block in blocks:
        yield _decode_ids(tokenizer, path, block, n_before, skips)
        n_before += len(block)


def _decode_rows(
    tokenizer: "Tokenizer",
    path: Path,
    batches: Iterable[IdRows],
    separator_id: int | None,
    skips: bool,
) -> Iterator[bytes]:
    """Yield the text of rows, with the separator behind those that do not end with it."""
    end = b"" if separator_id is None else tokenizer.decode_bytes([separator_id], skips)
    n_before = 0
    for ids, offsets in batches:
        for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            row = ids[start:stop]
            text = _decode_ids(tokenizer, path, row, n_before + start, skips)
            has_end = len(row) > 0 and row[-1] == separator_id
            yield text if has_end else text + end
        n_before += len(ids)


def _decode_ids(
    tokenizer: "Tokenizer", path: Path, ids: NDArray[Any], n_before: int, skips: bool
) -> bytes:
    try:
        return tokenizer.decode_bytes(ids, skips)
    except ArgumentError as error:
        raise DataError(
            f"cannot decode {shorten_value(str(path), 200)}, of which {n_before:,} ids were decoded: "
            f"{error}; was it written with this tokenizer, and with this type of ids?"
        ) from None
