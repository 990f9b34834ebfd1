"""What a worker of an engine checks before it begins, and how much memory it takes."""

import os

import numbpe
from numbpe.errors import EngineError
from numbpe.memory_budget import MemoryBudget, measure_rss, open_budget


def get_version() -> str:
    """Return the version of numbpe that the run was started with."""
    return numbpe.__version__


def check_version(version: str) -> None:
    """Raise EngineError unless this worker has the numbpe that the run was started with.

    Another version may cut text in another way, or hash words to other parts.
    """
    if version != numbpe.__version__:
        raise EngineError(
            f"a worker has numbpe {numbpe.__version__}, and the run was started with {version}; "
            "install the same version on all machines"
        )


def open_worker_budget(memory: int | str | None, threads: int) -> MemoryBudget:
    """Return the budget of one of the workers that share a machine, each with ``threads`` cores.

    memory: what each may take; by default its share of what a single process would take.
    """
    budget = open_budget(memory)
    if memory is not None or budget.limit_nbytes is None:
        return budget
    n_workers = max(1, (os.cpu_count() or 1) // threads)
    rss = measure_rss()
    return MemoryBudget(rss + max(0, budget.limit_nbytes - rss) // n_workers, False)
