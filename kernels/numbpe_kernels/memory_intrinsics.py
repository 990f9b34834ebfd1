"""What Numba makes of the functions of ``memory``: an LLVM instruction or two each."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.cgutils import alloca_once
from numba.extending import intrinsic, lower_builtin, overload, type_callable
from numba.np.arrayobj import populate_array

from numbpe_kernels.memory import (
    clear_lowest_one,
    count_leading_zeros,
    count_ones,
    count_trailing_zeros,
    find_least,
    load_u64,
    make_block,
    make_opaque,
    mask_bit,
    mask_block,
    prefetch,
)


@intrinsic
def _load_u64(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        structure = context.make_array(array)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], index, types.intp)
        address = builder.gep(structure.data, [position])
        return builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(array, index), generate


@overload(load_u64)
def _overload_load_u64(array: Any, index: Any) -> Any:
    def load(array: Any, index: Any) -> Any:
        return _load_u64(array, index)  # type: ignore[call-arg]

    is_bytes = isinstance(array, types.Array) and array.dtype == types.uint8
    return load if is_bytes and isinstance(index, types.Integer) else None


@intrinsic
def _count_trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@overload(count_trailing_zeros)
def _overload_count_trailing_zeros(word: Any) -> Any:
    def count(word: Any) -> Any:
        return _count_trailing_zeros(word)  # type: ignore[call-arg]

    return count if word == types.uint64 else None


@intrinsic
def _count_leading_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@overload(count_leading_zeros)
def _overload_count_leading_zeros(word: Any) -> Any:
    def count(word: Any) -> Any:
        return _count_leading_zeros(word)  # type: ignore[call-arg]

    return count if word == types.uint64 else None


@intrinsic
def _count_ones(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@overload(count_ones)
def _overload_count_ones(word: Any) -> Any:
    def count(word: Any) -> Any:
        return _count_ones(word)  # type: ignore[call-arg]

    return count if word == types.uint64 else None


@intrinsic
def _clear_lowest_one(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        below = builder.sub(arguments[0], ir.Constant(ir.IntType(64), 1))
        return builder.and_(arguments[0], below)

    return types.uint64(types.uint64), generate


@overload(clear_lowest_one)
def _overload_clear_lowest_one(word: Any) -> Any:
    def clear(word: Any) -> Any:
        return _clear_lowest_one(word)  # type: ignore[call-arg]

    return clear if word == types.uint64 else None


@intrinsic
def _make_opaque(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        barrier = ir.FunctionType(ir.IntType(64), [ir.IntType(64)])
        return builder.asm(barrier, "", "=r,0", [arguments[0]], False)

    return types.uint64(types.uint64), generate


@overload(make_opaque)
def _overload_make_opaque(word: Any) -> Any:
    def opaque(word: Any) -> Any:
        return _make_opaque(word)  # type: ignore[call-arg]

    return opaque if word == types.uint64 else None


@intrinsic
def _find_least(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block_type = ir.VectorType(ir.IntType(32), 16)
        data = context.make_array(array)(context, builder, arguments[0]).data
        address = builder.gep(data, [arguments[1]])
        block = builder.load(builder.bitcast(address, block_type.as_pointer()), align=4)
        kind = ir.FunctionType(ir.IntType(32), [block_type])
        name = "llvm.vector.reduce.smin.v16i32"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [block])

    return types.int32(array, index), generate


@overload(find_least)
def _overload_find_least(array: Any, index: Any) -> Any:
    def least(array: Any, index: Any) -> Any:
        return _find_least(array, index)  # type: ignore[call-arg]

    return least


@intrinsic
def _mask_block(typing_context: Any, text: Any, index: Any, fold: Any, low: Any, span: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block_type = ir.VectorType(ir.IntType(8), 64)
        structure = context.make_array(text)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], index, types.intp)
        address = builder.gep(structure.data, [position])
        block = builder.load(builder.bitcast(address, block_type.as_pointer()), align=1)

        def spread(byte: Any) -> Any:
            first = ir.IntType(32)(0)
            one = builder.insert_element(ir.Constant(block_type, ir.Undefined), byte, first)
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
            return builder.shuffle_vector(one, ir.Constant(block_type, ir.Undefined), lanes)

        folded = builder.or_(block, spread(arguments[2]))
        above = builder.sub(folded, spread(arguments[3]))
        hits = builder.icmp_unsigned("<=", above, spread(arguments[4]))
        mask = builder.bitcast(hits, ir.IntType(64))
        barrier = ir.FunctionType(ir.IntType(64), [ir.IntType(64)])
        return builder.asm(barrier, "", "=r,0", [mask], False)

    return types.uint64(text, index, types.uint8, types.uint8, types.uint8), generate


@overload(mask_block)
def _overload_mask_block(text: Any, index: Any, fold: Any, low: Any, span: Any) -> Any:
    def mask(text: Any, index: Any, fold: Any, low: Any, span: Any) -> Any:
        return _mask_block(text, index, fold, low, span)

    return mask


@intrinsic
def _mask_bit(typing_context: Any, flags: Any, bit: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block_type = ir.VectorType(ir.IntType(8), 64)
        data = context.make_array(flags)(context, builder, arguments[0]).data
        block = builder.load(builder.bitcast(data, block_type.as_pointer()), align=1)
        # The bit becomes the sign of its byte, which one instruction gathers.
        shift = builder.sub(ir.IntType(8)(7), builder.trunc(arguments[1], ir.IntType(8)))
        shifts = ir.Constant(block_type, ir.Undefined)
        shifts = builder.insert_element(shifts, shift, ir.IntType(32)(0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        shifts = builder.shuffle_vector(shifts, ir.Constant(block_type, ir.Undefined), lanes)
        zeros = ir.Constant(block_type, [0] * 64)
        hits = builder.icmp_signed("<", builder.shl(block, shifts), zeros)
        mask = builder.bitcast(hits, ir.IntType(64))
        barrier = ir.FunctionType(ir.IntType(64), [ir.IntType(64)])
        return builder.asm(barrier, "", "=r,0", [mask], False)

    return types.uint64(flags, types.int64), generate


@overload(mask_bit)
def _overload_mask_bit(flags: Any, bit: Any) -> Any:
    def mask(flags: Any, bit: Any) -> Any:
        return _mask_bit(flags, bit)  # type: ignore[call-arg]

    return mask


# Where references are not counted, no compiled function may return an array that it was not given,
# as an overload would: hence a typer and a lowering, as in ``views``.
@type_callable(make_block)
def _type_make_block(typing_context: Any) -> Any:
    return lambda: types.Array(types.uint8, 1, "C")


@lower_builtin(make_block)
def _lower_make_block(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    room = alloca_once(builder, ir.VectorType(ir.IntType(8), 64))
    array = context.make_array(signature.return_type)(context, builder)
    data = builder.bitcast(room, ir.IntType(8).as_pointer())
    length = context.get_constant(types.intp, 64)
    item = context.get_constant(types.intp, 1)
    populate_array(array, data=data, shape=[length], strides=[item], itemsize=item, meminfo=None)
    return array._getvalue()


@intrinsic
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        structure = context.make_array(array)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], index, types.intp)
        byte_pointer = ir.IntType(8).as_pointer()
        address = builder.bitcast(builder.gep(structure.data, [position]), byte_pointer)
        integer = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, integer, integer, integer])
        function = builder.module.globals.get("llvm.prefetch.p0") or ir.Function(
            builder.module, kind, "llvm.prefetch.p0"
        )
        builder.call(function, [address, integer(0), integer(3), integer(1)])
        return context.get_dummy_value()

    return types.none(array, index), generate


@overload(prefetch)
def _overload_prefetch(array: Any, index: Any) -> Any:
    def touch(array: Any, index: Any) -> Any:
        _prefetch(array, index)

    return touch
