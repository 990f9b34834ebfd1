"""Kernels as Python calls them: types, results, threads, and machine code that is kept in files."""

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from numbpe_kernels import _code_store
from numbpe_kernels._code_store import load_code, save_code
from numbpe_kernels._jit import Kernel, describe_type, njit, njit_brief
from numbpe_kernels._machine_code import MachineCode

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled"
)

SCRIPT = """
import sys
import numpy as np
from numbpe_kernels.csr import csr_write_cells
cells = np.zeros(4, np.int32)
contents = np.array([7, 8], np.uint8)
csr_write_cells(contents, np.array([0, 2]), np.zeros(1, np.int64), cells)
assert cells.tolist() == [-1, 7, 8, -1]
print("numba" in sys.modules)
"""


def run_script(cache_dir: Path, **variables: str) -> bool:
    """Run SCRIPT in a process of its own; return whether the kernel came from a file."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache_dir), **variables},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout == "False\n"


def find_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_code__is_loaded_in_the_next_process_without_numba(tmp_path: Path) -> None:
    """Truth: by definition; what compiles imports Numba, what loads does not."""
    assert not run_script(tmp_path)
    assert run_script(tmp_path)


def test_code__of_other_settings_is_kept_apart(tmp_path: Path) -> None:
    """Truth: by definition; a checked run never meets unchecked code, nor the reverse."""
    run_script(tmp_path)
    assert not run_script(tmp_path, NUMBA_BOUNDSCHECK="1")
    assert run_script(tmp_path, NUMBA_BOUNDSCHECK="1")
    assert run_script(tmp_path)


@pytest.mark.parametrize(
    "damage", ["truncated", "empty", "garbage", "of other types", "gone class"]
)
def test_code__that_is_damaged_is_made_again(tmp_path: Path, damage: str) -> None:
    """Truth: by definition; a file that cannot be used is replaced, and serves the next process."""
    run_script(tmp_path)
    (file,) = find_files(tmp_path)
    data = file.read_bytes()
    _, code = pickle.loads(data)
    damaged = {
        "truncated": data[: len(data) // 2],
        "empty": b"",
        "garbage": b"\xff" * 40,
        "of other types": pickle.dumps(("builtins.int", code)),
        "gone class": data.replace(b"MachineCode", b"MachineGone"),
    }
    file.write_bytes(damaged[damage])
    assert not run_script(tmp_path)
    assert run_script(tmp_path)
    assert find_files(tmp_path) == [file]


def test_code__of_old_versions_is_removed(tmp_path: Path) -> None:
    """Truth: the docstring of _MOST_FOLDERS; the folders that were used last stay."""
    run_script(tmp_path)
    (base,) = tmp_path.iterdir()
    (folder,) = base.iterdir()
    for age in range(12):
        other = base / f"version{age:02d}"
        other.mkdir()
        (other / "kernel").touch()
        os.utime(other, (1000 - age, 1000 - age))
    assert run_script(tmp_path)
    assert sorted(base.iterdir()) == [folder, *(base / f"version{age:02d}" for age in range(7))]


def test_find_folder__warns_once_where_none_can_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Truth: by definition; a folder below a file cannot be made."""
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr(_code_store, "_list_bases", lambda: iter([blocked / "cache"]))
    _code_store.find_folder.cache_clear()
    function = describe_type  # of this package, as a kernel is
    try:
        with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR to a folder"):
            save_code(function, "int", MachineCode((), "name", (), None))
        assert load_code(function, "int") is None
    finally:
        _code_store.find_folder.cache_clear()


class Inner(NamedTuple):
    numbers: Any
    count: int


class Outer(NamedTuple):
    inner: Inner
    scale: Any


class Sums(NamedTuple):
    total: int
    is_large: bool
    unsigned: Any


@njit
def add_up(outer: Outer, more: Any, is_doubled: bool) -> Sums:
    total = np.int64(outer.inner.count)
    for i in range(outer.inner.numbers.shape[0]):
        total += np.int64(outer.inner.numbers[i]) * np.int64(outer.scale)
    for row in range(more.shape[0]):
        for column in range(more.shape[1]):
            total += np.int64(more[row, column]) * 1000
    if is_doubled:
        total *= 2
    return Sums(total, total > 100, np.uint64(2**64 - 1))


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.uint64])
@pytest.mark.parametrize("scale", [3, np.int64(3), np.uint8(3), np.float64(3)])
@pytest.mark.parametrize("is_doubled", [False, True])
def test_kernel__takes_structures_arrays_and_numbers(
    dtype: Any, scale: Any, is_doubled: bool
) -> None:
    """Truth: the function in plain Python."""
    arguments = (
        Outer(Inner(np.arange(5, dtype=dtype), -7), scale),
        np.arange(6, dtype=np.int16).reshape(2, 3),
        is_doubled,
    )
    result = add_up(*arguments)
    assert result == add_up.py_func(*arguments)  # type: ignore[attr-defined]
    assert type(result) is Sums
    assert [type(field) for field in result] == [int, bool, int]


@njit
def sum_rows(array: Any) -> int:
    total = np.int64(0)
    for row in range(array.shape[0]):
        for column in range(array.shape[1]):
            total = total * 10 + np.int64(array[row, column])
    return total


