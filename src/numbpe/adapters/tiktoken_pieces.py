"""What tiktoken knows of the last piece of a text: which tokens may become others by what follows."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from numbpe.encoder import Encoder
from numbpe.segments import PreparedText

if TYPE_CHECKING:
    from numbpe.adapters.tiktoken_encoding import TiktokenEncoding
    from numbpe.tokenizer import Tokenizer


class LastPieceFinder:
    """Encodes single pieces, which the pattern does not cut."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        definition = tokenizer.definition
        if definition.rules.alphabet != "bytes" or definition.normalizer or definition.preparation:
            raise NotImplementedError(
                "tiktoken's calls for single pieces and unstable ids are for byte-level tokenizers "
                "that change no text; this one changes text before it is encoded"
            )
        self._pattern = tokenizer.pattern
        vocabulary = replace(definition.vocabulary, pattern_sources=(), pattern_name=None)
        self._encoder = Encoder(replace(definition, vocabulary=vocabulary), None)

    def encode_piece(self, content: bytes) -> list[int]:
        """Return the ids of one piece."""
        ids: list[int] = self._encoder.encode_text(content).tolist()
        return ids

    def count_last(self, prepared: PreparedText) -> int:
        """Return the number of tokens of the last piece; 0 if a special token is the last."""
        start, stop, _ = prepared.parts[-1].tolist()
        if start == stop:
            return 0
        if self._pattern is not None:
            ends = self._pattern.find_ends(prepared.text, start, stop).tolist()
            start = ends[-2] if len(ends) > 1 else start
        return len(self.encode_piece(prepared.text[start:stop].tobytes()))


def is_blank(content: bytes) -> bool:
    """Return whether a token holds nothing but spaces, tabs and line ends."""
    return not content.strip(b" \n\t")


def find_completions(encoding: "TiktokenEncoding", rest: bytes) -> list[list[int]]:
    """Return what ``rest``, bytes at the end of a text, may become by what follows them.

    The ids of tokens that begin with it; and for each place inside it, the ids up to its end of
    what is there if a token stands across the end from that place on.
    """
    ranks = encoding._mergeable_ranks
    values = encoding.token_byte_values()
    found: set[tuple[int, ...]] = {
        (ranks[content],) for content in _iterate_beginning(values, rest)
    }
    for i in range(1, len(rest)):
        for content in _iterate_beginning(values, rest[i:]):
            found.add(_encode_up_to(encoding, rest[:i] + content, len(rest)))
    # A pattern with ``\s+(?!\S)`` splits white space as soon as a letter follows it.
    head, last = _split_last_character(rest)
    if head and last.isspace():
        ids = encoding._encode_single_piece(head) + encoding._encode_single_piece(last)
        found.add(tuple(ids))
    return [list(ids) for ids in found]


def _iterate_beginning(values: list[bytes], start: bytes) -> Iterator[bytes]:
    """Yield those of the sorted ``values`` that begin with ``start``."""
    for i in range(bisect_left(values, start), len(values)):
        if not values[i].startswith(start):
            return
        yield values[i]


def _encode_up_to(encoding: "TiktokenEncoding", data: bytes, n_bytes: int) -> tuple[int, ...]:
    """Return the first ids of ``data``, as many as it takes for ``n_bytes``."""
    try:
        ids = encoding.encode_ordinary(data.decode("utf-8"))
    except UnicodeDecodeError:
        ids = encoding._encode_single_piece(data)
    lengths = map(len, encoding.decode_tokens_bytes(ids))
    total = 0
    for n_ids, length in enumerate(lengths, start=1):
        total += length
        if total >= n_bytes:
            return tuple(ids[:n_ids])
    return tuple(ids)


def _split_last_character(data: bytes) -> tuple[bytes, str]:
    """Return what stands before the last character, and that; "" if it is not UTF-8."""
    for n_bytes in range(1, min(len(data), 4) + 1):
        try:
            character = data[-n_bytes:].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return data[:-n_bytes], character
    return data[:-1], ""
