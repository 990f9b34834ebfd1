"""The two pickles: ``dict[int, bytes]`` and ``list[tuple[bytes, bytes]]``.

They hold no pattern, and do not say which tokens are special: give both when they are loaded.
"""

import io
import pickle
from pathlib import Path
from typing import Final, Protocol

from numbpe.files import FilePath, write_together
from numbpe.garbage import paused_collection
from numbpe.vocabulary import Vocabulary

PROTOCOL: Final = 4
"""Fixed, so that the files do not depend on Python's version; every Python since 3.4 reads it."""


class HasTokens(Protocol):
    """What the pickles are written from: a tokenizer, for example."""

    @property
    def vocab(self) -> dict[int, bytes]: ...
    @property
    def merges(self) -> list[tuple[bytes, bytes]]: ...


def save(vocabulary: Vocabulary, path: Path) -> None:
    """Write NAME_vocab.pkl and NAME_merges.pkl for the path NAME.pkl."""
    write_together(
        {
            path.with_name(f"{path.stem}_vocab.pkl"): _dump(vocabulary.to_dict()),
            path.with_name(f"{path.stem}_merges.pkl"): _dump(vocabulary.merges),
        }
    )


def save_pickles(tokenizer: HasTokens, vocab_path: FilePath, merges_path: FilePath) -> None:
    """Write the vocabulary and the merges of a tokenizer to two files, both or none."""
    with paused_collection():
        write_together(
            {Path(vocab_path): _dump(tokenizer.vocab), Path(merges_path): _dump(tokenizer.merges)}
        )


def _dump(value: object) -> bytes:
    """Return ``value`` as a pickle without references.

    By default a pickle refers back to an object that it has written, so that its bytes would depend
    on which equal byte strings happen to be one object.
    """
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=PROTOCOL)
    pickler.fast = True
    pickler.dump(value)
    return buffer.getvalue()
