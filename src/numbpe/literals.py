"""Byte strings in the form in which kernels search text for them."""

from collections.abc import Sequence
from itertools import pairwise
from os.path import commonprefix

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import join_byte_strings
from numbpe_kernels.literals import Literals


def build_literals(byte_strings: Sequence[bytes]) -> Literals:
    """Return byte strings, none of them empty, in the form that kernels search for.

    ``Literals.positions`` tells the place in ``byte_strings`` of each of the sorted strings; of
    equal ones only the first is kept.
    """
    places: dict[bytes, int] = {}
    for place, string in enumerate(byte_strings):
        places.setdefault(string, place)
    strings = sorted(places)
    n = len(strings)
    contents, offsets = join_byte_strings(strings)
    lengths = np.diff(offsets)
    # A string adds a node for each of its starts that is no start of the string before it.
    n_shared = np.array(
        [len(commonprefix(two)) for two in pairwise([b"", *strings])], dtype=np.int64
    )
    n_added = lengths - n_shared
    owners = np.repeat(np.arange(n), n_added)
    starts = np.cumsum(n_added) - n_added
    sizes = np.arange(len(owners)) - starts[owners] + n_shared[owners] + 1
    order = np.lexsort((owners, sizes))
    owners, sizes = owners[order], sizes[order]
    last_bytes = contents[offsets[owners] + sizes - 1]
    is_end = sizes == lengths[owners]
    first_bytes = last_bytes[sizes == 1]
    first_nodes = np.full(256, -1, dtype=np.int64)
    first_nodes[first_bytes] = np.arange(len(first_bytes))
    return Literals(
        positions=np.array([places[string] for string in strings], dtype=np.int64),
        lengths=lengths,
        first_nodes=first_nodes,
        children=_find_children(owners, sizes, n),
        last_bytes=last_bytes,
        ends=np.where(is_end, owners, -1).astype(np.int64),
        begins=(first_nodes >= 0).astype(np.uint8),
        ranges=_join_ranges(first_bytes),
    )


def _find_children(
    owners: NDArray[np.int64], sizes: NDArray[np.int64], n_strings: int
) -> NDArray[np.int64]:
    """Return where the children of each node begin, and the number of nodes at the end.

    owners, sizes: the string that each node is a start of, and the length of the start.
    """
    keys = sizes * n_strings + owners
    n_first = int(np.count_nonzero(sizes == 1))
    # The parent is made by the same string, or by the last before it that had this start.
    parents = np.searchsorted(keys, keys[n_first:] - n_strings, side="right") - 1
    children = np.full(len(keys) + 1, n_first, dtype=np.int64)
    children[1:] += np.cumsum(np.bincount(parents, minlength=len(keys)))
    return children


def _join_ranges(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return ascending bytes as ranges: the lowest, and the highest less the lowest."""
    wide = values.astype(np.int64)
    is_first = np.diff(wide, prepend=-2) > 1
    is_last = np.diff(wide, append=1000) > 1
    lowest, highest = wide[is_first], wide[is_last]
    return np.stack([lowest, highest - lowest], axis=1).astype(np.uint8)
