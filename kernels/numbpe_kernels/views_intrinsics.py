"""What Numba makes of the functions of ``views``: arrays over memory that it does not own."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

from numbpe_kernels.views import (
    view_i32,
    view_i64,
    view_i64_matrix,
    view_u8,
    view_u8_matrix,
    view_u16,
    view_u32,
    view_u64,
)


def _declare_view(view: Callable[..., Any], dtype: type, n_dimensions: int = 1) -> None:
    """Give the plain function ``view(address, length, ...)`` its compiled form.

    It is lowered by hand: where references are not counted, no compiled function may return an
    array that it was not given.
    """
    element = from_dtype(np.dtype(dtype))
    array_type = types.Array(element, n_dimensions, "C")
    n_bytes = np.dtype(dtype).itemsize

    @type_callable(view)
    def type_view(typing_context: Any) -> Any:
        return _make_typer(array_type, n_dimensions)

    @lower_builtin(view, *[types.Integer] * (1 + n_dimensions))
    def lower_view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, *shape = (
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(arguments, signature.args, strict=True)
        )
        array = context.make_array(array_type)(context, builder)
        data = builder.inttoptr(address, context.get_data_type(element).as_pointer())
        item = context.get_constant(types.intp, n_bytes)
        strides = [item]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
        return array._getvalue()


def _make_typer(array_type: Any, n_dimensions: int) -> Any:
    """Return a function with as many arguments as a view of ``n_dimensions`` takes."""

    def type_vector(address: Any, length: Any) -> Any:
        return array_type

    def type_matrix(address: Any, n_rows: Any, n_columns: Any) -> Any:
        return array_type

    return type_vector if n_dimensions == 1 else type_matrix


_declare_view(view_u8, np.uint8)
_declare_view(view_u16, np.uint16)
_declare_view(view_u32, np.uint32)
_declare_view(view_u64, np.uint64)
_declare_view(view_i32, np.int32)
_declare_view(view_i64, np.int64)
_declare_view(view_u8_matrix, np.uint8, 2)
_declare_view(view_i64_matrix, np.int64, 2)
