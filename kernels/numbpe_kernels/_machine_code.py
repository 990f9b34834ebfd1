"""Machine code to functions that Python calls, by LLVM alone."""

import ctypes
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm

CONSTANTS: tuple[Any, ...] = (None, NotImplemented, True, IndexError)
"""Objects that every entry point knows: they stand behind the classes in its table."""

PYTHON_FUNCTIONS = (
    "Py_IncRef",
    "PyBool_FromLong",
    "PyErr_Clear",
    "PyErr_Occurred",
    "PyErr_SetString",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_FromDouble",
    "PyLong_AsLongLong",
    "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong",
    "PyTuple_New",
    "PyTuple_SetItem",
)
"""What entry points call of Python."""

_METH_FASTCALL = 0x0080


class MachineCode(NamedTuple):
    """A kernel compiled for some types.

    objects : object files, of the kernel and of its entry point
    name : the entry point, a C function ``PyObject *(PyObject *, PyObject *const *, Py_ssize_t)``
    classes : those that arguments must have exactly, in the order of the entry point's table, the
        variable ``<name>.classes``, in which CONSTANTS follow
    result_class : the NamedTuple that the kernel returns, or None: the entry point returns a tuple
    """

    objects: tuple[bytes, ...]
    name: str
    classes: tuple[type, ...]
    result_class: type | None


class _MethodDefinition(ctypes.Structure):
    """PyMethodDef of Python's C interface."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


_kept: list[Any] = []
"""What must live as long as the functions: kernels are never unloaded."""


@functools.cache
def start_llvm() -> None:
    """Make LLVM ready for machine code of this machine, and for what that calls."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in PYTHON_FUNCTIONS:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvm.add_symbol(name, address)


def make_function(name: str, code: MachineCode) -> Callable[..., Any]:
    """Return the builtin function that calls machine code.

    It returns NotImplemented if the arguments are not those that the code was compiled for.
    """
    start_llvm()
    # An engine of its own: kernels hold copies of the functions that they share, of the same name.
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    for content in code.objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    _fill_table(engine.get_global_value_address(f"{code.name}.classes"), code.classes + CONSTANTS)
    definition = _MethodDefinition(
        name.encode(), engine.get_function_address(code.name), _METH_FASTCALL, None
    )
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p,) * 3
    function = make(ctypes.addressof(definition), None, None)
    _kept.append((engine, definition, code.classes, function))
    if code.result_class is None:
        return function  # type: ignore[no-any-return]
    return _name_results(function, code.result_class)


def _fill_table(address: int, objects: tuple[Any, ...]) -> None:
    table = (ctypes.c_void_p * len(objects)).from_address(address)
    for i, entry in enumerate(objects):
        table[i] = id(entry)


def _name_results(function: Callable[..., Any], result_class: Any) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        return result if result is NotImplemented else result_class._make(result)

    return call
