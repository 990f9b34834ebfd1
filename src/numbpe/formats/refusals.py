"""What a format cannot hold is refused by name, never left out in silence."""

from typing import Final

from numbpe.definition import Template, TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value


def check_is_plain(definition: TokenizerDefinition, form: str, remedy: str) -> None:
    """Raise ArgumentError for what a file of tokens and merges of bytes alone cannot hold.

    Its reader gives pattern and special tokens, but nothing else. form: what is to be written.
    """
    for problem in _list_extras(definition):
        raise ArgumentError(f"cannot save as {form}, which cannot hold {problem}; {remedy}")


def _list_extras(definition: TokenizerDefinition) -> list[str]:
    problems: list[str] = []
    if definition.rules.alphabet != "bytes":
        problems.append("tokens of characters: they would be read as tokens of bytes")
    if definition.normalizer:
        problems.append(f"the normalizer {shorten_value(definition.normalizer)}")
    if definition.preparation:
        problems.append(f"what is done to a text before: {shorten_value(definition.preparation)}")
    if definition.template != Template():
        problems.append("the template that adds ids around a text")
    for token in definition.added_tokens:
        if (token.special, *_list_flags(token)) != _PLAIN_FLAGS:
            problems.append(f"the flags of the added token {shorten_value(token.content)}")
    return problems


_PLAIN_FLAGS: Final = (True, False, False, False, False)


def _list_flags(token: object) -> tuple[bool, ...]:
    return tuple(getattr(token, key) for key in ("normalized", "single_word", "lstrip", "rstrip"))


def check_merges_by_list(definition: TokenizerDefinition, form: str, remedy: str) -> None:
    """Raise ArgumentError unless pieces are merged by the list of merges and in no other way."""
    rules = definition.rules
    for is_so, what in (
        (rules.merge_order == "result", "merging by the rank of the result"),
        (rules.ignore_merges, "taking a piece that is a token as it stands (ignore_merges)"),
    ):
        if is_so:
            raise ArgumentError(f"cannot save as {form}, which cannot hold {what}; {remedy}")
