"""How kernels are compiled and called: the one place that decides about Numba's options.

A kernel is compiled when it is first called, never at import, releases the GIL unless it is brief, and is
kept between processes as machine code. To load that takes no Numba: its import and its start, most of a
second and 70 MB, are left to processes that have something to compile.

``_compiler`` makes machine code by Numba, ``_entry_points`` the part of it that takes Python's objects
apart, and ``_code_store`` keeps both in files. ``_machine_code`` makes functions of them, which
``_object_files`` or, where these are not that simple, ``_llvm_linking`` brings into memory.
"""

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

_OPTIONS = {
    # Kernels neither allocate nor keep arrays, so references need not be counted: each array of a
    # structure would cost an atomic increment and decrement at every call. A kernel that allocates
    # does not compile.
    "_nrt": False,
    # Wrappers for callers in Python and in C, of which there are none: see _entry_points.
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_IS_DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

_making_code = threading.RLock()


class Kernel:
    """A function that is compiled for each combination of types that it is called with.

    py_func : the function in plain Python
    options : what Numba is told when it is compiled
    is_brief : whether it keeps the GIL
    """

    py_func: Callable[..., Any]

    def __init__(
        self, function: Callable[..., Any], options: dict[str, bool], *, is_brief: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.options = options
        self.is_brief = is_brief
        self._entry: Callable[..., Any] = _refuse
        self._entries: tuple[Callable[..., Any], ...] = ()
        self._entry_of_types: dict[str, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function for arguments of these types."""
        # That of the first types: nearly all kernels are called with no others.
        result = self._entry(*arguments)
        return self._call_other(arguments) if result is NotImplemented else result

    def _call_other(self, arguments: tuple[Any, ...]) -> Any:
        """Call what was not loaded yet, is for other types, or was handed arrays of a subclass."""
        for entry in self._entries[1:]:
            result = entry(*arguments)
            if result is not NotImplemented:
                return result
        arguments = tuple(_simplify(argument) for argument in arguments)
        result = self.find_entry(arguments)(*arguments)
        if result is NotImplemented:
            types = ", ".join(describe_type(argument) for argument in arguments)
            raise TypeError(f"{self.py_func.__name__} takes no arguments of the types {types}")
        return result

    def find_entry(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the compiled function for arguments of these types, as ``prepare_kernel`` does."""
        types = ", ".join(describe_type(argument) for argument in arguments)
        with _making_code:
            if types not in self._entry_of_types:
                self._entry_of_types[types] = self._load_entry(types, arguments)
                self._entries = (*self._entry_of_types.values(),)
                self._entry = self._entries[0]
            return self._entry_of_types[types]

    def _load_entry(self, types: str, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        # Only now: a program may end without calling any kernel.
        from numbpe_kernels._code_store import load_code, save_code
        from numbpe_kernels._machine_code import make_function

        # The entry point of a brief kernel is another one.
        types = f"brief: {types}" if self.is_brief else types
        code = load_code(self.py_func, types)
        if code is None:
            from numbpe_kernels._compiler import compile_code

            code = compile_code(self, arguments)
            save_code(self.py_func, types, code)
        return make_function(self.py_func.__name__, code)


def _refuse(*arguments: Any) -> Any:
    """Do what the entry of a kernel does with arguments of other types."""
    return NotImplemented


def _simplify(argument: Any) -> Any:
    """Return arrays of a subclass, or of another name for the same type, as kernels know them."""
    if isinstance(argument, np.ndarray):
        plain = argument.view(np.ndarray)
        kind = np.dtype(plain.dtype.str)
        return plain if plain.dtype is kind else plain.view(kind)
    if isinstance(argument, tuple):
        fields = [_simplify(field) for field in argument]
        make = getattr(argument, "_make", tuple)
        return make(fields)
    return argument


def describe_type(argument: Any) -> str:
    """Return the name of what a kernel is compiled for when it is called with ``argument``.

    >>> describe_type(np.zeros((2, 3), np.int32)), describe_type(7)
    ('<i4[2C]', 'builtins.int')
    """
    kind = type(argument)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(argument, tuple):
        return f"{name}({', '.join(describe_type(field) for field in argument)})"
    if kind is not np.ndarray:
        return name
    flags = argument.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    writeable = "" if flags.writeable else " read-only"
    return f"{argument.dtype.str}[{argument.ndim}{layout}{writeable}]"


def _make_kernel(
    function: Callable[_Parameters, _Result], options: dict[str, bool], *, is_brief: bool = False
) -> Callable[_Parameters, _Result]:
    if _IS_DISABLED:
        return function
    return cast(Callable[..., Any], Kernel(function, options, is_brief=is_brief))


def prepare_kernel(kernel: Callable[..., _Result], *arguments: Any) -> Callable[..., _Result]:
    """Return what calls a kernel with arguments of these types and no others, in a third of the time.

    For other arguments it does nothing and returns NotImplemented.
    """
    return kernel.find_entry(arguments) if isinstance(kernel, Kernel) else kernel


def njit(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Compile ``function`` when it is first called; cached between processes, without the GIL.

    Under ``NUMBA_DISABLE_JIT=1`` the function is returned as it is. Typed as the identity, so that
    type checkers see a kernel's own signature.
    """
    return _make_kernel(function, _OPTIONS)


def njit_brief(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Do as ``njit``, but keep the GIL: for what takes some microseconds.

    A thread that gives it away to one that waits for it has to wait in turn, and to be woken: tens of
    microseconds.
    """
    return _make_kernel(function, _OPTIONS, is_brief=True)


def njit_inline(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Compile ``function`` into its callers, for what is called for each byte, word or merge.

    A structure of arrays travels by value, 56 bytes an array: a call that LLVM does not take for
    small may cost more than what it does. Merging a word became twice as fast by this.
    """
    return _make_kernel(function, {**_OPTIONS, "forceinline": True})
