"""Map a function over items in threads and give the results in the order of the items."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_WAIT_SECONDS = 0.1
"""Longest wait in the calling thread, so that Ctrl-C is noticed on every system."""


def count_items_in_flight(threads: int) -> int:
    """Return how many items :func:`map_in_order` holds at most, their results included."""
    return 1 if threads == 1 else 2 * threads


def map_in_order(
    items: Iterable[T], function: Callable[[T], R], threads: int
) -> Generator[R, None, None]:
    """Yield ``function(item)`` for each of ``items``, in their order.

    The calling thread iterates over ``items`` and is one of the ``threads`` that call the function:
    when enough items wait for the others it takes one itself. Close the generator to end early
    (``contextlib.closing``); each thread then ends as soon as it is done with the item it is at.

    What the function raises is raised here, in the place of the result; so of several errors it is
    that of the first item, whatever the threads.

    Example: ``list(map_in_order(range(3), str, threads=2))`` is ``["0", "1", "2"]``.
    """
    if threads == 1:
        for item in items:
            yield function(item)
        return
    crew = _Crew(function, threads - 1)
    pending: deque[_Task[T, R]] = deque()
    limit = count_items_in_flight(threads)
    try:
        crew.start()
        for item in items:
            task = _Task[T, R](item)
            pending.append(task)
            crew.add(task)
            while len(pending) >= limit:
                crew.help_or_wait(pending[0])
                while pending and pending[0].is_done:
                    yield pending.popleft().take_result()
        while pending:
            while not pending[0].is_done:
                crew.help_or_wait(pending[0])
            yield pending.popleft().take_result()
    finally:
        crew.stop()


class _Task(Generic[T, R]):
    """An item, and later what became of it."""

    def __init__(self, item: T) -> None:
        self._items = [item]
        self._results: list[R] = []
        self._error: BaseException | None = None
        self.is_done = False

    def run(self, function: Callable[[T], R]) -> None:
        # The item is let go of before the result waits for its turn.
        try:
            self._results.append(function(self._items.pop()))
        except BaseException as error:  # noqa: BLE001, raised again where the result is taken
            self._error = error

    def take_result(self) -> R:
        if self._error is not None:
            raise self._error
        return self._results.pop()


class _Crew(Generic[T, R]):
    """Threads that run tasks, the oldest first."""

    def __init__(self, function: Callable[[T], R], n_threads: int) -> None:
        self._function = function
        self._waiting: deque[_Task[T, R]] = deque()
        self._changed = threading.Condition()
        self._is_stopped = False
        self._threads = [
            threading.Thread(target=self._work, name=f"numbpe-{number}", daemon=True)
            for number in range(1, n_threads + 1)
        ]
        self._started: list[threading.Thread] = []

    def start(self) -> None:
        for thread in self._threads:
            thread.start()
            self._started.append(thread)

    def add(self, task: _Task[T, R]) -> None:
        with self._changed:
            self._waiting.append(task)
            self._changed.notify_all()

    def help_or_wait(self, awaited: _Task[T, R]) -> None:
        """Run the oldest task that waits; if none does, wait a while for ``awaited``."""
        with self._changed:
            if not self._waiting:
                if not awaited.is_done:
                    self._changed.wait(_WAIT_SECONDS)
                return
            task = self._waiting.popleft()
        task.run(self._function)
        task.is_done = True

    def stop(self) -> None:
        """End the threads, each when it is done with its task."""
        with self._changed:
            self._is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()
        for thread in self._started:
            while thread.is_alive():
                thread.join(_WAIT_SECONDS)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._is_stopped):
                    self._changed.wait()
                if self._is_stopped:
                    return
                task = self._waiting.popleft()
            task.run(self._function)
            with self._changed:
                task.is_done = True
                self._changed.notify_all()
            del task  # so that a result is not kept alive while waiting for the next
