"""How tokens are spelled in a tokenizer.json, and what only ``tokenizers`` asks of a text."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from numbpe.encoder import Encoder
from numbpe.formats.byte_alphabet import LETTERS, spell_bytes, spell_tokens
from numbpe.id_arrays import as_id_array

if TYPE_CHECKING:
    from numbpe.added_tokens import SpecialPolicy
    from numbpe.tokenizer import Tokenizer

_BYTES: Final = {letter: byte for byte, letter in enumerate(LETTERS)}
_REPLACEMENT: Final = "\ufffd".encode()


class Spelling:
    """Ids to the spellings of a tokenizer.json, and back."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        self._vocabulary = tokenizer.vocabulary
        self._is_bytes = tokenizer.definition.rules.alphabet == "bytes"
        added = {token.content: token.id for token in tokenizer.definition.added_tokens}
        self._added_ids = {**self._vocabulary.special_tokens, **added}
        self._added = {id: content for content, id in self._added_ids.items()}

    def spell(self, token_id: int) -> str | None:
        """Return how a token is spelled, None if no token has the id."""
        if token_id in self._added:
            return self._added[token_id]
        if not 0 <= token_id < self._vocabulary.n_ids:
            return None
        start, stop = self._vocabulary.offsets[token_id : token_id + 2].tolist()
        content = self._vocabulary.contents[start:stop].tobytes()
        if not content:
            return None
        return spell_bytes(content) if self._is_bytes else content.decode("utf-8", "replace")

    def find_id(self, token: str) -> int | None:
        """Return the id of a spelling, None if there is none."""
        if token in self._added_ids:
            return self._added_ids[token]
        if not self._is_bytes:
            return self._vocabulary.ordinary_ids.get(token.encode("utf-8", "replace"))
        if not all(letter in _BYTES for letter in token):
            return None
        return self._vocabulary.ordinary_ids.get(bytes(_BYTES[letter] for letter in token))

    def list_all(self, with_added_tokens: bool) -> dict[str, int]:
        """Return the ids of all spellings."""
        if self._is_bytes:
            spellings = spell_tokens(self._vocabulary)
        else:
            tokens = self._vocabulary.tokens
            spellings = [content.decode("utf-8", "replace") for content in tokens]
        special = set(self._vocabulary.special_tokens.values())
        found = {
            spelling: id for id, spelling in enumerate(spellings) if spelling and id not in special
        }
        return {**found, **self._added_ids} if with_added_tokens else found

    def repair_runs(self, ids: Sequence[int], skip_special_tokens: bool) -> bytes:
        """Return the bytes of ids, with U+FFFD for every byte token of a run that is not UTF-8.

        Only the ``tokenizers`` library decodes like this: elsewhere it is one U+FFFD for as many
        bytes as begin a character.
        """
        decoder = self._tokenizer._decoder
        listed = as_id_array(ids).tolist()
        if skip_special_tokens:
            listed = [id for id in listed if id not in decoder.special_ids]
        parts = []
        for is_byte, run in groupby(listed, key=decoder.byte_token_ids.__contains__):
            contents = [decoder.contents[id] for id in run]
            content = b"".join(contents)
            if is_byte:
                try:
                    content.decode("utf-8")
                except UnicodeDecodeError:
                    content = _REPLACEMENT * len(contents)
            parts.append(content)
        return decoder.finish(b"".join(parts), np.array(listed, dtype=np.int64), False)


class PieceEncoder:
    """Encodes pieces one by one, so that it is known which tokens come from which."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        definition = tokenizer.definition
        self._tokenizer = tokenizer
        vocabulary = replace(definition.vocabulary, pattern_sources=(), pattern_name=None)
        self._encoder = Encoder(replace(definition, vocabulary=vocabulary), None)

    def find_words(self, text: str, special: "SpecialPolicy") -> list[int]:
        """Return the number of the piece that each token comes from; an added token is a piece."""
        prepared = self._tokenizer._segmenter.prepare([text], special)
        pattern = self._tokenizer.pattern
        pieces: list[tuple[int, int, int]] = []
        for start, stop, token_id in prepared.parts.tolist():
            if start < stop:
                ends = [stop] if pattern is None else pattern.find_ends(prepared.text, start, stop)
                for end in ends:
                    pieces.append((start, int(end), -1))
                    start = int(end)
            if token_id >= 0:
                pieces.append((stop, stop, token_id))
        rows = np.array(pieces, dtype=np.int64).reshape(-1, 3)
        _, offsets = self._encoder.encode_parts(prepared.text, rows)
        words: list[int] = np.repeat(np.arange(len(rows)), np.diff(offsets)).tolist()
        return words
