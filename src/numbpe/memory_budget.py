"""How much memory the process may take, how much it takes, and what to say when that is too little."""

import os
import sys
from dataclasses import dataclass

from numbpe.errors import BudgetError
from numbpe.process_memory import measure_peak_rss
from numbpe.sizes import format_nbytes, parse_nbytes

DEFAULT_SHARE = 0.75
"""The part of the memory that is free now which a run takes at most where no budget is given."""


@dataclass(frozen=True)
class MemoryBudget:
    """A bound on the memory of the whole process.

    limit_nbytes : resident bytes that the process may reach, or None where nothing is known
    is_given : the user named the bound
    """

    limit_nbytes: int | None
    is_given: bool

    def free_nbytes(self) -> int | None:
        """Return how many more bytes may be taken now; None without a bound."""
        if self.limit_nbytes is None:
            return None
        return self.limit_nbytes - measure_rss()

    def require(self, n_bytes: int, purpose: str) -> None:
        """Raise BudgetError unless ``n_bytes`` more may be taken. ``purpose`` says what for."""
        free = self.free_nbytes()
        if free is None or n_bytes <= free or self.limit_nbytes is None:
            return
        need = self.limit_nbytes - free + n_bytes
        raise BudgetError(
            f"{purpose} needs about {format_nbytes(need)} of memory in all, and "
            f"{'the budget' if self.is_given else 'what this machine has free'} is "
            f"{format_nbytes(self.limit_nbytes)}; {'raise' if self.is_given else 'set'} memory= "
            "(--memory), take fewer threads, or train on a sample of the text"
        )


def open_budget(memory: int | str | None) -> MemoryBudget:
    """Return the budget for ``memory``: bytes, text such as "4GiB", or None for what is free now.

    A limit on the address space of the process (``ulimit -v``) is honoured in either case.
    """
    headroom = _measure_address_headroom()
    rss = measure_rss()
    if memory is not None:
        limit = parse_nbytes(memory)
        return MemoryBudget(limit if headroom is None else min(limit, rss + headroom), True)
    free = _measure_free_memory()
    bounds = [rss + n for n in (free and int(free * DEFAULT_SHARE), headroom) if n is not None]
    return MemoryBudget(min(bounds, default=None), False)


def measure_rss() -> int:
    """Return the bytes of memory that the process holds now (its peak, where now is not known)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError):
        return measure_peak_rss() or 0


def _measure_address_headroom() -> int | None:
    """Return how far the address space may still grow under ulimit -v; None if it is unlimited."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError):
        return None
    # Allocators and thread stacks reserve addresses that they never use.
    return max(0, int(0.8 * (limit - used)))


def _measure_free_memory() -> int | None:
    """Return how many bytes the machine and the control group of the process have free."""
    free = []
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free += [
                int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable")
            ]
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            limit = file.read().strip()
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as file:
            used = int(file.read())
        if limit != "max":
            free.append(max(0, int(limit) - used))
    except (OSError, ValueError):
        pass
    return min(free, default=None)
