"""Globs in file systems of pyarrow's, against those of Python."""

import glob
import re
from pathlib import Path

import pyarrow.fs
import pytest

from numbpe.errors import DataError
from numbpe.remote_files import translate_glob
from numbpe.sources import TextSource, resolve_source

NAMES = [
    "a.txt", "b.txt", "ab.txt", ".hidden.txt", "a[1].txt", "x^y.txt", "sub/a.txt", "sub/.b.txt",
    "sub/deep/c.txt", "sub/deep/d.json", ".dot/e.txt",
]  # fmt: skip

PATTERNS = [
    "*.txt", "?.txt", "[ab].txt", "[!a]*.txt", "a[[]1].txt", "x[\\^]y.txt", "x^*", "**/*.txt", "sub/**", "**",
    "sub/*", "*/*.txt", "**/deep/*", ".*.txt", "sub/**/c.txt", "nothing*",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files of all these names."""
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_translate_glob__finds_what_glob_finds(pattern: str, folder: Path) -> None:
    """Truth: glob.glob of Python."""
    found = glob.glob(pattern, root_dir=folder, recursive=True)
    wanted = sorted(name for name in found if (folder / name).is_file())
    matches = re.compile(translate_glob(pattern)).fullmatch
    assert sorted(name for name in NAMES if matches(name)) == wanted


def test_resolve_source__globs_in_a_file_system(folder: Path) -> None:
    """Truth: hand-computed; the files of a glob are sorted, and named by their address."""
    filesystem = pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem())
    for source, wanted in (
        ("sub/**/*.txt", ["sub/a.txt", "sub/deep/c.txt"]),
        (["b.txt", "sub"], ["b.txt", "sub/a.txt", "sub/deep/c.txt", "sub/deep/d.json"]),
    ):
        resolved = resolve_source(TextSource(source, filesystem=filesystem))
        assert [file.path for file in resolved.files or ()] == wanted
        assert resolved.read_start(100) == "".join(wanted).encode()
    files = resolve_source(f"file://{folder}/sub/deep/*").files or ()
    assert [file.path for file in files] == [
        f"{folder}/sub/deep/{name}" for name in ("c.txt", "d.json")
    ]
    for missing in ("no.txt", "no/*.txt"):
        with pytest.raises(FileNotFoundError, match=f"cannot read '{re.escape(missing)}'"):
            resolve_source(TextSource(missing, filesystem=filesystem))


def test_resolve_source__addresses_that_lead_nowhere() -> None:
    """Truth: the contract; the mock of pyarrow is an empty file system."""
    with pytest.raises(FileNotFoundError, match="there is no such file in the mock file system"):
        resolve_source("mock://a/b.txt")
    with pytest.raises(
        DataError, match=r"cannot read 'viewfs://.*addresses begin with file://, s3://"
    ):
        resolve_source("viewfs://a b/c")