def test_kernel__tells_arrays_apart() -> None:
    """Truth: NumPy's own indexing; layouts, types, subclasses and unwriteable arrays alike."""
    matrix = np.arange(8, dtype=np.int64).reshape(2, 4)
    frozen = matrix.copy()
    frozen.flags.writeable = False
    packed = np.zeros(33, np.uint8)[1:].view(np.int32).reshape(2, 4)
    packed[:] = matrix
    assert not packed.flags.aligned
    arrays = [
        matrix,
        frozen,
        packed,
        np.asfortranarray(matrix),
        np.repeat(matrix, 2, axis=1)[:, ::2],
        matrix.astype(np.uint16),
        matrix.astype(np.longlong),
        matrix.view(np.recarray),
    ]
    for array in arrays * 2:
        assert sum_rows(array) == 1234567
    assert sum_rows(matrix[:0]) == 0


def test_kernel__is_compiled_once_for_each_combination_of_types() -> None:
    """Truth: by definition; a subclass and another name of a type are no types of their own."""

    @njit
    def count(array: Any) -> int:
        return array.shape[0]

    kernel: Any = count
    for array in (
        np.zeros(3, np.int64),
        np.zeros(4, np.longlong),
        np.zeros(2, int).view(np.recarray),
    ):
        assert kernel(array) == len(array)
    assert len(kernel._entry_of_types) == 1
    assert kernel(np.zeros(5, np.int32)) == 5
    assert len(kernel._entry_of_types) == 2


@njit
def write_first(array: Any, value: Any) -> None:
    array[0] = value


def test_kernel__writes_and_returns_nothing() -> None:
    """Truth: by definition."""
    array = np.zeros(2, np.uint64)
    assert write_first(array, np.uint64(2**64 - 1)) is None
    assert array.tolist() == [2**64 - 1, 0]


@pytest.mark.parametrize("number", [0, 1, -1, 2**63 - 1, -(2**63)])
def test_kernel__takes_all_integers_of_64_bits(number: int) -> None:
    """Truth: by definition."""
    array = np.zeros(1, np.int64)
    write_first(array, number)
    assert array[0] == number


@pytest.mark.parametrize("wrong", [2**63, -(2**63) - 1, "text", b"bytes", object()])
def test_kernel__refuses_what_is_no_number(wrong: Any) -> None:
    """Truth: by definition; one error, and what was there goes on."""
    array = np.zeros(1, np.int64)
    write_first(array, 7)
    with pytest.raises(
        Exception, match=r"write_first|kernels take no|determine Numba type|int_oob|too"
    ):
        write_first(array, wrong)
    write_first(array, 8)
    assert array[0] == 8


def test_kernel__checks_how_many_arguments_there_are() -> None:
    """Truth: by definition."""
    array = np.zeros(1, np.int64)
    write_first(array, 7)
    kernel: Any = write_first
    for arguments in ((), (array,), (array, 1, 2)):
        with pytest.raises(TypeError):
            kernel(*arguments)


def test_kernel__keeps_no_references() -> None:
    """Truth: Python's own count of references."""
    outer = Outer(Inner(np.arange(5), 1), 1)
    more = np.zeros((1, 1), np.int64)
    add_up(outer, more, False)
    objects = (outer, outer.inner, outer.inner.numbers, more, None, NotImplemented, True)
    before = [sys.getrefcount(entry) for entry in objects]
    for _ in range(500):
        write_first(more[0], 1)
        add_up(outer, more, True)
    after = [sys.getrefcount(entry) for entry in objects]
    assert max(abs(i - j) for i, j in zip(before, after, strict=True)) < 50


def spin(n_rounds: int) -> int:
    """Compute for some nanoseconds a round."""
    number = np.uint64(1)
    for _ in range(n_rounds):
        number ^= number << np.uint64(13)
        number ^= number >> np.uint64(7)
        number ^= number << np.uint64(17)
    return np.int64(number >> np.uint64(1))


@pytest.mark.parametrize("decorate", [njit, njit_brief])
def test_kernel__releases_the_interpreter(decorate: Callable[..., Any]) -> None:
    """Truth: by definition; this thread goes on while another one is in a kernel that is not brief."""
    kernel = decorate(spin)
    kernel(1)
    spinning = threading.Thread(target=kernel, args=(300_000_000,))
    started = last = time.perf_counter()
    longest = 0.0
    spinning.start()
    while spinning.is_alive():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    longest = max(longest, time.perf_counter() - last)
    has_waited = longest > (time.perf_counter() - started) / 2
    assert has_waited == (decorate is njit_brief)


def test_kernel__may_be_called_first_by_many_threads() -> None:
    """Truth: by definition; it is compiled once, and all get their results."""

    @njit
    def double(number: int) -> int:
        return number * 2

    results: list[int] = []
    barrier = threading.Barrier(8)

    def call(number: int) -> None:
        barrier.wait()
        results.append(double(number))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 2, 4, 6, 8, 10, 12, 14]
    kernel: Any = double
    assert isinstance(kernel, Kernel)
    assert len(kernel._entry_of_types) == 1


def test_kernel__outside_an_array_raises_where_that_is_checked(tmp_path: Path) -> None:
    """Truth: Numba's documentation of NUMBA_BOUNDSCHECK."""
    script = (
        "import numpy as np\n"
        "from numbpe_kernels._jit import njit\n"
        "@njit\n"
        "def read(array, i):\n"
        "    return array[i]\n"
        "print(read(np.arange(3), 2))\n"
        "try:\n"
        "    read(np.arange(3), 3)\n"
        "except IndexError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "2\na kernel went outside an array\n"
