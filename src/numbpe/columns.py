"""Which column of a table, or field of an object, holds the text."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from numbpe.bad_input import SKIP_HINT
from numbpe.errors import ArgumentError, DataError, shorten_value

DEFAULT_COLUMN: Final = "text"
"""The column that is read where none is named."""

_MOST_NAMES: Final = 40


@dataclass(frozen=True)
class ColumnPath:
    """A column, or one within another: the names from the outermost to the one that holds text.

    is_given: whether it was asked for, and is not what is tried where nothing was.
    """

    names: tuple[str, ...]
    is_given: bool

    def __str__(self) -> str:
        return ".".join(map(escape_name, self.names))


def parse_column(column: str | None) -> ColumnPath:
    r"""Return the path for ``"text"`` or, with dots between names, ``"meta.body"``.

    A dot or backslash that belongs to a name has a backslash before it: ``r"version_1\.2"``. None
    stands for the default. Raises ArgumentError for what cannot be a name.

    Example: ``parse_column("meta.body").names`` is ``("meta", "body")``.
    """
    if column is None:
        return ColumnPath((DEFAULT_COLUMN,), False)
    if not isinstance(column, str):
        raise ArgumentError(
            f"the column must be a name such as {DEFAULT_COLUMN!r}, not {shorten_value(column)}"
        )
    names = [""]
    characters = iter(column)
    for character in characters:
        if character == ".":
            names.append("")
        else:
            names[-1] += next(characters, "\\") if character == "\\" else character
    if "" in names:
        raise ArgumentError(
            f"the column {shorten_value(column)} has a name without letters in it; dots stand between "
            r"names, as in 'meta.body', and a dot within a name is written '\.'"
        )
    return ColumnPath(tuple(names), True)


def escape_name(name: str) -> str:
    """Return a name as :func:`parse_column` reads it."""
    return name.replace("\\", "\\\\").replace(".", "\\.")


def list_names(names: Iterable[object]) -> str:
    """Return names for a message: those that are there."""
    listed = [escape_name(str(name)) for name in names]
    shown = ", ".join(f"'{name}'" for name in listed[:_MOST_NAMES])
    return f"{shown} and {len(listed) - _MOST_NAMES} more" if len(listed) > _MOST_NAMES else shown


def choose_text(row: object, path: ColumnPath, place: str) -> str | bytes:
    """Return the text that ``row``, a mapping, has at ``path``.

    Raises DataError, with the fields that are there, if it has none.

    Example: ``choose_text({"a": {"b": "x"}}, parse_column("a.b"), "row 0")`` is ``"x"``.
    """
    value: Any = row
    for depth, name in enumerate(path.names):
        if not isinstance(value, Mapping):
            raise DataError(
                f"cannot read {place}: {_name_level(path, depth)} is {describe_value(value)}, "
                f"not an object with the field '{escape_name(name)}'{SKIP_HINT}"
            )
        if name not in value:
            raise _word_missing(value, path, depth, place)
        value = value[name]
    if isinstance(value, str | bytes):
        return value
    raise DataError(
        f"cannot read {place}: its field '{path}' is {describe_value(value)}, not text{SKIP_HINT}"
    )


def _name_level(path: ColumnPath, depth: int) -> str:
    return f"its field '{ColumnPath(path.names[:depth], True)}'" if depth else "it"


def _word_missing(value: Mapping[Any, Any], path: ColumnPath, depth: int, place: str) -> DataError:
    names = list_names(value) or "none"
    where = f" within '{ColumnPath(path.names[:depth], True)}'" if depth else ""
    return DataError(
        f"cannot read {place}: there is no field '{escape_name(path.names[depth])}'{where}; its fields "
        f"are {names}; name the one that holds the text: column=... (--column)"
    )


def describe_value(value: object) -> str:
    """Return a value of JSON, or of another kind, in words for a message."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return "a list"
    return f"{shorten_value(value)} ({type(value).__name__})"


def read_json_row(line: bytes) -> object:
    """Return what a row of JSON holds; ValueError if it is none."""
    return json.loads(line.decode("utf-8", "replace"))
