"""What a training run did, in figures: for reading and for machines."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numbpe.sizes import format_nbytes


def measure_peak_rss() -> int | None:
    """Return the most memory in bytes that this process has held so far; None if not known."""
    try:
        # Unlike ru_maxrss, this does not begin with what the parent process held.
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@dataclass(frozen=True)
class TrainingSummary:
    """The figures of one run of ``numbpe train``. Seconds by stage, in the order of the stages."""

    n_source_bytes: int
    n_pieces: int
    n_distinct_words: int
    vocab_size: int
    asked_vocab_size: int
    n_merges: int
    stopped_early: bool
    seconds: dict[str, float]
    total_seconds: float
    files: dict[str, Path]
    peak_rss_nbytes: int | None = field(default_factory=measure_peak_rss)
    checks: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values that JSON can hold; the names are stable."""
        return {
            "n_source_bytes": self.n_source_bytes,
            "n_pieces": self.n_pieces,
            "n_distinct_words": self.n_distinct_words,
            "vocab_size": self.vocab_size,
            "asked_vocab_size": self.asked_vocab_size,
            "n_merges": self.n_merges,
            "stopped_early": self.stopped_early,
            "seconds": {stage: round(seconds, 4) for stage, seconds in self.seconds.items()},
            "total_seconds": round(self.total_seconds, 4),
            "bytes_per_second": self._bytes_per_second(),
            "peak_rss_nbytes": self.peak_rss_nbytes,
            "checks": list(self.checks),
            "files": {form: str(path) for form, path in self.files.items()},
        }

    def to_lines(self) -> list[str]:
        """Return the summary as lines for a person."""
        lines = []
        if self.stopped_early:
            lines.append(
                f"stopped early: asked for {self.asked_vocab_size:,}, "
                f"the text gives {self.vocab_size:,}"
            )
        if self.n_source_bytes:
            lines.append(
                f"read     {format_nbytes(self.n_source_bytes)}: {self.n_pieces:,} pieces, "
                f"{self.n_distinct_words:,} distinct words"
            )
        else:
            lines.append(
                f"counts   {self.n_pieces:,} pieces, {self.n_distinct_words:,} distinct words"
            )
        lines.append(f"trained  {self.vocab_size:,} tokens, {self.n_merges:,} merges")
        stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in self.seconds.items())
        lines.append(f"took     {self.total_seconds:.2f} s: {stages}{self._describe_speed()}")
        if self.peak_rss_nbytes is not None:
            lines.append(f"memory   {format_nbytes(self.peak_rss_nbytes)} at most")
        lines.extend(f"check    {line}" for line in self.checks)
        lines.append("wrote    " + ", ".join(str(path) for path in self.files.values()))
        return lines

    def _bytes_per_second(self) -> int | None:
        if not self.n_source_bytes or self.total_seconds <= 0:
            return None
        return int(self.n_source_bytes / self.total_seconds)

    def _describe_speed(self) -> str:
        speed = self._bytes_per_second()
        return "" if speed is None else f" ({speed / 1e6:,.3g} MB/s in all)"
