"""Byte strings in the form in which kernels search text for them."""

from collections.abc import Sequence

import numpy as np

from numbpe.arrays import join_byte_strings
from numbpe_kernels.literals import Literals


def build_literals(byte_strings: Sequence[bytes]) -> Literals:
    """Return byte strings, none of them empty, in the form that kernels search for.

    ``Literals.positions`` tells the place in ``byte_strings`` of each of the sorted strings.
    """
    strings = list(byte_strings)
    order = sorted(range(len(strings)), key=lambda index: (strings[index][0], -len(strings[index])))
    contents, offsets = join_byte_strings([strings[index] for index in order])
    first_bytes = np.array([strings[index][0] for index in order], dtype=np.int64)
    n_by_first_byte = np.bincount(first_bytes, minlength=256)
    buckets = np.zeros(257, dtype=np.int64)
    np.cumsum(n_by_first_byte, out=buckets[1:])
    return Literals(
        contents=contents,
        offsets=offsets,
        buckets=buckets,
        positions=np.array(order, dtype=np.int64),
        first_bytes=np.flatnonzero(n_by_first_byte).astype(np.uint8),
        begins=(n_by_first_byte > 0).astype(np.uint8),
    )
