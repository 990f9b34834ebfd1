"""Workers in threads: everything is done once, errors stop all, Ctrl-C too."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from numbpe.errors import ArgumentError
from numbpe.parallel import (
    call_interruptibly,
    call_side_by_side,
    consume_in_threads,
    resolve_threads,
)


@pytest.mark.parametrize("n_threads", range(1, 9))
@pytest.mark.parametrize("n_items", [0, 1, 7, 1001])
def test_consume_in_threads__does_each_item_once(n_threads: int, n_items: int) -> None:
    """Truth: hand-computed; the private counts of all workers add up, none is lost at the end."""
    results: list[Counter[int]] = []

    def make_worker() -> Callable[[int], None]:
        counts: Counter[int] = Counter()
        results.append(counts)

        def work(item: int) -> None:
            counts[item] += 1

        return work

    consume_in_threads(iter(range(n_items)), make_worker, n_threads)
    assert len(results) == n_threads
    assert sum(results, Counter()) == Counter(range(n_items))


def test_consume_in_threads__iterates_here_and_works_in_all_threads() -> None:
    """Truth: the contract; with one thread everything runs in the calling thread."""
    caller = threading.get_ident()
    for n_threads in (1, 3):
        places: set[int] = set()

        def generate() -> Iterator[int]:
            for number in range(50):
                assert threading.get_ident() == caller
                yield number

        def make_worker(places: set[int] = places) -> Callable[[int], None]:
            assert threading.get_ident() == caller
            return lambda item: places.add(threading.get_ident())

        consume_in_threads(generate(), make_worker, n_threads)
        assert places == {caller} or n_threads > 1
        assert len(places) <= n_threads


def test_consume_in_threads__lets_few_items_wait() -> None:
    """Truth: the contract; as many wait as there are threads, and one is at work in each."""
    n_made = 0
    n_done = 0
    lead = 0
    lock = threading.Lock()

    def generate() -> Iterator[int]:
        nonlocal n_made
        for number in range(60):
            n_made += 1
            yield number

    def work(item: int) -> None:
        nonlocal n_done, lead
        time.sleep(0.001)
        with lock:
            lead = max(lead, n_made - n_done)
            n_done += 1

    consume_in_threads(generate(), lambda: work, 2)
    # 2 waiting, 2 at work.
    assert lead <= 4


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_consume_in_threads__error_of_a_worker_is_raised_here(n_threads: int) -> None:
    """Truth: the contract; an endless iterator shows that everything stops."""

    def generate() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    def work(item: int) -> None:
        if item == 20:
            raise KeyError("item 20")

    n_before = threading.active_count()
    with pytest.raises(KeyError, match="item 20"):
        consume_in_threads(generate(), lambda: work, n_threads)
    assert threading.active_count() == n_before


@pytest.mark.parametrize("n_threads", [1, 3])
def test_consume_in_threads__error_of_the_items_is_raised_here(n_threads: int) -> None:
    """Truth: the contract."""

    def generate() -> Iterator[int]:
        yield 1
        raise OSError("disk gone")

    n_before = threading.active_count()
    with pytest.raises(OSError, match="disk gone"):
        consume_in_threads(generate(), lambda: lambda item: None, n_threads)
    assert threading.active_count() == n_before


def test_consume_in_threads__error_of_make_worker_is_raised_here() -> None:
    """Truth: the contract."""

    def make_worker() -> Callable[[int], None]:
        raise MemoryError("no table")

    with pytest.raises(MemoryError, match="no table"):
        consume_in_threads(iter([1]), make_worker, 2)


INTERRUPTED = """
import itertools, sys, threading, time
from numbpe.parallel import consume_in_threads
print("ready", flush=True)
try:
    consume_in_threads(itertools.count(), lambda: lambda item: time.sleep(0.01), int(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGINT is sent to a child process")
@pytest.mark.parametrize("n_threads", [1, 4])
def test_consume_in_threads__stops_at_ctrl_c(n_threads: int) -> None:
    """Truth: the contract; no thread is left, and the process ends by itself."""
    command = [sys.executable, "-c", INTERRUPTED, str(n_threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert output == "interrupted 1\n"
    assert process.returncode == 0


def test_resolve_threads__counts_what_we_may_use() -> None:
    """Truth: the operating system."""
    assert resolve_threads(3) == 3
    if hasattr(os, "sched_getaffinity"):
        assert resolve_threads(None) == len(os.sched_getaffinity(0))
    else:
        assert resolve_threads(None) == os.cpu_count()


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_resolve_threads__refuses(threads: object) -> None:
    """Truth: the contract."""
    with pytest.raises(ArgumentError, match="threads must be a whole number of 1 or more, not"):
        resolve_threads(threads)  # type: ignore[arg-type]


def test_call_interruptibly__returns_and_raises() -> None:
    """Truth: by definition; as if the function were called here."""
    assert call_interruptibly(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        call_interruptibly(lambda: 1 // 0)


def test_call_interruptibly__answers_ctrl_c() -> None:
    """Truth: by definition; a signal is answered while the function still runs."""
    released = threading.Event()
    main = threading.main_thread().ident
    timer = threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    started = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            call_interruptibly(lambda: released.wait(30))
        assert time.perf_counter() - started < 5
    finally:
        released.set()
        timer.join()


def test_call_side_by_side__results_in_order() -> None:
    """Truth: the contract; all run at the same time, the first of them here."""
    barrier = threading.Barrier(3, timeout=60)
    places: dict[int, int] = {}

    def make(number: int) -> Callable[[], int]:
        def call() -> int:
            barrier.wait()
            places[number] = threading.get_ident()
            return number

        return call

    assert call_side_by_side([make(number) for number in range(3)]) == [0, 1, 2]
    assert places[0] == threading.get_ident()
    assert len(set(places.values())) == 3
    assert call_side_by_side([lambda: "alone"]) == ["alone"]


def test_call_side_by_side__raises_when_all_have_ended() -> None:
    """Truth: the contract."""
    ended: list[int] = []

    def fail() -> None:
        raise ValueError("of one")

    def end() -> None:
        time.sleep(0.1)
        ended.append(1)

    for functions in ([fail, end], [end, fail]):
        with pytest.raises(ValueError, match="of one"):
            call_side_by_side(functions)
    assert ended == [1, 1]
