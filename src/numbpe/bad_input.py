"""What becomes of input that cannot be used: an error, or a count of what was left out."""

import warnings
from typing import Any, Final, Literal, TypeAlias

from numbpe.errors import ArgumentError, DataError, shorten_value

BadPolicy: TypeAlias = Literal["error", "skip"]
"""``"error"`` ends the run at the first row or file that cannot be used; ``"skip"`` goes on."""


SKIP_HINT: Final = '; correct it, or pass on_bad="skip" (--on-bad skip) to leave such rows out'
"""What to do about a row that holds no text."""


class SkippedWarning(UserWarning):
    """Parts of the input could not be used, and ``on_bad="skip"`` left them out."""


class BadInput:
    """Decides about rows and files that cannot be used, and counts those that are left out.

    n_rows: rows without text: null, missing, of another type, or malformed; and those of parts of
        a file that cannot be read, where it is known how many there are.
    n_damaged: places where a file could be read no further, or not at all.
    first: what was wrong with the first of them; empty if nothing was.
    """

    def __init__(self, policy: BadPolicy = "error") -> None:
        self._policy = check_policy(policy)
        self.n_rows = 0
        self.n_damaged = 0
        self.first = ""

    @property
    def skips(self) -> bool:
        """Whether what cannot be used is left out."""
        return self._policy == "skip"

    def add_rows(self, n_rows: int, error: DataError) -> None:
        """Leave ``n_rows`` rows out, of which ``error`` describes the first, or raise it."""
        self._add(error)
        self.n_rows += n_rows

    def add_damage(self, error: DataError, n_rows: int = 0) -> None:
        """Leave out the rest of a file, or a part of it with ``n_rows`` rows, or raise ``error``."""
        self._add(error)
        self.n_damaged += 1
        self.n_rows += n_rows

    def begin_anew(self) -> "BadInput":
        """Return a count of nothing, by the same policy: for a part of the same run."""
        return BadInput(self._policy)

    def add_all(self, other: "BadInput") -> None:
        """Count what another part of the same run has left out."""
        self.n_rows += other.n_rows
        self.n_damaged += other.n_damaged
        self.first = self.first or other.first

    def _add(self, error: DataError) -> None:
        if not self.skips:
            raise error
        self.first = self.first or str(error)

    def describe(self) -> str:
        """Return what was left out, in words; empty if nothing was."""
        parts = []
        if self.n_rows:
            parts.append(f"{self.n_rows:,} {'row' if self.n_rows == 1 else 'rows'}")
        if self.n_damaged:
            is_one = self.n_damaged == 1
            parts.append(f"{self.n_damaged:,} damaged {'part' if is_one else 'parts'} of files")
        return f"{' and '.join(parts)}; the first: {self.first}" if parts else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as values that JSON can hold."""
        return {"rows": self.n_rows, "damaged": self.n_damaged, "first": self.first or None}


def warn_of_skipped(bad: BadInput, stacklevel: int = 3) -> None:
    """Warn the caller of a public function of what was left out."""
    if left_out := bad.describe():
        warnings.warn(f"left out {left_out}", SkippedWarning, stacklevel=stacklevel)


def check_policy(policy: object) -> BadPolicy:
    """Return ``policy``; ArgumentError if it is none."""
    if policy == "error":
        return "error"
    if policy == "skip":
        return "skip"
    raise ArgumentError(f'on_bad must be "error" or "skip", not {shorten_value(policy)}')
