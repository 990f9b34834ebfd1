"""What the kernel of NFC looks up for each character, as ``tokenizers`` has it: Unicode 9.0.

The table is made from the ``unicodedata`` of the running Python, from characters of Unicode 9.0
alone: what NFC does with them never changes (``normalizer_tables``).
"""

import functools
import unicodedata
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.code_point_sets import END_OF_CODE_POINTS
from numbpe.encoder_state import describe_arrays
from numbpe.normalizer_tables import load_unassigned
from numbpe_kernels.hashing import hash_key
from numbpe_kernels.nfc import CHANGES, JOINS, N_ROWS, NO_PAIR, NUMBER_BITS, ROW_SIZE, NfcTable

_SHIFT: Final = np.uint64(32)
_KOREAN_VOWELS_AND_TAILS: Final = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))
"""They join by a rule, and ``unicodedata`` names no pairs."""

_LEFT_ALONE: Final = ((0x4000, 0xA000), (0xB000, 0xF000), (0x20000, 0x2F800), (0x30000, 0x110000))
"""Han, Hangul, and private characters, a hundred thousand of them that NFC leaves as they are."""


class Composition:
    """The table, and its descriptor for kernels."""

    def __init__(self, table: NfcTable) -> None:
        self.table = table  # keeps the arrays alive
        self.descriptor = describe_arrays(table)


@functools.cache
def load_composition() -> Composition:
    """Return the table, made when it is first asked for."""
    return Composition(build_nfc_table())


def build_nfc_table() -> NfcTable:
    """Return the table that tells what NFC changes."""
    mappings = _list_mappings()
    composites = {
        mapping: character
        for character, mapping in mappings.items()
        if len(mapping) == 2 and unicodedata.normalize("NFC", character) == character
    }
    classes = np.zeros(N_ROWS * ROW_SIZE, dtype=np.uint16)
    for code_point in _list_known():
        classes[code_point] = unicodedata.combining(chr(code_point))
    for character in mappings:
        if unicodedata.normalize("NFC", character) != character:
            classes[ord(character)] |= CHANGES
    classes[[ord(pair[1]) for pair in composites]] |= JOINS
    classes[list(_KOREAN_VOWELS_AND_TAILS)] |= JOINS
    rows: dict[bytes, int] = {}
    offsets: list[int] = []
    for row in classes.reshape(N_ROWS, ROW_SIZE):
        offsets.append(rows.setdefault(row.tobytes(), ROW_SIZE * len(rows)))
    return NfcTable(
        row_offsets=np.array(offsets, dtype=np.uint16),
        classes=np.frombuffer(bytearray().join(rows), dtype=np.uint16),
        pairs=_fill_pairs(_list_changing_pairs(composites)),
    )


def _list_known() -> list[int]:
    """Return the code points of Unicode 9.0 that NFC may change."""
    is_known = np.ones(END_OF_CODE_POINTS, dtype=np.bool_)
    for start, stop in (*load_unassigned().bounds.reshape(-1, 2).tolist(), *_LEFT_ALONE):
        is_known[start:stop] = False
    listed: list[int] = np.flatnonzero(is_known).tolist()
    return listed


def _list_mappings() -> dict[str, str]:
    """Return the canonical decomposition, of one step, of every character that has one."""
    mappings: dict[str, str] = {}
    for code_point in _list_known():
        mapping = unicodedata.decomposition(chr(code_point))
        if mapping and not mapping.startswith("<"):
            parts = [chr(int(part, 16)) for part in mapping.split()]
            mappings[chr(code_point)] = "".join(parts)
    return mappings


def _list_changing_pairs(composites: dict[str, str]) -> list[str]:
    """Return what NFC changes of a starter and a character that joins some.

    They are the pairs that make a composite; and a composite with a mark that NFC moves before one
    of its own, to join what is left: U+00E1 and U+0323 become U+1EA1 and U+0301.
    """
    pairs = list(composites)
    marks = {pair[1] for pair in composites if unicodedata.combining(pair[1])}
    for composite in composites.values():
        last_order = unicodedata.combining(unicodedata.normalize("NFD", composite)[-1])
        pairs += [
            pair
            for mark in marks
            if unicodedata.combining(mark) < last_order
            and unicodedata.normalize("NFC", pair := composite + mark) != pair
        ]
    return pairs


def _fill_pairs(pairs: Iterable[str]) -> NDArray[np.int64]:
    keys = {ord(pair[0]) << NUMBER_BITS | ord(pair[1]) for pair in pairs}
    slots = np.full(1 << (2 * len(keys)).bit_length(), NO_PAIR, dtype=np.int64)
    mask = len(slots) - 1
    for key in sorted(keys):
        slot = hash_key(key, _SHIFT) & mask
        while slots[slot] != NO_PAIR:
            slot = (slot + 1) & mask
        slots[slot] = key
    return slots
