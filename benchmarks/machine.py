"""On what was measured: the machine, the versions, the state of the repository."""

import os
import platform
import subprocess
from pathlib import Path


def describe_machine() -> dict[str, object]:
    """Return the figures of this machine that bear on speed, and nothing that names it."""
    return {
        "cpu": _read_field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory_nbytes": _read_memory_nbytes(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def find_commit(root: Path) -> str | None:
    """Return the commit of the repository, with a + if the code differs from it."""
    try:
        commit = _run_git(root, "rev-parse", "--short=10", "HEAD")
        code = ["src", "kernels", "scripts", "benchmarks/engines", "benchmarks/child.py"]
        changed = _run_git(root, "status", "--porcelain", "--", *code)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changed else "")


def read_load() -> float | None:
    """Return how many processes have been running in the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def restrict_to_cpus(n_cpus: int, allowed: set[int] | None) -> None:
    """Run this process and those it starts on the first ``n_cpus`` CPUs, where that is possible."""
    if allowed is not None:
        os.sched_setaffinity(0, sorted(allowed)[:n_cpus])


def find_allowed_cpus() -> set[int] | None:
    """Return the CPUs that this process may run on; None where the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def _run_git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _read_field(path: str, name: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key.strip() == name:
                    return value.strip()
    except OSError:
        pass
    return None


def _read_memory_nbytes() -> int | None:
    kilobytes = _read_field("/proc/meminfo", "MemTotal")
    return int(kilobytes.split()[0]) * 1024 if kilobytes else None
