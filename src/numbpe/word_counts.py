"""Distinct words and how often each occurs: what training needs to know of a corpus."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from numbpe.arrays import Counts, Offsets, TextArray, join_byte_strings, read_binary_array
from numbpe.errors import ArgumentError, FormatError, shorten_value
from numbpe.files import write_atomically

if TYPE_CHECKING:
    import pyarrow as pa

_METADATA_KEY = b"numbpe.word_counts"
_FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Words, their counts, and how they were cut.

    contents : bytes of all words one after another, with padding
    offsets : (n + 1,) int64, where each word begins in ``contents``
    counts : (n,) int64, positive
    pattern : the regular expressions that cut the text, one for each split
    special_tokens : where the text was cut before that
    unicode_version : "16" or "17", the tables that the pattern was read with
    n_source_bytes : bytes of the corpus, 0 where it is not known
    cuts_lines : whether each line of a file was a text of its own

    The words are distinct and in no particular order; ``save`` and ``to_arrow`` sort them.
    """

    contents: TextArray
    offsets: Offsets
    counts: Counts
    pattern: tuple[str, ...] = ()
    special_tokens: tuple[str, ...] = ()
    unicode_version: str = "16"
    n_source_bytes: int = field(default=0, compare=False)
    cuts_lines: bool = False

    def __len__(self) -> int:
        """Return the number of distinct words."""
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        """Return whether the same words were counted as often, cut in the same way."""
        if not isinstance(other, WordCounts):
            return NotImplemented
        return self._origin == other._origin and self.to_arrow().equals(other.to_arrow())

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_pieces(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    @property
    def _origin(self) -> dict[str, Any]:
        return {
            "pattern": list(self.pattern),
            "special_tokens": list(self.special_tokens),
            "unicode_version": self.unicode_version,
            "cuts_lines": self.cuts_lines,
        }

    @classmethod
    def from_dict(
        cls,
        words: Mapping[bytes, int],
        *,
        pattern: str | Sequence[str] = (),
        special_tokens: Sequence[str] = (),
    ) -> Self:
        """Return the counts of a mapping from words to positive numbers below 2**63.

        Example:
            >>> len(WordCounts.from_dict({b"aa": 3_000_000_000, b"bc": 5}))
            2
        """
        for word, count in words.items():
            if not isinstance(word, bytes) or not word:
                raise ArgumentError(
                    f"cannot take {shorten_value(word)} as a word: words are bytes, not empty; "
                    'write b"..." or text.encode()'
                )
            if isinstance(count, bool) or not isinstance(count, int | np.integer):
                raise ArgumentError(
                    f"cannot take {shorten_value(count)} as the count of {shorten_value(word)}: "
                    "counts are whole numbers"
                )
            if not 0 < count < 2**63:
                raise ArgumentError(
                    f"the count of {shorten_value(word)} is {count}: counts are from 1 to 2**63 - 1"
                )
        contents, offsets = join_byte_strings(list(words))
        counts = np.array(list(words.values()), dtype=np.int64)
        sources = (pattern,) if isinstance(pattern, str) else tuple(pattern)
        result = cls(contents, offsets, counts, sources, tuple(special_tokens))
        check_total(result)
        return result

    def to_dict(self) -> dict[bytes, int]:
        """Return the counts as a dictionary."""
        data = self.contents.tobytes()
        bounds = self.offsets.tolist()
        words = [data[i:j] for i, j in itertools.pairwise(bounds)]
        return dict(zip(words, self.counts.tolist(), strict=True))

    def to_arrow(self) -> "pa.Table":
        """Return a table with the columns ``word`` (large_binary) and ``count`` (int64), by word."""
        import pyarrow as pa

        n_bytes = int(self.offsets[-1])
        words = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(),
            len(self),
            [None, pa.py_buffer(self.offsets), pa.py_buffer(self.contents[:n_bytes])],
        )
        table = pa.table({"word": words, "count": pa.array(self.counts, type=pa.int64())})
        return table.sort_by("word")

    @classmethod
    def from_arrow(
        cls,
        table: "pa.Table",
        *,
        pattern: str | Sequence[str] = (),
        special_tokens: Sequence[str] = (),
        unicode_version: str = "16",
        n_source_bytes: int = 0,
        cuts_lines: bool = False,
    ) -> Self:
        """Return the counts of a table with the columns ``word`` and ``count``.

        ``word`` is binary or a string; words that occur in several rows are added up.
        """
        import pyarrow as pa

        missing = [name for name in ("word", "count") if name not in table.column_names]
        if missing:
            raise FormatError(
                f"cannot read word counts from a table without the column {missing[0]!r}: it has "
                f"{', '.join(map(repr, table.column_names)) or 'no columns'}"
            )
        try:
            words = table["word"].cast(pa.large_binary())
            numbers = table["count"].cast(pa.int64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise FormatError(
                f"cannot read word counts: column 'word' is {table['word'].type}, 'count' is "
                f"{table['count'].type}; they must be binary (or string) and int64"
            ) from error
        if words.null_count or numbers.null_count:
            raise FormatError("cannot read word counts: a row has no word or no count")
        grouped = pa.table({"word": words, "count": numbers})
        grouped = grouped.group_by("word").aggregate([("count", "sum")])
        merged = grouped["word"].combine_chunks()
        if isinstance(merged, pa.ChunkedArray):
            merged = (
                pa.concat_arrays(merged.chunks) if merged.num_chunks else pa.array([], words.type)
            )
        counts = np.ascontiguousarray(grouped["count_sum"].to_numpy(), dtype=np.int64).copy()
        offsets, contents = read_binary_array(merged)
        sources = (pattern,) if isinstance(pattern, str) else tuple(pattern)
        result = cls(
            contents, offsets, counts, sources, tuple(special_tokens), unicode_version,
            n_source_bytes, cuts_lines,
        )  # fmt: skip
        check_total(result)
        if len(counts) and (counts.min() < 1 or np.diff(offsets).min() < 1):
            raise FormatError("cannot read word counts: an empty word, or a count below 1")
        return result

    def save(self, path: str | PathLike[str]) -> None:
        """Write the counts to a Parquet file, whole or not at all; the same counts, the same bytes."""
        import json

        import pyarrow.parquet as pq

        origin = {"version": _FORMAT_VERSION, **self._origin, "n_source_bytes": self.n_source_bytes}
        metadata = {_METADATA_KEY: json.dumps(origin, sort_keys=True).encode()}
        table = self.to_arrow().replace_schema_metadata(metadata)
        with write_atomically(fspath(path)) as file:
            pq.write_table(table, file, compression="zstd", row_group_size=1 << 20)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read the counts that ``save`` wrote, or any Parquet file with the columns word and count."""
        import json

        import pyarrow as pa
        import pyarrow.parquet as pq

        name = fspath(path)
        with open(name, "rb"):
            pass  # so that a missing file or a folder is an error of Python's own
        try:
            table = pq.read_table(name)
            origin = json.loads((table.schema.metadata or {}).get(_METADATA_KEY, b"{}"))
        except (pa.ArrowException, ValueError, OSError) as error:
            raise FormatError(
                f"cannot read word counts from {shorten_value(name)}: it is not a Parquet file that "
                f"can be read ({str(error)[:80]}); write one with WordCounts.save or --counts"
            ) from error
        if origin.get("version", _FORMAT_VERSION) != _FORMAT_VERSION:
            raise FormatError(
                f"cannot read word counts from {shorten_value(name)}: its version is "
                f"{origin['version']}, known is {_FORMAT_VERSION}; upgrade numbpe"
            )
        return cls.from_arrow(
            table,
            pattern=origin.get("pattern", ()),
            special_tokens=origin.get("special_tokens", ()),
            unicode_version=origin.get("unicode_version", "16"),
            n_source_bytes=origin.get("n_source_bytes", 0),
            cuts_lines=bool(origin.get("cuts_lines", False)),
        )

    def __add__(self, other: "WordCounts") -> "WordCounts":
        """Return the sums of the counts of two corpora that were cut in the same way."""
        if not isinstance(other, WordCounts):
            return NotImplemented
        if self._origin != other._origin:
            differing = [
                name for name, value in self._origin.items() if value != other._origin[name]
            ]
            raise ArgumentError(
                f"cannot add word counts whose {differing[0]} differs: "
                f"{shorten_value(self._origin[differing[0]])} and "
                f"{shorten_value(other._origin[differing[0]])}"
            )
        import pyarrow as pa

        return WordCounts.from_arrow(
            pa.concat_tables([self.to_arrow(), other.to_arrow()]),
            **self._origin,
            n_source_bytes=self.n_source_bytes + other.n_source_bytes,
        )


def check_total(words: WordCounts) -> None:
    """Raise ArgumentError where the counts of pairs might not fit into 64 bits."""
    n_symbols = float((words.counts.astype(np.float64) * np.diff(words.offsets)).sum())
    if n_symbols >= 2.0**62:
        raise ArgumentError(
            f"the words hold {n_symbols:.3g} bytes in all; counts of pairs are exact up to "
            f"{2**62:,}: divide the counts by a common number"
        )
