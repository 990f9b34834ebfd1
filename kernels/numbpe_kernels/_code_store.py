"""Machine code of kernels in files, so that the next process need not compile.

A file serves one kernel and one combination of types, and lies in a folder for what it was compiled
from and with: the text of every source file of this package, the versions of Numba, LLVM, NumPy and
Python, the processor, and the settings of Numba in the environment. So no edit of a kernel that another
one calls, and no upgrade, can run stale code (https://github.com/numba/numba/issues/1833), and
bounds-checked code is never taken for unchecked code.

The folders lie in ``NUMBA_CACHE_DIR`` if that is set, else in the user's cache folder, else beside the
sources. Where none of them can be written, one warning is given and nothing is kept.
"""

import contextlib
import functools
import hashlib
import importlib.util
import itertools
import os
import pickle
import platform
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from numbpe_kernels._machine_code import MachineCode

_PACKAGE = Path(__file__).parent
_FOLDER = "numbpe-kernels"

_MOST_FOLDERS = 8
"""Folders that are kept: those of other versions and environments, the ones used last."""

_PROCESSOR_LINES = (
    *("vendor", "model", "stepping", "flags", "features"),
    *("cpu family", "cpu impl", "cpu arch", "cpu variant", "cpu part", "cpu revision"),
)
"""What begins the lines of /proc/cpuinfo, in small letters, that tell processors apart."""


@functools.cache
def hash_kernel_sources() -> str:
    """Return a digest over the text of all source files of this package."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read_version(package: str) -> str:
    """Return what names the version of a package, which is not imported for that."""
    found = importlib.util.find_spec(package)
    if found is not None and found.origin is not None:
        with contextlib.suppress(OSError):
            return Path(found.origin).with_name("_version.py").read_text(encoding="utf-8")
    from importlib.metadata import version  # takes as long as loading ten kernels

    return version(package)


def _describe_processor() -> str:
    """Return what tells processors apart that run different code."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        # Of the first processor, without what changes from one start of the machine to the next.
        lines = list(itertools.takewhile(str.strip, file))
        kept = [line for line in lines if line.lower().startswith(_PROCESSOR_LINES)]
        if any(line.lower().startswith(("flags", "features")) for line in kept):
            return "".join(kept)
    import llvmlite.binding as llvm

    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _describe_environment() -> str:
    """Return what machine code depends on, besides the types that it is for."""
    settings = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith("NUMBA_") and name != "NUMBA_CACHE_DIR"
    )
    parts = [
        hash_kernel_sources(),
        _read_version("numba"),
        _read_version("llvmlite"),
        f"numpy {np.__version__} {sys.platform} {platform.machine()}",
        sys.version,
        _describe_processor(),
        *settings,
    ]
    return "\n".join(parts)


def _list_bases() -> Iterator[Path]:
    """Yield the folders where the cache may lie, the best first."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    with contextlib.suppress(RuntimeError):
        if sys.platform == "win32":
            yield Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            yield Path.home() / "Library" / "Caches"
        else:
            yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    yield _PACKAGE / "__pycache__"


@functools.cache
def find_folder() -> Path | None:
    """Return the folder of this version and environment, made if need be; None if none can be."""
    name = hashlib.sha256(_describe_environment().encode()).hexdigest()[:24]
    for base in _list_bases():
        folder = base / _FOLDER / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                os.utime(folder)
        except OSError:
            continue
        _remove_old_folders(folder)
        return folder
    warnings.warn(
        "no folder for compiled kernels can be written, so they are compiled anew in every "
        "process; set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=6,
    )
    return None


def _remove_old_folders(folder: Path) -> None:
    with contextlib.suppress(OSError):
        others = [path for path in folder.parent.iterdir() if path != folder]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_MOST_FOLDERS - 1 :]:
            shutil.rmtree(path, ignore_errors=True)


def _name_file(function: Callable[..., Any], types: str) -> Path | None:
    """Return the file of a kernel for some types; None for functions of other packages."""
    package, _, module = function.__module__.partition(".")
    if package != _PACKAGE.name or "<locals>" in function.__qualname__:
        return None
    folder = find_folder()
    digest = hashlib.sha256(types.encode()).hexdigest()[:16]
    return folder and folder / f"{module}.{function.__name__}.{digest}"


def load_code(function: Callable[..., Any], types: str) -> MachineCode | None:
    """Return the machine code of a kernel for some types, or None.

    function : the kernel in plain Python; types : see ``describe_type``
    What cannot be read is no error: it is as if it were not there.
    """
    path = _name_file(function, types)
    if path is None:
        return None
    try:
        kept_types, code = pickle.loads(path.read_bytes())
    except Exception:  # noqa: BLE001, whatever damaged bytes may lead unpickling to
        return None
    return code if kept_types == types and isinstance(code, MachineCode) else None


def save_code(function: Callable[..., Any], types: str, code: MachineCode) -> None:
    """Keep the machine code of a kernel for the next process, where a folder can be written."""
    path = _name_file(function, types)
    if path is None:
        return
    content = pickle.dumps((types, code), protocol=pickle.HIGHEST_PROTOCOL)
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
