"""The two pickles: ``dict[int, bytes]`` and ``list[tuple[bytes, bytes]]``.

They hold no pattern, and do not say which tokens are special: give both when they are loaded.
"""

import io
import pickle
from pathlib import Path
from typing import Final, Protocol

from numbpe.definition import TokenizerDefinition
from numbpe.files import FilePath, write_together
from numbpe.formats.refusals import check_is_plain, check_merges_by_list
from numbpe.garbage import paused_collection

PROTOCOL: Final = 4
"""Fixed, so that the files do not depend on Python's version; every Python since 3.4 reads it."""

_REMEDY: Final = "save as .json"


class HasTokens(Protocol):
    """What the pickles are written from: a tokenizer, for example."""

    @property
    def vocab(self) -> dict[int, bytes]: ...
    @property
    def merges(self) -> list[tuple[bytes, bytes]]: ...


def save(definition: TokenizerDefinition, path: Path) -> None:
    """Write NAME_vocab.pkl and NAME_merges.pkl for the path NAME.pkl.

    Raises ArgumentError for what they cannot hold.
    """
    check_is_plain(definition, "pickles", _REMEDY)
    check_merges_by_list(definition, "pickles", _REMEDY)
    vocabulary = definition.vocabulary
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
