"""What tiktoken's calls take, and what they raise."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NoReturn

from numbpe.errors import ArgumentError, shorten_value
from numbpe.utf8 import encode_utf8

_MAX_UINT32: Final = (1 << 32) - 1


@lru_cache(maxsize=128)
def compile_names(names: frozenset[str]) -> re.Pattern[bytes]:
    """Return a pattern that finds the leftmost of ``names``, of those the longest."""
    longest_first = sorted((encode_utf8(name) for name in names), key=len, reverse=True)
    return re.compile(b"|".join(map(re.escape, longest_first)))


def take_names(argument: str, names: Iterable[str]) -> frozenset[str]:
    """Return a set of special tokens; TypeError for what is none."""
    try:
        return frozenset(names)
    except TypeError:
        raise TypeError(
            f'{argument} must be "all" or a set of special tokens, not {shorten_value(names)}'
        ) from None


def take_text(text: str, search: "re.Pattern[bytes] | None" = None) -> bytes:
    """Return the bytes of a text; ValueError if it spells what must not stand in it."""
    if not isinstance(text, str):
        raise TypeError(
            f"text must be a str, not {type(text).__name__} ({shorten_value(text)}); "
            "numbpe.Tokenizer.encode takes bytes"
        )
    content = encode_utf8(text)
    if search is not None and (match := search.search(content)):
        _refuse_special_token(match[0].decode())
    return content


def _refuse_special_token(token: str) -> NoReturn:
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
        "If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )


def check_threads(num_threads: int) -> None:
    """Raise ValueError if there is no such number of threads."""
    if not isinstance(num_threads, int) or num_threads < 1:
        raise ValueError(f"num_threads must be 1 or more, not {shorten_value(num_threads)}")


def word_like_tiktoken(tokens: Any, error: ArgumentError) -> Exception:
    """Return the error of the type that tiktoken raises for the same ids."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        return TypeError(str(error))
    for token in tokens:
        if isinstance(token, bool) or not hasattr(token, "__index__"):
            return TypeError(str(error))
        if not 0 <= int(token) <= _MAX_UINT32:
            return OverflowError(str(error))
    return KeyError(str(error))
