"""Ray: tasks on a cluster, the extra ``numbpe[ray]``.

A task whose worker dies is done again, by Ray itself. Sums lie in the object stores of the nodes that
made them, and only the last ones come to the process that started the run.
"""

import os
import signal
import threading
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from numbpe.engines.protocol import BLOCK_NBYTES
from numbpe.engines.ray_address import check_address, check_answer
from numbpe.errors import ArgumentError, EngineError, NumbpeError, shorten_value

R = TypeVar("R")

DEFAULT_TIMEOUT: Final = 30.0

_BLOCKS_A_CORE: Final = 2
"""How many blocks are on their way for each core, so that none waits for work."""

_BLOCKS_A_SUM: Final = 16
"""After how many blocks their counts are added to those before."""

_TRIALS: Final = 4
"""How often a block is begun anew when its worker dies, before the run gives up."""

_shared: dict[str, Any] = {}
"""In a worker: what the run at hand shares, under the name of the run."""


class RayEngine:
    """A cluster of Ray.

    address: ``"host:port"`` of the cluster's head (port 6379, unless it was started with another),
        ``"auto"`` for the cluster that runs on this machine, ``"local"`` for one that is started here
        and ends with the run. By default that of the environment variable RAY_ADDRESS, else
        ``"local"``. Where the program is connected to a cluster already (``ray.init``), it is used.
    timeout: seconds within which the cluster must answer.
    block_nbytes: about how many bytes of text are one task.

    All machines need the same versions of numbpe, Python and Ray, and must see the files to be read.

    Example: ``numbpe.count_words("s3://corpus/", engine=RayEngine("10.0.0.1:6379", timeout=5))``
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        block_nbytes: int = BLOCK_NBYTES,
    ) -> None:
        if not isinstance(timeout, (int, float)) or timeout <= 0:
            raise ArgumentError(
                f"timeout must be a number of seconds above 0, not {shorten_value(timeout)}"
            )
        self.address = check_address(address or os.environ.get("RAY_ADDRESS") or "local")
        self.timeout = timeout
        self.block_nbytes = block_nbytes
        self._is_chosen = address is not None

    @contextmanager
    def open(self) -> Iterator["RaySession"]:
        """Connect, for as long as the block lasts; EngineError if nothing answers in time."""
        ray = import_ray()
        if ray.is_initialized():
            self._require_same_cluster(ray)
            yield RaySession(ray)
            return
        self._connect(ray)
        try:
            yield RaySession(ray)
        finally:
            ray.shutdown()

    def _connect(self, ray: Any) -> None:
        if self.address not in ("auto", "local"):
            check_answer(self.address, self.timeout)
        options = {"include_dashboard": False} if self.address == "local" else {}
        try:
            with _keeping_signal_handlers():
                ray.init(self.address, log_to_driver=False, logging_level="error", **options)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise EngineError(
                f"cannot connect to Ray at {self.address!r}: {error}; start a cluster with 'ray start "
                "--head' and give its address, or leave it out to work on this machine alone"
            ) from error

    def _require_same_cluster(self, ray: Any) -> None:
        connected = ray.get_runtime_context().gcs_address
        if self._is_chosen and self.address not in ("auto", connected):
            raise ArgumentError(
                f"cannot use the Ray cluster at {self.address!r}: this program is connected to the one "
                f"at {connected!r} already; call ray.shutdown() first, or leave address out"
            )


@contextmanager
def _keeping_signal_handlers() -> Iterator[None]:
    """Leave to the program what it does when it is asked to end; Ray would end it at once."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def import_ray() -> Any:
    """Return the module; ArgumentError that says what to install where there is none."""
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ArgumentError(
            "the engine 'ray' needs Ray, which is not installed; type: pip install 'numbpe[ray]'"
        ) from None
    return ray


