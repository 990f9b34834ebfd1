"""Text files read in blocks, in UTF-8 or not at all, and samples of large ones."""

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from numbpe.corpus import ErrorPolicy, word_invalid_text
from numbpe.errors import DataError, shorten_value
from numbpe.input_files import InputFile

_BLOCK_NBYTES: Final = 1 << 20
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
