"""Tables of words made larger, or emptied; ``numbpe_kernels.word_table`` says what is in them."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from numbpe_kernels.word_table import ROW_WIDTH, WordTable, make_word_table, word_table_rehash

Array = TypeVar("Array", bound=NDArray[Any])


def grow_rows(
    table: WordTable, move: Callable[[NDArray[np.uint64], WordTable], None] | None = None
) -> WordTable:
    """Return a table with the words of ``table``, their bytes in the same arena, and twice the rows.

    move: moves rows into those of a larger table, where more than they has to be moved.
    """
    n_slots = 2 * len(table.rows) // ROW_WIDTH
    grown = make_word_table(n_slots, 0, table.salt, will_be_full=True)
    grown = grown._replace(arena=table.arena)
    (move or word_table_rehash)(table.rows, grown)
    grown.state[:] = table.state
    return grown


def grow_arena(table: WordTable, n_bytes: int = 0) -> WordTable:
    """Return ``table`` with an arena of twice the size, or twice ``n_bytes`` if that is more."""
    return table._replace(arena=grow_array(table.arena, 2 * max(len(table.arena), n_bytes)))


def grow_array(array: Array, size: int) -> Array:
    """Return an array of ``size`` entries that begins with those of ``array``; the others are 0."""
    # Not by joining it with zeros: pages that nobody has written to yet take no memory.
    grown = np.zeros(size, dtype=array.dtype)
    grown[: len(array)] = array
    return grown  # type: ignore[return-value]


def empty_words(table: WordTable) -> None:
    """Forget all words; the table keeps its size."""
    table.rows[:] = 0
    table.state[:] = 0
