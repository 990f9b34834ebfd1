r"""What normalizers need to know of Unicode so that a text becomes the same under every Python.

``tokenizers`` normalizes by Unicode 9.0: a character that came later has no decomposition there,
composes with nothing and is never reordered. Of characters that Unicode 9.0 has, later versions
change nothing of this, by a promise of the Unicode Consortium (its stability policy). So the
``unicodedata`` of any Python gives the right result, if later characters are kept away from it:
those that it would change are *inert* here. The accents that ``tokenizers`` strips are the marks of
Unicode 9.0 (category M). It lowers letters by Unicode 17.0.

``data/normalizers.npz`` is built by ``scripts/build_normalizer_tables.py``. It holds, as int32,
``unassigned_9``, ``marks_9`` and ``unassigned_17``, bounds of intervals of code points, and
``lowercase_17`` (n, 2), the simple lower case of each letter that has one.
"""

import functools
import unicodedata
from importlib import resources
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numbpe.code_point_sets import END_OF_CODE_POINTS, CodePointSet

NORMALIZATION_VERSION: Final = 9
LOWERCASE_VERSION: Final = 17

Membership: TypeAlias = NDArray[np.bool_]
"""(0x110000,): whether a code point is in a set. Classes of regular expressions take 20 times as
long per character."""

_CAPITAL_SIGMA: Final = 0x3A3
_CAPITAL_I_WITH_DOT: Final = 0x130


@functools.cache
def _load_arrays() -> dict[str, NDArray[Any]]:
    file = resources.files("numbpe") / "data" / "normalizers.npz"
    with file.open("rb") as stream, np.load(stream) as arrays:
        return {name: arrays[name] for name in arrays.files}


def load_unassigned() -> CodePointSet:
    """Return the code points that came after Unicode 9.0, or never."""
    return CodePointSet(_load_arrays()["unassigned_9"])


@functools.cache
def find_inert() -> frozenset[str]:
    """Return the characters that the running Python would normalize, and ``tokenizers`` does not."""
    later = load_unassigned()
    known_version = int(unicodedata.unidata_version.partition(".")[0])
    if known_version <= LOWERCASE_VERSION:
        later = later - CodePointSet(_load_arrays()["unassigned_17"])
    inert: set[str] = set()
    for start, stop in later.bounds.reshape(-1, 2).tolist():
        for code_point in range(start, stop):
            character = chr(code_point)
            mapping = unicodedata.decomposition(character)
            if mapping or unicodedata.combining(character):
                inert.add(character)
            if mapping and not mapping.startswith("<"):
                # What it would be composed of; an old pair makes no new character.
                parts = [int(part, 16) for part in mapping.split()]
                inert.update(chr(part) for part in parts if part in later)
    return frozenset(inert)


@functools.cache
def load_inert() -> Membership:
    """Return which code points are inert."""
    return _list_members(CodePointSet.from_code_points(map(ord, find_inert())))


@functools.cache
def load_accents() -> Membership:
    """Return which code points are accents: the marks of Unicode 9.0."""
    return _list_members(CodePointSet(_load_arrays()["marks_9"]))


def _list_members(members: CodePointSet) -> Membership:
    listed = np.zeros(END_OF_CODE_POINTS, dtype=np.bool_)
    for start, stop in members.bounds.reshape(-1, 2).tolist():
        listed[start:stop] = True
    return listed


@functools.cache
def find_odd_lowercase() -> tuple[Membership, dict[str, str]]:
    """Return where ``str.lower`` of the running Python differs from Unicode 17.0.

    Which characters these are, and what each becomes.
    """
    excepted = [_CAPITAL_SIGMA, _CAPITAL_I_WITH_DOT]
    expected = np.arange(END_OF_CODE_POINTS, dtype=np.int32)
    sources, targets = _load_arrays()["lowercase_17"].T
    expected[sources] = targets
    # These two are alike in all versions; the first depends on its neighbours, the other becomes
    # two characters.
    expected[excepted] = 0
    every = np.arange(END_OF_CODE_POINTS, dtype=np.int32)
    every[excepted] = 0
    found = list_code_points(join_code_points(every).lower())
    is_odd = found != expected
    odd = np.flatnonzero(is_odd).tolist()
    return is_odd, {chr(code_point): chr(int(expected[code_point])) for code_point in odd}


def list_code_points(text: str) -> NDArray[np.int32]:
    """Return the (n,) code points of ``text``, surrogates too."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<i4")


def join_code_points(code_points: NDArray[Any]) -> str:
    """Return the text of (n,) code points."""
    return code_points.astype("<i4").tobytes().decode("utf-32-le", "surrogatepass")


def find_members(text: str, members: Membership) -> NDArray[np.int64]:
    """Return the positions of the characters of ``text`` that are members."""
    return np.flatnonzero(members[list_code_points(text)])
