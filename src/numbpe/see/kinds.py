"""Loading a tokenizer of the kind that a file holds."""

import re
from pathlib import Path
from typing import Any, Final

from numbpe.combinatorial.tokenizer import CombinatorialTokenizer
from numbpe.loading import load
from numbpe.see.subjects import AnyTokenizer

_HEAD_NBYTES: Final = 512
_HEAD: Final = re.compile(rb'\s*\{[^{}\[\]]*"type"\s*:\s*"combinatorial"')


def load_either(path: str, **options: Any) -> AnyTokenizer:
    """Return the tokenizer of a file or folder, with ids or with rows of four indices as tokens.

    options: those of :func:`numbpe.load`, which says what is raised; tables of Combinatorial BPE
        hold all that decides their rows, and need none.

    Raises FormatError too for such tables that are damaged.
    """
    return CombinatorialTokenizer.load(path) if _is_combinatorial(path) else load(path, **options)


def _is_combinatorial(path: str) -> bool:
    file = Path(path)
    if not file.is_file():
        return False
    with open(file, "rb") as opened:
        return _HEAD.match(opened.read(_HEAD_NBYTES)) is not None
