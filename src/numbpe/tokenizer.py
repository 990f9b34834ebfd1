"""Text to token ids and back, with one vocabulary."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from numbpe.added_tokens import SpecialPolicy, check_policy
from numbpe.arrays import TokenIds
from numbpe.cut_texts import encode_any_text
from numbpe.definition import TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import FilePath
from numbpe.pattern_sources import PatternSource, compile_source
from numbpe.segments import Segmenter
from numbpe.vocabulary import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from numbpe.adapters.hf_tokenizer import HfTokenizer
    from numbpe.adapters.tiktoken_encoding import TiktokenEncoding
    from numbpe.batches import TokenBatch
    from numbpe.decoder import Decoder
    from numbpe.patterns import Pattern
    from numbpe.shard_report import EncodingReport
    from numbpe.sources import Source
    from numbpe.stream_decoder import StreamDecoder
    from numbpe.training_options import TrainingSource


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
        compiled = compile_source(pattern)
        vocabulary = Vocabulary.from_tokens(
            vocab, merges, special_tokens=special_tokens, pattern=compiled
        )
        self._set_parts(TokenizerDefinition.from_vocabulary(vocabulary), compiled)

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary, pattern: "Pattern | None" = None) -> Self:
        """Return the tokenizer of a vocabulary.

        pattern: the compiled pattern of the vocabulary, where it is at hand.
        """
        return cls.from_definition(TokenizerDefinition.from_vocabulary(vocabulary), pattern)

    @classmethod
    def from_definition(
        cls, definition: TokenizerDefinition, pattern: "Pattern | None" = None
    ) -> Self:
        """Return the tokenizer of a definition, such as a file holds.

        pattern: the compiled pattern of its vocabulary, where it is at hand.
        """
        tokenizer = cls.__new__(cls)
        tokenizer._set_parts(definition, pattern)
        return tokenizer

    def _set_parts(self, definition: TokenizerDefinition, pattern: "Pattern | None") -> None:
        self._definition = definition
        self._vocabulary = definition.vocabulary
        if pattern is not None:
            self._pattern = pattern

    # Made when first needed: a training run that only saves its result compiles no encoder.

    @cached_property
    def _pattern(self) -> "Pattern | None":
        source = self._vocabulary.pattern_name or self._vocabulary.pattern_sources
        return compile_source(source) if source else None

    @cached_property
    def _segmenter(self) -> Segmenter:
        return Segmenter(self._definition)

    @cached_property
    def _encoder(self) -> Encoder:
        get_ready = self._segmenter.matcher.load_kernels
        return Encoder(self._definition, self._pattern, get_ready=get_ready)

    @cached_property
    def _decoder(self) -> "Decoder":
        from numbpe.decoder import Decoder

        return Decoder(self._definition)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_definition, (self._definition, self._pattern)

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
    def definition(self) -> TokenizerDefinition:
        """All that decides which ids a text becomes, as values."""
        return self._definition

    @property
    def pattern(self) -> "Pattern | None":
        """The compiled pattern that cuts text into pieces; None if text is not cut."""
        return self._pattern

    @property
    def vocab(self) -> dict[int, bytes]:
        """The bytes that every token id stands for, ids ascending; a new dictionary each time."""
        return self._decoder.to_dict() if self._is_spelled else self._vocabulary.to_dict()

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The two byte strings that each merge joins, in order; a new list each time."""
        if not self._is_spelled:
            return self._vocabulary.merges
        contents = self._decoder.to_dict()
        pairs = self._vocabulary.merge_pairs.tolist()
        return [(contents[left], contents[right]) for left, right in pairs]

    @property
    def _is_spelled(self) -> bool:
        """Whether tokens are written otherwise than as the bytes that they stand for."""
        return self._definition.rules.alphabet == "characters"

    @property
    def vocab_size(self) -> int:
        """The number of tokens, special ones included."""
        return len(self._vocabulary)

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of every special token; a new dictionary each time."""
        return {token.content: token.id for token in self._definition.added_tokens if token.special}

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes that a token stands for; ArgumentError if no token has the id."""
        if self._is_spelled:
            return self._decoder.token_bytes(token_id)
        return self._vocabulary.token_bytes(token_id)

    def token_id(self, content: bytes) -> int:
        """Return the id of the token that stands for these bytes; ArgumentError if there is none.

        Where a special token is spelled like an ordinary one, it is the ordinary one; where a token of
        text and one for a single byte stand for the same, it is that of text.
        """
        if not self._is_spelled:
            return self._vocabulary.token_id(content)
        if content not in self._ids_by_content:
            raise ArgumentError(f"no token stands for the bytes {shorten_value(content)}")
        return self._ids_by_content[content]

    @cached_property
    def _ids_by_content(self) -> dict[bytes, int]:
        last_choice = {*self.special_tokens.values(), *self._decoder.byte_token_ids}
        # Of several, the one that comes last is kept.
        by_preference = sorted(self.vocab.items(), key=lambda item: item[0] not in last_choice)
        return {content: token_id for token_id, content in by_preference}

    @property
    def merge_counts(self) -> NDArray[np.int64] | None:
        """How often each pair stood in the corpus when it was merged, (n_merges,); None if unknown.

        It is known of what was trained here, and kept in tokenizer.json. Read-only.
        """
        return self._vocabulary.merge_counts

    def truncated(self, vocab_size: int) -> Self:
        """Return the tokenizer of ``vocab_size`` tokens that has the first of the merges.

        It equals what training to that size gives, so that one run yields many sizes. Ids of
        special tokens that are numbered after the merges move down. An added token that is not
        special and that a merge makes goes with its merge.

        Raises ArgumentError for more tokens than there are, or fewer than the bytes and the
        special tokens.
        """
        from numbpe.truncating import truncate_definition

        definition = truncate_definition(self._definition, vocab_size)
        return self.from_definition(definition, self._pattern)

    def extended(self, source: "TrainingSource", vocab_size: int, **options: Any) -> Self:
        """Return a tokenizer of ``vocab_size`` tokens: this one, and merges learned from ``source``.

        Every id and every merge of this one is kept. Training goes on where its merges end, on text
        as it encodes it, and new tokens have ids after the last. ``options`` are those of
        :func:`numbpe.extending.extend_with_report`, which says what is raised.

        Example: ``numbpe.load("gpt2/tokenizer.json").extended("wiki.de.txt", 60_000)``.
        """
        from numbpe.extending import extend

        return self.from_definition(extend(self, source, vocab_size, **options), self._pattern)

    def save(self, path: FilePath) -> None:
        """Write the tokenizer in the format that the suffix of ``path`` stands for.

        ``.json``: a tokenizer.json. ``.tiktoken``: a rank file, without special tokens and pattern.
        ``.pkl``: NAME_vocab.pkl and NAME_merges.pkl. Without a suffix, or a folder: vocab.json and
        merges.txt in that folder. The files appear whole or not at all.

        Raises ArgumentError for another suffix, or if the format cannot hold this tokenizer.
        """
        from numbpe import formats

        formats.save(self._definition, path)

    # Text to ids

    def encode(
        self,
        text: str | bytes,
        special: SpecialPolicy = "allow",
        add_special_tokens: bool = False,
    ) -> TokenIds:
        """Return the token ids of ``text``, an (n,) uint32 array.

        text: bytes are taken as they are, UTF-8 or not. In a str two surrogates that make a
            pair are joined, and an unpaired one becomes U+FFFD.
        special: ``"allow"`` makes the id of a special token of text that spells it (the leftmost,
            of those the longest), ``"text"`` takes it as any text, ``"error"`` raises.
        add_special_tokens: whether to add the ids that the tokenizer's template puts around a text,
            such as one for its beginning.

        Raises ArgumentError for a special token under ``"error"`` and for arguments of another
        type, DataError for a byte that has no token.
        """
        if special != "allow":
            check_policy(special)
        ids = None
        if type(text) is str:
            way = self._segmenter.find_quick_way(text)
            ids = None if way is None else self._encoder.encode_str(text, special, way)
        if ids is None:
            ids = encode_any_text(self._segmenter, self._encoder, text, special)
        return self._add_template(ids) if add_special_tokens else ids

    def _add_template(self, ids: TokenIds) -> TokenIds:
        template = self._definition.template
        return np.array([*template.prefix, *ids.tolist(), *template.suffix], dtype=np.uint32)

    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        special: SpecialPolicy = "allow",
        add_special_tokens: bool = False,
        threads: int | None = None,
    ) -> "TokenBatch":
        """Return the token ids of many texts, in their order; see :meth:`encode`.

        texts: an iterable of str or bytes, or a pyarrow array of strings.
        threads: how many threads to use, all cores by default. The result does not depend on it.
        """
        from numbpe.batch_encoding import encode_batch

        return encode_batch(
            self._definition,
            self._segmenter,
            self._encoder,
            texts,
            special,
            add_special_tokens,
            threads,
        )

    def encode_iterable(
        self, texts: Iterable[str | bytes], special: SpecialPolicy = "allow"
    ) -> Iterator[TokenIds]:
        """Yield the token ids of one text that comes in parts, such as the lines of a file.

        The ids are those of all parts joined: what a later part may still change is held back.
        """
        from numbpe.streaming import encode_stream

        check_policy(special)
        return encode_stream(self._definition, self._pattern, self._encoder, texts, special)

    def encode_with_offsets(
        self, text: str, special: SpecialPolicy = "allow", add_special_tokens: bool = False
    ) -> tuple[TokenIds, NDArray[np.int64]]:
        """Return the token ids of ``text`` and the (n, 2) characters that each stands for.

        A token that holds a part of a character has the whole of it. Ids that the template adds
        stand for nothing, (0, 0).
        """
        from numbpe.offsets import encode_with_offsets

        check_policy(special)
        return encode_with_offsets(self, text, special, add_special_tokens)

    def encode_files(self, source: "Source", output: FilePath, **options: Any) -> "EncodingReport":
        """Write the ids of texts larger than memory to files; return how many, and what was written.

        source: paths, globs or iterables of texts, as :func:`numbpe.train` takes them.
        output: NAME.bin, NAME.npy, NAME.parquet or NAME.arrow.
        options: separator, shards, dtype, threads, memory, resume and so on: those of
            :func:`numbpe.shards.encode_files`, which says what is raised.
        """
        from numbpe.shards import encode_files

        return encode_files(self, source, output, **options)

    def count(self, text: str | bytes, special: SpecialPolicy = "allow") -> int:
        """Return the number of tokens of ``text``: the length of what :meth:`encode` returns."""
        return len(self.encode(text, special))

    # Ids to text

    def decode(
        self, ids: "ArrayLike", errors: str = "replace", skip_special_tokens: bool = False
    ) -> str:
        """Return the text of token ids; nothing is cleaned up, special tokens are spelled out.

        ids: a list or an array of integers; a single id stands in a list too.
        errors: what to do with bytes that are not UTF-8, as for ``bytes.decode``. Ids may stand
            for parts of characters.
        skip_special_tokens: whether to leave special tokens out.

        Raises ArgumentError for an id that no token has; it names the position.
        """
        return self.decode_bytes(ids, skip_special_tokens).decode("utf-8", errors)

    def decode_bytes(self, ids: "ArrayLike", skip_special_tokens: bool = False) -> bytes:
        """Return the bytes of token ids; ArgumentError for an id that no token has."""
        return self._decoder.decode_bytes(ids, skip_special_tokens)

    def decode_batch(
        self,
        batch: "TokenBatch | Sequence[ArrayLike]",
        errors: str = "replace",
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Return the texts of many sequences of ids; see :meth:`decode`."""
        return self._decoder.decode_batch(batch, errors, skip_special_tokens)

    def decoder(
        self, errors: str = "replace", skip_special_tokens: bool = False
    ) -> "StreamDecoder":
        """Return a decoder that takes ids one by one and gives text as soon as it is certain."""
        from numbpe.stream_decoder import StreamDecoder

        return StreamDecoder(self._decoder, errors, skip_special_tokens)

    # At home elsewhere

    def as_tiktoken(self, name: str = "numbpe") -> "TiktokenEncoding":
        """Return an object with the methods of ``tiktoken.Encoding``; see its class."""
        from numbpe.adapters.tiktoken_encoding import TiktokenEncoding

        return TiktokenEncoding(self, name)

    def as_hf(self) -> "HfTokenizer":
        """Return an object with the methods of ``tokenizers.Tokenizer``; see its class."""
        from numbpe.adapters.hf_tokenizer import HfTokenizer

        return HfTokenizer(self)
