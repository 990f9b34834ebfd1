"""How much memory this process has taken."""

import sys


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
