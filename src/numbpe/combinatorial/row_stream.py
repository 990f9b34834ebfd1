"""Rows to text one by one: text comes as soon as no later row can change it."""

from typing import Any

from numbpe.combinatorial.row_decoder import RowDecoder
from numbpe.stream_decoder import make_text_decoder


class RowStreamDecoder:
    """Decodes rows as they come, such as those that a model generates.

    Args:
        decoder: what the rows stand for.
        errors: what to do with bytes that are not UTF-8, as for ``bytes.decode``.

    All that :meth:`feed` and :meth:`finish` return for one text, joined, equals what
    ``CombinatorialTokenizer.decode`` makes of all its rows. A character whose bytes are spread over
    several rows comes when it is complete. Each stream needs an object of its own.

    Raises ArgumentError for an unknown ``errors``.

    Example:
        >>> decoder = tokenizer.decoder()
        >>> text = "".join(decoder.feed([row]) for row in rows) + decoder.finish()
    """

    def __init__(self, decoder: RowDecoder, errors: str = "replace") -> None:
        self._decoder = decoder
        self._utf8 = make_text_decoder(errors)

    def feed(self, rows: Any) -> str:
        """Return the text that is certain now that these rows have come; often it is "".

        rows: what ``CombinatorialTokenizer.decode`` takes.

        Raises ArgumentError for rows that cannot be, and UnicodeDecodeError under
        ``errors="strict"``; the decoder is then as it was before the call.
        """
        return self._utf8.decode(self._decoder.decode_bytes(rows))

    def finish(self) -> str:
        """Return what is left at the end of a text; the decoder is then ready for the next one."""
        try:
            return self._utf8.decode(b"", final=True)
        finally:
            self._utf8.reset()
