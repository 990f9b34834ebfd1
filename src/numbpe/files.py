"""Writing files so that a reader finds the old one or the whole new one, never a part.

A file is written under a temporary, hidden name in the folder where it will lie, brought to disk,
and renamed. Whatever goes wrong before that, a full disk and Ctrl-C included, the temporary file is
removed and an older file of that name is as it was.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from numbpe.errors import FolderInUseError, shorten_value

try:
    import fcntl
except ImportError:  # Windows has no flock: there, folders are not locked.
    fcntl = None  # type: ignore[assignment]

FilePath: TypeAlias = str | os.PathLike[str]

LOCK_NAME: Final = ".numbpe.lock"
"""The file in a folder that a run holds locked while it writes to the folder."""

_TEMPORARY_SUFFIX: Final = ".numbpe-tmp"


@contextmanager
def write_atomically(path: FilePath) -> Iterator[BinaryIO]:
    """Open a binary file that takes the name ``path`` when the block is left without an error.

    Folders that are missing are made. A link is followed; a device or a pipe, which cannot be
    replaced, is written to directly. Raises OSError that names ``path``.

    Example: ``with write_atomically("out/ids.bin") as file: file.write(data)``
    """
    target = _prepare_target(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with open(target, "wb") as file:
            yield file
        return
    temporary = _choose_temporary_name(target)
    try:
        with _naming(target), _open_new(temporary) as file:
            yield file
            _bring_to_disk(file)
        with _naming(target):
            os.replace(temporary, target)
        _bring_folder_to_disk(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several small files of which the first is renamed only when all are on disk.

    So a full disk leaves none of them. Only a failure between two renames can leave some new files
    beside some old ones; nothing on a disk is atomic for several files.
    """
    temporaries: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            target = _prepare_target(path)
            temporary = temporaries[target] = _choose_temporary_name(target)
            with _naming(target), _open_new(temporary) as file:
                file.write(content)
                _bring_to_disk(file)
        for target, temporary in temporaries.items():
            with _naming(target):
                os.replace(temporary, target)
        for folder in {target.parent for target in temporaries}:
            _bring_folder_to_disk(folder)
    except BaseException:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def lock_folder(path: FilePath) -> Iterator[None]:
    """Hold a folder for this run alone; made if it is missing.

    Raises FolderInUseError if another run, or another thread of this one, holds it. The lock ends
    with the process that holds it, however it ends, so that a stale one blocks nobody. Where the
    file system has no locks the folder is not guarded.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    with _hold_lock(folder / LOCK_NAME, f"to the folder {shorten_value(str(folder))}"):
        yield


@contextmanager
def lock_output(path: FilePath) -> Iterator[None]:
    """Hold a file that is to be written for this run alone, as lock_folder holds a folder.

    Other files in its folder are free. Folders that are missing are made, and removed if they are
    empty in the end.
    """
    target = Path(path)
    made: list[Path] = []
    for folder in (target.parent, *target.parent.parents):
        if folder.exists():
            break
        made.append(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    lock_path = target.with_name(f".{target.name[:50]}{LOCK_NAME}")
    try:
        with _hold_lock(lock_path, shorten_value(str(target))):
            yield
    except OSError as error:
        if error.errno is None or str(error.filename) != str(lock_path):
            raise
        raise type(error)(error.errno, error.strerror, str(target)) from error
    finally:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextmanager
def _hold_lock(lock_path: Path, what: str) -> Iterator[None]:
    descriptor = _take_lock(lock_path, what)
    try:
        yield
    finally:
        # Removed while it is still held, so that no other run's lock can be removed.
        with contextlib.suppress(OSError):
            lock_path.unlink()
        os.close(descriptor)


def _take_lock(lock_path: Path, what: str) -> int:
    """Return the descriptor of the locked file, which holds the number of this process."""
    while True:
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock_descriptor(descriptor, what)
            if _is_same_file(descriptor, lock_path):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # Its holder removed the file after it was opened here: try anew.


def _lock_descriptor(descriptor: int, what: str) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
        process = f" (process {holder})" if holder else ""
        raise FolderInUseError(
            f"cannot write {what}: another run{process} is writing to it; wait for its end or choose "
            f"another {'folder' if what.startswith('to the') else 'name'}"
        ) from None
    except OSError:
        return  # This file system knows no locks.


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _prepare_target(path: FilePath) -> Path:
    """Return the file that ``path`` stands for, links followed; its folder exists afterwards."""
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(
            errno.ENOTDIR, "a file has the name of the folder", str(target.parent)
        ) from None
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder has the name of the file", str(target))
    return target


def _choose_temporary_name(target: Path) -> Path:
    # The name is cut so that it stays below the 255 bytes that file systems allow.
    return target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}{_TEMPORARY_SUFFIX}")


def _open_new(path: Path) -> BinaryIO:
    """Open a file that must not exist yet, with the permissions that the user's files have."""
    opener: Callable[[str, int], int] = lambda name, flags: os.open(name, flags | os.O_EXCL, 0o666)
    return open(path, "wb", opener=opener)


def _bring_to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _bring_folder_to_disk(folder: Path) -> None:
    """Make renames last through a power cut, where folders can be opened for it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Let an OSError that names no file, as that of a full disk, or a temporary one name
    ``target``; an error about another file is left alone."""
    try:
        yield
    except OSError as error:
        is_about_target = error.filename is None or str(error.filename).endswith(_TEMPORARY_SUFFIX)
        if error.errno is None or not is_about_target:
            raise
        raise type(error)(error.errno, error.strerror, str(target)) from error
