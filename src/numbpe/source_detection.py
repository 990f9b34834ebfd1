"""What a file holds: told by its first bytes, by its name, or by the user.

A file has a *compression*, which is undone first, and then a *layout*. The first bytes decide
wherever they are those of a binary format, whatever the name; so does the suffix for the rest.
"""

import json
import os
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from numbpe.columns import ColumnPath, choose_text
from numbpe.errors import ArgumentError, DataError, shorten_value

Compression: TypeAlias = Literal["gz", "zst", "bz2", "xz"]
Layout: TypeAlias = Literal["text", "jsonl", "parquet", "arrow", "arrows"]
"""``"arrow"`` is the file form of Arrow's IPC, that of Feather; ``"arrows"`` is its stream form."""

HEAD_NBYTES: Final = 1 << 16
"""How much of a file is looked at."""

_COMPRESSIONS: Final[dict[Compression, tuple[bytes, ...]]] = {
    "gz": (b"\x1f\x8b",),
    "zst": (b"\x28\xb5\x2f\xfd", *(bytes([n]) + b"\x2a\x4d\x18" for n in range(0x50, 0x60))),
    "bz2": (b"BZh",),
    "xz": (b"\xfd7zXZ\0",),
}
_COMPRESSION_SUFFIXES: Final[dict[str, Compression]] = {
    ".gz": "gz", ".gzip": "gz", ".zst": "zst", ".zstd": "zst", ".bz2": "bz2", ".xz": "xz",
}  # fmt: skip
_LAYOUTS: Final[dict[Layout, bytes]] = {
    "parquet": b"PAR1",
    "arrow": b"ARROW1\0\0",
    "arrows": b"\xff\xff\xff\xff",
}
_LAYOUT_SUFFIXES: Final[dict[str, Layout]] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".jsonlines": "jsonl",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrows",
}  # fmt: skip
_FORMATS: Final[dict[str, Layout]] = {
    "text": "text", "jsonl": "jsonl", "parquet": "parquet", "arrow": "arrow", "feather": "arrow",
}  # fmt: skip
FORMATS: Final = tuple(_FORMATS)
"""What ``format=`` may name. Compression is always told by the first bytes."""

_TITLES: Final = {
    "gz": "a gzip archive", "zst": "a Zstandard archive", "bz2": "a bzip2 archive",
    "xz": "an xz archive", "parquet": "Parquet", "arrow": "an Arrow file",
    "arrows": "a stream of Arrow",
}  # fmt: skip


@dataclass(frozen=True)
class FileKind:
    """What a file holds; the compression is None where there is none."""

    compression: Compression | None
    layout: Layout

    @property
    def is_plain(self) -> bool:
        """Whether the bytes of the file are the text."""
        return self.compression is None and self.layout == "text"


def check_format(name: str | None) -> Layout | None:
    """Return the layout of that name; ArgumentError if there is none."""
    if name is None:
        return None
    if name not in _FORMATS:
        raise ArgumentError(
            f"format must be one of {', '.join(FORMATS)}, not {shorten_value(name)}"
        )
    return _FORMATS[name]


def detect_compression(head: bytes, name: str, wanted: Layout | None) -> Compression | None:
    """Return how a file that begins with ``head`` is compressed.

    Raises DataError for a file that has the suffix of an archive and does not begin like one, but
    where it was asked to be read as it is.
    """
    for compression, starts in _COMPRESSIONS.items():
        if head.startswith(starts):
            return compression
    suffix = os.path.splitext(name)[1].lower()
    expected = _COMPRESSION_SUFFIXES.get(suffix)
    if expected is not None and wanted is None:
        found = "is empty" if not head else f"begins with {head[:4]!r}"
        raise DataError(
            f"cannot read {shorten_value(name, 200)}: by its suffix it is {_TITLES[expected]}, but "
            f'it {found}; correct it, or pass format="text" (or another) to read it as it is'
        )
    return None


def detect_layout(
    head: bytes, name: str, *, compressed: bool, wanted: Layout | None, column: ColumnPath
) -> Layout:
    """Return the layout of text that begins with ``head``, once nothing compresses it.

    name: the name of the file, empty for standard input and open files without one.
    wanted: what the user says it is.

    Raises DataError for a file that its suffix, or the user, calls Parquet or Arrow and that does
    not begin like it.
    """
    found = next((layout for layout, start in _LAYOUTS.items() if head.startswith(start)), None)
    if wanted in ("text", "jsonl"):
        return wanted
    if found is not None:
        if compressed and found != "arrows":
            raise DataError(
                f"cannot read {shorten_value(name, 200)}: it is {_TITLES[found]} within an archive, "
                "and must be read from its end; unpack it first"
            )
        if wanted is None or wanted == found or {wanted, found} == {"arrow", "arrows"}:
            return found
    suffix = find_layout_suffix(name, compressed=compressed)
    expected = wanted or _LAYOUT_SUFFIXES.get(suffix)
    if expected in ("parquet", "arrow", "arrows"):
        found_words = "is empty" if not head else f"begins with {head[:6]!r}"
        reason = "it is to be read as" if wanted else "by its suffix it is"
        raise DataError(
            f"cannot read {shorten_value(name, 200)}: {reason} {_TITLES[expected]}, but it "
            f'{found_words}; correct it, or pass format="text" to read it as it is'
        )
    if expected == "jsonl":
        return "jsonl"
    if suffix in ("", ".json") and _holds_rows(head, column, is_json=suffix == ".json"):
        return "jsonl"
    return "text"


def find_layout_suffix(name: str, *, compressed: bool) -> str:
    """Return the suffix that tells the layout, in small letters: that before ``.gz`` and so on."""
    stem, suffix = os.path.splitext(os.path.basename(name))
    if compressed and suffix.lower() in _COMPRESSION_SUFFIXES:
        suffix = os.path.splitext(stem)[1]
    return suffix.lower()


def may_hold_rows(head: bytes) -> bool:
    """Return whether a text that begins with ``head`` may be JSON Lines, so that more is needed."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"")


def _holds_rows(head: bytes, column: ColumnPath, *, is_json: bool) -> bool:
    """Return whether a text is JSON Lines, though its name does not say so.

    It is if its first line is an object that has the column. Any object will do if the column was
    asked for, or if the file is called JSON and its second line begins with an object, too.
    """
    lines = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").split(b"\n", 2)
    if not lines[0].startswith(b"{"):
        return False
    if len(lines) == 1 and len(head) >= HEAD_NBYTES:
        # A first row that is longer than what is seen of it.
        return lines[0][1:].lstrip()[:1] == b'"'
    try:
        row = json.loads(lines[0].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    if column.is_given or (is_json and len(lines) > 1 and lines[1].lstrip()[:1] == b"{"):
        return True
    try:
        choose_text(row, column, "")
    except DataError:
        return False
    return True
