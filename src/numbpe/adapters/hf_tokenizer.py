"""A tokenizer with the methods of ``tokenizers.Tokenizer``."""

import json
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from numbpe.adapters.hf_encoding import SPECIAL, TEXT, HfEncoding, Source, Span
from numbpe.adapters.hf_settings import Direction, Padding, Strategy, Truncation
from numbpe.adapters.hf_spelling import PieceEncoder, Spelling
from numbpe.definition import AddedToken, TemplatePiece
from numbpe.errors import shorten_value
from numbpe.files import FilePath

if TYPE_CHECKING:
    from numbpe.added_tokens import SpecialPolicy
    from numbpe.tokenizer import Tokenizer

_REMEDIES: Final = {
    "train": "numbpe.train",
    "train_from_iterator": "numbpe.train, which takes iterables too",
    "from_str": "numbpe.load with the path of a file",
    "from_buffer": "numbpe.load with the path of a file",
    "from_pretrained": "numbpe.load with the path of a downloaded tokenizer.json",
    "post_process": "encode with a pair, which applies the template",
    "add_tokens": "special_tokens of numbpe.train, or the added_tokens of the tokenizer.json",
    "add_special_tokens": "special_tokens of numbpe.train, or the added_tokens of the tokenizer.json",
    "model": "tokenizer.vocabulary and tokenizer.definition.rules",
    "normalizer": "tokenizer.definition.normalizer",
    "pre_tokenizer": "tokenizer.pattern and tokenizer.definition.preparation",
    "post_processor": "tokenizer.definition.template",
    "decoder": "tokenizer.definition.decoding",
    "async_encode": "encode in a thread: it holds no lock",
    "async_encode_batch": "encode_batch in a thread: it holds no lock",
    "async_encode_batch_fast": "encode_batch in a thread: it holds no lock",
    "async_decode_batch": "decode_batch in a thread: it holds no lock",
}

Input = str | Sequence[Any]


