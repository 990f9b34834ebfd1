"""Added tokens of JSON files, each with an id of its own."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from numbpe.definition import AddedToken
from numbpe.errors import shorten_value
from numbpe.formats.json_documents import JsonValue
from numbpe.vocabulary_checks import MAX_TOKEN_ID

_KEYS: Final = ("id", "content", "special", "normalized", "single_word", "lstrip", "rstrip")
_USUAL_KINDS: Final = [int, str, *[bool] * 5]


@dataclass
class _AddedTokens:
    """Added tokens so far, by id and by content; two may share neither."""

    by_id: dict[int, AddedToken]
    by_content: dict[str, AddedToken]

    def add(self, token: AddedToken, place: JsonValue) -> None:
        other = self.by_id.get(token.id) or self.by_content.get(token.content)
        if other is not None and (other.id, other.content) != (token.id, token.content):
            raise place.fail(
                f"the added tokens {shorten_value(other.content)}, id {other.id}, and "
                f"{shorten_value(token.content)}, id {token.id}, cannot be told apart; "
                "give each its own id"
            )
        self.by_id[token.id] = self.by_content[token.content] = token


def read_added_tokens(
    document: JsonValue, others: Iterable[tuple[AddedToken, JsonValue]] = ()
) -> tuple[AddedToken, ...]:
    """Return the added tokens by id; FormatError if two have one id, or one has two.

    others: those of tokenizer_config.json, whose flags count where a token is in both.
    """
    tokens = _AddedTokens({}, {})
    place = document.locate("added_tokens")
    for position, value in enumerate(document.take("added_tokens", list, [])):
        token = _read_usual_token(value)
        if token is None or token.id in tokens.by_id or token.content in tokens.by_content:
            item = JsonValue(document.path, f"{place}[{position}]", value)
            tokens.add(read_added_token(item, item.require("id", int)), item)
        else:
            tokens.by_id[token.id] = tokens.by_content[token.content] = token
    for token, item in others:
        tokens.add(token, item)
    return tuple(token for _, token in sorted(tokens.by_id.items()))


def _read_usual_token(value: Any) -> AddedToken | None:
    """Return an added token that is written as the library writes it, None for any other.

    Gemma 3 has 6,415, so that each counts.
    """
    if type(value) is not dict:
        return None
    values: list[Any] = [*map(value.get, _KEYS)]
    token_id, content, *flags = values
    if [*map(type, values)] != _USUAL_KINDS or not content.isascii():
        return None
    if not 0 <= token_id <= MAX_TOKEN_ID or not content:
        return None
    return AddedToken(content, token_id, *flags)


def read_added_token(item: JsonValue, token_id: int) -> AddedToken:
    """Return one added token; ``normalized`` is what is not special, if the file does not say."""
    if not 0 <= token_id <= MAX_TOKEN_ID:
        raise item.fail(f"the id {token_id} is out of range; ids are from 0 to {MAX_TOKEN_ID:,}")
    content = item.require("content", str)
    if not content:
        raise item.fail("the content of an added token is empty; take the token out")
    try:
        content.encode()
    except UnicodeEncodeError:
        raise item.fail(f"{content!r} holds an unpaired surrogate, which no text holds") from None
    special = item.take("special", bool, False)
    flags = {key: item.take(key, bool, False) for key in ("single_word", "lstrip", "rstrip")}
    normalized = item.take("normalized", bool, not special)
    return AddedToken(content, token_id, special, normalized, **flags)
