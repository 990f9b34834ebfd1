"""Small tables trained from a paragraph, one of each kind and with equal rows, to compare by eye."""

import warnings
from typing import Final

from numbpe.errors import ArgumentError
from numbpe.see.stepping import Model, describe_combinatorial, describe_standard

PARAGRAPH: Final = (
    "The cat sat on the mat. The dog, the cat's friend, saw the cat on the mat and sat there too. "
    "\u201cThe mat is mine!\u201d said the cat. \u201cIs THE mat yours?\u201d said the dog. "
    '"The mat is the friend of the cat," the friend said, "and the cat is the friend of the dog." '
    "So the dog and the cat sat on the mat, and there they sat, and the mat was theirs. "
    "There the friends saw other friends: the hat, the bat and the rat. THE END. The end, the end."
)
"""What the tables are trained from where no other paragraph is given."""

ROWS: Final = 330
"""Rows of each table; 256 of them are the bytes."""

MIN_ROWS: Final = 300
MAX_NBYTES: Final = 1_000_000


def train_small_tables(paragraph: str = PARAGRAPH, rows: int = ROWS) -> list[Model]:
    """Return a standard and a combinatorial vocabulary of a paragraph, as a page holds them.

    Raises ArgumentError for a paragraph that is empty or longer than a megabyte, and for less than
    300 rows: 256 are bytes, and some are characters.
    """
    from numbpe.combinatorial.training import train_combinatorial
    from numbpe.training import StoppedEarlyWarning, train

    if not paragraph.strip():
        raise ArgumentError("the paragraph is empty; give some sentences to train from")
    if len(paragraph.encode()) > MAX_NBYTES:
        raise ArgumentError(
            "the paragraph has more than a megabyte; train a vocabulary with numbpe train, and step "
            "through that"
        )
    if rows < MIN_ROWS:
        raise ArgumentError(
            f"--rows must be {MIN_ROWS} or more, not {rows}: 256 rows are the bytes"
        )
    name = "trained from a paragraph"
    with warnings.catch_warnings():
        # How many rows there are is shown; a short paragraph fills few.
        warnings.simplefilter("ignore", StoppedEarlyWarning)
        standard = train([paragraph], rows, special_tokens=(), progress=False)
        combinatorial = train_combinatorial(
            [paragraph], rows, min_char_freq=1, min_affix_freq=2, progress=False
        )
    return [describe_standard(standard, name), describe_combinatorial(combinatorial, name)]
