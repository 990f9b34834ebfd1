"""Text files read in blocks, in UTF-8 or not at all, and samples of large ones."""

import codecs
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from numbpe.corpus import ErrorPolicy, word_invalid_text
from numbpe.errors import DataError, shorten_value
from numbpe.input_files import InputFile

_BLOCK_NBYTES: Final = 1 << 20
_SAMPLE_NBYTES: Final = 1 << 18
_STANDARD_INPUT: Final = "-"


def iterate_blocks(path: str | Path, errors: ErrorPolicy = "strict") -> Iterator[str]:
    """Yield the text of a file, or of standard input for "-", in blocks of about a megabyte.

    Line ends, NUL and a byte order mark are text like any other. Blocks end between characters.

    errors: what becomes of bytes that are not UTF-8, as for ``bytes.decode``.

    Raises InvalidTextError, which names the byte, for text in another encoding; DataError for a file
    without a byte; OSError for one that cannot be read.
    """
    name = InputFile(os.fspath(path)).name
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    n_taken = 0
    is_stdin = os.fspath(path) == _STANDARD_INPUT
    with nullcontext(sys.stdin.buffer) if is_stdin else open(path, "rb") as file:
        while True:
            block = file.read(_BLOCK_NBYTES)
            held = decoder.getstate()[0]
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                place = n_taken - len(held) + error.start
                raise word_invalid_text(name, error.object[error.start :], place) from None
            if text:
                yield text
            n_taken += len(block)
            if not block:
                break
    if n_taken == 0:
        raise DataError(f"nothing to count in {shorten_value(name)}: it is empty; give a text")


@dataclass(frozen=True)
class NamedText:
    """A text to compare tokenizers by.

    n_bytes: of the whole file; of a sample ``text`` has fewer.
    """

    name: str
    text: str
    n_bytes: int
    is_sample: bool

    @cached_property
    def n_text_bytes(self) -> int:
        """Bytes of ``text`` in UTF-8."""
        return len(self.text.encode("utf-8"))

    @cached_property
    def n_words(self) -> int:
        """Runs of characters that are not white space."""
        return sum(1 for _ in re.finditer(r"\S+", self.text))


def read_texts(
    files: Mapping[str, Path], limit: int, errors: ErrorPolicy = "strict"
) -> list[NamedText]:
    """Return texts by name, samples of them if together they have more than ``limit`` bytes.

    A sample is blocks of whole lines, spread evenly over its file, and as large a part of it as of
    all others. The same files give the same samples.

    Raises InvalidTextError for text that is not UTF-8, DataError for an empty file, OSError for one
    that cannot be read.
    """
    sizes = {name: path.stat().st_size for name, path in files.items()}
    share = min(1.0, limit / max(1, sum(sizes.values())))
    texts = []
    for name, path in files.items():
        if share == 1.0:
            text = "".join(iterate_blocks(path, errors))
        else:
            text = _read_sample(path, sizes[name], max(1, int(share * sizes[name])), errors)
        texts.append(NamedText(name, text, sizes[name], share < 1.0))
    return texts


def _read_sample(path: Path, size: int, n_bytes: int, errors: ErrorPolicy) -> str:
    n_blocks = max(1, min(64, n_bytes // _SAMPLE_NBYTES))
    n_block_bytes = n_bytes // n_blocks
    parts = []
    with open(path, "rb") as file:
        for k in range(n_blocks):
            start = k * size // n_blocks
            file.seek(start)
            block = file.read(n_block_bytes)
            # Whole lines, and where there is no line end, whole characters.
            first = block.find(b"\n") + 1 if start else 0
            stop = block.rfind(b"\n") + 1
            if stop <= first:
                first = next((i for i in range(first, len(block)) if block[i] & 0xC0 != 0x80), 0)
                stop = max(first, _find_last_start(block))
            try:
                parts.append(block[first:stop].decode("utf-8", errors))
            except UnicodeDecodeError as error:
                place = first + error.start
                name = InputFile(os.fspath(path)).name
                raise word_invalid_text(name, block[place:], start + place) from None
    return "".join(parts)


def _find_last_start(block: bytes) -> int:
    """Return where the last character begins, or ends if it is whole in any case."""
    for i in range(len(block) - 1, max(len(block) - 5, -1), -1):
        if block[i] & 0xC0 != 0x80:
            return i if block[i] >= 0xC0 else i + 1
    return len(block)
