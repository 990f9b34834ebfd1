"""Where the text comes from: NAME.txt or NAME.txt.xz in a folder, whole, cut short or repeated.

Tokenizers lie in folders in the same way, NAME.json or NAME.json.xz.
"""

import hashlib
import lzma
import shutil
from collections.abc import Sequence
from pathlib import Path

SEPARATOR = b"<|endoftext|>\n"
BLOCK_NBYTES = 1 << 20


class CorpusError(Exception):
    """A corpus or a tokenizer is missing."""


class Corpora:
    """Text files by name, made ready in a temporary folder when they are first asked for.

    A name may end in ``*N``: N copies of the text. limit : bytes to cut texts to, at the end of a
    document if there is one; None for whole texts. suffix, option : of the files, and what sets the
    folders, for messages.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        work: Path,
        limit: int | None,
        suffix: str = ".txt",
        option: str = "--corpora",
    ) -> None:
        self._folders = folders
        self._work = work
        self._limit = limit
        self._suffix = suffix
        self._option = option
        self._prepared: dict[str, Path] = {}

    def prepare(self, name: str) -> Path:
        """Return the path of a text; CorpusError if there is none of that name."""
        if name not in self._prepared:
            stem, _, copies = name.partition("*")
            self._prepared[name] = self._repeat(stem, int(copies)) if copies else self._find(stem)
        return self._prepared[name]

    def _repeat(self, stem: str, n_copies: int) -> Path:
        source = self.prepare(stem)
        target = self._work / f"{stem}-{n_copies}.txt"
        with target.open("wb") as out:
            for _ in range(n_copies):
                with source.open("rb") as text:
                    shutil.copyfileobj(text, out, BLOCK_NBYTES)
        return target

    def _find(self, stem: str) -> Path:
        names = [stem] if "." in stem else [stem + self._suffix, f"{stem}{self._suffix}.xz"]
        for path in (folder / name for folder in self._folders for name in names):
            if path.is_file():
                return self._make_plain(path, stem)
        raise CorpusError(f"no {' or '.join(names)} in the folders of {self._option}")

    def _make_plain(self, path: Path, stem: str) -> Path:
        """Return the text unpacked and cut, or the file itself if that is what it is."""
        limit = self._limit
        packed = path.suffix == ".xz"
        if not packed and (limit is None or path.stat().st_size <= limit):
            return path
        target = self._work / f"{stem}{self._suffix}"
        with lzma.open(path) if packed else path.open("rb") as text, target.open("wb") as out:
            if limit is None:
                shutil.copyfileobj(text, out, BLOCK_NBYTES)
            else:
                out.write(_cut(text.read(limit)))
        return target


def describe_file(path: Path) -> dict[str, object]:
    """Return size and digest of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as text:
        while block := text.read(BLOCK_NBYTES):
            digest.update(block)
    return {"n_bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def _cut(text: bytes) -> bytes:
    """Return text up to the last document that is whole, else the last line."""
    for end in (SEPARATOR, b"\n"):
        if (cut := text.rfind(end)) >= 0:
            return text[: cut + len(end)]
    return text.decode("utf-8", errors="ignore").encode()
