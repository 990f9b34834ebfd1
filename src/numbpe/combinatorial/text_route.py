"""How text reaches the row encoder: cut at special tokens, in batches, in streams and from files.

All of that is the way of ``numbpe.Tokenizer``. It asks for a definition, of which only the special
tokens matter here, and for an encoder that takes parts, which :class:`RowEncoder` is as well.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, cast

import numpy as np

from numbpe.added_tokens import SpecialPolicy, check_policy
from numbpe.arrays import Offsets
from numbpe.combinatorial.definition import CombinatorialVocabulary
from numbpe.combinatorial.row_arrays import WIDTH, Rows
from numbpe.combinatorial.row_batches import RowBatch
from numbpe.combinatorial.row_encoder import RowEncoder
from numbpe.definition import AddedToken, TokenizerDefinition
from numbpe.segments import Segmenter
from numbpe.vocabulary import Vocabulary

if TYPE_CHECKING:
    from numbpe.encoder import Encoder
    from numbpe.tokenizer import Tokenizer


def make_definition(vocabulary: CombinatorialVocabulary) -> TokenizerDefinition:
    """Return a definition with the special tokens of ``vocabulary``; their ids are their cores."""
    tokens = vocabulary.special_token_ids.items()
    empty = Vocabulary.from_tokens({0: b"\0"}, [], pattern="gpt2")
    return TokenizerDefinition(empty, added_tokens=tuple(AddedToken(*token) for token in tokens))


class TextRoute:
    """What stands between a user's text and the encoder; any number of threads may use one."""

    def __init__(self, vocabulary: CombinatorialVocabulary) -> None:
        # Named as in a Tokenizer, whose place this takes where files are encoded.
        self.definition = make_definition(vocabulary)
        self._segmenter = Segmenter(self.definition)
        self._encoder = RowEncoder(vocabulary)

    @property
    def encoder(self) -> RowEncoder:
        """The encoder of parts."""
        return self._encoder

    @property
    def segmenter(self) -> Segmenter:
        """What cuts text at special tokens."""
        return self._segmenter

    def as_tokenizer(self) -> "Tokenizer":
        """Return this for what asks a tokenizer for its definition, segmenter and encoder only."""
        return cast("Tokenizer", self)

    def encode(self, content: bytes, special: SpecialPolicy) -> Rows:
        """Return the rows of one text."""
        check_policy(special)
        whole = self._segmenter.change_whole(content, special, content.isascii())
        if whole is not None:
            return self._encoder.encode_text(whole)
        prepared = self._segmenter.prepare([content], special)
        return self._encoder.encode_parts(prepared.text, prepared.parts)[0]

    def encode_batch(
        self, texts: Iterable[str | bytes], special: SpecialPolicy, threads: int | None
    ) -> RowBatch:
        """Return the rows of many texts, in their order."""
        from numbpe.batch_encoding import encode_groups

        check_policy(special)

        def encode_group(group: list[str | bytes]) -> tuple[Rows, Offsets]:
            prepared = self._segmenter.prepare(group, special)
            rows, offsets = self._encoder.encode_parts(prepared.text, prepared.parts)
            return rows, offsets[prepared.first_parts]

        groups = encode_groups(texts, encode_group, threads)
        values = np.concatenate([np.empty((0, WIDTH), np.int32), *(rows for rows, _ in groups)])
        lengths = [np.diff(stops) for _, stops in groups]
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))
        return RowBatch(values, offsets)

    def encode_stream(self, texts: Iterable[str | bytes], special: SpecialPolicy) -> Iterator[Rows]:
        """Yield the rows of one text that comes in parts."""
        from numbpe.streaming import encode_stream

        check_policy(special)
        encoder = cast("Encoder", self._encoder)
        stream: Callable[..., Iterator[object]] = encode_stream
        return cast("Iterator[Rows]", stream(self.definition, None, encoder, texts, special))
