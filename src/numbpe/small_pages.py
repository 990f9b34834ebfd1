"""Large arrays in memory of 4 KB a page, where NumPy would ask the system for pages of 2 MB.

Those are new to the process and, on a virtual machine that gives free memory back to its host, new to the
machine: up to 10 ms a MB there, where small pages are taken from what was used before, at 0.7. Where the host
has memory at hand, training in huge pages is up to a tenth faster; where not, it takes twice or three times as long.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def small_pages() -> Iterator[None]:
    """Let arrays that are made in the block lie in small pages, as NUMPY_MADVISE_HUGEPAGE=0 does for a process.

    It is NumPy's own switch, of no public name: where that is missing, nothing is done.
    """
    module = getattr(getattr(np, "_core", None), "multiarray", None)
    switch = getattr(module, "_set_madvise_hugepage", None)
    if switch is None:
        yield
        return
    was_on = switch(False)
    try:
        yield
    finally:
        switch(bool(was_on))
