"""Sizes with units."""

import pytest

from numbpe.errors import ArgumentError
from numbpe.sizes import format_nbytes, parse_nbytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (5, 5),
        ("5", 5),
        ("4GiB", 4 << 30),
        ("4 gib", 4 << 30),
        ("4G", 4 << 30),
        ("500MB", 500_000_000),
        ("1.5kB", 1500),
        ("0.5MiB", 1 << 19),
        ("2TB", 2 * 10**12),
    ],
)
def test_parse_nbytes__knows_the_units(text: int | str, expected: int) -> None:
    """Truth: hand-computed."""
    assert parse_nbytes(text) == expected


@pytest.mark.parametrize(
    "text", ["", "GiB", "4 Gibi", "-1GB", "0", "0.1", 0, -5, "1e9", True, 1.5, None]
)
def test_parse_nbytes__refuses_the_rest(text: object) -> None:
    """Truth: the docstring; the message shows what to write."""
    with pytest.raises(ArgumentError, match="4GiB"):
        parse_nbytes(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n_bytes", "expected"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (1_152_473, "1.15 MB"), (2.5e9, "2.5 GB")],
)
def test_format_nbytes__is_short(n_bytes: float, expected: str) -> None:
    """Truth: hand-computed."""
    assert format_nbytes(n_bytes) == expected
