"""Which characters are stored as which others, and how they come back: case and Chinese script.

A character is *folded* when it is replaced by another and a mark says how it comes back: a capital
letter by its small one (mark UPPER_CASE), a Traditional Chinese character by its Simplified form
(mark TRADITIONAL). Each is decided by the character alone, and only where the way back is exact.

The tables are data, and not those of the running Python, which differ from one release to the next:

``data/case_mappings.npz``, built by ``scripts/build_case_tables.py``, holds the full lower and upper
case of Unicode 16.0 without regard to context or language, as ``str.lower`` of Python 3.14 has them
for a single character: ``lowercase_sources`` (n,) int32, the code points that change, and
``lowercase_offsets`` (n + 1,) and ``lowercase_targets``, what each becomes; ``uppercase_*`` likewise.

``data/han_characters.npz``, built by ``scripts/build_han_tables.py`` from the dictionaries of OpenCC
(https://github.com/BYVoid/OpenCC; Apache License 2.0, ``data/han_characters.LICENSE``), holds pairs of
code points: ``to_traditional`` (3883, 2) int32, the Traditional form by Simplified character, and
``to_simplified`` (3836, 2) int32, those Traditional characters that lead there and straight back.
"""

import functools
from importlib import resources
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbpe.code_point_sets import END_OF_CODE_POINTS

UPPER_CASE: Final = 1
TRADITIONAL: Final = 2
"""Marks of folded characters; 0 is that of all others."""

CASE_VERSION: Final = "16"
"""The version of Unicode whose case mappings are used."""


class CaseMapping(NamedTuple):
    """The code points that a change of case replaces, ascending, and what each becomes (CSR).

    sources: (n,) int32; offsets: (n + 1,) int32; targets: (m,) int32
    """

    sources: NDArray[np.int32]
    offsets: NDArray[np.int32]
    targets: NDArray[np.int32]

    def to_dict(self) -> dict[str, str]:
        """Return the mapping as text."""
        bounds = self.offsets.tolist()
        targets = "".join(map(chr, self.targets.tolist()))
        return {
            chr(source): targets[bounds[i] : bounds[i + 1]]
            for i, source in enumerate(self.sources.tolist())
        }


class Folding(NamedTuple):
    """What each code point is folded to.

    sources: (n,) int32, the code points that are folded, ascending
    targets: (n,) int32, what each is folded to
    marks: (n,) uint8, UPPER_CASE or TRADITIONAL
    """

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    marks: NDArray[np.uint8]

    def make_dense(self) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Return what every code point is folded to, itself if to nothing, and its mark."""
        targets = np.arange(END_OF_CODE_POINTS, dtype=np.int32)
        marks = np.zeros(END_OF_CODE_POINTS, dtype=np.uint8)
        targets[self.sources] = self.targets
        marks[self.sources] = self.marks
        return targets, marks


def _load(name: str) -> dict[str, NDArray[Any]]:
    file = resources.files("numbpe") / "data" / name
    with file.open("rb") as stream, np.load(stream) as arrays:
        return {name: arrays[name] for name in arrays.files}


@functools.cache
def load_case_mappings() -> tuple[CaseMapping, CaseMapping]:
    """Return the full lower case and the full upper case of single characters."""
    arrays = _load("case_mappings.npz")
    lower, upper = (
        CaseMapping(*(arrays[f"{kind}_{part}"] for part in CaseMapping._fields))
        for kind in ("lowercase", "uppercase")
    )
    return lower, upper


@functools.cache
def load_traditional_forms() -> NDArray[np.int32]:
    """Return (n, 2) int32: Simplified characters, ascending, and the Traditional form of each."""
    forms: NDArray[np.int32] = _load("han_characters.npz")["to_traditional"]
    return forms


def list_case_folds() -> dict[str, str]:
    """Return the capital letters that are folded, with their small ones.

    A character is folded if its lower case is another, single character whose upper case leads
    straight back: of 1,460 that have a lower case 1,423, and neither ``İ`` nor the Kelvin sign.
    """
    lower, upper = (mapping.to_dict() for mapping in load_case_mappings())
    return {
        capital: small
        for capital, small in lower.items()
        if len(small) == 1 and upper.get(small, small) == capital
    }


@functools.cache
def load_folding(fold_case: bool, fold_han: bool) -> Folding:
    """Return the characters that are folded; where both ask for one, case comes first.

    Example:
        >>> folding = load_folding(True, False)
        >>> chr(folding.targets[folding.sources.tolist().index(ord("A"))])
        'a'
    """
    folds: dict[int, tuple[int, int]] = {}
    if fold_han:
        for traditional, simplified in _load("han_characters.npz")["to_simplified"].tolist():
            folds[traditional] = (simplified, TRADITIONAL)
    if fold_case:
        for capital, small in list_case_folds().items():
            folds[ord(capital)] = (ord(small), UPPER_CASE)
    sources = sorted(folds)
    return Folding(
        np.array(sources, dtype=np.int32),
        np.array([folds[source][0] for source in sources], dtype=np.int32),
        np.array([folds[source][1] for source in sources], dtype=np.uint8),
    )
