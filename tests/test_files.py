"""Files are written whole or not at all, and a folder by one run at a time."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from numbpe import files
from numbpe.errors import FolderInUseError
from numbpe.files import LOCK_NAME, lock_folder, write_atomically, write_together


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_write_atomically__makes_folders_and_replaces(tmp_path: Path) -> None:
    """Truth: what was written."""
    path = tmp_path / "a" / "b" / "out.bin"
    for content in (b"one", b"three"):
        with write_atomically(path) as file:
            file.write(content)
            assert not path.exists() or path.read_bytes() == b"one"
        assert path.read_bytes() == content
    assert list_names(path.parent) == ["out.bin"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt(), OSError(errno.ENOSPC, "")])
def test_write_atomically__keeps_the_old_file_on_failure(
    tmp_path: Path, error: BaseException
) -> None:
    """Truth: the promise: the old file is as it was, and nothing else is left."""
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")

    def write_half() -> None:
        with write_atomically(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert path.read_bytes() == b"old"
    assert list_names(tmp_path) == ["out.bin"]


def test_write_atomically__survives_a_limit_of_file_size(tmp_path: Path) -> None:
    """Truth: the operating system, which refuses to write past RLIMIT_FSIZE."""
    (tmp_path / "out.bin").write_bytes(b"old")
    program = (
        "import resource, signal\n"
        "from numbpe.files import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "with write_atomically('out.bin') as file:\n"
        "    file.write(b'x' * 100_000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "File too large" in done.stderr
    assert "out.bin'" in done.stderr
    assert (tmp_path / "out.bin").read_bytes() == b"old"
    assert list_names(tmp_path) == ["out.bin"]


def test_write_atomically__leaves_errors_about_other_files_alone(tmp_path: Path) -> None:
    """Truth: the name in the error is that of the file that is missing."""
    with pytest.raises(FileNotFoundError) as caught, write_atomically(tmp_path / "out.bin"):
        open(tmp_path / "corpus.txt", "rb").close()
    assert caught.value.filename == str(tmp_path / "corpus.txt")


def test_write_atomically__follows_links_and_writes_to_devices(tmp_path: Path) -> None:
    """Truth: the link still is one, and the null device is not replaced."""
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    with write_atomically(link) as file:
        file.write(b"x")
    assert link.is_symlink()
    assert real.read_bytes() == b"x"
    with write_atomically(os.devnull) as file:
        file.write(b"x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_write_atomically__explains_paths_that_cannot_be(tmp_path: Path) -> None:
    """Truth: the kinds of error, which name the path."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="file"), write_atomically(tmp_path / "file" / "x"):
        pass
    with (
        pytest.raises(IsADirectoryError, match="a folder has the name"),
        write_atomically(tmp_path),
    ):
        pass


def test_write_together__writes_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the promise, with the disk full at the second file."""
    paths = [tmp_path / "one", tmp_path / "two"]
    write_together(dict.fromkeys(paths, b"old"))
    calls: list[int] = []

    def fill_up(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", fill_up)
    with pytest.raises(OSError, match="No space left on device.*two"):
        write_together(dict.fromkeys(paths, b"new"))
    assert [path.read_bytes() for path in paths] == [b"old", b"old"]
    assert list_names(tmp_path) == ["one", "two"]


def test_lock_folder__lets_one_run_in(tmp_path: Path) -> None:
    """Truth: the second holder gets an error that names the process; afterwards nothing is left."""
    folder = tmp_path / "new" / "out"
    with lock_folder(folder):
        message = rf"another run \(process {os.getpid()}\) is writing to it"
        with pytest.raises(FolderInUseError, match=message), lock_folder(folder):
            pass
        assert list_names(folder) == [LOCK_NAME]
    assert list_names(folder) == []
    with pytest.raises(KeyboardInterrupt), lock_folder(folder):
        raise KeyboardInterrupt
    assert list_names(folder) == []


def test_lock_folder__is_not_held_by_the_dead(tmp_path: Path) -> None:
    """Truth: a process that is killed leaves its lock file, which blocks nobody."""
    program = (
        "import os, signal\n"
        "from numbpe.files import lock_folder\n"
        "with lock_folder('.'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)
    assert list_names(tmp_path) == [LOCK_NAME]
    with lock_folder(tmp_path):
        pass
    assert list_names(tmp_path) == []


def test_lock_folder__has_one_holder_among_threads(tmp_path: Path) -> None:
    """Truth: a counter that would pass one if two threads were let in."""
    inside, most, entered = [0], [0], [0]

    def try_often() -> None:
        for _ in range(100):
            try:
                with lock_folder(tmp_path):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    entered[0] += 1
                    inside[0] -= 1
            except FolderInUseError:
                pass

    threads = [threading.Thread(target=try_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    assert entered[0] > 0
