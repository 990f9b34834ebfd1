"""What the tests of audit, report and stepper share."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import numbpe
from numbpe import cli
from numbpe.tokenizer import Tokenizer

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "austen.txt"

Run: TypeAlias = Callable[..., int]


@pytest.fixture(scope="session")
def tokenizer_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer.json of 1,000 tokens, trained on the shipped corpus."""
    path = tmp_path_factory.mktemp("see") / "austen.json"
    numbpe.train(SAMPLE, 1000, progress=False).save(path)
    return path


@pytest.fixture(scope="session")
def tokenizer(tokenizer_path: Path) -> Tokenizer:
    """The tokenizer of :func:`tokenizer_path`."""
    return numbpe.load(tokenizer_path)


@pytest.fixture
def run() -> Run:
    """Run a command of ``numbpe`` in this process; return its exit code."""
    return lambda *arguments: cli.main([*map(str, arguments)])
