"""Which scanner cuts by a pattern, and its tables: bit masks for known families, or the automaton."""

import functools
from typing import Final

import numpy as np
from numpy.typing import NDArray

from numbpe.code_point_sets import END_OF_CODE_POINTS, CodePointSet, sort_distinct
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.patterns import Pattern
from numbpe.unicode_tables import UnicodeTables, load_unicode_tables
from numbpe_kernels.automaton import PAGE_SIZE, Automaton
from numbpe_kernels.class_masks import (
    FLAG_APART,
    FLAG_CONTROL,
    FLAG_HAN,
    FLAG_LETTER,
    FLAG_LOWER,
    FLAG_UPPER,
    FOUR_BYTES,
    N_PLACES,
    ROW_SIZE,
    TWO_BYTES,
    ClassTable,
)
from numbpe_kernels.junction_table import JunctionTable
from numbpe_kernels.near_junctions import NearJunctions
from numbpe_kernels.scanner import (
    RULE_CONTRACTIONS,
    RULE_HAN_APART,
    RULE_LONG_NUMBERS,
    RULE_MARKS_IN_WORDS,
    RULE_SLASHES,
    Scanner,
)

AUTOMATON: Final = "automaton"
CL100K: Final = "cl100k"
DEEPSEEK: Final = "deepseek"
GPT2: Final = "gpt2"
O200K: Final = "o200k"
"""Families of patterns, each of which has a kernel of its own."""

FAMILIES: Final = {
    "gpt2": (GPT2, 0),
    "r50k": (GPT2, 0),
    "cl100k": (CL100K, RULE_CONTRACTIONS | RULE_LONG_NUMBERS),
    "llama3": (CL100K, RULE_CONTRACTIONS | RULE_LONG_NUMBERS),
    "gpt4_rustbpe": (CL100K, RULE_CONTRACTIONS | RULE_LONG_NUMBERS),
    "bpeasy": (CL100K, RULE_LONG_NUMBERS),
    "qwen2": (CL100K, RULE_CONTRACTIONS),
    "qwen3.5": (CL100K, RULE_CONTRACTIONS | RULE_MARKS_IN_WORDS),
    "o200k": (O200K, RULE_CONTRACTIONS | RULE_LONG_NUMBERS | RULE_SLASHES),
    "kimi_k2": (O200K, RULE_CONTRACTIONS | RULE_LONG_NUMBERS | RULE_HAN_APART),
    "tekken": (O200K, RULE_SLASHES),
    "deepseek_v3": (DEEPSEEK, 0),
}
"""Family and rules by name of pattern."""

_FAMILY_OF_SOURCES: Final = {NAMED_PATTERNS[name]: found for name, found in FAMILIES.items()}


def find_family(pattern: Pattern | None) -> str:
    """Return the family whose scanner is exact for ``pattern``, which may have no automaton."""
    if pattern is None or pattern.automaton is None:
        return AUTOMATON
    return _FAMILY_OF_SOURCES.get(pattern.sources, (AUTOMATON, 0))[0]


def make_scanner(pattern: Pattern | None) -> Scanner:
    """Return what the kernel of a family needs; something that is never run without an automaton."""
    if pattern is None or pattern.automaton is None:
        return Scanner(0, _EMPTY_AUTOMATON, _EMPTY_CLASSES, _NO_JUNCTIONS)
    if pattern.sources not in _FAMILY_OF_SOURCES:
        return Scanner(0, pattern.automaton, _EMPTY_CLASSES, _NO_JUNCTIONS)
    rules = _FAMILY_OF_SOURCES[pattern.sources][1]
    classes = load_class_table(pattern.unicode_version)
    return Scanner(rules, pattern.automaton, classes, _NO_JUNCTIONS)


@functools.cache
def load_class_table(unicode_version: str) -> ClassTable:
    """Return the flags of all characters outside ASCII in a version of Unicode, "16" or "17"."""
    return build_class_table(_flag_code_points(load_unicode_tables(unicode_version)))


