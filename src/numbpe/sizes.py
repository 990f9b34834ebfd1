"""Sizes in bytes as people write them: ``"4GiB"``, ``"500 MB"``."""

import re

from numbpe.errors import ArgumentError, shorten_value

_FACTORS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)\s*", re.IGNORECASE | re.ASCII)


def parse_nbytes(size: int | str) -> int:
    """Return ``size`` in bytes.

    A number counts bytes. Text is a number with a unit: KB, MB, GB, TB are powers of 1000; KiB, MiB,
    GiB, TiB and their first letters alone are powers of 1024. Capitals do not matter.

    Raises :class:`ArgumentError` if it is nothing of that kind, or less than one byte.

    >>> parse_nbytes("4GiB")
    4294967296
    """
    if isinstance(size, int) and not isinstance(size, bool):
        n_bytes = size
    else:
        match = _SIZE.fullmatch(size) if isinstance(size, str) else None
        if match is None or match[2].lower() not in _FACTORS:
            raise ArgumentError(
                f"cannot read {shorten_value(size)} as a size; give a number of bytes or a number "
                "with a unit, such as 500MB or 4GiB"
            )
        n_bytes = int(float(match[1]) * _FACTORS[match[2].lower()])
    if n_bytes < 1:
        raise ArgumentError(
            f"a size of {shorten_value(size)} is no size; give at least one byte, such as 4GiB"
        )
    return n_bytes


def format_nbytes(n_bytes: float) -> str:
    """Return a size for reading, in powers of 1000.

    >>> format_nbytes(1_152_473)
    '1.15 MB'
    """
    if n_bytes < 1000:
        return f"{n_bytes:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        n_bytes /= 1000
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
    return f"{n_bytes / 1000:,.2f} TB"
