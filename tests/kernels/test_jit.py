"""The cache of compiled kernels: stale, damaged and foreign files are never an error."""

import os
import subprocess
import sys

import pytest

from numbpe_kernels._jit import _CacheFile

SCRIPT = """
import numpy as np
from numbpe_kernels.csr import csr_write_cells
cells, starts = np.zeros(4, np.int32), np.zeros(1, np.int64)
contents = np.array([7, 8], np.uint8)
csr_write_cells(contents, np.array([0, 2]), np.zeros(1, np.int64), cells, starts)
assert cells.tolist() == [-1, 7, 8, -1]
print(dict(csr_write_cells.stats.cache_hits), dict(csr_write_cells.stats.cache_misses))
"""


def run_script(cache_dir, **variables):
    """Run SCRIPT in a process of its own; return whether the kernel came from the cache."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache_dir), **variables},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return not result.stdout.startswith("{}")


def test_cache__hit_in_the_next_process(tmp_path):
    """Truth: Numba's own statistics of cache hits."""
    assert not run_script(tmp_path)
    assert run_script(tmp_path)


def test_cache__bounds_checks_are_kept_apart(tmp_path):
    """Truth: Numba's own statistics; a checked run never meets unchecked code, nor the reverse."""
    run_script(tmp_path)
    assert not run_script(tmp_path, NUMBA_BOUNDSCHECK="1")
    assert run_script(tmp_path, NUMBA_BOUNDSCHECK="1")
    assert run_script(tmp_path)


def test_cache__of_two_processes_that_save_at_once(tmp_path):
    """Truth: by definition; both find the index empty, choose one file, and the first index stays."""
    first, second = (_CacheFile(str(tmp_path), "kernel", "stamp") for _ in range(2))
    first.save(("int32",), b"of int32")
    index = (tmp_path / "kernel.nbi").read_bytes()
    (tmp_path / "kernel.nbi").unlink()
    second.save(("uint8",), b"of uint8")
    (tmp_path / "kernel.nbi").write_bytes(index)
    assert first.load(("int32",)) is None
    first.save(("int32",), b"of int32")
    second.save(("uint8",), b"of uint8")
    assert first.load(("int32",)) == b"of int32"
    assert first.load(("uint8",)) == b"of uint8"
    assert _CacheFile(str(tmp_path), "kernel", "other stamp").load(("uint8",)) is None


@pytest.mark.parametrize("damage", ["truncated", "garbage", "gone class"])
def test_cache__damaged_index(tmp_path, damage):
    """Truth: by definition; an index that cannot be read is replaced, and serves the next process."""
    run_script(tmp_path)
    (index,) = tmp_path.rglob("*.nbi")
    data = index.read_bytes()
    if damage == "truncated":
        index.write_bytes(data[: len(data) // 2])
    elif damage == "garbage":
        index.write_bytes(data[:20] + b"\xff" * 40)
    else:
        index.write_bytes(data.replace(b"numba.core", b"numba.gone"))
    run_script(tmp_path)
    assert run_script(tmp_path)
