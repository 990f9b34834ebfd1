"""numbpe: exact and fast byte-pair encoding.

Names are imported when first used, so that ``import numbpe`` is quick and compiles nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "BudgetError",
    "CombinatorialTokenizer",
    "DataError",
    "FormatError",
    "NumbpeError",
    "TextSource",
    "Tokenizer",
    "WordCounts",
    "count_words",
    "load",
    "train",
    "train_bpe",
]

if TYPE_CHECKING:
    from numbpe.combinatorial.tokenizer import CombinatorialTokenizer as CombinatorialTokenizer
    from numbpe.counting import WordCounts as WordCounts
    from numbpe.counting import count_words as count_words
    from numbpe.errors import BudgetError as BudgetError
    from numbpe.errors import DataError as DataError
    from numbpe.errors import FormatError as FormatError
    from numbpe.errors import NumbpeError as NumbpeError
    from numbpe.loading import load as load
    from numbpe.sources import TextSource as TextSource
    from numbpe.tokenizer import Tokenizer as Tokenizer
    from numbpe.training import train as train
    from numbpe.training import train_bpe as train_bpe

_HOMES = {
    "BudgetError": "errors",
    "CombinatorialTokenizer": "combinatorial.tokenizer",
    "DataError": "errors",
    "FormatError": "errors",
    "NumbpeError": "errors",
    "TextSource": "sources",
    "Tokenizer": "tokenizer",
    "WordCounts": "counting",
    "count_words": "counting",
    "load": "loading",
    "train": "training",
    "train_bpe": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'numbpe' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"numbpe.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
