"""The two pickles to a definition, by an unpickler that can make nothing but plain data."""

import io
import pickle
from pathlib import Path
from typing import Any

from numbpe.definition import TokenizerDefinition
from numbpe.errors import DataError
from numbpe.formats.reading import GivenSpecialTokens, describe_fault, read_bytes
from numbpe.pattern_sources import PatternSource
from numbpe.vocabulary import Vocabulary


def read(
    vocab_path: Path,
    merges_path: Path,
    pattern: PatternSource | None = None,
    special_tokens: GivenSpecialTokens = None,
) -> TokenizerDefinition:
    """Return the definition of the two pickles; pattern: GPT-2's if it is None.

    Raises FormatError for what is no such pickle, or names a class or a function: nothing is run.
    """
    vocab = read_plain_pickle(vocab_path)
    merges = read_plain_pickle(merges_path)
    if not isinstance(vocab, dict):
        raise describe_fault(
            vocab_path, f"it holds a {type(vocab).__name__}, not a dict[int, bytes]"
        )
    if not isinstance(merges, list):
        raise describe_fault(
            merges_path,
            f"it holds a {type(merges).__name__}, not a list[tuple[bytes, bytes]]",
        )
    try:
        vocabulary = Vocabulary.from_tokens(
            vocab,
            merges,
            special_tokens=special_tokens,
            pattern="gpt2" if pattern is None else pattern,
        )
    except DataError as error:
        raise describe_fault(vocab_path, f"with {merges_path.name}: {error}") from None
    return TokenizerDefinition.from_vocabulary(vocabulary)


class _PlainUnpickler(pickle.Unpickler):
    """Makes dict, list, tuple, bytes, str and int; a pickle that asks for more is refused."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}, which is not run")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to an object outside of the file")


def read_plain_pickle(path: Path) -> Any:
    """Return the plain data of a pickle; FormatError for one that would do or need more."""
    data = read_bytes(path)
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # noqa: BLE001
        # A pickle is a program: what a damaged or hostile one makes fail is not foreseeable.
        raise describe_fault(
            path,
            f"this is no pickle of plain data: {error or type(error).__name__}; save it with "
            "numbpe, or with pickle.dump(..., protocol=4) from dict, list, tuple, bytes and int",
        ) from None
