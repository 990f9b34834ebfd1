"""What tests share: where the reference data lies, modules of the benchmarks, and seeded randomness."""

import importlib
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Let Ctrl-C end programs again where a shell has started the tests in the background.

    Such a shell has SIGINT ignored, by all programs that are started here, too, and they wait forever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference data, which is not part of the repository: ``../shared/data``."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no reference data: the folder {folder} does not exist")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """A random generator that gives the same numbers in every run."""
    return np.random.default_rng(20_260_101)


@pytest.fixture
def load_module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports modules of the benchmarks, which see each other as programs do."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    return importlib.import_module
