"""What a run that turned text into ids did, in figures: for reading and for machines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numbpe.bad_input import BadInput
from numbpe.sizes import format_nbytes


@dataclass(frozen=True)
class EncodingReport:
    """The figures of one run of :func:`numbpe.shards.encode_files`.

    n_documents, n_tokens: what all files of the run hold; tokens include the ids that mark the ends
        of documents.
    n_source_bytes: bytes read.
    seconds: how long the run took.
    files: the shards, in order; none if ids were only counted.
    id_type: ``"uint16"`` or ``"uint32"``.
    n_kept: how many of the shards an earlier run had made.
    skipped: what ``on_bad="skip"`` left out.
    """

    n_documents: int
    n_tokens: int
    n_source_bytes: int
    seconds: float
    files: tuple[Path, ...]
    id_type: str
    n_kept: int = 0
    peak_rss_nbytes: int | None = None
    skipped: BadInput = field(default_factory=BadInput)

    @property
    def passed(self) -> bool:
        """True: a run that goes wrong raises."""
        return True

    @property
    def tokens_per_byte(self) -> float | None:
        """Tokens for each byte of text; None if that cannot be told, as when shards were kept."""
        if self.n_kept or not self.n_source_bytes:
            return None
        return self.n_tokens / self.n_source_bytes

    @property
    def bytes_per_second(self) -> int | None:
        """Bytes read a second; None if nothing was read."""
        if not self.n_source_bytes or self.seconds <= 0:
            return None
        return int(self.n_source_bytes / self.seconds)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values that JSON can hold; the names are stable."""
        return {
            "n_documents": self.n_documents,
            "n_tokens": self.n_tokens,
            "n_source_bytes": self.n_source_bytes,
            "tokens_per_byte": self.tokens_per_byte,
            "seconds": round(self.seconds, 4),
            "bytes_per_second": self.bytes_per_second,
            "dtype": self.id_type,
            "n_kept": self.n_kept,
            "skipped": self.skipped.to_dict(),
            "peak_rss_nbytes": self.peak_rss_nbytes,
            "files": [str(path) for path in self.files],
        }

    def to_lines(self) -> list[str]:
        """Return the figures as lines for a person."""
        speed = self.bytes_per_second
        rate = "" if speed is None else f", {format_nbytes(speed)}/s"
        lines = [f"read     {format_nbytes(self.n_source_bytes)} in {self.seconds:.2f} s{rate}"]
        density = self.tokens_per_byte
        ratio = f", {1 / density:.3f} bytes per token" if density else ""
        lines.append(f"encoded  {self.n_documents:,} documents, {self.n_tokens:,} tokens{ratio}")
        if left_out := self.skipped.describe():
            lines.append(f"skipped  {left_out}")
        if self.n_kept:
            lines.append(f"kept     {self.n_kept} of {len(self.files)} shards of an earlier run")
        if self.peak_rss_nbytes is not None:
            lines.append(f"memory   {format_nbytes(self.peak_rss_nbytes)} at most")
        if self.files:
            lines.append(f"wrote    {_list_files(self.files)} ({self.id_type})")
        return lines


def _list_files(files: Sequence[Path]) -> str:
    if len(files) <= 4:
        return ", ".join(map(str, files))
    return f"{len(files)} files, {files[0]} to {files[-1]}"
