"""The compiled layer of numbpe: arrays in, arrays out.

The contract of every module in this package:

* It imports NumPy and its own siblings, never :mod:`numbpe`; it knows no file, no ``str`` and no
  other Python object. Only what compiles names numba: ``_compiler``, ``_entry_points`` and the
  ``*_intrinsics``; they are imported where no machine code is at hand.
* A kernel neither raises nor allocates. It returns a status, a count or a position, and the caller
  words the error or grows the array and calls again.
* A kernel does not check its arguments; its docstring states what they must be. Arrays are
  C-contiguous and writeable, scalars have the exact type that the docstring names.
* Text is an array of uint8 that can be read ``TEXT_PADDING`` bytes past its last stop.
* A structure is a NamedTuple of arrays, and its functions carry its name (``word_table_add``).

This module imports nothing, so that importing it compiles nothing.
"""
