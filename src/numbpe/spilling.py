"""Word counts that do not fit into memory: runs on disk, and their merge.

A run is an Arrow file of distinct words and their counts, ordered by part: some bits of a word's
hash, the same in all runs. A part of all runs together is merged in a table of its own, so that
nothing has to be sorted by its bytes, and writing and merging take a fraction of the memory of what
is written and merged.
"""

import errno
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np

from numbpe.arrays import Counts, Offsets, TextArray, allocate_text, read_binary_array
from numbpe_kernels.word_export import word_table_export, word_table_measure
from numbpe_kernels.word_table import WordTable

N_PARTS = 64
"""Parts of a run, a power of two; each is a record batch."""

PARTS_AT_ONCE = 8
"""Parts that are taken out of a table in one pass over it."""

_REMOVAL_TRIALS = 20

WORDS_SCHEMA = (("word", "large_binary"), ("count", "int64"))
"""Names and types of the columns of a run."""

Words: TypeAlias = tuple[TextArray, Offsets, Counts]
"""Contents, offsets and counts."""


def export_words(table: WordTable) -> Words:
    """Return the words of a table."""
    ((words, *_),) = export_parts(table, 1, 1)
    return words


def export_parts(table: WordTable, n_parts: int, n_at_once: int) -> Iterator[list[Words]]:
    """Yield the words of a table by part, those of ``n_at_once`` parts at a time.

    n_parts : a power of two, a multiple of ``n_at_once``
    The arrays of parts that come together share their memory.
    """
    part_mask = np.uint64(n_parts - 1)
    sizes = np.zeros((n_parts, 2), dtype=np.int64)
    word_table_measure(table, part_mask, sizes)
    for first in range(0, n_parts, n_at_once):
        ends = np.cumsum(sizes[first : first + n_at_once], axis=0)
        starts = ends - sizes[first : first + n_at_once]
        n_words, n_bytes = ends[-1].tolist()
        contents = allocate_text(n_bytes)
        offsets = np.zeros(n_words + 1, dtype=np.int64)
        offsets[n_words] = n_bytes
        counts = np.zeros(n_words, dtype=np.int64)
        cursors = np.full((n_parts, 2), -1, dtype=np.int64)
        cursors[first : first + n_at_once] = starts
        row_bytes = table.rows.view(np.uint8)
        word_table_export(table, row_bytes, part_mask, cursors, contents, offsets, counts)
        yield [
            (contents, offsets[start : end + 1], counts[start:end])
            for start, end in zip(starts[:, 0].tolist(), ends[:, 0].tolist(), strict=True)
        ]


class SpilledRuns:
    """A temporary folder of runs.

    Used as a context manager: the folder is gone afterwards, whatever happened.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._paths: list[Path] = []
        self._sizes: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After Ctrl-C a thread may be about to open its next file: then the folder is not empty yet.
        for _ in range(_REMOVAL_TRIALS):
            if self._folder is None or not self._folder.exists():
                break
            shutil.rmtree(self._folder, ignore_errors=True)
            if self._folder.exists():
                time.sleep(0.05)

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._paths)

    def measure(self) -> tuple[int, int]:
        """Return the words of all runs, those of each run counted anew, and their bytes."""
        return sum(n for n, _ in self._sizes), sum(n for _, n in self._sizes)

    def reserve(self) -> Path:
        """Return the path of the next run. Call it from one thread at a time."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="numbpe-"))
        path = self._folder / f"run-{len(self._paths):05}.arrow"
        self._paths.append(path)
        return path

    def write(self, path: Path, table: WordTable) -> None:
        """Write the words of ``table`` to ``path``. Any thread may call this."""
        import pyarrow as pa

        self._sizes.append(measure_words(table))
        try:
            with pa.OSFile(str(path), "wb") as sink:
                write_run(sink, table)
        except OSError as error:
            if error.errno == errno.ENOSPC or "space left" in str(error).lower():
                raise OSError(
                    errno.ENOSPC,
                    f"cannot write word counts to the temporary folder {path.parent}: the disk is "
                    "full; set TMPDIR to a folder with more room, or raise memory= (--memory)",
                ) from error
            raise

    def read_parts(self) -> Iterator[list[Words]]:
        """Yield, part by part, contents, offsets and counts of the words of that part in each run.

        Memory: one part of all runs.
        """
        import pyarrow as pa

        with ExitStack() as stack:
            # Not mapped into memory: mapped pages would count as the process's own.
            readers = [
                pa.ipc.open_file(stack.enter_context(pa.OSFile(str(path)))) for path in self._paths
            ]
            for part in range(N_PARTS):
                yield [read_words(reader.get_batch(part)) for reader in readers]


def measure_words(table: WordTable) -> tuple[int, int]:
    """Return how many words a table holds, and how many bytes these have."""
    size = np.zeros((1, 2), dtype=np.int64)
    word_table_measure(table, np.uint64(0), size)
    return int(size[0, 0]), int(size[0, 1])


def write_run(sink: Any, table: WordTable) -> None:
    """Write the words of ``table`` as a run to an open file."""
    import pyarrow as pa

    schema = pa.schema(WORDS_SCHEMA)
    with pa.ipc.new_file(sink, schema) as writer:
        for words in chain.from_iterable(export_parts(table, N_PARTS, PARTS_AT_ONCE)):
            writer.write_batch(make_batch(schema, words))


def make_batch(schema: Any, words: Words) -> Any:
    """Return the record batch of some words."""
    import pyarrow as pa

    contents, offsets, counts = words
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(contents)]
    array = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(counts), buffers)
    return pa.record_batch([array, pa.array(counts, type=pa.int64())], schema=schema)


def read_words(batch: Any) -> Words:
    """Return contents, offsets and counts of a batch or table chunk of words, copied."""
    offsets, contents = read_binary_array(batch["word"])
    return contents, offsets, np.array(batch["count"].to_numpy(), dtype=np.int64)
