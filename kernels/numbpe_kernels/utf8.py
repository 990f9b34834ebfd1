"""Find what is not well-formed UTF-8: overlong forms, surrogates, code points past U+10FFFF, and
characters that are cut short. The definition is that of Python's strict decoder."""

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels._jit import njit
from numbpe_kernels.memory import count_ones, count_trailing_zeros, load_u64

_HIGH_BITS = np.uint64(0x8080808080808080)


@njit
def utf8_measure(word: np.uint64) -> int:
    """Return the length in bytes of the well-formed character that a word begins with, else 0.

    word : uint64, the character's first byte lowest, as ``load_u64`` gives it
    Bytes after the character do not matter. No memory is touched.
    """
    if word & np.uint64(0x80) == np.uint64(0):
        return 1
    if word & np.uint64(0xC0C0F0) == np.uint64(0x8080E0):
        # The lead's low nibble with bit 5 of the second byte: E0 needs it, ED must not have it.
        limits = word & np.uint64(0x200F)
        return 0 if limits == np.uint64(0) or limits == np.uint64(0x200D) else 3
    if word & np.uint64(0xC0E0) == np.uint64(0x80C0):
        return 0 if word & np.uint64(0x1E) == np.uint64(0) else 2
    if word & np.uint64(0xC0C0C0F8) == np.uint64(0x808080F0):
        # F0 needs a second byte of 0x90 or more, F4 one below 0x90; nothing follows F5 to F7.
        lead = word & np.uint64(0x7)
        is_upper = word & np.uint64(0x3000) != np.uint64(0)
        if lead == np.uint64(0):
            return 4 if is_upper else 0
        if lead == np.uint64(4):
            return 0 if is_upper else 4
        return 4 if lead < np.uint64(4) else 0
    return 0


@njit
def utf8_count_beyond_ascii(text: NDArray[np.uint8]) -> int:
    """Return how many bytes are not ASCII, int64.

    text : (n,) uint8. Reads only. Cost: 8 bytes a step.
    """
    n_bytes = text.shape[0]
    n_found = 0
    position = 0
    while position + 8 <= n_bytes:
        n_found += count_ones(load_u64(text, position) & _HIGH_BITS)
        position += 8
    while position < n_bytes:
        n_found += np.int64(text[position] >> np.uint8(7))
        position += 1
    return n_found


@njit
def utf8_find_invalid(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the position of the first byte that no well-formed character holds, -1 if none.

    text : (n + TEXT_PADDING,) uint8
    start, stop : int64, 0 <= start <= stop <= n; a character begins at start
    Reads only. A character that ``stop`` cuts short is reported at its first byte; leave it out
    with :func:`utf8_find_truncated` while more bytes may follow.
    Cost: 32 bytes a step in ASCII, else one step a character.
    """
    position = start
    while position < stop:
        while position + 32 <= stop:
            lower = load_u64(text, position) | load_u64(text, position + 8)
            upper = load_u64(text, position + 16) | load_u64(text, position + 24)
            if (lower | upper) & _HIGH_BITS != np.uint64(0):
                break
            position += 32
        # Stay with single characters until the text looks like ASCII again.
        while position < stop:
            word = load_u64(text, position)
            n_ascii = count_trailing_zeros(word & _HIGH_BITS) >> 3
            if n_ascii == 8:
                position += 8
                break
            if n_ascii > 0:
                position += n_ascii
                continue
            length = utf8_measure(word)
            if length == 0 or position + length > stop:
                return position
            position += length
    return -1


@njit
def utf8_find_truncated(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return where a character begins that ``stop`` may have cut short; ``stop`` if none does.

    text : (n,) uint8
    start, stop : int64, 0 <= start <= stop <= n
    Reads at most 3 bytes before stop and looks no further back than start. It judges by the lead
    byte alone, so what it leaves out may turn out invalid when the rest has come.
    """
    for n_back in range(1, min(3, stop - start) + 1):
        byte = np.int64(text[stop - n_back])
        if byte & 0xC0 == 0x80:
            continue
        if byte < 0xC2 or byte > 0xF4:
            return stop
        length = 2 if byte < 0xE0 else (3 if byte < 0xF0 else 4)
        return stop - n_back if length > n_back else stop
    return stop
