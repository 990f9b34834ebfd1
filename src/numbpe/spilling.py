"""Word counts that do not fit into memory: sorted runs on disk, and their merge."""

import errno
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from numbpe.word_counts import WordCounts

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 1 << 16


class SpilledRuns:
    """A temporary folder of Arrow files, each with distinct words in ascending order.

    Used as a context manager: the folder is gone afterwards, whatever happened.
    """

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._paths: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._paths)

    def reserve(self) -> Path:
        """Return the path of the next run. Call it from one thread at a time."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="numbpe-")
        path = Path(self._folder.name) / f"run-{len(self._paths):05}.arrow"
        self._paths.append(path)
        return path

    def write(self, path: Path, counts: WordCounts) -> None:
        """Write ``counts``, sorted by word, to ``path``. Any thread may call this."""
        import pyarrow as pa

        table = counts.to_arrow()
        try:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table, max_chunksize=ROWS_PER_BATCH)
        except OSError as error:
            if error.errno == errno.ENOSPC or "space left" in str(error).lower():
                raise OSError(
                    errno.ENOSPC,
                    f"cannot write word counts to the temporary folder {path.parent}: the disk is "
                    "full; set TMPDIR to a folder with more room, or raise memory= (--memory)",
                ) from error
            raise

    def merge(self) -> Iterator["pa.Table"]:
        """Yield tables of words and counts in ascending order of the words, each word once.

        Memory: one batch of rows for each run.
        """
        import pyarrow as pa

        with ExitStack() as stack:
            cursors = []
            for path in self._paths:
                reader = pa.ipc.open_file(stack.enter_context(pa.memory_map(str(path))))
                cursors.append(_RunCursor(reader))
            while cursors := [cursor for cursor in cursors if cursor.fill()]:
                bound = min(cursor.last_word for cursor in cursors)
                parts = [cursor.take_up_to(bound) for cursor in cursors]
                grouped = pa.concat_tables(parts).group_by("word").aggregate([("count", "sum")])
                yield grouped.rename_columns({"count_sum": "count"}).select(["word", "count"])


class _RunCursor:
    """Walks through one run, a batch of rows at a time."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._next_batch = 0
        self._batch: Any = None
        self._row = 0

    def fill(self) -> bool:
        """Make sure that rows are at hand; return False at the end of the run."""
        while self._batch is None or self._row >= self._batch.num_rows:
            if self._next_batch >= self._reader.num_record_batches:
                return False
            self._batch = self._reader.get_batch(self._next_batch)
            self._next_batch += 1
            self._row = 0
        return True

    @property
    def last_word(self) -> bytes:
        word: bytes = self._batch["word"][-1].as_py()
        return word

    def take_up_to(self, bound: bytes) -> "pa.Table":
        """Return the rows at hand whose word is at most ``bound``, and step over them."""
        import pyarrow as pa

        words = self._batch["word"]
        low, high = self._row, self._batch.num_rows
        while low < high:
            middle = (low + high) // 2
            if words[middle].as_py() <= bound:
                low = middle + 1
            else:
                high = middle
        taken = self._batch.slice(self._row, low - self._row)
        self._row = low
        return pa.Table.from_batches([taken])
