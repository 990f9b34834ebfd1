"""Tokenizers from files: which format a path stands for, and its definition."""

from pathlib import Path
from typing import TYPE_CHECKING

from numbpe.files import FilePath
from numbpe.garbage import paused_collection

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer


def load(path: FilePath) -> "Tokenizer":
    """Return the tokenizer that a tokenizer.json holds.

    Raises FormatError for a file that is not of its format; it says what was found, and where.

    Example: ``numbpe.load("tokenizer.json").encode("Hello")``.
    """
    from numbpe.formats import tokenizer_json_reading
    from numbpe.tokenizer import Tokenizer

    with paused_collection():
        return Tokenizer.from_definition(tokenizer_json_reading.read(Path(path)))
