"""Entry points: the C functions by which Python calls compiled kernels.

An entry point checks that its arguments are of the exact types that its kernel was compiled for, takes
them apart, calls the kernel without the GIL, and makes an object of its result. It reads the memory of
Python's objects as their C structures lay it out, and knows classes by a table of their addresses.

Numba has wrappers for this, which need Numba; these need the functions of Python named in
``_machine_code``, and tell a wrong type themselves.
"""

import ctypes
import hashlib
import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types as numba_types
from numba.np.arrayobj import populate_array

from numbpe_kernels._machine_code import CONSTANTS

types: Any = numba_types

_HEADER = object.__basicsize__
_CLASS = _HEADER - ctypes.sizeof(ctypes.c_void_p)
"""Where the fields of an object begin, and where its class stands, the last of its header."""

_ITEMS = tuple.__basicsize__
_N_ITEMS = _HEADER
"""Of a tuple: where its items begin, and their number."""

_DATA, _N_DIMENSIONS, _SHAPE, _STRIDES, _DTYPE, _FLAGS = (
    _HEADER + offset for offset in (0, 8, 16, 24, 40, 48)
)
"""Fields of PyArrayObject, in NumPy 1 and 2."""

_DTYPE_KIND = _HEADER + 8
"""Of PyArray_Descr: kind, type, byte order, a byte of flags, and the number of the type, in 8 bytes."""

_CONTIGUOUS, _FORTRAN, _WRITEABLE = 0x001, 0x002, 0x400
"""Bits of an array's flags."""

_BYTE, _INT, _LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_POINTER = _BYTE.as_pointer()


def build_entry_point(
    compiled: Any, arguments: tuple[Any, ...], classes: list[type], *, is_brief: bool
) -> tuple[Any, type | None]:
    """Return the library of the entry point of what Numba compiled, named as the entry point is.

    compiled : the CompileResult of the kernel; arguments : some that it is called with
    classes : in the order of the table; see MachineCode, for the second result, too
    is_brief : whether the kernel keeps the GIL
    """
    context = compiled.target_context
    identity = f"{compiled.fndesc.llvm_func_name} {classes}"
    name = f"numbpe.{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    library = context.codegen().create_library(name)
    library.enable_object_caching()
    module = library.create_ir_module(name)
    builder = _EntryBuilder(context, module, name, classes)
    builder.build(compiled.fndesc, arguments, is_brief=is_brief)
    library.add_ir_module(module)
    library.finalize()
    result = compiled.signature.return_type
    return library, getattr(result, "instance_class", None)


