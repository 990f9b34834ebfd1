"""Run work over chunks in threads: kernels release the GIL, so threads run side by side."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from numbpe.errors import ArgumentError, shorten_value

T = TypeVar("T")

_WAIT_SECONDS = 0.1
"""Longest wait for a lock in the calling thread, so that Ctrl-C is noticed on every system."""


def resolve_threads(threads: int | None) -> int:
    """Return how many threads to use: ``threads`` itself, or one for each core we may run on.

    Raises:
        ArgumentError: not a whole number of 1 or more.
    """
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ArgumentError(
            f"threads must be a whole number of 1 or more, not {shorten_value(threads)}; leave it "
            "out to use every core"
        )
    return threads


class _Channel(Generic[T]):
    """A queue of bounded length between one producer and many consumers, that can be stopped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self.is_stopped = False

    def offer(self, item: T) -> bool:
        """Hand over an item if there is room; return whether there was."""
        with self._changed:
            if len(self._waiting) >= self._limit:
                return False
            self._waiting.append(item)
            self._changed.notify()
            return True

    def get(self) -> tuple[T] | None:
        """Return the next item in a tuple, ``None`` if no more will come."""
        with self._changed:
            while not (self._waiting or self._is_closed or self.is_stopped):
                self._changed.wait()
            if self.is_stopped or not self._waiting:
                return None
            item = self._waiting.popleft()
            self._changed.notify_all()
            return (item,)

    def close(self) -> None:
        """Let consumers end when they have taken what is waiting."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Let producer and consumers end at once."""
        with self._changed:
            self.is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()


def consume_in_threads(
    items: Iterable[T], make_worker: Callable[[], Callable[[T], None]], threads: int
) -> None:
    """Give each of ``items`` to one of ``threads`` workers, and return when all is done.

    The calling thread iterates over ``items``, so that generators of the user run there, and is one
    of the workers itself: it takes on what finds no room among the ``threads`` items that may wait
    for the others. ``make_worker`` is called once for each thread, in the calling thread, and what
    it returns is called in that thread alone, so it may keep state of its own.

    The first exception of a worker, of ``items`` or of Ctrl-C stops all threads, as soon as each has
    finished the item it is at, and is raised here.
    """
    if threads == 1:
        worker = make_worker()
        for item in items:
            worker(item)
        return
    channel: _Channel[T] = _Channel(threads)
    own_worker = make_worker()
    failures: deque[BaseException] = deque()
    workers = [
        threading.Thread(
            target=_run_worker,
            args=(channel, make_worker(), failures),
            name=f"numbpe-{number}",
            daemon=True,
        )
        for number in range(1, threads)
    ]
    started: list[threading.Thread] = []
    try:
        for thread in workers:
            thread.start()
            started.append(thread)
        for item in items:
            if channel.is_stopped:
                break
            if not channel.offer(item):
                own_worker(item)
        channel.close()
        while (taken := channel.get()) is not None:
            own_worker(taken[0])
        _join(started)
    except BaseException:
        channel.stop()
        raise
    finally:
        _join(started)
    if failures:
        raise failures[0]


def call_interruptibly(function: Callable[[], T]) -> T:
    """Return ``function()``, called in a thread of its own so that Ctrl-C is answered meanwhile.

    Python looks for signals between its own instructions, and a kernel over a large array may take
    seconds. After Ctrl-C the thread is left behind; it ends when its kernel does. Outside the main
    thread, where no signal arrives, the function is simply called.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001, raised again in the calling thread
            failures.append(error)

    thread = threading.Thread(target=run, name="numbpe-call", daemon=True)
    thread.start()
    _join([thread])
    if failures:
        raise failures[0]
    return results[0]


def cut_evenly(n: int, n_parts: int) -> list[int]:
    """Return the bounds of parts of ``range(n)`` that are as long as each other, or one longer.

    >>> cut_evenly(10, 4)
    [0, 2, 5, 7, 10]
    """
    return [n * part // n_parts for part in range(n_parts + 1)]


def call_side_by_side(functions: Sequence[Callable[[], T]]) -> list[T]:
    """Return what each of ``functions`` returns; all run at once, each but the first in a new thread.

    The first exception is raised here when all have ended.
    """
    results: dict[int, T] = {}
    failures: deque[BaseException] = deque()

    def run(number: int) -> None:
        try:
            results[number] = functions[number]()
        except BaseException as error:  # noqa: BLE001, raised again in the calling thread
            failures.append(error)

    threads = [
        threading.Thread(target=run, args=(number,), name=f"numbpe-{number}", daemon=True)
        for number in range(1, len(functions))
    ]
    for thread in threads:
        thread.start()
    run(0)
    _join(threads)
    if failures:
        raise failures[0]
    return [results[number] for number in range(len(functions))]


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(_WAIT_SECONDS)


def _run_worker(
    channel: _Channel[T], worker: Callable[[T], None], failures: deque[BaseException]
) -> None:
    try:
        while (taken := channel.get()) is not None:
            worker(taken[0])
            del taken  # so that an item is not kept alive while waiting for the next
    except BaseException as error:  # noqa: BLE001, raised again in the calling thread
        failures.append(error)
        channel.stop()
