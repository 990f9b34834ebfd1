"""Signals to end are not lost, even where Python throws their exception away."""

import signal

import pytest

from numbpe import cli, interrupts
from numbpe.progress import NO_PROGRESS


class LosesExceptions:
    """Raises the signal while it is finalized, where exceptions are ignored."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


def work_on_in_spite_of(number: int) -> None:
    """Take a signal whose exception is lost, and go on to the next step."""
    with cli._clean_up_when_terminated(), NO_PROGRESS.reading() as bar:
        LosesExceptions(number)
        bar.update(1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt__lost_in_a_finalizer(number: int) -> None:
    """Truth: by definition; the next step of the work raises it, and it is forgotten afterwards."""
    with pytest.raises(KeyboardInterrupt):
        work_on_in_spite_of(number)
    interrupts.raise_noted_interrupt()


def test_interrupt__handlers_are_put_back() -> None:
    """Truth: by definition."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with cli._clean_up_when_terminated():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
