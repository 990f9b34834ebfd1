"""A tokenizer with the methods of ``tiktoken.Encoding``."""

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from numbpe.adapters.tiktoken_arguments import (
    check_threads,
    compile_names,
    take_names,
    take_text,
    word_like_tiktoken,
)
from numbpe.adapters.tiktoken_pieces import LastPieceFinder, find_completions, is_blank
from numbpe.arrays import TokenIds
from numbpe.cut_texts import encode_cut_text
from numbpe.errors import ArgumentError, shorten_value
from numbpe.segments import Segmenter
from numbpe.utf8 import encode_utf8

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer

_NOTHING: Final[frozenset[str]] = frozenset()

Allowed = Literal["all"] | AbstractSet[str]
Disallowed = Literal["all"] | Collection[str]


class TiktokenEncoding:
    """Encodes and decodes as ``tiktoken.Encoding`` does: the same methods, defaults and errors.

    Args:
        tokenizer: what to encode with.
        name: the name of the encoding.

    *Special tokens* are here all tokens that merging never makes. By default :meth:`encode` raises
    ValueError for text that spells one; ``allowed_special`` and ``disallowed_special`` change that.

    Other than in tiktoken, of special tokens that begin alike the longest is found, whatever their
    order; ids may stand in any array of integers; and unpaired surrogates become U+FFFD everywhere.

    Example:
        >>> encoding = tokenizer.as_tiktoken()
        >>> encoding.encode("hello world", disallowed_special=())
        [31373, 995]
    """

    def __init__(self, tokenizer: "Tokenizer", name: str = "numbpe") -> None:
        self.name = name
        self.tokenizer = tokenizer
        self._decoder = tokenizer._decoder
        self._segmenters: dict[frozenset[str], Segmenter] = {}

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tokenizer, self.name)

    # Text to ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the ids of ``text``, in which special tokens are text like any other."""
        return _list_ids(self._encode_content(take_text(text), _NOTHING))

    def encode(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> list[int]:
        """Return the ids of ``text``.

        allowed_special: the special tokens to look for; ``"all"`` for all of them.
        disallowed_special: names that raise ValueError where the text spells them; ``"all"`` for
            all special tokens that are not allowed, ``()`` for none. A special token that is
            neither is text like any other.
        """
        allowed, search = self._resolve(allowed_special, disallowed_special)
        return _list_ids(self._encode_content(take_text(text, search), allowed))

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> TokenIds:
        """Return the ids of ``text`` as an array of uint32; see :meth:`encode`."""
        allowed, search = self._resolve(allowed_special, disallowed_special)
        return self._encode_content(take_text(text, search), allowed)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Return the ids of many texts; see :meth:`encode_ordinary`."""
        return self._encode_contents([take_text(item) for item in text], _NOTHING, num_threads)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> list[list[int]]:
        """Return the ids of many texts; see :meth:`encode`."""
        allowed, search = self._resolve(allowed_special, disallowed_special)
        contents = [take_text(item, search) for item in text]
        return self._encode_contents(contents, allowed, num_threads)

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Allowed = _NOTHING,
        disallowed_special: Disallowed = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """Return the ids that stay whatever follows ``text``, and what may come for the rest.

        As in tiktoken this is slow, and the list is in no order.
        """
        allowed, search = self._resolve(allowed_special, disallowed_special)
        ids, n_last = self._encode_by_piece(take_text(text, search), allowed)
        stable = ids[: len(ids) - n_last]
        rest = self.decode_bytes(ids[len(ids) - n_last :])
        return stable, find_completions(self, rest) if rest else []

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of the token, special or not, with these bytes; KeyError if there is none."""
        if not isinstance(text_or_bytes, (str, bytes)):
            raise TypeError(f"a token is str or bytes, not {shorten_value(text_or_bytes)}")
        content = encode_utf8(text_or_bytes)
        token_id = self._mergeable_ranks.get(content)
        if token_id is None:
            token_id = self._special_tokens.get(content.decode("utf-8", "replace"))
        if token_id is None:
            raise KeyError(content)
        return token_id

    # Ids to text

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids; KeyError for an id that no token has."""
        try:
            return self.tokenizer.decode_bytes(tokens)
        except ArgumentError as error:
            raise word_like_tiktoken(tokens, error) from None

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of ids; ``errors`` says what becomes of bytes that are not UTF-8."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of a token, special or not; KeyError if no token has the id."""
        return self.decode_tokens_bytes([token])[0]

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of each token; KeyError for an id that no token has."""
        try:
            return self._decoder.decode_tokens(tokens)
        except ArgumentError as error:
            raise word_like_tiktoken(tokens, error) from None

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Return the text of ids, and the position in it of the first character of each token.

        Raises UnicodeDecodeError if the bytes of all tokens are not UTF-8.
        """
        contents = self.decode_tokens_bytes(tokens)
        offsets = []
        n_characters = 0
        for content in contents:
            continues = content[:1] and 0x80 <= content[0] < 0xC0
            offsets.append(max(0, n_characters - bool(continues)))
            n_characters += sum(not 0x80 <= byte < 0xC0 for byte in content)
        return b"".join(contents).decode("utf-8"), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Return the texts of many sequences of ids; see :meth:`decode`."""
        contents = self.decode_bytes_batch(batch, num_threads=num_threads)
        return [content.decode("utf-8", errors=errors) for content in contents]

    def decode_bytes_batch(
        self, batch: Sequence[Sequence[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """Return the bytes of many sequences of ids; see :meth:`decode_bytes`."""
        check_threads(num_threads)
        try:
            return self._decoder.decode_batch_bytes(batch, False)
        except ArgumentError as error:
            ids = [id for tokens in batch for id in tokens] if isinstance(batch, list) else []
            raise word_like_tiktoken(ids, error) from None

    # What it is made of

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all tokens that are not special, sorted."""
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        """The id of ``<|endoftext|>``; KeyError if there is no such token."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Return whether a special token has the id."""
        if not isinstance(token, int):
            raise AssertionError(  # noqa: TRY004 - what tiktoken raises
                f"a token is an int, not {shorten_value(token)}"
            )
        return token in self._special_token_values

    @cached_property
    def max_token_value(self) -> int:
        """The greatest id."""
        return self.tokenizer.vocabulary.n_ids - 1

    @property
    def n_vocab(self) -> int:
        """One more than the greatest id."""
        return self.max_token_value + 1

    # Not public in tiktoken either, but what its own documentation says to build encodings from

    @cached_property
    def _special_tokens(self) -> dict[str, int]:
        return dict(self.tokenizer.vocabulary.special_tokens)

    @cached_property
    def _special_token_values(self) -> set[int]:
        return set(self._special_tokens.values())

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        contents = self._decoder.to_dict().items()
        special = self._special_token_values
        return {content: id for id, content in contents if id not in special}

    @property
    def _pat_str(self) -> str:
        sources = self.tokenizer.vocabulary.pattern_sources
        if len(sources) != 1:
            raise AttributeError(
                f"{len(sources)} regular expressions cut text for this tokenizer, and tiktoken "
                "takes one; they are in tokenizer.vocabulary.pattern_sources"
            )
        return sources[0]

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        content = encode_utf8(text_or_bytes)
        return self._pieces.encode_piece(content) if content else []

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        return self.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Return the ids of bytes, special tokens being text.

        What follows the last piece before the first byte that is not UTF-8 is one piece, as in
        tiktoken; ``Tokenizer.encode`` has a better way for bytes.
        """
        if not isinstance(text, bytes):
            raise TypeError(f"text must be bytes, not {shorten_value(text)}")
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            ids, n_last = self._encode_by_piece(text[: error.start], _NOTHING)
            rest = self.decode_bytes(ids[len(ids) - n_last :]) + text[error.start :]
            return ids[: len(ids) - n_last] + self._encode_single_piece(rest)
        return _list_ids(self._encode_content(text, _NOTHING))

    # How it encodes

    @cached_property
    def _pieces(self) -> LastPieceFinder:
        return LastPieceFinder(self.tokenizer)

    def _encode_by_piece(self, content: bytes, allowed: frozenset[str]) -> tuple[list[int], int]:
        """Return ids, and how many at their end may become others by what follows."""
        ids = _list_ids(self._encode_content(content, allowed))
        segmenter = self._get_segmenter(allowed)
        n_last = self._pieces.count_last(segmenter.prepare([content], "allow"))
        if n_last and is_blank(self._decoder.contents[ids[-n_last]]):
            while n_last < len(ids) and is_blank(self._decoder.contents[ids[-n_last - 1]]):
                n_last += 1
        return ids, n_last

    def _encode_content(self, content: bytes, allowed: frozenset[str]) -> TokenIds:
        segmenter = self._get_segmenter(allowed)
        encoder = self.tokenizer._encoder
        whole = segmenter.change_whole(content, "allow", content.isascii())
        if whole is not None:
            return encoder.encode_text(whole)
        return encode_cut_text(segmenter, encoder, content, "allow")

    def _encode_contents(
        self, contents: list[bytes], allowed: frozenset[str], num_threads: int
    ) -> list[list[int]]:
        from numbpe.batch_encoding import encode_batch
        from numbpe.parallel import resolve_threads

        check_threads(num_threads)
        tokenizer = self.tokenizer
        n_threads = min(num_threads, resolve_threads(None))
        segmenter = self._get_segmenter(allowed)
        return encode_batch(
            tokenizer.definition,
            segmenter,
            tokenizer._encoder,
            contents,
            "allow",
            False,
            n_threads,
        ).to_list()

    def _get_segmenter(self, allowed: frozenset[str]) -> Segmenter:
        """Return what finds the allowed special tokens, and added tokens that are none."""
        segmenter = self._segmenters.get(allowed)
        if segmenter is None:
            definition = self.tokenizer.definition
            tokens = [
                token
                for token in definition.added_tokens
                if token.content in allowed or token.content not in self._special_tokens
            ]
            segmenter = Segmenter(replace(definition, added_tokens=tuple(tokens)))
            if len(self._segmenters) >= 64:
                self._segmenters.clear()
            self._segmenters[allowed] = segmenter
        return segmenter

    def _resolve(
        self, allowed_special: Allowed, disallowed_special: Disallowed
    ) -> tuple[frozenset[str], "re.Pattern[bytes] | None"]:
        """Return the allowed special tokens, and a pattern of what must not stand in the text."""
        names = self._all_names
        if isinstance(allowed_special, str) and allowed_special == "all":
            allowed = names
        else:
            allowed = take_names("allowed_special", allowed_special) & names
        if isinstance(disallowed_special, str) and disallowed_special == "all":
            disallowed = names - allowed
        else:
            disallowed = take_names("disallowed_special", disallowed_special)
        return allowed, compile_names(disallowed) if disallowed else None

    @cached_property
    def _all_names(self) -> frozenset[str]:
        return frozenset(self._special_tokens)


def _list_ids(ids: TokenIds) -> list[int]:
    listed: list[int] = ids.tolist()
    return listed
