"""Which kind of vocabulary a file holds."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from numbpe.combinatorial.definition import CombinatorialVocabulary

_HEAD_NBYTES: Final = 512
_HEAD: Final = re.compile(rb'\s*\{[^{}\[\]]*"type"\s*:\s*"combinatorial"')


def read_combinatorial(path: str) -> "CombinatorialVocabulary | None":
    """Return the tables of Combinatorial BPE that a file holds; None if it is of another kind.

    Raises FormatError if it is of that kind and damaged.
    """
    file = Path(path)
    if not file.is_file():
        return None
    with open(file, "rb") as opened:
        if not _HEAD.match(opened.read(_HEAD_NBYTES)):
            return None
    from numbpe.combinatorial.definition import CombinatorialVocabulary
    from numbpe.combinatorial.formats import read_vocabulary

    vocabulary = read_vocabulary(file)
    return vocabulary if isinstance(vocabulary, CombinatorialVocabulary) else None