def build_class_table(flags: NDArray[np.uint8]) -> ClassTable:
    """Return the table of flags, one for each code point; see class_masks.FLAG_LETTER."""
    flags = flags.reshape(-1, ROW_SIZE)
    number_of_row: dict[bytes, int] = {}
    # Most rows are as the one before.
    is_new = np.append(True, (flags[1:] != flags[:-1]).any(axis=1))
    new_numbers = [
        number_of_row.setdefault(row.tobytes(), len(number_of_row)) for row in flags[is_new]
    ]
    numbers = np.array(new_numbers)[np.cumsum(is_new) - 1]
    contents = np.frombuffer(b"".join(number_of_row), dtype=np.uint8)
    # One more row, and the entries behind it, for what no character is encoded as.
    not_utf8 = contents.size
    offsets = (ROW_SIZE * numbers).tolist()
    row_offsets = np.full(N_PLACES, not_utf8, dtype=np.int32)
    for place in range(0x80 >> 6, 0x800 >> 6):
        row_offsets[TWO_BYTES | 0xC0 | place] = offsets[place]
    for place in range(0x800 >> 6, 0x10000 >> 6):
        if not 0xD800 <= place << 6 < 0xE000:
            row_offsets[(place >> 6) << 8 | 0x80 | (place & 0x3F)] = offsets[place]
    row_offsets[FOUR_BYTES + (0x10000 >> 6) :] = offsets[0x10000 >> 6 :]
    rows = np.full(0x80 + contents.size + 2 * ROW_SIZE, FLAG_LETTER, dtype=np.uint8)
    rows[0x80 : 0x80 + contents.size] = contents
    return ClassTable(row_offsets, rows)


def _flag_code_points(tables: UnicodeTables) -> NDArray[np.uint8]:
    """Return the flags of every code point; see class_masks.FLAG_LETTER."""

    def find(name: str) -> CodePointSet:
        members = tables.find_property(name)
        assert members is not None
        return members

    letters, marks, numbers = find("L"), find("M"), find("N")
    either_case = find("Lm") | find("Lo") | marks
    known = letters | marks | numbers | tables.white_space | find("P") | find("S")
    # As in the second split of DeepSeek-V3.
    apart = CodePointSet.from_intervals([(0x4E00, 0x9FA5), (0x3040, 0x30FF)])
    flagged = (
        (FLAG_LETTER, letters),
        (FLAG_UPPER, find("Lu") | find("Lt") | either_case | numbers),
        (FLAG_LOWER, find("Ll") | either_case | tables.white_space),
        (FLAG_APART, apart),
        (FLAG_CONTROL, ~known),
        (FLAG_HAN, find("Han")),
    )
    # Runs of code points that no set tells apart: members of a set lie behind an odd number of bounds.
    starts = sort_distinct(np.concatenate([[0], *(members.bounds for _, members in flagged)]))
    starts = starts[starts < END_OF_CODE_POINTS]
    flags = np.zeros(len(starts), dtype=np.uint8)
    for flag, members in flagged:
        is_member = np.searchsorted(members.bounds, starts, side="right") % 2 == 1
        flags[is_member] |= np.uint8(flag)
    return np.repeat(flags, np.diff(starts, append=END_OF_CODE_POINTS))


_EMPTY_CLASSES: Final = ClassTable(np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.uint8))
_NO_BYTES: Final = np.empty(0, dtype=np.uint8)
_NO_JUNCTIONS: Final = JunctionTable(
    joined=_NO_BYTES,
    shift=np.uint64(63),
    ends_and_leads=_NO_BYTES,
    filter=_NO_BYTES,
    special=_NO_BYTES,
    near=NearJunctions(_NO_BYTES, np.empty(0, dtype=np.uint64), np.uint64(63), _NO_BYTES),
)
_EMPTY_AUTOMATON: Final = Automaton(
    ascii_classes=np.zeros(128, dtype=np.uint8),
    page_numbers=np.zeros(END_OF_CODE_POINTS // PAGE_SIZE, dtype=np.uint16),
    pages=np.zeros(PAGE_SIZE, dtype=np.uint8),
    transitions=np.zeros(2, dtype=np.int32),
    start_rows=np.zeros(1, dtype=np.int64),
    gap_rows=np.zeros(1, dtype=np.int64),
    safe_pairs=np.zeros((1, 1), dtype=np.uint8),
)
