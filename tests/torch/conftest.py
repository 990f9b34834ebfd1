"""Small models run on one thread: threads that wait for each other cost more than they bring."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    try:
        import torch
    except ModuleNotFoundError:
        yield
        return
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)
