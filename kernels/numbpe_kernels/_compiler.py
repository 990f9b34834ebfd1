"""Kernels to machine code, by Numba, which only this room, ``_entry_points`` and the intrinsics import."""

import functools
from collections.abc import Iterator
from typing import Any

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.core.types.misc import unliteral
from numba.extending import typeof_impl

# What gives the functions of memory, packed_rows, utf8_writing and views their compiled form.
from numbpe_kernels import (
    memory_intrinsics,  # noqa: F401
    packed_rows_intrinsics,  # noqa: F401
    utf8_writing_intrinsics,  # noqa: F401
    views_intrinsics,  # noqa: F401
)
from numbpe_kernels._entry_points import build_entry_point
from numbpe_kernels._jit import Kernel
from numbpe_kernels._machine_code import MachineCode


@functools.cache
def find_dispatcher(kernel: Kernel) -> Any:
    """Return Numba's own object for a kernel, of which one is made for each."""
    dispatcher: Any = numba.njit(**kernel.options)(kernel.py_func)
    _accept_no_literals(dispatcher)
    return dispatcher


def _accept_no_literals(dispatcher: Any) -> None:
    """Let callers compile ``dispatcher`` for the type of a literal, not for its value.

    A variable that starts as 0 is first typed as that literal, and each kernel called with it would
    be compiled for it, and then again for int64.
    """
    find_template = dispatcher.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        return find_template(
            tuple(unliteral(kind) for kind in arguments),
            {name: unliteral(kind) for name, kind in keywords.items()},
        )

    dispatcher.get_call_template = get_call_template


@typeof_impl.register(Kernel)
def _type_kernel(kernel: Kernel, context: Any) -> Any:
    """Let a kernel that another one calls be what Numba knows as a function."""
    return typeof_impl(find_dispatcher(kernel), context)


def compile_kernel(kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
    """Return what Numba knows of a kernel that was compiled for such arguments."""
    dispatcher = find_dispatcher(kernel)
    types = tuple(numba.typeof(argument) for argument in arguments)
    dispatcher.compile(types)
    return dispatcher.overloads[types]


@global_compiler_lock
def compile_code(kernel: Kernel, arguments: tuple[Any, ...]) -> MachineCode:
    """Return the machine code of a kernel for arguments of these types, and of what calls it."""
    compiled = compile_kernel(kernel, arguments)
    classes = list(dict.fromkeys(_list_classes(arguments)))
    entry_point, result_class = build_entry_point(
        compiled, arguments, classes, is_brief=kernel.is_brief
    )
    objects = (
        _get_object(compiled.library, compiled.fndesc.llvm_func_name),
        _get_object(entry_point, entry_point.name),
    )
    return MachineCode(objects, entry_point.name, tuple(classes), result_class)


def _get_object(library: Any, function_name: str) -> bytes:
    """Return the object file of a library, which is made when the address of a function is asked for."""
    library.get_pointer_to_function(function_name)
    _, _, (content, _) = library.serialize_using_object_code()
    return content  # type: ignore[no-any-return]


def _list_classes(arguments: tuple[Any, ...]) -> Iterator[type]:
    """Yield the classes of arguments, fields of structures included."""
    for argument in arguments:
        yield type(argument)
        if isinstance(argument, tuple):
            yield from _list_classes(argument)