class _EntryBuilder:
    """Writes one entry point into a module of LLVM's intermediate language."""

    def __init__(self, context: Any, module: Any, name: str, classes: list[type]) -> None:
        self._context = context
        self._module = module
        self._classes = classes
        size = len(classes) + len(CONSTANTS)
        table_type = ir.ArrayType(_LONG, size)
        self._table = ir.GlobalVariable(module, table_type, f"{name}.classes")
        self._table.initializer = ir.Constant(table_type, [0] * size)
        kind = ir.FunctionType(_POINTER, [_POINTER, _POINTER.as_pointer(), _LONG])
        self._function = ir.Function(module, kind, name)
        self._builder = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._mismatch = self._function.append_basic_block("mismatch")

    def build(self, description: Any, arguments: tuple[Any, ...], *, is_brief: bool) -> None:
        """Write the entry point of the kernel that ``description``, of Numba, describes."""
        _, pointers, n_arguments = self._function.args
        self._require(n_arguments, _LONG(len(arguments)))
        builder, context = self._builder, self._context
        values = []
        for i, (kind, argument) in enumerate(zip(description.argtypes, arguments, strict=True)):
            address = builder.load(builder.gep(pointers, [_LONG(i)]))
            values.append(self._unpack(kind, argument, address))
        thread = None if is_brief else self._call("PyEval_SaveThread", _POINTER)
        kernel = context.declare_function(self._module, description)
        status, result = context.call_conv.call_function(
            builder, kernel, description.restype, description.argtypes, values
        )
        if thread is not None:
            self._call("PyEval_RestoreThread", ir.VoidType(), thread)
        self._raise_if(status.is_error)
        builder.ret(self._pack(description.restype, result))
        builder.position_at_end(self._mismatch)
        builder.ret(self._return_object(NotImplemented))

    def _unpack(self, kind: Any, argument: Any, address: Any) -> Any:
        """Return what Numba works with for an object of the class of ``argument``, at an address."""
        self._require(self._load(address, _CLASS, _LONG), self._entry(type(argument)))
        if isinstance(kind, types.BaseTuple):
            self._require(self._load(address, _N_ITEMS, _LONG), _LONG(len(argument)))
            fields = [
                self._unpack(field, argument[i], self._load(address, _ITEMS + 8 * i, _POINTER))
                for i, field in enumerate(kind)
            ]
            return self._context.make_tuple(self._builder, kind, fields)
        if isinstance(kind, types.Array):
            return self._unpack_array(kind, argument, address)
        return self._unpack_number(kind, argument, address)

    def _unpack_array(self, kind: Any, argument: Any, address: Any) -> Any:
        builder, context = self._builder, self._context
        # Alignment is not asked for, as Numba does not: processors load from anywhere.
        flags = _WRITEABLE | _CONTIGUOUS | (0 if kind.layout == "C" else _FORTRAN)
        expected = {"C": _CONTIGUOUS, "F": _FORTRAN, "A": 0}[kind.layout]
        expected |= _WRITEABLE if kind.mutable else 0
        found = builder.and_(self._load(address, _FLAGS, _INT), _INT(flags))
        self._require(found, _INT(expected))
        self._require(self._load(address, _N_DIMENSIONS, _INT), _INT(kind.ndim))
        mask = int.from_bytes(b"\xff\xff\xff\0\xff\xff\xff\xff", sys.byteorder)
        dtype = self._load(self._load(address, _DTYPE, _POINTER), _DTYPE_KIND, _LONG)
        known = ctypes.string_at(id(argument.dtype) + _DTYPE_KIND, 8)
        known_number = int.from_bytes(known, sys.byteorder) & mask
        self._require(builder.and_(dtype, _LONG(mask)), _LONG(known_number))

        def load_lengths(offset: int) -> list[Any]:
            numbers = self._load(address, offset, _POINTER)
            return [self._load(numbers, 8 * i, _LONG) for i in range(kind.ndim)]

        array = context.make_array(kind)(context, builder)
        element = context.get_data_type(kind.dtype)
        populate_array(
            array,
            data=self._load(address, _DATA, element.as_pointer()),
            shape=load_lengths(_SHAPE),
            strides=load_lengths(_STRIDES),
            itemsize=context.get_constant(types.intp, context.get_abi_sizeof(element)),
            meminfo=None,
        )
        return array._getvalue()

    def _unpack_number(self, kind: Any, argument: Any, address: Any) -> Any:
        builder, context = self._builder, self._context
        if kind == types.none:
            return context.get_dummy_value()
        if isinstance(argument, bool):
            return builder.icmp_unsigned("==", builder.ptrtoint(address, _LONG), self._entry(True))
        if type(argument) is int and kind == types.int64:
            number = self._call("PyLong_AsLongLong", _LONG, address)
            self._require_fit(number)
            return number
        if isinstance(kind, types.Boolean | types.Integer | types.Float) and isinstance(
            argument, np.generic | float
        ):
            stored = context.get_data_type(kind)
            number = self._load(address, _HEADER, stored)
            return context.data_model_manager[kind].from_data(builder, number)
        raise TypeError(f"kernels take no {type(argument).__name__} such as {argument!r}")

    def _pack(self, kind: Any, value: Any) -> Any:
        """Return the address of a new object for what a kernel returned."""
        builder = self._builder
        if kind == types.none:
            return self._return_object(None)
        if kind == types.boolean:
            return self._call("PyBool_FromLong", _POINTER, builder.zext(value, _LONG))
        if isinstance(kind, types.Integer):
            extend = builder.sext if kind.signed else builder.zext
            number = value if value.type == _LONG else extend(value, _LONG)
            name = "PyLong_FromLongLong" if kind.signed else "PyLong_FromUnsignedLongLong"
            return self._call(name, _POINTER, number)
        if isinstance(kind, types.BaseTuple):
            result = self._call("PyTuple_New", _POINTER, _LONG(len(kind)))
            for i, field in enumerate(kind):
                item = self._pack(field, builder.extract_value(value, i))
                self._call("PyTuple_SetItem", _INT, result, _LONG(i), item)
            return result
        raise TypeError(f"a kernel that Python calls returns numbers, not {kind}")

    def _return_object(self, result: Any) -> Any:
        address = self._builder.inttoptr(self._entry(result), _POINTER)
        self._call("Py_IncRef", ir.VoidType(), address)
        return address

    def _require(self, found: Any, expected: Any) -> None:
        """Go on where two numbers are equal, and to the end otherwise."""
        self._go_on_if(self._builder.icmp_unsigned("==", found, expected), self._mismatch)

    def _require_fit(self, number: Any) -> None:
        """Go on if PyLong_AsLongLong could return the number."""
        with self._builder.if_then(
            self._builder.icmp_unsigned("==", number, _LONG(-1)), likely=False
        ):
            error = self._call("PyErr_Occurred", _POINTER)
            is_error = self._builder.icmp_unsigned("!=", error, _POINTER(None))
            with self._builder.if_then(is_error, likely=False):
                self._call("PyErr_Clear", ir.VoidType())
                self._builder.branch(self._mismatch)

    def _raise_if(self, is_error: Any) -> None:
        """Let an access outside an array, found by NUMBA_BOUNDSCHECK=1, raise an error."""
        with self._builder.if_then(is_error, likely=False):
            kind = self._builder.inttoptr(self._entry(IndexError), _POINTER)
            text = b"a kernel went outside an array\0"
            content = ir.Constant(ir.ArrayType(_BYTE, len(text)), bytearray(text))
            message = ir.GlobalVariable(self._module, content.type, "message")
            message.initializer, message.linkage = content, "private"
            address = self._builder.bitcast(message, _POINTER)
            self._call("PyErr_SetString", ir.VoidType(), kind, address)
            self._builder.ret(_POINTER(None))

    def _go_on_if(self, condition: Any, otherwise: Any) -> None:
        block = self._function.append_basic_block("next")
        self._builder.cbranch(condition, block, otherwise)
        self._builder.position_at_end(block)

    def _entry(self, known: Any) -> Any:
        """Return the address of a class or a constant, int64, from the table."""
        known_objects = (*self._classes, *CONSTANTS)
        i = next(i for i, entry in enumerate(known_objects) if entry is known)
        return self._builder.load(self._builder.gep(self._table, [_INT(0), _INT(i)]))

    def _load(self, address: Any, offset: int, kind: Any) -> Any:
        place = self._builder.gep(address, [_LONG(offset)])
        return self._builder.load(self._builder.bitcast(place, kind.as_pointer()))

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = self._module.globals.get(name) or ir.Function(self._module, kind, name)
        return self._builder.call(function, arguments)
