"""What patterns need to know of Unicode: categories, scripts, white space and simple case folding.

Shipped as data for Unicode 16.0 (the version of tokenizers 0.23 and tiktoken) and 17.0, built by
``scripts/build_unicode_tables.py`` and never derived from the tables of the running Python or of
the regex module, which differ from one release to the next.

Each ``data/unicode_*.npz`` holds ``category_starts`` (int32, starts of runs over all code points),
``category_values`` (uint8, positions in ``category_names``), the same three for scripts (value 255:
no script), ``folding`` (n, 2) int32, the pairs of statuses C and S of CaseFolding.txt, and for some
binary properties the bounds of a CodePointSet.
"""

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbpe.code_point_sets import EVERY_CODE_POINT, CodePointSet, sort_distinct
from numbpe.errors import ArgumentError, shorten_value

UNICODE_VERSIONS = ("16", "17")

# Long names of the general categories and of their groups, in loose form (see _loosen).
_CATEGORY_LONG_NAMES = {
    "letter": "L",
    "casedletter": "LC",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "titlecaseletter": "Lt",
    "modifierletter": "Lm",
    "otherletter": "Lo",
    "mark": "M",
    "combiningmark": "M",
    "nonspacingmark": "Mn",
    "spacingmark": "Mc",
    "enclosingmark": "Me",
    "number": "N",
    "decimalnumber": "Nd",
    "digit": "Nd",
    "letternumber": "Nl",
    "othernumber": "No",
    "punctuation": "P",
    "punct": "P",
    "connectorpunctuation": "Pc",
    "dashpunctuation": "Pd",
    "openpunctuation": "Ps",
    "closepunctuation": "Pe",
    "initialpunctuation": "Pi",
    "finalpunctuation": "Pf",
    "otherpunctuation": "Po",
    "symbol": "S",
    "mathsymbol": "Sm",
    "currencysymbol": "Sc",
    "modifiersymbol": "Sk",
    "othersymbol": "So",
    "separator": "Z",
    "spaceseparator": "Zs",
    "lineseparator": "Zl",
    "paragraphseparator": "Zp",
    "other": "C",
    "control": "Cc",
    "cntrl": "Cc",
    "format": "Cf",
    "surrogate": "Cs",
    "privateuse": "Co",
    "unassigned": "Cn",
}


def _loosen(name: str) -> str:
    """Return a property name as it is compared: without case, spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]", "", name).lower()


class UnicodeTables:
    """The tables of one version of Unicode.

    Made by ``load_unicode_tables``. Sets are made when first asked for.
    """

    def __init__(self, version: str) -> None:
        self.version = version
        # Not by importlib.resources: kernels need sources in a folder, too, and its imports take 3 ms.
        path = Path(__file__).parent / "data" / f"unicode_{version}.npz"
        with np.load(path) as arrays:
            self._arrays: dict[str, NDArray[Any]] = {name: arrays[name] for name in arrays.files}
        self._category_names: list[str] = self._arrays["category_names"].tolist()
        self._scripts = {
            _loosen(name): number for number, name in enumerate(self._arrays["script_names"])
        }
        self._properties: dict[str, CodePointSet | None] = {}

    @functools.cached_property
    def white_space(self) -> CodePointSet:
        r"""What ``\s`` matches: the 25 code points with the property White_Space."""
        return CodePointSet(self._arrays["white_space"])

    @functools.cached_property
    def digits(self) -> CodePointSet:
        r"""What ``\d`` matches: the decimal digits of all scripts (category Nd)."""
        return self._select_runs("category", {self._category_names.index("Nd")})

    @functools.cached_property
    def word_characters(self) -> CodePointSet:
        r"""What ``\w`` matches, by Annex C of Unicode Technical Standard 18."""
        alphabetic = CodePointSet(self._arrays["alphabetic"])
        join_control = CodePointSet(self._arrays["join_control"])
        others = {
            number
            for number, name in enumerate(self._category_names)
            if name[0] == "M" or name in ("Nd", "Pc")
        }
        return alphabetic | join_control | self._select_runs("category", others)

    def find_property(self, name: str) -> CodePointSet | None:
        r"""Return what ``\p{name}`` matches, or None if the property is not known here.

        Known are the general categories and their groups (``L``, ``Lu``, ``Letter``, ``gc=L``),
        scripts (``Han``, ``Script=Han``), ``Any``, ``White_Space`` and ``Alphabetic``; case, spaces,
        hyphens and underscores in names do not matter.
        """
        loose = _loosen(name)
        if loose not in self._properties:
            self._properties[loose] = self._build_property(loose)
        return self._properties[loose]

    def _build_property(self, loose: str) -> CodePointSet | None:
        kind, separator, value = loose.rpartition("=")
        if separator and kind not in ("gc", "generalcategory", "sc", "script"):
            return None
        if kind in ("", "gc", "generalcategory"):
            category = _CATEGORY_LONG_NAMES.get(value, value).lower()
            members = {
                number
                for number, short in enumerate(self._category_names)
                if short.lower() == category
                or short[0].lower() == category
                or (category in ("lc", "l&") and short in ("Lu", "Ll", "Lt"))
            }
            if members:
                return self._select_runs("category", members)
        if kind in ("", "sc", "script") and value in self._scripts:
            return self._select_runs("script", {self._scripts[value]})
        if separator:
            return None
        if value in ("whitespace", "space"):
            return self.white_space
        if value in ("alphabetic", "alpha"):
            return CodePointSet(self._arrays["alphabetic"])
        return EVERY_CODE_POINT if value == "any" else None

    def _select_runs(self, kind: str, values: set[int]) -> CodePointSet:
        """Return the code points whose category or script is one of ``values``."""
        selected = np.isin(self._arrays[f"{kind}_values"], list(values))
        starts = np.append(self._arrays[f"{kind}_starts"], np.int32(EVERY_CODE_POINT.bounds[1]))
        changes = np.diff(selected, prepend=np.False_, append=np.False_)
        return CodePointSet(starts[changes])

    @functools.cached_property
    def _folding_classes(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All code points that case folding relates to others, and what each folds to."""
        sources, targets = self._arrays["folding"].T
        targets_alone = np.setdiff1d(targets, sources)
        return (
            np.concatenate([sources, targets_alone]),
            np.concatenate([targets, targets_alone]),
        )

    def close_under_case(self, members: CodePointSet) -> CodePointSet:
        """Return ``members`` and every code point with the same simple case folding as one of them.

        What ``(?i:...)`` does to a set: ``s`` gains ``S`` and U+017F (long s), ``k`` gains ``K`` and
        U+212A (Kelvin sign).
        """
        related, folded = self._folding_classes
        wanted = sort_distinct(folded[members.contains_each(related)])
        found = related[np.isin(folded, wanted)]
        return members | CodePointSet.from_code_points(found.tolist()) if len(found) else members


@functools.cache
def load_unicode_tables(version: str = "16") -> UnicodeTables:
    """Return the tables of Unicode ``version``, "16" or "17"; loaded once.

    Raises ArgumentError for any other version.

    >>> load_unicode_tables("16").find_property("Lu").bounds[:2].tolist()
    [65, 91]
    """
    if version not in UNICODE_VERSIONS:
        raise ArgumentError(
            f"cannot load Unicode tables: version {shorten_value(version)} is not shipped; "
            'pass unicode_version="16" or "17"'
        )
    return UnicodeTables(version)
