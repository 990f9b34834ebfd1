"""What a long count has done so far, on disk, so that a run that was killed can be gone on with.

Files are counted in groups. Behind each group the words of all threads go to Arrow files in the
checkpoint's folder, and then one more Arrow file, replaced as a whole, says which of them count and
how many files of the corpus they stand for. What a killed run wrote beyond that is left out. In the
end the files are added up as words are that went to disk for want of memory.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.files import FilePath, lock_folder, write_atomically
from numbpe.run_descriptions import find_difference
from numbpe.spilling import SpilledRuns, measure_words, write_run
from numbpe_kernels.word_table import WordTable

STATE_NAME: Final = "checkpoint.arrow"
SECONDS_A_GROUP: Final = 60.0
"""How much of the work is lost at most, about."""

FIRST_GROUP_NBYTES: Final = 1 << 30
"""Bytes of the first group of files, before it is known how many take a minute; no group has less,
unless it is the last."""

_RUN_PREFIX: Final = "counts-"
_METADATA_KEY: Final = b"numbpe.checkpoint"
_FORMAT_VERSION: Final = 1


class Checkpoint:
    """The state of a count in a folder that this run holds alone. Made by :func:`open_checkpoint`.

    runs : the files of words, those of earlier runs among them
    n_files : how many files of the corpus are done
    n_source_bytes : and how many bytes these had
    """

    def __init__(self, folder: Path, *, resume: bool) -> None:
        self.folder = folder
        self.n_files = 0
        self.n_source_bytes = 0
        self._description: dict[str, Any] | None = None
        self._rows: list[tuple[str, int, int, int]] = []
        if (folder / STATE_NAME).exists():
            if not resume:
                raise ArgumentError(
                    f"the folder {shorten_value(str(folder), 200)} holds the checkpoint of an earlier "
                    "run; pass resume=True (--resume) to go on from it, or remove the folder"
                )
            self._load()
        self._remove_unlisted()
        self.runs = CheckpointRuns(folder, self._rows)

    def begin(self, description: Mapping[str, Any]) -> None:
        """Say what is counted, and how; DataError where an earlier run counted something else."""
        if self._description is not None and self._description != description:
            raise DataError(
                f"cannot resume from {shorten_value(str(self.folder), 200)}: its "
                f"{find_difference(self._description, description)}; give what it was made with, or "
                "remove the folder to begin anew"
            )
        self._description = dict(description)

    def commit(self, n_files: int, n_source_bytes: int) -> None:
        """Say that all words of the first ``n_files`` files are in the runs; returns when it is on disk."""
        import pyarrow as pa

        content = {
            "version": _FORMAT_VERSION,
            "n_files": n_files,
            "n_source_bytes": n_source_bytes,
            "made_from": self._description,
        }
        columns = list(zip(*self.runs.list_rows(), strict=True)) or [(), (), (), ()]
        types = (pa.string(), pa.int64(), pa.int64(), pa.int64())
        names = ("file", "n_words", "n_word_bytes", "nbytes")
        arrays = [pa.array(column, type=kind) for column, kind in zip(columns, types, strict=True)]
        table = pa.table(arrays, names=names).replace_schema_metadata(
            {_METADATA_KEY: json.dumps(content, sort_keys=True).encode()}
        )
        with (
            write_atomically(self.folder / STATE_NAME) as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table)
        self.n_files, self.n_source_bytes = n_files, n_source_bytes

    def discard(self) -> None:
        """Remove the checkpoint: its work is done, and saved elsewhere."""
        (self.folder / STATE_NAME).unlink(missing_ok=True)
        for path in self.folder.glob(f"{_RUN_PREFIX}*.arrow"):
            path.unlink(missing_ok=True)

    def _load(self) -> None:
        import pyarrow as pa

        path = self.folder / STATE_NAME
        try:
            with pa.OSFile(str(path)) as source:
                table = pa.ipc.open_file(source).read_all()
            content = json.loads(table.schema.metadata[_METADATA_KEY])
            if content["version"] != _FORMAT_VERSION:
                raise DataError(
                    f"cannot resume from {shorten_value(str(self.folder), 200)}: its version is "
                    f"{content['version']}, known is {_FORMAT_VERSION}; use the numbpe that made it"
                )
            self.n_files = int(content["n_files"])
            self.n_source_bytes = int(content["n_source_bytes"])
            self._description = content["made_from"]
            self._rows = [tuple(row.values()) for row in table.to_pylist()]
        except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
            raise self._word_damage(STATE_NAME, str(error)[:80]) from error
        for name, _, _, nbytes in self._rows:
            run = self.folder / name
            found = run.stat().st_size if run.exists() else None
            if found != nbytes:
                state = "is missing" if found is None else f"has {found:,} bytes, not {nbytes:,}"
                raise self._word_damage(name, f"it {state}")

    def _word_damage(self, name: str, problem: str) -> DataError:
        return DataError(
            f"cannot resume from {shorten_value(str(self.folder), 200)}: the file {name} is damaged "
            f"({problem}); remove the folder to begin anew"
        )

    def _remove_unlisted(self) -> None:
        """Remove what a run that was killed wrote and did not get to say."""
        kept = {name for name, *_ in self._rows}
        for path in self.folder.iterdir():
            is_run = path.name.startswith(_RUN_PREFIX) and path.name not in kept
            if is_run or path.name.endswith(".numbpe-tmp"):
                path.unlink(missing_ok=True)


class CheckpointRuns(SpilledRuns):
    """Files of words that stay when the run ends, each whole or not there."""

    def __init__(self, folder: Path, rows: Sequence[tuple[str, int, int, int]]) -> None:
        super().__init__()
        self._home = folder
        self._paths = [folder / name for name, *_ in rows]
        self._rows = {name: (n_words, n_bytes, nbytes) for name, n_words, n_bytes, nbytes in rows}
        self._sizes = [(n_words, n_bytes) for n_words, n_bytes, _ in self._rows.values()]

    def list_rows(self) -> list[tuple[str, int, int, int]]:
        """Return name, words, bytes of words and bytes of every file."""
        return [(path.name, *self._rows[path.name]) for path in self._paths]

    def reserve(self) -> Path:
        """Return the path of the next file. Call it from one thread at a time."""
        numbers = [int(path.stem.removeprefix(_RUN_PREFIX)) for path in self._paths]
        path = self._home / f"{_RUN_PREFIX}{max(numbers, default=-1) + 1:05}.arrow"
        self._paths.append(path)
        return path

    def write(self, path: Path, table: WordTable) -> None:
        """Write the words of ``table`` to ``path``. Any thread may call this."""
        sizes = measure_words(table)
        with write_atomically(path) as file:
            write_run(file, table)
        self._rows[path.name] = (*sizes, path.stat().st_size)
        self._sizes.append(sizes)


@contextmanager
def open_checkpoint(folder: FilePath, *, resume: bool) -> Iterator[Checkpoint]:
    """Hold a folder, made if it is missing, and give the checkpoint in it.

    After :meth:`Checkpoint.discard` the folder is removed, unless something else lies in it.

    Raises FolderInUseError if another run holds it, ArgumentError if there is a checkpoint and
    ``resume`` is false, DataError if it is damaged.
    """
    home = Path(os.fspath(folder))
    if home.exists() and not home.is_dir():
        raise ArgumentError(
            f"cannot keep a checkpoint in {shorten_value(str(home), 200)}: it is a file; name a folder"
        )
    try:
        with lock_folder(home):
            yield Checkpoint(home, resume=resume)
    finally:
        with suppress(OSError):
            home.rmdir()  # only if it is empty


@contextmanager
def use_checkpoint(
    checkpoint: "FilePath | Checkpoint | None", *, resume: bool
) -> Iterator[Checkpoint | None]:
    """Give the checkpoint in a folder, one that is open already as it is, or none.

    That in a folder is discarded in the end, if all went well.

    Raises ArgumentError for ``resume`` without a checkpoint, and what open_checkpoint raises.
    """
    if checkpoint is None:
        if resume:
            raise ArgumentError(
                "resume needs the folder of the earlier run's checkpoint; give it as checkpoint="
            )
        yield None
    elif isinstance(checkpoint, Checkpoint):
        yield checkpoint
    else:
        with open_checkpoint(checkpoint, resume=resume) as opened:
            yield opened
            opened.discard()


class FileGroups:
    """Deals files out in groups, each of about the time that may be lost.

    sizes : the bytes of all files; n_done : how many of them are done
    """

    def __init__(self, sizes: Sequence[int], n_done: int) -> None:
        self._sizes = sizes
        self._n_done = n_done
        self._n_bytes = 0
        self._started = time.perf_counter()

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield first and last file, last one not included, of each group."""
        while self._n_done < len(self._sizes):
            seconds = max(time.perf_counter() - self._started, 1e-3)
            target = max(FIRST_GROUP_NBYTES, int(self._n_bytes / seconds * SECONDS_A_GROUP))
            stop, n_bytes = self._n_done, 0
            while stop < len(self._sizes) and n_bytes < target:
                n_bytes += self._sizes[stop]
                stop += 1
            first, self._n_done = self._n_done, stop
            self._n_bytes += n_bytes
            yield first, stop
