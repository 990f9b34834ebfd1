"""Run one process and measure it from outside: wall clock, CPU seconds, peak memory."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass


class RunError(Exception):
    """A process has failed."""


@dataclass(frozen=True)
class Measurement:
    """What one process took, from its start to its end.

    peak_rss_nbytes : None if it was not above that of the process that measures, see below
    """

    process_seconds: float
    cpu_seconds: float
    peak_rss_nbytes: int | None

    def to_dict(self) -> dict[str, float | None]:
        """Return the figures as values that JSON can hold."""
        return asdict(self)


def measure(command: Sequence[str], environment: Mapping[str, str]) -> Measurement:
    """Run a command to its end; RunError if it fails.

    The system counts into a process's peak what its parent held when it was started, so a peak that
    is not higher says nothing. The caller must be small; with the standard library it has 27 MB.
    """
    with tempfile.TemporaryFile() as errors:
        variables = {**os.environ, **environment}
        # Sources that are used where they stand are compiled once, as installed ones are.
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            tail = errors.read()[-2000:].decode(errors="replace")
            raise RunError(f"exit code {process.returncode} of {' '.join(command)}\n{tail}")
    unit = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Measurement(
        process_seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        peak_rss_nbytes=usage.ru_maxrss * unit if usage.ru_maxrss > own else None,
    )
