"""File formats: one module a format, and one table of which suffix means which.

Every writer takes a definition and a path, writes the same bytes for the same definition every
time, and leaves a whole file or none. What a format cannot hold is refused by name.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from numbpe.definition import TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import FilePath
from numbpe.formats import gpt2, pickles, tiktoken, tokenizer_json
from numbpe.garbage import paused_collection

Writer: TypeAlias = Callable[[TokenizerDefinition, Path], None]

FOLDER_SUFFIX: Final = ""
"""Stands for a path without a suffix, or of a folder that exists."""

WRITERS: Final[Mapping[str, Writer]] = {
    ".json": tokenizer_json.save,
    ".tiktoken": tiktoken.save,
    ".pkl": pickles.save,
    FOLDER_SUFFIX: gpt2.save,
}


def save(definition: TokenizerDefinition, path: FilePath) -> None:
    """Write ``definition`` in the format that the suffix of ``path`` stands for.

    NAME.json is a tokenizer.json, NAME.tiktoken a rank file without the special tokens, NAME.pkl
    the two pickles NAME_vocab.pkl and NAME_merges.pkl, and a path without a suffix, one that ends
    with a slash or one of a folder that exists, a folder with vocab.json and merges.txt.

    Raises ArgumentError for another suffix, or if the format cannot hold the tokenizer.
    """
    writer = choose_writer(path)
    with paused_collection():
        writer(definition, Path(path))


def choose_writer(path: FilePath) -> Writer:
    """Return the function that writes ``path``; ArgumentError if its suffix has no meaning."""
    if os.fspath(path).endswith((os.sep, "/")) or Path(path).is_dir():
        return WRITERS[FOLDER_SUFFIX]
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise ArgumentError(
            f"cannot save to {shorten_value(os.fspath(path))}: no format has the suffix "
            f"{suffix!r}; use .json (tokenizer.json), .tiktoken, .pkl (two pickles), or no suffix "
            "or a final slash for a folder with vocab.json and merges.txt"
        )
    return WRITERS[suffix]
