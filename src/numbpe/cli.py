"""The console command ``numbpe``: its sub-commands, its errors and its exit codes.

Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 the data or the machine stood in
the way, 2 the command was wrong, 130 interrupted, 143 terminated. An error is one line; ``--debug`` adds tracebacks.
The modules that compile kernels are imported when a command runs, so that ``--help`` is quick.

A sub-command is a module with ``add_parser(commands)``, which sets ``run`` to a function from the
parsed arguments to a :class:`Report`.
"""

import argparse
import contextlib
import gc
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numbpe
from numbpe import (
    audit_command,
    combinatorial_command,
    convert_command,
    decode_command,
    encode_command,
    inspect_command,
    report_command,
    step_command,
    train_command,
)
from numbpe.errors import ArgumentError, NumbpeError
from numbpe.interrupts import forget_interrupt, note_interrupt

EXIT_OK = 0
EXIT_DATA = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

_EPILOG = """examples:
  numbpe train --input owt.txt --vocab 32000
  numbpe encode --tokenizer artifacts/owt.json --input owt.txt --output owt.bin
  numbpe inspect artifacts/owt.json --text 'Hello, world'

exit codes: 0 done, 1 data or machine, 2 wrong command, 130 interrupted"""


class Terminated(KeyboardInterrupt):
    """Another program, such as a batch system, has asked this one to end."""


class Report(Protocol):
    """What a sub-command says about its work."""

    @property
    def passed(self) -> bool:
        """Whether the work was found to be in order; if not, the exit code is 1."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values that JSON can hold."""

    def to_lines(self) -> list[str]:
        """Return the same as lines for a person."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (``sys.argv[1:]`` by default) and return the exit code."""
    try:
        arguments = make_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed its help or its error
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    try:
        with _show_warnings_in_one_line(), _clean_up_when_terminated():
            report = arguments.run(arguments)
        _print_report(report, arguments)
    except BrokenPipeError:
        _abandon_closed_streams()
        return EXIT_OK
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - no traceback is the promise
        if arguments.debug:
            traceback.print_exc()
        return _report_error(error)
    return EXIT_OK if report.passed else EXIT_DATA


def run_process(command: Sequence[str] = ()) -> NoReturn:
    """Run ``command`` with the arguments of this process and end it with the exit code.

    The interpreter is not taken down: that takes half a second once kernels are loaded, and by now
    all files are closed and all temporary ones are gone.
    """
    # Imports and files make hundreds of thousands of objects of which none is garbage.
    gc.disable()
    code = main([*command, *sys.argv[1:]])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all sub-commands; each sets ``run`` to its function."""
    parser = argparse.ArgumentParser(
        prog="numbpe",
        description="Exact and fast byte-pair encoding.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"numbpe {numbpe.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (
        train_command,
        encode_command,
        decode_command,
        inspect_command,
        audit_command,
        report_command,
        step_command,
        convert_command,
        combinatorial_command,
    ):
        command.add_parser(commands)
    return parser


def _print_report(report: Report, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(report.to_dict(), indent=2), flush=True)
    # What is wrong is said in any case.
    lines = report.to_lines()
    if lines and (not arguments.quiet or not report.passed):
        _print_to_stderr(*lines)


def _report_error(error: BaseException) -> int:
    """Say in one line what went wrong; return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        is_terminated = isinstance(error, Terminated)
        word = "terminated" if is_terminated else "interrupted"
        _print_to_stderr(f"numbpe: {word}; no file is left half written")
        return EXIT_TERMINATED if is_terminated else EXIT_INTERRUPTED
    _print_to_stderr("numbpe: error: " + " ".join(_describe_error(error).split()))
    return EXIT_USAGE if isinstance(error, ArgumentError) else EXIT_DATA


def _describe_error(error: BaseException) -> str:
    if isinstance(error, NumbpeError):
        return str(error)
    if isinstance(error, OSError):
        # Python's own errors have parts; those worded by numbpe are a sentence.
        place = "" if error.filename is None else f"{error.filename!r}: "
        return f"{place}{error.strerror}" if error.strerror else str(error)
    if isinstance(error, MemoryError):
        return f"out of memory: {error or 'no more can be had'}; give a bound such as --memory 4GiB"
    return f"unexpected {type(error).__name__}: {error}; --debug shows where. Please report it"


def _print_to_stderr(*lines: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(*lines, sep="\n", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _show_warnings_in_one_line() -> Iterator[None]:
    """Show warnings as this program's words, without the place in its source."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        _print_to_stderr(f"numbpe: warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _clean_up_when_terminated() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does, with temporary files removed, and lose neither."""

    def end(signal_number: int, _frame: object) -> None:
        error = Terminated() if signal_number == signal.SIGTERM else KeyboardInterrupt()
        note_interrupt(error)
        raise error

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    previous = {signal.SIGTERM: signal.signal(signal.SIGTERM, end)}
    # In the background of a shell Ctrl-C is ignored, and stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        previous[signal.SIGINT] = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        forget_interrupt()
        for signal_number, handler in previous.items():
            signal.signal(signal_number, handler)


def _abandon_closed_streams() -> None:
    """Point stdout and stderr to nowhere, so that Python's last flush does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
