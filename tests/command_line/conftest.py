"""What the tests of the command line share."""

from collections.abc import Callable
from pathlib import Path

import pytest

import numbpe
from numbpe import cli

TEXT = "the cat sat on the mat; the hat is the cat's. <|endoftext|>that hat, that mat" * 20


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A small text file, corpus.txt."""
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A folder for results that does not exist yet."""
    return tmp_path / "output"


@pytest.fixture
def train() -> Callable[..., int]:
    """Run ``numbpe train`` in this process; return its exit code."""
    return lambda *arguments: cli.main(["train", *map(str, arguments)])


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tokenizer.json, trained on the shipped corpus: 256 is <|endoftext|>."""
    folder = tmp_path_factory.mktemp("tokenizer")
    corpus = Path(__file__).resolve().parents[2] / "data" / "austen.txt"
    numbpe.train(corpus, 500, progress=False).save(folder / "tokenizer.json")
    return folder


@pytest.fixture
def tokenizer_path(tokenizer_folder: Path) -> Path:
    """The tokenizer.json of :func:`tokenizer_folder`."""
    return tokenizer_folder / "tokenizer.json"


@pytest.fixture
def run() -> Callable[..., int]:
    """Run a command of ``numbpe`` in this process; return its exit code."""
    return lambda *arguments: cli.main([*map(str, arguments)])


@pytest.fixture
def list_files() -> Callable[[Path], list[str]]:
    """Return the files below a folder, as sorted relative paths."""
    return lambda folder: sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    )


@pytest.fixture
def read_bytes(list_files: Callable[[Path], list[str]]) -> Callable[[Path], dict[str, bytes]]:
    """Return the contents of the files below a folder."""
    return lambda folder: {name: (folder / name).read_bytes() for name in list_files(folder)}


@pytest.fixture
def read_one_error(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return the one line that stderr must hold; stdout must be empty."""

    def read() -> str:
        captured = capsys.readouterr()
        assert captured.out == ""
        lines = captured.err.splitlines()
        assert len(lines) == 1, captured.err
        assert lines[0].startswith("numbpe: error: ")
        return lines[0].removeprefix("numbpe: error: ")

    return read
