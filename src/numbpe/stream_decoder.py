"""Token ids to text one by one: text comes as soon as no later id can change it."""

import codecs
from dataclasses import dataclass, replace
from typing import Any

from numbpe.decoder import Decoder, count_first_spaces, count_last_spaces
from numbpe.errors import ArgumentError, shorten_value
from numbpe.id_arrays import as_id_array


@dataclass(frozen=True, slots=True)
class _State:
    """What a text is known to begin with, and what of it is held back.

    is_empty: whether no token has come yet that stands for something.
    n_strippable: how many spaces may still be taken off the start.
    spaces: spaces at the end, which go if nothing comes behind them.
    """

    is_empty: bool
    n_strippable: int
    spaces: bytes = b""


class StreamDecoder:
    """Decodes ids as they come, such as those that a model generates.

    Args:
        decoder: what the ids stand for.
        errors: what to do with bytes that are not UTF-8, as for ``bytes.decode``.
        skip_special_tokens: whether to leave special tokens out.

    All that :meth:`feed` and :meth:`finish` return for one text, joined, equals what
    ``Tokenizer.decode`` makes of all its ids. A character whose bytes are spread over several
    tokens comes when it is complete. Each stream needs an object of its own.

    Raises ArgumentError for an unknown ``errors``.

    Example:
        >>> decoder = tokenizer.decoder()
        >>> text = "".join(map(decoder.feed, ids)) + decoder.finish()
    """

    def __init__(
        self, decoder: Decoder, errors: str = "replace", skip_special_tokens: bool = False
    ) -> None:
        self._decoder = decoder
        self._skips = skip_special_tokens
        self._utf8 = make_text_decoder(errors)
        self._state = self._start()

    def feed(self, ids: Any) -> str:
        """Return the text that is certain now that these ids have come; often it is "".

        ids: one id, or what ``Tokenizer.decode`` takes.

        Raises ArgumentError for an id that no token has, and UnicodeDecodeError under
        ``errors="strict"``; the decoder is then as it was before the call.
        """
        if isinstance(ids, int):
            ids = [ids]
        elif getattr(ids, "ndim", 1) == 0:  # one number of NumPy's, or of a tensor library
            ids = [ids.item()]
        content, state = self._strip_start(ids)
        content = state.spaces + content
        limit = self._decoder.rules.strip_right
        n_bytes = len(content) - count_last_spaces(content, limit)
        text = self._utf8.decode(content[:n_bytes])
        self._state = replace(state, spaces=content[n_bytes:])
        return text

    def finish(self) -> str:
        """Return what is left at the end of a text; the decoder is then ready for the next one.

        Under ``errors="strict"`` it raises UnicodeDecodeError if the text ends in the middle of a
        character, and is ready for the next one all the same.
        """
        try:
            return self._utf8.decode(b"", final=True)
        finally:
            self._utf8.reset()
            self._state = self._start()

    def _start(self) -> _State:
        return _State(is_empty=True, n_strippable=self._decoder.rules.strip_left)

    def _strip_start(self, ids: Any) -> tuple[bytes, _State]:
        """Return the bytes of ids, without what a text loses at its start, and the state then."""
        state = self._state
        if not state.is_empty and not state.n_strippable:
            return self._decoder.join_tokens(ids, self._skips), state
        values = as_id_array(ids)
        tokens = self._decoder.decode_tokens(values, self._skips)
        if state.is_empty and tokens and self._decoder.rules.drops_first_metaspace:
            first = self._decoder.find_first_id(values, self._skips)
            tokens[0] = self._decoder.spell_first_token(first)
        content = b"".join(tokens)
        n_spaces = count_first_spaces(content, state.n_strippable)
        left = state.n_strippable - n_spaces if n_spaces == len(content) else 0
        return content[n_spaces:], replace(
            state, is_empty=state.is_empty and not tokens, n_strippable=left
        )


def make_text_decoder(errors: str) -> codecs.IncrementalDecoder:
    """Return what turns UTF-8 that comes in parts into text; ArgumentError for unknown ``errors``."""
    try:
        codecs.lookup_error(errors)
    except (LookupError, TypeError):
        raise ArgumentError(
            f"errors must be the name of a way to handle bytes that are not UTF-8, such as "
            f'"replace", "strict" or "ignore", not {shorten_value(errors)}'
        ) from None
    return codecs.getincrementaldecoder("utf-8")(errors)
