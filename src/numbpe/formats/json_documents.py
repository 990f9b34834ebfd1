"""JSON files that know where they came from, so that every error names the file and the place."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from numbpe.errors import FormatError, shorten_value
from numbpe.formats.reading import BYTE_ORDER_MARK

_KINDS: Final = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "true or false",
    int: "an integer",
}
_REQUIRED: Final = object()


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value in a JSON file, with the file and the place: ``model.vocab``, for example."""

    path: Path
    place: str
    value: Any

    def fail(self, problem: str) -> FormatError:
        """Return the error that says what is wrong here."""
        where = f" at {self.place}" if self.place else ""
        return FormatError(f"cannot read {shorten_value(str(self.path), 200)}{where}: {problem}")

    def locate(self, key: str) -> str:
        """Return the place of a member of this object."""
        return f"{self.place}.{key}" if self.place else key

    def get(self, key: str) -> "JsonValue | None":
        """Return a member of this object; None if it is missing or null."""
        value = self.expect(dict).get(key)
        return None if value is None else JsonValue(self.path, self.locate(key), value)

    def require(self, key: str, kind: type) -> Any:
        """Return the bare value of a member; FormatError if it is missing or of another type."""
        return self.take(key, kind, _REQUIRED)

    def take(self, key: str, kind: type, default: Any) -> Any:
        """Return the bare value of a member, ``default`` if it is missing or null."""
        found = self.get(key)
        if found is not None:
            return found.expect(kind)
        if default is _REQUIRED:
            raise self.fail(f"{key!r} is missing; it must be {_KINDS[kind]}")
        return default

    def expect(self, kind: type) -> Any:
        """Return the bare value; FormatError if it is not of this type."""
        if type(self.value) is not kind:
            found = shorten_value(self.value)
            raise self.fail(f"this must be {_KINDS[kind]}, not {found}")
        return self.value

    def iterate(self, key: str) -> Iterator["JsonValue"]:
        """Yield the items of a list that is a member of this object; none if it is missing."""
        for position, item in enumerate(self.take(key, list, [])):
            yield JsonValue(self.path, f"{self.locate(key)}[{position}]", item)


def read_json(path: Path) -> JsonValue:
    """Return the object that a JSON file holds; a byte order mark at its head is skipped.

    Raises FormatError for what is not UTF-8, not JSON, cut off, empty, or no object; it says where.
    """
    data = path.read_bytes()
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    document = JsonValue(path, "", None)
    try:
        text = str(memoryview(data)[start:], "utf-8")
    except UnicodeDecodeError as error:
        position = start + error.start
        raise document.fail(
            f"byte {position} is 0x{data[position]:02x}, which is no UTF-8; a JSON file is UTF-8"
        ) from None
    if not text or text.isspace():
        raise document.fail("the file is empty; copy it anew")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise document.fail(_describe_fault(text, error)) from None
    except RecursionError:
        raise document.fail("it is nested too deeply; this is no tokenizer") from None
    if not isinstance(value, dict):
        raise document.fail(f"it holds {shorten_value(value)}, where an object must be")
    return JsonValue(path, "", value)


def _describe_fault(text: str, error: json.JSONDecodeError) -> str:
    where = f"line {error.lineno}, column {error.colno}"
    is_cut_off = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    if is_cut_off:
        return f"the JSON ends in the middle, at {where}; the file is cut off, copy it anew"
    found = shorten_value(text[error.pos : error.pos + 20])
    return f"this is not JSON: {error.msg} at {where}, where it says {found}"
