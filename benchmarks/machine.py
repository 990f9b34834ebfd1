"""On what was measured: the machine, the versions, the state of the repository."""

import hashlib
import os
import platform
import subprocess
from pathlib import Path


def describe_machine() -> dict[str, object]:
    """Return the figures of this machine that bear on speed, and nothing that names it."""
    cpu = _read_field("/proc/cpuinfo", "model name") or platform.processor()
    family, model = (_read_field("/proc/cpuinfo", name) for name in ("cpu family", "model"))
    return {
        # Names of rented processors do not tell their generations apart.
        "cpu": f"{cpu} (family {family}, model {model})" if family and model else cpu,
        "cores": os.cpu_count(),
        "memory_nbytes": _read_memory_nbytes(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


_MEMORY_STEP = 1 << 26

CODE = (
    *("src", "kernels", "scripts", "benchmarks/engines", "benchmarks/child.py"),
    *("benchmarks/encode_operations.py", "benchmarks/documents.py"),
)


def digest_code(root: Path) -> str:
    """Return a digest of the code that is measured: figures of different code do not mix."""
    digest = hashlib.sha256()
    for part in CODE:
        for path in sorted([root / part, *(root / part).rglob("*.py")]):
            if path.is_file():
                digest.update(path.relative_to(root).as_posix().encode() + b"\0")
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def find_commit(root: Path) -> str | None:
    """Return the commit of the repository, with a + if the code differs from it."""
    try:
        commit = _run_git(root, "rev-parse", "--short=10", "HEAD")
        changed = _run_git(root, "status", "--porcelain", "--", *CODE)
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
    # What the kernel keeps for itself differs by some pages from start to start.
    return int(kilobytes.split()[0]) * 1024 // _MEMORY_STEP * _MEMORY_STEP if kilobytes else None
