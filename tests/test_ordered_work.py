"""Work in threads whose results come in order."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from numbpe.ordered_work import count_items_in_flight, map_in_order


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_map_in_order__gives_results_in_order(threads: int, rng: np.random.Generator) -> None:
    """Truth: the built-in map."""
    delays = (rng.random(60) / 1000).tolist()

    def work(number: int) -> str:
        time.sleep(delays[number])
        return str(number)

    for n_items in (0, 1, 3, 60):
        assert list(map_in_order(range(n_items), work, threads)) == list(map(str, range(n_items)))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_map_in_order__looks_ahead_by_few_items(threads: int) -> None:
    """Truth: the bound that count_items_in_flight states."""
    n_taken = 0

    def take() -> Iterator[int]:
        nonlocal n_taken
        for number in range(100):
            n_taken += 1
            yield number

    for n_given, _ in enumerate(map_in_order(take(), abs, threads)):
        assert n_taken - n_given <= count_items_in_flight(threads)
    assert n_taken == 100


@pytest.mark.parametrize("threads", [1, 3])
def test_map_in_order__raises_the_error_of_the_first_item(threads: int) -> None:
    """Truth: the built-in map, which raises in the place of the result."""

    def work(number: int) -> int:
        if number in (7, 9):
            raise ValueError(f"item {number}")
        time.sleep(0.002 if number == 6 else 0)
        return number

    found: list[int] = []
    with pytest.raises(ValueError, match="item 7"):
        found.extend(map_in_order(range(20), work, threads))
    assert found == list(range(7))
    assert not [t for t in threading.enumerate() if t.name.startswith("numbpe-")]


def test_map_in_order__ends_its_threads_when_it_is_closed() -> None:
    """Truth: the docstring; and an error of the items is raised as it is."""
    with closing(map_in_order(iter(range(1000)), abs, 3)) as results:
        assert next(results) == 0
        assert [t for t in threading.enumerate() if t.name.startswith("numbpe-")]
    assert not [t for t in threading.enumerate() if t.name.startswith("numbpe-")]

    def fail() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(map_in_order(fail(), abs, 2))
