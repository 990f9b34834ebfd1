"""Large arrays in memory of 4 KB a page, where NumPy would ask the system for pages of 2 MB.

Those are new to the process and, on a virtual machine that gives free memory back to its host, new to the
machine: up to 10 ms a MB there, where small pages are taken from what was used before, at 0.7. Where the host
has memory at hand, training in huge pages is up to a tenth faster; where not, it takes twice or three times as
long, as do batches of some megabytes of text. What is kept and looked up at random is better off in huge pages.
"""

import ctypes
import functools
import mmap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

_lock = threading.Lock()
_blocks: list[bool] = []
"""What the switch was when each of the blocks began that have not ended."""


@contextmanager
def small_pages() -> Iterator[None]:
    """Let arrays that are made meanwhile lie in small pages, as NUMPY_MADVISE_HUGEPAGE=0 does for a process.

    It is for what is used for a second, or written once; for what is kept, see ``gather_pages``.

    All arrays of the process: the switch is NumPy's own. When the last of several blocks has ended, in
    whatever thread, it is as it was before the first. It has no public name: where it is missing, nothing is done.
    """
    switch = find_switch()
    if switch is None:
        yield
        return
    with _lock:
        _blocks.append(bool(switch(False)))
    try:
        yield
    finally:
        with _lock:
            # That of the first block stays until no other is left.
            was_on = _blocks[0]
            _blocks.pop()
            if not _blocks:
                switch(was_on)


def find_switch() -> Callable[[bool], bool] | None:
    """Return what sets whether NumPy asks for huge pages, and says what was set; None if there is none."""
    module = getattr(getattr(np, "_core", None), "multiarray", None)
    return getattr(module, "_set_madvise_hugepage", None)


def gather_pages(array: NDArray[Any]) -> None:
    """Let the system make large pages of the small ones of an array in the background, as they are used.

    array: all of it written to before; C-contiguous. Where the system has no such thing, nothing is done.
    """
    advise = _find_advice()
    if advise is not None:
        address = array.__array_interface__["data"][0]
        start = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        # What it answers does not matter: the array is as good as it was.
        advise(start, max(0, address + array.nbytes - start), mmap.MADV_HUGEPAGE)


@functools.cache
def _find_advice() -> Callable[[int, int, int], int] | None:
    """Return what tells Linux how memory will be used, madvise(2); None elsewhere."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is not None:
        advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return advise
