"""What Numba makes of the functions of ``utf8_writing``: 16 characters in vectors."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from numbpe_kernels.utf8_writing import (
    BLOCK,
    HAS_SURROGATE,
    SURROGATE_BITS,
    SURROGATE_PREFIX,
    narrow_block,
    write_block,
)

_BYTE, _INT, _LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_INTS = ir.VectorType(_INT, BLOCK)


def _fill(number: int) -> Any:
    """Return a vector of one number."""
    return ir.Constant(_INTS, [number] * BLOCK)


def _load_block(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the characters of a block as a vector of 32 bits each."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    unit = ir.IntType(signature.args[0].dtype.bitwidth)
    address = builder.gep(data, [arguments[1]])
    block_type = ir.VectorType(unit, BLOCK).as_pointer()
    block = builder.load(builder.bitcast(address, block_type), align=unit.width // 8)
    return block if unit == _INT else builder.zext(block, _INTS)


def _locate(
    context: Any, builder: Any, signature: Any, arguments: Any, place: Any, kind: Any
) -> Any:
    """Return the address of a place in the array that is written."""
    data = context.make_array(signature.args[2])(context, builder, arguments[2]).data
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


@intrinsic
def _narrow_block(typing_context: Any, units: Any, index: Any, out: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes = _load_block(context, builder, signature, arguments)
        narrow = builder.trunc(codes, ir.VectorType(_BYTE, BLOCK))
        target = _locate(context, builder, signature, arguments, arguments[3], narrow.type)
        builder.store(narrow, target, align=1)
        is_wide = builder.icmp_unsigned(">", codes, _fill(0x7F))
        bits = builder.bitcast(is_wide, ir.IntType(BLOCK))
        return builder.icmp_unsigned("==", bits, ir.IntType(BLOCK)(0))

    return types.boolean(units, index, out, place), generate


@overload(narrow_block)
def _overload_narrow_block(units: Any, index: Any, out: Any, place: Any) -> Any:
    def narrow(units: Any, index: Any, out: Any, place: Any) -> Any:
        return _narrow_block(units, index, out, place)  # type: ignore[call-arg]

    return narrow


def _make_forms(builder: Any, codes: Any, has_four: bool) -> tuple[Any, Any]:
    """Return the bytes of each character, the first one lowest, and how many it has."""

    def shift(number: int, mask: int = 0x3F) -> Any:
        shifted = builder.lshr(codes, _fill(number)) if number else codes
        return builder.and_(shifted, _fill(mask))

    def join(marks: int, *groups: Any) -> Any:
        word = _fill(marks)
        for i, group in enumerate(groups):
            word = builder.or_(word, builder.shl(group, _fill(8 * i)))
        return word

    forms = [
        (0x80, join(0x80C0, shift(6, 0x1F), shift(0))),
        (0x800, join(0x8080E0, shift(12, 0xF), shift(6), shift(0))),
    ]
    if has_four:
        forms.append((0x10000, join(0x808080F0, shift(18, 7), shift(12), shift(6), shift(0))))
    words, lengths = codes, _fill(1)
    for first, form in forms:
        is_longer = builder.icmp_unsigned(">=", codes, _fill(first))
        words = builder.select(is_longer, form, words)
        lengths = builder.add(lengths, builder.zext(is_longer, _INTS))
    return words, lengths


@intrinsic
def _write_block(typing_context: Any, units: Any, index: Any, out: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes = _load_block(context, builder, signature, arguments)
        words, lengths = _make_forms(builder, codes, signature.args[0].dtype.bitwidth == 32)
        target = arguments[3]
        for i in range(BLOCK):
            address = _locate(context, builder, signature, arguments, target, _INT)
            builder.store(builder.extract_element(words, _INT(i)), address, align=1)
            length = builder.zext(builder.extract_element(lengths, _INT(i)), _LONG)
            target = builder.add(target, length)
        surrogates = builder.icmp_unsigned(
            "==", builder.lshr(codes, _fill(SURROGATE_BITS)), _fill(SURROGATE_PREFIX)
        )
        bits = builder.bitcast(surrogates, ir.IntType(BLOCK))
        has_none = builder.icmp_unsigned("==", bits, ir.IntType(BLOCK)(0))
        return builder.select(has_none, target, _LONG(HAS_SURROGATE))

    return types.uint64(units, index, out, place), generate


@overload(write_block)
def _overload_write_block(units: Any, index: Any, out: Any, place: Any) -> Any:
    def write(units: Any, index: Any, out: Any, place: Any) -> Any:
        return _write_block(units, index, out, place)  # type: ignore[call-arg]

    return write
