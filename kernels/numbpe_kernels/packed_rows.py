"""Two numbers of a row at once, by vector instructions: keys of 16 bytes, and ids packed in 16 bytes.

As in ``memory``, each function is plain Python, and compiled code gets instructions instead, from
``packed_rows_intrinsics``.
"""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels.memory import load_u64

PACKED_BITS = 21
"""Bits of a packed id."""

_ID_MASK = (1 << PACKED_BITS) - 1


def unpack_ids(
    words: NDArray[np.uint64], index: np.uint64, ids_out: NDArray[np.uint32], place: np.uint64
) -> None:
    """Write the four numbers of 21 bits that stand in ``words[index : index + 2]``, by vector instructions.

    words : (n,) uint64, C-contiguous; index : uint64, at most n - 2
    ids_out : (k,) uint32, C-contiguous; place : uint64, at most k - 4: where they go
    The first three stand in the first word, from its lowest bit on, the fourth in the second.
    """
    first, second = int(words[int(index)]), int(words[int(index) + 1])
    for i, bits in enumerate((first, first >> PACKED_BITS, first >> 2 * PACKED_BITS, second)):
        ids_out[int(place) + i] = np.uint32(bits & _ID_MASK)


def pairs_agree(
    left: NDArray[np.uint64], i: np.uint64, right: NDArray[np.uint64], j: np.uint64
) -> bool:
    """Return whether ``left[i : i + 2]`` and ``right[j : j + 2]`` are equal, by one comparison.

    left, right : (n,) uint64, C-contiguous; i, j : uint64. Reads only.
    """
    return bool((left[int(i) : int(i) + 2] == right[int(j) : int(j) + 2]).all())


def load_masked_pair(
    text: NDArray[np.uint8],
    index: np.uint64,
    table: NDArray[np.uint64],
    row: np.uint64,
    out: NDArray[np.uint64],
    place: np.uint64,
) -> None:
    """Write 16 bytes of text, some bits cleared and some set, to ``out[place : place + 2]``.

    text : (n,) uint8; index : uint64, at most n - 16, of any alignment
    table : (k,) uint64; row : uint64, at most k - 4: the bits of ``table[row : row + 2]`` are kept,
        those of ``table[row + 2 : row + 4]`` set
    out : (m,) uint64; place : uint64, at most m - 2. All C-contiguous.
    """
    for i in range(2):
        word = load_u64(text, int(index) + 8 * i) & table[int(row) + i]
        out[int(place) + i] = word | table[int(row) + 2 + i]
