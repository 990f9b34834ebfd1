"""Read in a thread of its own while what was read before is worked on."""

import threading
from collections import deque
from collections.abc import Generator, Iterator
from typing import Generic, TypeVar

from numbpe.documents import BytesReader

T = TypeVar("T")

_WAIT_SECONDS = 0.1
"""Longest wait in the calling thread, so that Ctrl-C is noticed on every system."""

_LONGEST_FAREWELL = 2.0
"""How many seconds a reader that is closed early waits for its thread, which may hang in a pipe."""

N_BLOCKS_AHEAD = 2
"""How many blocks may wait."""


def read_ahead(
    items: Generator[T, None, None], n_ahead: int = N_BLOCKS_AHEAD
) -> Generator[T, None, None]:
    """Yield ``items``, which a thread makes ahead of their use; at most ``n_ahead`` of them wait.

    What ``items`` raises is raised here, behind the items that came before. When the generator is
    closed early the thread ends with the item that it is at, and closes ``items``. Decompression and
    kernels release the GIL, so they run beside the work of the calling thread.
    """
    shelf = _Shelf[T](n_ahead)
    thread = threading.Thread(target=shelf.fill, args=(items,), name="numbpe-reading", daemon=True)
    thread.start()
    try:
        while (taken := shelf.take()) is not None:
            yield taken.pop()
        if shelf.error is not None:
            raise shelf.error
    finally:
        shelf.stop()
        thread.join(_LONGEST_FAREWELL)


class _Shelf(Generic[T]):
    """Items between the thread that makes them and the one that takes them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_stopped = False
        self.error: BaseException | None = None

    def fill(self, items: Generator[T, None, None]) -> None:
        """Make all items."""
        try:
            for item in items:
                if not self._put(item):
                    break
                del item  # so that it is not kept alive while the next is made
        except BaseException as error:  # noqa: BLE001, raised again in the calling thread
            self.error = error
        finally:
            try:
                items.close()
            finally:
                with self._changed:
                    self._is_closed = True
                    self._changed.notify_all()

    def _put(self, item: T) -> bool:
        with self._changed:
            while len(self._waiting) >= self._limit and not self._is_stopped:
                self._changed.wait()
            self._waiting.append(item)
            self._changed.notify_all()
            return not self._is_stopped

    def take(self) -> list[T] | None:
        """Return the next item in a list; None if no more will come."""
        with self._changed:
            while not (self._waiting or self._is_closed):
                self._changed.wait(_WAIT_SECONDS)
            if not self._waiting:
                return None
            item = self._waiting.popleft()
            self._changed.notify_all()
            return [item]

    def stop(self) -> None:
        """Let the thread end."""
        with self._changed:
            self._is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()


class BlockReader:
    """Reads blocks of bytes as one file."""

    def __init__(self, blocks: Iterator[bytearray]) -> None:
        self._blocks = blocks
        self._block = BytesReader(b"")

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the head of ``buffer``; return how many bytes, 0 at the end."""
        n_bytes = self._block.readinto(buffer)
        while n_bytes == 0:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._block = BytesReader(block)
            n_bytes = self._block.readinto(buffer)
        return n_bytes
