"""Text to rows of Combinatorial BPE and back, with one vocabulary."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from numbpe.added_tokens import SpecialPolicy
from numbpe.combinatorial.definition import CharacterVocabulary, CombinatorialVocabulary
from numbpe.combinatorial.formats import read_vocabulary, write_vocabulary
from numbpe.combinatorial.row_arrays import Rows, as_row_array
from numbpe.combinatorial.row_batches import RowBatch
from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import FilePath
from numbpe.utf8 import encode_utf8

if TYPE_CHECKING:
    from numbpe.combinatorial.row_decoder import RowDecoder
    from numbpe.combinatorial.row_files import RowReport
    from numbpe.combinatorial.row_stream import RowStreamDecoder
    from numbpe.combinatorial.text_route import TextRoute
    from numbpe.sources import Source


class CombinatorialTokenizer:
    """Encodes text to rows of four indices: variation, prefix, core and suffix.

    Args:
        vocabulary: the four tables, such as :meth:`load` reads.

    ``the``, `` the``, ``The`` and ``THE,`` share their core. The rows are those of the restricted
    tokenizer of https://github.com/SwayStar123/CombinatorialBPE, for any text. A tokenizer never
    changes, and any number of threads may use one.

    Example:
        >>> tokenizer = CombinatorialTokenizer.load("english.json")
        >>> tokenizer.encode("The cat, the hat")
        array([[   1,    0,  530,    0],
               [   0,    1, 4711,    1],
               [   0,    1,  530,    0],
               [   0,    1, 3022,    0]], dtype=int32)
    """

    def __init__(self, vocabulary: CombinatorialVocabulary) -> None:
        if not isinstance(vocabulary, CombinatorialVocabulary):
            raise ArgumentError(
                "vocabulary must be a CombinatorialVocabulary, not "
                f"{type(vocabulary).__name__} ({shorten_value(vocabulary)}); "
                "CombinatorialTokenizer.load reads one from a file"
            )
        self._vocabulary = vocabulary

    @classmethod
    def train(cls, source: "Source", vocab_size: int, **options: Any) -> Self:
        """Return the tokenizer of ``vocab_size`` rows that training on ``source`` gives.

        source: paths, globs or iterables of texts, as :func:`numbpe.train` takes them.
        options: ``fold_case``, ``split_camel``, ``special_tokens``, ``threads`` and so on: those of
            :func:`numbpe.combinatorial.training.train_combinatorial`, which says what is raised.

        Example: ``CombinatorialTokenizer.train("data/austen.txt", 8_000)``
        """
        from numbpe.combinatorial.training import train_combinatorial

        return cls(train_combinatorial(source, vocab_size, **options))

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Return the tokenizer of a file of ours or of the reference implementation.

        Raises FormatError for a file that is neither, OSError where it cannot be read, ArgumentError
        for a plain vocabulary over characters, for which there is
        :func:`numbpe.combinatorial.standard.load_standard`.
        """
        vocabulary = read_vocabulary(path)
        if isinstance(vocabulary, CharacterVocabulary):
            raise ArgumentError(
                f"cannot load {shorten_value(str(path), 200)} as a combinatorial tokenizer: it holds a "
                "plain vocabulary over characters; read it by "
                "numbpe.combinatorial.standard.load_standard"
            )
        return cls(vocabulary)

    def save(self, path: FilePath) -> None:
        """Write the tokenizer to a JSON file, which appears whole or not at all."""
        write_vocabulary(self._vocabulary, path)

    # Made when first needed: training compiles no encoder.

    @cached_property
    def _route(self) -> "TextRoute":
        from numbpe.combinatorial.text_route import TextRoute

        return TextRoute(self._vocabulary)

    @cached_property
    def _decoder(self) -> "RowDecoder":
        from numbpe.combinatorial.row_decoder import RowDecoder

        return RowDecoder(self._vocabulary)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._vocabulary,)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={n}" for name, n in self.sizes.items())
        return f"CombinatorialTokenizer({sizes})"

    def __len__(self) -> int:
        return self.vocab_size

    # What it is made of

    @property
    def vocabulary(self) -> CombinatorialVocabulary:
        """The four tables and the flags."""
        return self._vocabulary

    @property
    def sizes(self) -> dict[str, int]:
        """Rows of each table: variation, prefix, core, suffix; a new dictionary each time."""
        return dict(self._vocabulary.sizes)

    @property
    def vocab_size(self) -> int:
        """Rows of all four tables together: rows of embedding that a model needs."""
        return self._vocabulary.vocab_size

    @property
    def special_tokens(self) -> dict[str, int]:
        """The core of every special token; a new dictionary each time."""
        return dict(self._vocabulary.special_token_ids)

    def token_bytes(self, row: Any) -> bytes:
        """Return the bytes that one row stands for; ArgumentError if it cannot be one."""
        return self._decoder.decode_bytes(as_row_array([row]))

    def token_str(self, row: Any) -> str:
        """Return the text that one row stands for, U+FFFD for what is not UTF-8."""
        return self.token_bytes(row).decode("utf-8", "replace")

    # Text to rows

    def encode(self, text: str | bytes, special: SpecialPolicy = "allow") -> Rows:
        """Return the rows of ``text``, an (n, 4) int32 array.

        text: bytes are taken as they are; a byte that is not UTF-8 is a row of its own. In a str two
            surrogates that make a pair are joined, and an unpaired one becomes U+FFFD.
        special: ``"allow"`` makes one row of text that spells a special token, ``"text"`` takes it
            as any text, ``"error"`` raises. There are no special tokens unless they were asked for.

        Raises ArgumentError for a special token under ``"error"`` and for arguments of another type.
        """
        return self._route.encode(encode_utf8(text), special)

    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        special: SpecialPolicy = "allow",
        threads: int | None = None,
    ) -> RowBatch:
        """Return the rows of many texts, in their order; see :meth:`encode`.

        texts: an iterable of str or bytes, or a pyarrow array of strings.
        threads: how many threads to use, all cores by default. The result does not depend on it.
        """
        return self._route.encode_batch(texts, special, threads)

    def encode_iterable(
        self, texts: Iterable[str | bytes], special: SpecialPolicy = "allow"
    ) -> Iterator[Rows]:
        """Yield the rows of one text that comes in parts, such as the lines of a file.

        The rows are those of all parts joined: what a later part may still change is held back.
        """
        return self._route.encode_stream(texts, special)

    def encode_files(self, source: "Source", output: FilePath, **options: Any) -> "RowReport":
        """Write the rows of texts larger than memory to a file; return how many there are.

        source: paths, globs or iterables of texts, as :func:`numbpe.train` takes them.
        output: ``NAME.npy``, an (n, 4) int32 array of all documents
            (``numpy.load(path, mmap_mode="r")``), or ``NAME.parquet``, with the list of rows of each
            document in the column ``rows``. It appears whole or not at all.
        options: ``separator``, the special token that ends documents, which also stands behind each
            in a ``.npy`` file: ``"auto"`` by default, None for files and items alone; ``special``;
            ``errors``, what becomes of bytes that are not UTF-8, as in ``bytes.decode``;
            ``threads``; ``memory``, bytes or text such as "4GiB" that the process may take;
            ``progress``, whether to show a bar; and those of
            :class:`numbpe.sources.ReadingOptions`.

        The rows of a document are those of :meth:`encode`, whatever the threads and the memory.

        Raises ArgumentError for arguments that cannot be used, DataError and its like for text that
        cannot be read, BudgetError where the memory does not suffice, OSError for files.
        """
        from numbpe.combinatorial.row_files import encode_files

        return encode_files(self._route, source, output, **options)

    def count(self, text: str | bytes, special: SpecialPolicy = "allow") -> int:
        """Return the number of rows of ``text``."""
        return len(self.encode(text, special))

    # Rows to text

    def decode(self, rows: Any, errors: str = "replace") -> str:
        """Return the text of rows.

        rows: an (n, 4) array of integers, or a list of rows.
        errors: what to do with bytes that are not UTF-8, as for ``bytes.decode``.

        Raises ArgumentError for another shape or type, and for an index that its table does not
        have; it names the place.
        """
        return self.decode_bytes(rows).decode("utf-8", errors)

    def decode_bytes(self, rows: Any) -> bytes:
        """Return the bytes of rows; ArgumentError as for :meth:`decode`."""
        return self._decoder.decode_bytes(rows)

    def decode_batch(self, batch: "RowBatch | Sequence[Any]", errors: str = "replace") -> list[str]:
        """Return the texts of many sequences of rows; see :meth:`decode`."""
        if not isinstance(batch, RowBatch):
            batch = RowBatch.from_list(batch)
        return [data.decode("utf-8", errors) for data in self._decoder.decode_batch(batch)]

    def decoder(self, errors: str = "replace") -> "RowStreamDecoder":
        """Return a decoder that takes rows one by one and gives text as soon as it is certain."""
        from numbpe.combinatorial.row_stream import RowStreamDecoder

        return RowStreamDecoder(self._decoder, errors)

    # Of many rows that spell one text

    @cached_property
    def legal_variations(self) -> NDArray[np.bool_]:
        """The (cores, variations) pairs that texts are encoded to; not to be written to.

        A sampler that draws other pairs leaves what the tokenizer would have made. Special tokens
        are legal as they stand.
        """
        from numbpe.combinatorial.canonical import find_legal_variations

        route = self._route
        legal = find_legal_variations(self._vocabulary, route.encoder, self._decoder)
        legal.flags.writeable = False
        return legal

    def is_canonical(self, rows: Any) -> bool:
        """Return whether ``rows`` are those that their text is encoded to.

        That is ``encode(decode_bytes(rows)) == rows``, found without encoding more than is needed to
        see that it is not so. ArgumentError as for :meth:`decode`.
        """
        return self.find_noncanonical(rows) < 0

    def find_noncanonical(self, rows: Any) -> int:
        """Return the place of a row that shows that ``rows`` are not canonical, -1 if they are.

        It is the first with a pair of core and variation that is not legal, or else the first that
        differs from what the text is encoded to.
        """
        from numbpe.combinatorial.canonical import find_first_difference

        array = self._decoder.check(rows, "look at")
        route = self._route
        return find_first_difference(
            array, self.legal_variations, route.encoder, self._decoder, route.segmenter
        )

    def canonical(self, rows: Any) -> Rows:
        """Return the rows to which the text of ``rows`` is encoded; ArgumentError as for decode."""
        return self._route.encode(self._decoder.decode_bytes(rows), "allow")
