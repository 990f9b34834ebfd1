"""What a training run did, in figures: for reading and for machines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numbpe.bad_input import BadInput
from numbpe.sizes import format_nbytes
from numbpe.train_checks import CheckLines

COUNTING = "counting"
"""The name of the stage in which text is read and counted."""


@dataclass(frozen=True)
class TrainingSummary:
    """The figures of one run of ``numbpe train``. Seconds by stage, in the order of the stages.

    vocab_sizes : the sizes of all vocabularies that were written; the others are of the largest
    """

    n_source_bytes: int
    n_pieces: int
    n_distinct_words: int
    vocab_size: int
    asked_vocab_size: int
    vocab_sizes: tuple[int, ...]
    n_merges: int
    stopped_early: bool
    seconds: dict[str, float]
    total_seconds: float
    files: dict[str, Path]
    peak_rss_nbytes: int | None
    checks: CheckLines | None = None
    skipped: BadInput = field(default_factory=BadInput)
    """What ``--on-bad skip`` left out."""
    refusals: Sequence[str] = ()
    """What was asked for and could not be written."""

    @property
    def passed(self) -> bool:
        """Whether no check failed and everything was written."""
        return not self.refusals and (self.checks is None or self.checks.passed)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values that JSON can hold; the names are stable."""
        return {
            "n_source_bytes": self.n_source_bytes,
            "n_pieces": self.n_pieces,
            "n_distinct_words": self.n_distinct_words,
            "vocab_size": self.vocab_size,
            "asked_vocab_size": self.asked_vocab_size,
            "vocab_sizes": list(self.vocab_sizes),
            "n_merges": self.n_merges,
            "stopped_early": self.stopped_early,
            "seconds": {stage: round(seconds, 4) for stage, seconds in self.seconds.items()},
            "total_seconds": round(self.total_seconds, 4),
            "counting_bytes_per_second": self._bytes_per_second(),
            "peak_rss_nbytes": self.peak_rss_nbytes,
            "checks": None if self.checks is None else list(self.checks.lines),
            "skipped": self.skipped.to_dict(),
            "refusals": list(self.refusals),
            "passed": self.passed,
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
                f"read     {format_nbytes(self.n_source_bytes)}{self._describe_speed()}: "
                f"{self.n_pieces:,} pieces, {self.n_distinct_words:,} distinct words"
            )
        else:
            lines.append(
                f"counts   {self.n_pieces:,} pieces, {self.n_distinct_words:,} distinct words"
            )
        if left_out := self.skipped.describe():
            lines.append(f"skipped  {left_out}")
        lines.append(f"trained  {self.vocab_size:,} tokens, {self.n_merges:,} merges")
        if len(self.vocab_sizes) > 1:
            lines.append(f"sizes    {', '.join(f'{size:,}' for size in self.vocab_sizes)} tokens")
        stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in self.seconds.items())
        lines.append(f"took     {self.total_seconds:.2f} s: {stages}")
        if self.peak_rss_nbytes is not None:
            lines.append(f"memory   {format_nbytes(self.peak_rss_nbytes)} at most")
        if self.checks is not None:
            lines.extend(f"check    {line}" for line in self.checks.lines)
            if not self.checks.passed:
                lines.append("check    FAILED: do not rely on these files; please report it")
        lines.append("wrote    " + ", ".join(str(path) for path in self.files.values()))
        lines.extend(f"refused  {line}" for line in self.refusals)
        return lines

    def _bytes_per_second(self) -> int | None:
        """Return the speed of reading and counting; None if there was nothing to read."""
        seconds = self.seconds.get(COUNTING, 0.0)
        return int(self.n_source_bytes / seconds) if self.n_source_bytes and seconds > 0 else None

    def _describe_speed(self) -> str:
        speed = self._bytes_per_second()
        return "" if speed is None else f" at {format_nbytes(speed)}/s"
