"""What readers of all formats share: bytes of files, special tokens that are given, and patterns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numbpe.definition import AddedToken
from numbpe.errors import ArgumentError, FormatError, shorten_value
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.special_tokens import check_special_tokens
from numbpe.vocabulary_checks import MAX_TOKEN_ID

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

GivenSpecialTokens = Iterable[str] | Mapping[str, int] | None


@dataclass(frozen=True)
class KnownPattern:
    """A pattern whose expressions are known; () for none."""

    name: str | None
    sources: tuple[str, ...]


def name_pattern(sources: tuple[str, ...]) -> KnownPattern:
    """Return the pattern of these expressions, with its name if it has one."""
    written = tuple(source.replace("\r", r"\r").replace("\n", r"\n") for source in sources)
    for name, known in NAMED_PATTERNS.items():
        if known == written:
            return KnownPattern(name, known)
    return KnownPattern(None, sources)


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, without a byte order mark; FormatError if that is nothing."""
    data = path.read_bytes().removeprefix(BYTE_ORDER_MARK)
    if not data.strip():
        raise describe_fault(path, "the file is empty; copy it anew")
    return data


def read_text(path: Path) -> str:
    """Return the text of a file; FormatError if it is not UTF-8."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise describe_fault(
            path, f"line {line} holds the byte 0x{data[error.start]:02x}, which is no UTF-8"
        ) from None


def describe_fault(path: Path, problem: str) -> FormatError:
    """Return the error that names the file and what is wrong with it."""
    return FormatError(f"cannot read {shorten_value(str(path), 200)}: {problem}")


def assign_added_tokens(
    special_tokens: GivenSpecialTokens, ids: Mapping[str, int], first_free_id: int
) -> tuple[AddedToken, ...]:
    """Return the special tokens that were given, with their ids.

    ids: those of names that the file knows. Names that it does not know get ids from
    ``first_free_id`` on. Raises ArgumentError for tokens that cannot be used.
    """
    names = check_special_tokens(special_tokens)
    if isinstance(special_tokens, Mapping):
        return tuple(AddedToken(name, _check_id(name, special_tokens[name])) for name in names)
    tokens: list[AddedToken] = []
    for name in names:
        token_id = ids.get(name)
        if token_id is None:
            token_id = first_free_id
            first_free_id += 1
        tokens.append(AddedToken(name, token_id))
    return tuple(tokens)


def _check_id(name: str, token_id: object) -> int:
    if type(token_id) is int and 0 <= token_id <= MAX_TOKEN_ID:
        return token_id
    raise ArgumentError(
        f"special_tokens gives {shorten_value(name)} the id {shorten_value(token_id)}; "
        f"ids are integers from 0 to {MAX_TOKEN_ID:,}"
    )
