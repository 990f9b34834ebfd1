"""Bars for training and encoding: the only module that uses tqdm.

A bar shows on a terminal only, and only when it is asked for; otherwise the same objects do nothing
and tqdm is not even imported. Bars go to stderr, so that stdout stays free for data.

    progress = Progress(enabled=True)
    with progress.reading(total_nbytes) as bar:
        bar.update(n_bytes, distinct_words=n_words)
    with progress.merging(n_merges) as bar:
        bar.show(n_done)

Call their methods from one thread.
"""

import sys
from types import TracebackType
from typing import Any, Self, TextIO

from numbpe.interrupts import raise_noted_interrupt

_REDRAW_SECONDS = 0.2


class _Bar:
    """A context manager around a tqdm bar, or around nothing."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class ReadingBar(_Bar):
    """Shows bytes, bytes a second and the number of distinct words so far."""

    def update(self, n_bytes: int, distinct_words: int | None = None) -> None:
        """Say that ``n_bytes`` more were read; ``distinct_words`` is the number in all so far.

        Raises an interrupt that was lost (:mod:`numbpe.interrupts`).
        """
        raise_noted_interrupt()
        if self._bar is None:
            return
        if distinct_words is not None:
            # Not redrawn for it: the next step in bytes shows it.
            self._bar.set_postfix_str(f"{distinct_words:,} distinct words", refresh=False)
        self._bar.update(n_bytes)


class EncodingBar(_Bar):
    """Shows bytes, bytes a second and the number of tokens so far."""

    def update(self, n_bytes: int, n_tokens: int) -> None:
        """Say that ``n_bytes`` more were read; ``n_tokens`` is the number in all so far.

        Raises an interrupt that was lost (:mod:`numbpe.interrupts`).
        """
        raise_noted_interrupt()
        if self._bar is not None:
            self._bar.set_postfix_str(f"{n_tokens:,} tokens", refresh=False)
            self._bar.update(n_bytes)


class MergingBar(_Bar):
    """Shows the merges done, and how many a second."""

    def show(self, n_done: int) -> None:
        """Say that ``n_done`` merges in all are done. Raises an interrupt that was lost."""
        raise_noted_interrupt()
        if self._bar is not None:
            self._bar.update(n_done - self._bar.n)


class Progress:
    """Makes the bars of one run; they show if ``enabled`` and if ``stream`` is a terminal.

    Parameters
    ----------
    enabled
        False gives bars that do nothing.
    stream
        Where bars are drawn; ``sys.stderr`` as it is at the time of the call by default.
    """

    def __init__(self, enabled: bool = True, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        # A process without a console (pythonw) has no stderr at all.
        self.enabled = enabled and self._stream is not None and self._stream.isatty()

    def reading(self, total_nbytes: int | None = None) -> ReadingBar:
        """Return a bar over the bytes of the source; None where their number is not known."""
        return ReadingBar(self._make_bar("reading", total_nbytes, unit="B", unit_scale=True))

    def encoding(self, total_nbytes: int | None = None) -> EncodingBar:
        """Return a bar over the bytes of a source that is encoded."""
        return EncodingBar(self._make_bar("encoding", total_nbytes, unit="B", unit_scale=True))

    def merging(self, total: int) -> MergingBar:
        """Return a bar over ``total`` merges."""
        return MergingBar(self._make_bar("merging", total, unit=" merges", unit_scale=False))

    def _make_bar(self, label: str, total: int | None, unit: str, unit_scale: bool) -> Any:
        if not self.enabled:
            return None
        import tqdm

        class QuietBar(tqdm.tqdm):  # type: ignore[misc]
            # tqdm's watchdog thread would outlive the bar and trouble a later fork().
            monitor_interval = 0

        return QuietBar(
            desc=label,
            total=total,
            unit=unit,
            unit_scale=unit_scale,
            file=self._stream,
            mininterval=_REDRAW_SECONDS,
            dynamic_ncols=True,
        )


NO_PROGRESS = Progress(enabled=False)
"""Bars that never show: for calls that have no use for them."""