class HfTokenizer:
    """Encodes and decodes as ``tokenizers.Tokenizer`` does: the same methods and defaults.

    Args:
        tokenizer: what to encode with; it stays as it is.

    Truncation, padding and ``encode_special_tokens`` are settings of this object. What is not
    offered raises AttributeError, which names what to use instead.

    Other than in tokenizers, ids that no token has raise ArgumentError; ids keep the numbers that
    their file gives; and :meth:`encode_batch_fast` knows offsets too.

    Example:
        >>> hf = tokenizer.as_hf()
        >>> hf.encode("hello world").tokens
        ['hello', 'Ġworld']
    """

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self.tokenizer = tokenizer
        self.encode_special_tokens = False
        """Whether text that spells a special token is text like any other."""
        self._truncation: Truncation | None = None
        self._padding: Padding | None = None

    @classmethod
    def from_file(cls, path: FilePath) -> Self:
        """Return the tokenizer of a tokenizer.json."""
        from numbpe.loading import load

        return cls(load(path))

    def __getattr__(self, name: str) -> Any:
        if name in _REMEDIES:
            raise AttributeError(
                f"numbpe's tokenizers have no {name}, and never change; use {_REMEDIES[name]}"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def __getstate__(self) -> dict[str, Any]:
        return {
            key: value for key, value in vars(self).items() if key not in ("_spelling", "_pieces")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        return f"HfTokenizer({self.tokenizer!r})"

    # Text to ids

    def encode(
        self,
        sequence: Input,
        pair: Input | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> HfEncoding:
        """Return the encoding of a text, or of a pair of texts.

        sequence, pair: a str, or a list of words if ``is_pretokenized``.
        add_special_tokens: whether to add the ids of the tokenizer's template.
        """
        texts = [sequence] if pair is None else [sequence, pair]
        parts = [_list_parts(text, is_pretokenized) for text in texts]
        ids = [[self._encode_text(part) for part in listed] for listed in parts]
        encoding = self._process(parts, ids, is_pretokenized, add_special_tokens)
        if self._padding is not None:
            self._padding.apply([encoding])
        return encoding

    def encode_batch(
        self,
        input: Sequence[Any],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[HfEncoding]:
        """Return the encodings of many texts or pairs; see :meth:`encode`."""
        if isinstance(input, (str, bytes)) or not isinstance(input, Sequence):
            raise TypeError(
                f"input must be a list of texts or pairs of texts, not {shorten_value(input)}"
            )
        inputs = [
            [_list_parts(text, is_pretokenized) for text in _split_pair(item, is_pretokenized)]
            for item in input
        ]
        flat = [part for parts in inputs for listed in parts for part in listed]
        batch = iter(self.tokenizer.encode_batch(flat, special=self._policy).to_list())
        encodings = [
            self._process(
                parts,
                [[next(batch) for _ in listed] for listed in parts],
                is_pretokenized,
                add_special_tokens,
            )
            for parts in inputs
        ]
        if self._padding is not None:
            self._padding.apply(encodings)
        return encodings

    encode_batch_fast = encode_batch

    @property
    def _policy(self) -> "SpecialPolicy":
        return "text" if self.encode_special_tokens else "allow"

    def _encode_text(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, special=self._policy).tolist()
        return ids

    def _process(
        self,
        parts: list[list[str]],
        ids: list[list[list[int]]],
        is_pretokenized: bool,
        add_special_tokens: bool,
    ) -> HfEncoding:
        """Return the encoding of one text or two: cut, and with the ids of the template."""
        policy = self._policy
        encodings = []
        for number, (listed, part_ids) in enumerate(zip(parts, ids, strict=True)):
            spans = [
                Span(
                    found, TEXT, number, Source(self, part, policy, i if is_pretokenized else None)
                )
                for i, (part, found) in enumerate(zip(listed, part_ids, strict=True))
            ]
            encodings.append(HfEncoding(self, spans))
        template = self._get_template(len(encodings))
        if self._truncation is not None:
            n_added = len(template) - len(encodings) if add_special_tokens else 0
            second = encodings[1] if len(encodings) > 1 else None
            self._truncation.apply(encodings[0], second, n_added)
        for number, encoding in enumerate(encodings):
            for part in (encoding, *encoding.overflowing):
                part.set_sequence_id(number)
        return self._apply_template(template, encodings, add_special_tokens)

    def _apply_template(
        self,
        template: Sequence[TemplatePiece],
        encodings: list[HfEncoding],
        add_special_tokens: bool,
    ) -> HfEncoding:
        found = []
        for piece, type_id in template:
            if isinstance(piece, str):
                encoding = encodings["AB".index(piece)]
                encoding.set_type_ids(type_id)
                found.append(encoding)
            elif add_special_tokens:
                found.append(HfEncoding(self, [Span([piece], SPECIAL, type_id)]))
        return HfEncoding.merge(found, growing_offsets=False)

    def _get_template(self, n_sequences: int) -> Sequence[TemplatePiece]:
        template = self.tokenizer.definition.template
        return template.pair if n_sequences > 1 else template.single

    def find_offsets(self, text: str, special: "SpecialPolicy") -> list[tuple[int, int]]:
        """Return the characters of ``text`` that each of its tokens stands for."""
        _, offsets = self.tokenizer.encode_with_offsets(text, special=special)
        return [(start, stop) for start, stop in offsets.tolist()]

    def find_words(self, text: str, special: "SpecialPolicy") -> list[int]:
        """Return the number of the piece of ``text`` that each of its tokens comes from."""
        return self._pieces.find_words(text, special)

    @cached_property
    def _pieces(self) -> PieceEncoder:
        return PieceEncoder(self.tokenizer)

    # Ids to text

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids; ArgumentError for an id that no token has."""
        decoder = self.tokenizer._decoder
        content = decoder.decode_bytes(ids, skip_special_tokens)
        if decoder.byte_token_ids:
            try:
                return content.decode("utf-8")
            except UnicodeDecodeError:
                content = self._spelling.repair_runs(ids, skip_special_tokens)
        return content.decode("utf-8", "replace")

    def decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Return the texts of many sequences of ids; see :meth:`decode`."""
        if self.tokenizer._decoder.byte_token_ids:
            return [self.decode(ids, skip_special_tokens) for ids in sequences]
        return self.tokenizer.decode_batch(sequences, skip_special_tokens=skip_special_tokens)

    # Tokens

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(self.tokenizer)

    def token_to_id(self, token: str) -> int | None:
        """Return the id of the token with this spelling, None if there is none."""
        return self._spelling.find_id(token)

    def id_to_token(self, id: int) -> str | None:
        """Return how a token is spelled in a tokenizer.json, None if no token has the id."""
        return self._spelling.spell(id)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of every token by its spelling.

        with_added_tokens: whether to list tokens that merging never makes.
        """
        return self._spelling.list_all(with_added_tokens)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens; see :meth:`get_vocab`."""
        vocabulary = self.tokenizer.vocabulary
        return len(vocabulary) - (0 if with_added_tokens else len(vocabulary.special_tokens))

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return the tokens that are found in text as they are spelled, by id."""
        tokens = self.tokenizer.definition.added_tokens
        return {token.id: token for token in sorted(tokens, key=lambda token: token.id)}

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return how many ids the template adds to a text or to a pair."""
        n_sequences = 2 if is_pair else 1
        return len(self._get_template(n_sequences)) - n_sequences

    # Settings

    def enable_truncation(
        self,
        max_length: int,
        stride: int = 0,
        strategy: Strategy = "longest_first",
        direction: Direction = "right",
    ) -> None:
        """Cut texts to ``max_length`` tokens, those of the template counted in."""
        self._truncation = Truncation(max_length, stride, strategy, direction)

    def no_truncation(self) -> None:
        """Cut texts no more."""
        self._truncation = None

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The settings of truncation, None if there is none."""
        return None if self._truncation is None else self._truncation.to_dict()

    def enable_padding(
        self,
        direction: Direction = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Fill texts up to ``length`` tokens, or to as many as the longest of a batch has."""
        self._padding = Padding(
            direction, pad_id, pad_type_id, pad_token, length, pad_to_multiple_of
        )

    def no_padding(self) -> None:
        """Fill texts up no more."""
        self._padding = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """The settings of padding, None if there is none."""
        return None if self._padding is None else self._padding.to_dict()

    # Files

    def to_str(self, pretty: bool = False) -> str:
        """Return the tokenizer.json, with the settings of truncation and padding."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            self.tokenizer.save(path)
            document = json.loads(path.read_text(encoding="utf-8"))
        if self._truncation is not None:
            document["truncation"] = self._truncation.to_document()
        if self._padding is not None:
            document["padding"] = self._padding.to_document()
        separators = None if pretty else (",", ":")
        indent = 2 if pretty else None
        return json.dumps(document, ensure_ascii=False, indent=indent, separators=separators)

    def save(self, path: FilePath, pretty: bool = True) -> None:
        """Write the tokenizer.json."""
        from numbpe.files import write_atomically

        with write_atomically(path) as file:
            file.write(self.to_str(pretty).encode())


def _list_parts(text: object, is_pretokenized: bool) -> list[str]:
    """Return the words of a text; the text itself if it is none of words."""
    if not is_pretokenized:
        if not isinstance(text, str):
            raise TypeError(f"TextInputSequence must be str, not {shorten_value(text)}")
        return [text]
    is_list = isinstance(text, (list, tuple))
    if not is_list or not all(isinstance(word, str) for word in text):  # type: ignore[attr-defined]
        raise TypeError(
            "PreTokenizedInputSequence must be Union[List[str], Tuple[str]], "
            f"not {shorten_value(text)}"
        )
    return list(text)  # type: ignore[call-overload, no-any-return]


def _split_pair(item: object, is_pretokenized: bool) -> Sequence[object]:
    """Return an item of a batch as a list of one text or two."""
    if not isinstance(item, (list, tuple)):
        return [item]
    is_words = is_pretokenized and all(isinstance(word, str) for word in item)
    if is_words:
        return [item]
    if len(item) != 2:
        raise TypeError(
            "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, "
            f"InputSequence]], not {shorten_value(item)}"
        )
    return list(item)
