#!/usr/bin/env python
"""Build the table of Traditional and Simplified Chinese characters that numbpe ships,
``src/numbpe/data/han_characters.npz``, byte for byte.

The input is the package opencc-python-reimplemented 0.1.7 of PyPI, which holds the dictionaries
STCharacters and TSCharacters of OpenCC (https://github.com/BYVoid/OpenCC; Apache License 2.0,
Copyright 2010-2014 Carbo Kuo). In an empty folder:

    pip download --no-deps opencc-python-reimplemented==0.1.7
    sha256sum *.whl        # must be DIGEST below
    python scripts/build_han_tables.py .

With ``--check`` nothing is written, and the exit code is 1 if what is shipped differs. What the
arrays mean is said in ``numbpe.combinatorial.folding``.
"""

import argparse
import hashlib
import io
import sys
import zipfile
from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "numbpe" / "data" / "han_characters.npz"
FILE_NAME = "opencc_python_reimplemented-0.1.7-py2.py3-none-any.whl"
DIGEST = "41b3b92943c7bed291f448e9c7fad4b577c8c2eae30fcfe5a74edf8818493aa6"


def read_dictionary(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Return the first candidate for each single character of a dictionary of OpenCC.

    A line is a key, a tab, and candidates separated by spaces.
    """
    content = archive.read(f"opencc/dictionary/{name}.txt").decode("utf-8-sig")
    entries = (line.split("\t") for line in content.splitlines() if line)
    return {key: candidates.split()[0] for key, candidates in entries if len(key) == 1}


def build_pairs(archive: zipfile.ZipFile) -> tuple[dict[str, str], dict[str, str]]:
    """Return the Traditional form by Simplified character, and the way back where it is exact."""
    to_traditional = {
        key: first
        for key, first in read_dictionary(archive, "STCharacters").items()
        if len(first) == 1 and first != key
    }
    to_simplified = {
        key: first
        for key, first in read_dictionary(archive, "TSCharacters").items()
        if to_traditional.get(first) == key
    }
    return to_traditional, to_simplified


def main() -> int:
    """Build the table, or check it; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder with the package file")
    parser.add_argument("--check", action="store_true", help="compare with what is shipped")
    arguments = parser.parse_args()
    package = (arguments.folder / FILE_NAME).read_bytes()
    found = hashlib.sha256(package).hexdigest()
    if found != DIGEST:
        raise SystemExit(f"cannot use {FILE_NAME}: its SHA-256 is {found}, but must be {DIGEST}")
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        mappings = build_pairs(archive)
    to_traditional, to_simplified = (
        np.array(sorted((ord(key), ord(value)) for key, value in mapping.items()), dtype=np.int32)
        for mapping in mappings
    )
    content = io.BytesIO()
    # Not compressed, so that the bytes do not depend on the release of zlib.
    np.savez(content, to_traditional=to_traditional, to_simplified=to_simplified)
    if arguments.check:
        same = OUTPUT.is_file() and OUTPUT.read_bytes() == content.getvalue()
        print(f"{OUTPUT}: {'the same' if same else 'DIFFERS'}")
        return 0 if same else 1
    OUTPUT.write_bytes(content.getvalue())
    print(f"{OUTPUT}: {len(to_traditional):,} and {len(to_simplified):,} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
