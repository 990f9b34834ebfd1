"""Object files in memory: with LLVM and without."""

import ctypes
import mmap
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from numbpe_kernels import _machine_code, _object_files
from numbpe_kernels._code_store import find_folder, load_code
from numbpe_kernels._jit import describe_type
from numbpe_kernels._llvm_linking import link_by_llvm
from numbpe_kernels._machine_code import PYTHON_FUNCTIONS, MachineCode, find_function, make_function
from numbpe_kernels._object_files import link_objects
from numbpe_kernels.utf8 import utf8_find_invalid

IS_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

pytestmark = pytest.mark.skipif(IS_DISABLED, reason="nothing is compiled")

needs_own_linker = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="elsewhere LLVM links",
)

TEXT = "plain, \u00e9t\u00e9, \u4e2d\u6587 ".encode() * 9 + b"\xff and more" + bytes(64)


def load() -> MachineCode:
    """Return the machine code of a kernel; it is compiled if it was not yet."""
    arguments = (np.frombuffer(TEXT, np.uint8).copy(), 0, len(TEXT) - 64)
    utf8_find_invalid(*arguments)
    types = ", ".join(describe_type(argument) for argument in arguments)
    code = load_code(utf8_find_invalid.py_func, types)  # type: ignore[attr-defined]
    if code is None:
        assert find_folder() is None
        pytest.skip("no folder for machine code can be written")
    return code


def call(function: Callable[..., int]) -> list[int]:
    text = np.frombuffer(TEXT, np.uint8).copy()
    return [function(text, start, len(TEXT) - 64) for start in range(120)]


@needs_own_linker
def test_link_objects__links_what_numba_compiles_here() -> None:
    """Truth: the function in plain Python."""
    code = load()
    addresses = link_objects(code.objects, find_function)
    assert addresses is not None
    assert {code.name, f"{code.name}.classes"} <= addresses.keys()
    expected = call(utf8_find_invalid.py_func)  # type: ignore[attr-defined]
    assert call(make_function("own", code)) == expected


def test_link_by_llvm__gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: the function in plain Python; on any system."""
    code = load()
    monkeypatch.setattr(_machine_code, "link_objects", lambda *arguments: None)
    expected = call(utf8_find_invalid.py_func)  # type: ignore[attr-defined]
    assert call(make_function("llvm", code)) == expected
    assert link_by_llvm(code.objects, PYTHON_FUNCTIONS, find_function, code.name)[code.name] > 0


@needs_own_linker
def test_link_objects__memory_that_is_run_cannot_be_written() -> None:
    """Truth: /proc/self/maps, of the kernel of the system."""
    code = load()
    addresses = link_objects(code.objects, find_function)
    assert addresses is not None
    found = {}
    with open("/proc/self/maps", encoding="ascii") as file:
        for line in file:
            bounds, rights = line.split()[:2]
            start, stop = (int(bound, 16) for bound in bounds.split("-"))
            for name, address in addresses.items():
                if start <= address < stop:
                    found[name] = rights[:3]
    assert found[code.name] == "r-x"
    assert found[f"{code.name}.classes"] == "rw-"


def patch(content: bytes, offset: int, value: bytes) -> bytes:
    return content[:offset] + value + content[offset + len(value) :]


def make_other_relocation(content: bytes) -> bytes:
    """Return an object file whose first relocation of code is of the type R_X86_64_PC32."""
    file = _object_files._ObjectFile(content)
    for section in file.sections:
        if section.kind == 4 and file.is_loaded(section.info):
            (info,) = struct.unpack_from("<Q", content, section.offset + 8)
            return patch(content, section.offset + 8, struct.pack("<Q", info & ~0xFFFFFFFF | 2))
    raise AssertionError("no relocation")


@needs_own_linker
@pytest.mark.parametrize(
    "change",
    [
        lambda content: b"",
        lambda content: content[:100],
        lambda content: content[:-40],
        lambda content: patch(content, 0, b"MZ"),
        lambda content: patch(content, 4, b"\x01"),
        lambda content: patch(content, 18, struct.pack("<H", 183)),
        make_other_relocation,
    ],
    ids=["empty", "head", "cut", "other format", "32 bits", "ARM64", "other relocation"],
)
def test_link_objects__leaves_what_it_does_not_know_to_llvm(
    change: Callable[[bytes], bytes],
) -> None:
    """Truth: by definition."""
    code = load()
    kernel, entry = code.objects
    assert link_objects((kernel, change(entry)), find_function) is None


@needs_own_linker
def test_link_objects__leaves_unknown_functions_to_llvm() -> None:
    """Truth: by definition."""
    code = load()

    def find_nothing(name: str) -> int:
        raise ValueError(name)

    assert link_objects(code.objects, find_nothing) is None


@needs_own_linker
def test_link_objects__where_memory_may_not_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: by definition; the system refuses a right that does not exist."""
    code = load()
    monkeypatch.setattr(mmap, "PROT_EXEC", 1 << 20)
    assert link_objects(code.objects, find_function) is None


def test_find_function() -> None:
    """Truth: ctypes."""
    address = ctypes.cast(ctypes.pythonapi.PyTuple_New, ctypes.c_void_p).value
    assert find_function("PyTuple_New") == address
    with pytest.raises(ValueError, match="no function no_such_function"):
        find_function("no_such_function")


def test_functions__outlive_the_modules_that_made_them() -> None:
    """Truth: the process ends without a crash: what Python looks at when it frees a function is still there."""
    script = """
import sys
import numpy as np
from numbpe_kernels import _jit, _machine_code, _object_files
from numbpe_kernels._jit import prepare_kernel
from numbpe_kernels.utf8 import utf8_count_beyond_ascii

function = prepare_kernel(utf8_count_beyond_ascii, np.zeros(8, dtype=np.uint8))
utf8_count_beyond_ascii = None
for module in (_machine_code, _object_files, _jit):
    vars(module).clear()
for name in [name for name in sys.modules if name.startswith("numbpe")]:
    vars(sys.modules.pop(name)).clear()
import gc
gc.collect()
# What was freed is overwritten.
filling = [bytes([255]) * size for size in range(16, 512, 16) for _ in range(2000)]
assert function(np.full(8, 200, dtype=np.uint8)) == 8
del function
gc.collect()
print("ended")
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"ended\n"), ended.stderr.decode()