class RaySession:
    """A connection to a cluster.

    Where a run fails, the few tasks that are under way are left to end: Ray 2.60 takes the whole process
    down if a task is cancelled in the moment in which it completes.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    @property
    def n_cores(self) -> int:
        """Cores of all nodes, at least 1."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 0)))

    def map_in_order(
        self, function: Callable[[Any, Any], R], shared: object, blocks: Iterable[Any], threads: int
    ) -> Generator[R, None, None]:
        """Yield ``function(shared, block)`` for each block; see :class:`.protocol.Session`."""
        call = self._make_call(function, shared, threads, 1)
        limit = self._limit_blocks(threads)
        pending: deque[Any] = deque()
        for block in blocks:
            pending.append(call(block))
            if len(pending) >= limit:
                yield self._take(pending.popleft())
        while pending:
            yield self._take(pending.popleft())

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
        """Yield the sum of each part of the results; see :class:`.protocol.Session`."""
        call = self._make_call(function, shared, threads, 1 + n_parts)
        limit = self._limit_blocks(threads)
        options = {"num_cpus": 1, "max_retries": _TRIALS, "scheduling_strategy": "SPREAD"}
        add = self._ray.remote(_combine).options(**options)
        pending: dict[Any, list[Any]] = {}
        done: list[list[Any]] = []
        sums: list[Any] = []

        def take_one() -> None:
            (report,), _ = self._ray.wait(list(pending), fetch_local=False)
            parts = pending[report]
            on_report(self._take(report))
            done.append(parts)
            del pending[report]

        def add_up() -> None:
            nonlocal sums
            # No more than two rounds are under way, whatever the speed of the workers.
            if sums:
                self._ray.wait(sums, num_returns=len(sums), fetch_local=False)
            columns = zip(*([sums] if sums else []), *done, strict=True)
            sums = [add.remote(combine, *column) for column in columns]
            done.clear()

        for block in blocks:
            report, *parts = call(block)
            pending[report] = parts
            if len(pending) >= limit:
                take_one()
            if len(done) == _BLOCKS_A_SUM:
                add_up()
        while pending:
            take_one()
        if done:
            add_up()
        while sums:
            yield self._take(sums.pop(0))

    def _limit_blocks(self, threads: int) -> int:
        n_cores = int(self._ray.cluster_resources().get("CPU", 0))
        if threads > n_cores:
            raise EngineError(
                f"the Ray cluster has {n_cores} cores, and each task is to use {threads}; add nodes, or "
                "give fewer threads (--threads)"
            )
        return _BLOCKS_A_CORE * n_cores // threads

    def _make_call(
        self, function: Callable[[Any, Any], Any], shared: object, threads: int, n_results: int
    ) -> Callable[[Any], Any]:
        """Return what begins ``function(shared, block)`` on a worker, for a block."""
        run, holder = uuid.uuid4().hex, [self._ray.put(shared)]
        remote = self._ray.remote(_call).options(
            num_cpus=threads,
            num_returns=n_results,
            max_retries=_TRIALS,
            scheduling_strategy="SPREAD",
        )
        return lambda block: remote.remote(run, holder, function, block)

    def _take(self, reference: Any) -> Any:
        """Return a result; what failed in the worker is raised here as it was raised there."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, (NumbpeError, OSError)):
                raise cause from None
            raise
        except errors.RayError as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise EngineError(
                f"Ray could not do a part of the work in {_TRIALS + 1} trials: {lines[0]}; see the logs "
                "of its nodes, and whether their memory and disks suffice"
            ) from error


def _call(run: str, holder: list[Any], function: Callable[[Any, Any], Any], block: Any) -> Any:
    """Call a function in a worker, with what is shared, which is fetched once for a run."""
    if run not in _shared:
        _shared.clear()
        _shared[run] = import_ray().get(holder[0])
    return function(_shared[run], block)


def _combine(combine: Callable[..., Any], *parts: Any) -> Any:
    """Call a function in a worker with the values of results."""
    return combine(*parts)
