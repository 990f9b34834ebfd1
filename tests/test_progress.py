"""Progress bars: where they show, and what."""

import io
import subprocess
import sys

from numbpe.progress import NO_PROGRESS, Progress


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_bars__show_bytes_and_words_on_a_terminal() -> None:
    """Truth: the docstrings of the bars."""
    terminal = Terminal()
    progress = Progress(stream=terminal)
    with progress.reading(2_000_000) as reading:
        reading.update(1_000_000, distinct_words=1234)
        reading.update(1_000_000)
    with progress.merging(10) as merging:
        merging.show(10)
    shown = terminal.getvalue()
    for expected in ("reading", "2.00M", "B/s", "1,234 distinct words", "merging", "10/10"):
        assert expected in shown


def test_bars__are_silent_elsewhere() -> None:
    """Truth: the habit that bars are for terminals."""
    for progress in (Progress(stream=io.StringIO()), Progress(False, Terminal()), NO_PROGRESS):
        with progress.reading() as reading, progress.merging(5) as merging:
            reading.update(5, distinct_words=1)
            merging.show(5)
        assert not progress.enabled
        if isinstance(progress._stream, io.StringIO):
            assert progress._stream.getvalue() == ""


def test_bars__that_do_not_show_import_nothing() -> None:
    """Truth: sys.modules."""
    code = (
        "import sys; from numbpe.progress import NO_PROGRESS\n"
        "with NO_PROGRESS.reading(1) as bar: bar.update(1)\n"
        "assert 'tqdm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
