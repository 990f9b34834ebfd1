"""What is looked at before a corpus is encoded to files: that none is read from, and its size."""

import os
from pathlib import Path

from numbpe.errors import ArgumentError, shorten_value
from numbpe.sources import ResolvedSource


def check_paths(paths: list[Path], source: ResolvedSource) -> None:
    """Raise ArgumentError if an output would replace an input."""
    for path in paths:
        for file in source.files or ():
            is_here = file.filesystem is None and not file.is_standard_input
            if is_here and path.exists() and os.path.samefile(path, file.path):
                raise ArgumentError(
                    f"the output {shorten_value(str(path), 200)} is one of the files to read; give "
                    "another name"
                )


def measure_text(source: ResolvedSource, n_shards: int) -> int:
    """Return about the bytes of a source; ArgumentError if they are not known and matter."""
    if n_shards == 1:
        return 1
    n_bytes = source.estimate_text()
    if n_bytes is None:
        raise ArgumentError(
            f"cannot deal {source.description} to {n_shards} shards: its size is not known before it is "
            "read; give files, a list or a table, or shards=1"
        )
    return n_bytes
