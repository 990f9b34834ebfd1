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
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from numbpe.arrays import Counts, Offsets, TextArray, allocate_text, read_binary_array
from numbpe_kernels.word_export import word_table_export, word_table_measure
from numbpe_kernels.word_table import WordTable

N_PARTS = 64
"""Parts of a run, a power of two; each is a record batch."""

WHOLE = (np.uint64(0), np.uint64(0))
"""Part and mask that stand for a whole table."""

_PART_MASK = np.uint64(N_PARTS - 1)

_REMOVAL_TRIALS = 20


def export_words(
    table: WordTable, part: np.uint64 = WHOLE[0], part_mask: np.uint64 = WHOLE[1]
) -> tuple[TextArray, Offsets, Counts]:
    """Return contents, offsets and counts of the words of a table, or of one part of it."""
    n_words, n_bytes = word_table_measure(table, part, part_mask)
    contents = allocate_text(n_bytes)
    offsets = np.zeros(n_words + 1, dtype=np.int64)
    counts = np.zeros(n_words, dtype=np.int64)
    word_table_export(table, part, part_mask, contents, offsets, counts)
    return contents, offsets, counts


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

        self._sizes.append(word_table_measure(table, *WHOLE))
        schema = pa.schema({"word": pa.large_binary(), "count": pa.int64()})
        try:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
                for part in range(N_PARTS):
                    contents, offsets, counts = export_words(table, np.uint64(part), _PART_MASK)
                    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(contents)]
                    words = pa.LargeBinaryArray.from_buffers(
                        pa.large_binary(), len(counts), buffers
                    )
                    columns = [words, pa.array(counts, type=pa.int64())]
                    writer.write_batch(pa.record_batch(columns, schema=schema))
        except OSError as error:
            if error.errno == errno.ENOSPC or "space left" in str(error).lower():
                raise OSError(
                    errno.ENOSPC,
                    f"cannot write word counts to the temporary folder {path.parent}: the disk is "
                    "full; set TMPDIR to a folder with more room, or raise memory= (--memory)",
                ) from error
            raise

    def read_parts(self) -> Iterator[list[tuple[TextArray, Offsets, Counts]]]:
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


def read_words(batch: Any) -> tuple[TextArray, Offsets, Counts]:
    """Return contents, offsets and counts of a batch or table chunk of words, copied."""
    offsets, contents = read_binary_array(batch["word"])
    return contents, offsets, np.array(batch["count"].to_numpy(), dtype=np.int64)
