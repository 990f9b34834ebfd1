"""What an engine must do: run functions on other machines, in order, and add results up by key."""

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, runtime_checkable

R = TypeVar("R")

BLOCK_NBYTES = 64 << 20
"""About how many bytes of files are one task: some seconds of work."""


class Session(Protocol):
    """A connection to workers. Functions, arguments and results must be picklable.

    ``shared`` goes to each worker once, whatever the number of blocks.
    """

    @property
    def n_cores(self) -> int:
        """Cores of all workers."""

    def map_in_order(
        self, function: Callable[[Any, Any], R], shared: object, blocks: Iterable[Any], threads: int
    ) -> Generator[R, None, None]:
        """Yield ``function(shared, block)`` for each block, in order, holding a few results at most.

        threads: how many cores one call uses.
        """

    def map_and_sum(
        self,
        function: Callable[[Any, Any], list[Any]],
        combine: Callable[..., Any],
        shared: object,
        blocks: Iterable[Any],
        n_parts: int,
        threads: int,
        on_report: Callable[[Any], None],
    ) -> Generator[Any, None, None]:
        """Yield the sum of each of the ``n_parts`` parts of the results of all blocks.

        function: returns a report and its parts for a block; reports go to ``on_report``.
        combine: adds up any number of results for one part. It is called where they are.
        """


@runtime_checkable
class Engine(Protocol):
    """Gives sessions. block_nbytes: about how many bytes of text one task is to have."""

    block_nbytes: int

    def open(self) -> AbstractContextManager[Session]:
        """Connect, for as long as the block lasts; EngineError if nothing answers."""
