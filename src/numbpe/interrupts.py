"""Ctrl-C that must not get lost.

Python throws an exception away that is raised while an object is being finalized, and loading
kernels finalizes thousands of objects. So the command line notes every signal to end, and work that
goes on in spite of one raises it again between two steps.
"""

_noted: list[BaseException] = []


def note_interrupt(error: BaseException) -> None:
    """Remember that the work is to end with ``error``."""
    _noted[:] = [error]


def forget_interrupt() -> None:
    """Forget what was noted: it has ended the work, or the work is done."""
    _noted.clear()


def raise_noted_interrupt() -> None:
    """Raise the error that was noted, if any."""
    if _noted:
        raise _noted[0]
