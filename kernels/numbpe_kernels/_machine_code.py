"""Machine code to functions that Python calls."""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from numbpe_kernels._object_files import keep_forever, link_objects

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
    "PyLong_AsLongLong",
    "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong",
    "PyTuple_New",
    "PyTuple_SetItem",
)
"""What entry points call of Python."""

_METH_FASTCALL = 0x0080

# A prototype of our own: the attributes of ctypes.pythonapi are everybody's.
_make_builtin = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


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


def find_function(name: str) -> int:
    """Return the address of a function of Python, or of C's library; ValueError if there is none."""
    library = ctypes.pythonapi if name in PYTHON_FUNCTIONS else ctypes.CDLL(None)
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        raise ValueError(f"no function {name}") from None


def make_function(name: str, code: MachineCode) -> Callable[..., Any]:
    """Return the builtin function that calls machine code.

    It returns NotImplemented if the arguments are not those that the code was compiled for.
    """
    table = f"{code.name}.classes"
    addresses = link_objects(code.objects, find_function)
    if addresses is None:
        from numbpe_kernels._llvm_linking import link_by_llvm

        addresses = link_by_llvm(code.objects, PYTHON_FUNCTIONS, find_function, code.name, table)
    _fill_table(addresses[table], code.classes + CONSTANTS)
    definition = _MethodDefinition(name.encode(), addresses[code.name], _METH_FASTCALL, None)
    function = _make_builtin(ctypes.addressof(definition), None, None)
    # Python looks at the definition when it frees the function.
    keep_forever((definition, code.classes, function))
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
