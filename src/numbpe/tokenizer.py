"""Text to token ids and back, with one vocabulary."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from numbpe.arrays import TextArray, TokenIds, copy_text
from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import FilePath
from numbpe.special_tokens import SpecialTokenFinder
from numbpe.vocabulary import PatternLike, PatternSource, Vocabulary
from numbpe.word_merger import WordMerger

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from numbpe.patterns import Pattern

SpecialPolicy: TypeAlias = Literal["allow", "text", "error"]
"""What becomes of text that spells a special token: the special token's id, the ids of its letters
like any text, or an error."""

_POLICIES: Final = get_args(SpecialPolicy)


class Tokenizer:
    """Encodes and decodes text with a byte-level BPE vocabulary.

    Args:
        vocab: the bytes of every token id.
        merges: the two byte strings that each merge joins, the first to be applied first.
        special_tokens: names, or names with their ids. Names that ``vocab`` lacks get ids after
            the last. Without any, text that spells one is ordinary text.
        pattern: how text is cut into pieces: a name, a regular expression, or several of these.

    Raises DataError where ``vocab`` and ``merges`` contradict each other, ArgumentError for special
    tokens or a pattern that cannot be used.

    A tokenizer never changes, and any number of threads may use one.

    Example:
        >>> tokenizer = Tokenizer({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")], ["<s>"])
        >>> tokenizer.encode("abba<s>")
        array([2, 1, 0, 3], dtype=uint32)
    """

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        special_tokens: Iterable[str] | Mapping[str, int] | None = None,
        pattern: PatternSource = "gpt2",
    ) -> None:
        compiled = _compile(pattern)
        vocabulary = Vocabulary.from_tokens(
            vocab, merges, special_tokens=special_tokens, pattern=compiled
        )
        self._set_parts(vocabulary, compiled)

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary, pattern: "Pattern | None" = None) -> Self:
        """Return the tokenizer of a vocabulary.

        pattern: the compiled pattern of the vocabulary, where it is at hand.
        """
        tokenizer = cls.__new__(cls)
        source = vocabulary.pattern_name or vocabulary.pattern_sources
        tokenizer._set_parts(vocabulary, pattern or _compile(source))
        return tokenizer

    def _set_parts(self, vocabulary: Vocabulary, pattern: "Pattern") -> None:
        self._vocabulary = vocabulary
        self._pattern = pattern
        self._special_finder = SpecialTokenFinder(vocabulary.special_tokens)

    @cached_property
    def _merger(self) -> WordMerger:
        # Made when first needed: a training run that only saves its result compiles no encoder.
        return WordMerger(self._vocabulary)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_vocabulary, (self._vocabulary, self._pattern)

    def __repr__(self) -> str:
        pattern = self._vocabulary.pattern_name or self._vocabulary.pattern_sources
        return (
            f"Tokenizer({self.vocab_size} tokens, {self._vocabulary.n_merges} merges, "
            f"special_tokens={shorten_value(list(self.special_tokens))}, "
            f"pattern={shorten_value(pattern)})"
        )

    def __len__(self) -> int:
        return self.vocab_size

    # What it is made of

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens, merges and special tokens as arrays."""
        return self._vocabulary

    @property
    def pattern(self) -> "Pattern":
        """The compiled pattern that cuts text into pieces."""
        return self._pattern

    @property
    def vocab(self) -> dict[int, bytes]:
        """The bytes of every token id, ids ascending; a new dictionary each time."""
        return self._vocabulary.to_dict()

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The two byte strings that each merge joins, in order; a new list each time."""
        return self._vocabulary.merges

    @property
    def vocab_size(self) -> int:
        """The number of tokens, special ones included."""
        return len(self._vocabulary)

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of every special token; a new dictionary each time."""
        return dict(self._vocabulary.special_tokens)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token; ArgumentError if no token has the id."""
        return self._vocabulary.token_bytes(token_id)

    def token_id(self, content: bytes) -> int:
        """Return the id of the token with these bytes, the ordinary one if a special token is
        spelled like it; ArgumentError if there is none."""
        return self._vocabulary.token_id(content)

    def truncated(self, vocab_size: int) -> Self:
        """Return the tokenizer of ``vocab_size`` tokens that has the first of the merges.

        It equals what training to that size gives, so that one run yields many sizes. Ids of
        special tokens that are numbered after the merges move down.

        Raises ArgumentError for more tokens than there are, or fewer than the bytes and the
        special tokens.
        """
        return self.from_vocabulary(self._vocabulary.truncated(vocab_size), self._pattern)

    def save(self, path: FilePath) -> None:
        """Write the tokenizer in the format that the suffix of ``path`` stands for.

        ``.json``: a tokenizer.json. ``.tiktoken``: a rank file, without special tokens and pattern.
        ``.pkl``: NAME_vocab.pkl and NAME_merges.pkl. Without a suffix, or a folder: vocab.json and
        merges.txt in that folder. The files appear whole or not at all.

        Raises ArgumentError for another suffix, or if the format cannot hold this tokenizer.
        """
        from numbpe import formats

        formats.save(self._vocabulary, path)

    # Text to ids

    def encode(self, text: str | bytes, special: SpecialPolicy = "allow") -> TokenIds:
        """Return the token ids of ``text``, an (n,) uint32 array.

        text: bytes are taken as they are, UTF-8 or not. In a str two surrogates that make a
            pair are joined, and an unpaired one becomes U+FFFD.
        special: ``"allow"`` makes the id of a special token of text that spells it (the leftmost,
            of those the longest), ``"text"`` takes it as any text, ``"error"`` raises.

        Raises ArgumentError for a special token under ``"error"`` and for arguments of another
        type, DataError for a byte that has no token.
        """
        if special not in _POLICIES:
            raise ArgumentError(
                f"special must be one of {', '.join(map(repr, _POLICIES))}, "
                f"not {shorten_value(special)}"
            )
        data = _encode_utf8(text)
        padded = copy_text(data)
        parts: list[TokenIds] = []
        position = 0
        for start, stop, token_id in self._find_special_tokens(data, special):
            parts.append(self._encode_ordinary(padded, position, start))
            parts.append(np.array([token_id], dtype=np.uint32))
            position = stop
        parts.append(self._encode_ordinary(padded, position, len(data)))
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def count(self, text: str | bytes, special: SpecialPolicy = "allow") -> int:
        """Return the number of tokens of ``text``: the length of what :meth:`encode` returns."""
        return len(self.encode(text, special))

    def _find_special_tokens(
        self, data: bytes, special: SpecialPolicy
    ) -> Iterator[tuple[int, int, int]]:
        if special == "text":
            return
        for start, stop, token_id in self._special_finder.find(data):
            if special == "error":
                raise ArgumentError(
                    f"the text spells the special token {shorten_value(data[start:stop].decode())} "
                    f'at byte {start}; pass special="allow" to take it as one, '
                    'or special="text" to take it as text'
                )
            yield start, stop, token_id

    def _encode_ordinary(self, text: TextArray, start: int, stop: int) -> TokenIds:
        """Return the ids of text[start:stop], in which no special token is looked for."""
        return self._merger.merge_words(text, start, self._pattern.find_ends(text, start, stop))

    # Ids to text

    def decode(self, ids: "ArrayLike", errors: str = "replace") -> str:
        """Return the text of token ids; nothing is cleaned up, special tokens are spelled out.

        ids: a list or an array of integers; a single id stands in a list too.
        errors: what to do with bytes that are not UTF-8, as for ``bytes.decode``. Ids may stand
            for parts of characters.

        Raises ArgumentError for an id that no token has; it names the position.
        """
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: "ArrayLike") -> bytes:
        """Return the bytes of token ids; ArgumentError for an id that no token has."""
        values = self._check_ids(ids)
        return b"".join(map(self._vocabulary.tokens.__getitem__, values.tolist()))

    def _check_ids(self, ids: "ArrayLike") -> NDArray[Any]:
        """Return ``ids`` as an array of integers that all are ids of tokens."""
        try:
            values = np.asarray(ids)
        except (ValueError, OverflowError):
            values = np.array(ids, dtype=object)
        if values.ndim != 1:
            raise ArgumentError(
                f"ids must be a list or a flat array of integers, not {shorten_value(ids)}"
            )
        if values.size == 0:
            return np.empty(0, dtype=np.int64)
        if values.dtype.kind not in "iu":
            # Numbers over 64 bits, and mixed ones, arrive as floats or objects.
            values = _narrow(ids if isinstance(ids, Sequence) else values.tolist(), self._n_ids)
        is_bad = (values < 0) | (values >= self._n_ids)
        lengths = np.diff(self._vocabulary.offsets)
        is_bad |= lengths[np.where(is_bad, 0, values)] == 0
        if is_bad.any():
            position = int(np.flatnonzero(is_bad)[0])
            raise self._describe_bad_id(int(values[position]), position)
        return values

    @property
    def _n_ids(self) -> int:
        return self._vocabulary.n_ids

    def _describe_bad_id(self, token_id: int, position: int) -> ArgumentError:
        return ArgumentError(
            f"cannot decode id {token_id} at position {position}: no token has it; "
            f"ids are from 0 to {self._n_ids - 1}"
        )


def _narrow(ids: Any, n_ids: int) -> NDArray[np.int64]:
    """Return integers of any size as int64; ArgumentError for what is none or is too large."""
    for position, token_id in enumerate(ids):
        if not isinstance(token_id, (int, np.integer)) or isinstance(token_id, bool):
            raise ArgumentError(
                f"cannot decode {shorten_value(token_id)} at position {position}: "
                "ids must be integers"
            )
        if not 0 <= token_id < n_ids:
            raise ArgumentError(
                f"cannot decode id {token_id} at position {position}: no token has it; "
                f"ids are from 0 to {n_ids - 1}"
            )
    return np.array([int(token_id) for token_id in ids], dtype=np.int64)


def _encode_utf8(text: object) -> bytes:
    """Return the bytes of a text, surrogates repaired; ArgumentError if it is no text."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise ArgumentError(
            f"text must be a str or bytes, not {type(text).__name__} ({shorten_value(text)})"
        )
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        repaired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return repaired.encode("utf-8")


def _compile(pattern: PatternSource) -> "Pattern":
    from numbpe.patterns import Pattern, compile_pattern

    if isinstance(pattern, Pattern):
        return pattern
    return compile_pattern(pattern if isinstance(pattern, str) else tuple(_list_sources(pattern)))


def _list_sources(pattern: Sequence[str] | PatternLike) -> Sequence[str]:
    return pattern if isinstance(pattern, Sequence) else pattern.sources
