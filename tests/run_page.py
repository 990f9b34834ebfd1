"""Run the snippets of one page from top to bottom: ``python tests/run_page.py PAGE``.

A program of its own, because a page is written for a fresh process: what it says of memory does not
hold in one that has run a thousand tests.
"""

import importlib.util
import io
import re
import shlex
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

from numbpe import cli


def run_pipeline(line: str) -> str:
    """Return what a line of ``numbpe ...`` commands, one feeding the next, prints to stdout."""
    output = b""
    for command in line.split(" | "):
        program, *arguments = shlex.split(command)
        if program != "numbpe":
            raise ValueError(f"the tests cannot run {line!r}")
        printed = io.BytesIO()
        streams = sys.stdin, sys.stdout
        sys.stdin = io.TextIOWrapper(io.BytesIO(output), encoding="utf-8")
        sys.stdout = io.TextIOWrapper(printed, encoding="utf-8")
        try:
            code = cli.main(arguments)
            sys.stdout.flush()
            output = printed.getvalue()
        finally:
            sys.stdin, sys.stdout = streams
        assert code == 0, line
    return output.decode()


def is_installed(package: str) -> bool:
    """Return whether a package can be used; Spark needs Java, and pandas beside it."""
    needed = {"pyspark": ("pyspark", "pandas")}.get(package, (package,))
    has_programs = package != "pyspark" or shutil.which("java") is not None
    return has_programs and all(importlib.util.find_spec(name) for name in needed)


def run_page(page: Path) -> tuple[int, int]:
    """Run the python and console blocks of a page; return how many ran, and were left out.

    The assertions of a python block hold, and a command prints what stands below it. Left out is
    what follows a line ``<!-- needs: package -->`` where that package is not installed.
    """
    names: dict[str, Any] = {"__name__": page.stem}
    blocks = re.findall(
        r"^(?:<!-- needs: (\w+) -->\n)?```(python|console)\n(.*?)^```",
        page.read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    n_left_out = 0
    for needed, language, block in blocks:
        if needed and not is_installed(needed):
            n_left_out += 1
            continue
        if language == "python":
            exec(compile(block, page.name, "exec"), names)  # noqa: S102 - the pages are our own
            continue
        for line, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            printed = run_pipeline(line)
            assert not expected or printed.rstrip("\n") == expected.rstrip("\n"), (line, printed)
    return len(blocks) - n_left_out, n_left_out


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    n_run, n_left_out = run_page(Path(sys.argv[1]))
    print(f"{n_run} blocks ran, {n_left_out} were left out")
