"""What Numba makes of the functions of ``packed_rows``: vector instructions."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from numbpe_kernels.packed_rows import PACKED_BITS, load_masked_pair, pairs_agree, unpack_ids


@intrinsic
def _unpack_ids(typing_context: Any, words: Any, index: Any, ids_out: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        long, narrow = ir.IntType(64), ir.IntType(32)
        pair_type, wide_type = ir.VectorType(long, 2), ir.VectorType(long, 4)
        data = context.make_array(words)(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), pair_type.as_pointer())
        pair = builder.load(address, align=8)
        lanes = ir.Constant(ir.VectorType(narrow, 4), [0, 0, 0, 1])
        wide = builder.shuffle_vector(pair, ir.Constant(pair_type, ir.Undefined), lanes)
        wide = builder.lshr(wide, ir.Constant(wide_type, [0, PACKED_BITS, 2 * PACKED_BITS, 0]))
        wide = builder.and_(wide, ir.Constant(wide_type, [(1 << PACKED_BITS) - 1] * 4))
        numbers = builder.trunc(wide, ir.VectorType(narrow, 4))
        out = context.make_array(ids_out)(context, builder, arguments[2]).data
        target = builder.bitcast(builder.gep(out, [arguments[3]]), numbers.type.as_pointer())
        builder.store(numbers, target, align=4)
        return context.get_dummy_value()

    return types.none(words, index, ids_out, place), generate


@overload(unpack_ids)
def _overload_unpack_ids(words: Any, index: Any, ids_out: Any, place: Any) -> Any:
    def unpack(words: Any, index: Any, ids_out: Any, place: Any) -> Any:
        _unpack_ids(words, index, ids_out, place)  # type: ignore[call-arg]

    return unpack


@intrinsic
def _pairs_agree(typing_context: Any, left: Any, i: Any, right: Any, j: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        loaded = []
        for k in (0, 2):
            data = context.make_array(signature.args[k])(context, builder, arguments[k]).data
            address = builder.gep(data, [arguments[k + 1]])
            loaded.append(builder.load(builder.bitcast(address, wide.as_pointer()), align=8))
        return builder.icmp_unsigned("==", *loaded)

    return types.boolean(left, i, right, j), generate


@overload(pairs_agree)
def _overload_pairs_agree(left: Any, i: Any, right: Any, j: Any) -> Any:
    def agree(left: Any, i: Any, right: Any, j: Any) -> Any:
        return _pairs_agree(left, i, right, j)  # type: ignore[call-arg]

    return agree


@intrinsic
def _load_masked_pair(
    typing_context: Any, text: Any, index: Any, table: Any, row: Any, out: Any, place: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pair = ir.VectorType(ir.IntType(64), 2)

        def locate(k: int, more: int = 0) -> Any:
            data = context.make_array(signature.args[k])(context, builder, arguments[k]).data
            place = builder.add(arguments[k + 1], ir.IntType(64)(more))
            return builder.bitcast(builder.gep(data, [place]), pair.as_pointer())

        word = builder.load(locate(0), align=1)
        word = builder.and_(word, builder.load(locate(2), align=8))
        word = builder.or_(word, builder.load(locate(2, 2), align=8))
        builder.store(word, locate(4), align=8)
        return context.get_dummy_value()

    return types.none(text, index, table, row, out, place), generate


@overload(load_masked_pair)
def _overload_load_masked_pair(
    text: Any, index: Any, table: Any, row: Any, out: Any, place: Any
) -> Any:
    def load(text: Any, index: Any, table: Any, row: Any, out: Any, place: Any) -> Any:
        _load_masked_pair(text, index, table, row, out, place)  # type: ignore[call-arg]

    return load
