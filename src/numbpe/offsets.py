"""Token ids with the characters that each stands for, as ``tokenizers`` counts them.

Every character of prepared text knows which characters of the input it comes from; a token stands
for what is from the first character that it has a byte of to the last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from numbpe.added_tokens import SpecialPolicy
from numbpe.alignments import apply_steps_aligned
from numbpe.arrays import TextArray, TokenIds, copy_text
from numbpe.definition import Prepend, TextStep, TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.errors import ArgumentError, shorten_value
from numbpe.normalizers import WHITE_SPACE, may_change
from numbpe.utf8 import repair_surrogates

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer

# One encoder belongs to one definition; of a definition there is nothing to hash.
_lengths: "WeakKeyDictionary[Encoder, NDArray[np.int64]]" = WeakKeyDictionary()

_Spans = NDArray[np.int64]
"""(n, 2): start and stop, in characters of the input, for each character of a text."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the text as the encoder gets it."""

    text: str
    spans: _Spans
    token_id: int
    """The added token behind the part, -1 for none."""
    token_text: str
    """The text that became the added token."""
    token_span: tuple[int, int]


def encode_with_offsets(
    tokenizer: "Tokenizer", text: str, special: SpecialPolicy, add_special_tokens: bool
) -> tuple[TokenIds, NDArray[np.int64]]:
    r"""Return the ids of ``text``, (n,) uint32, and (n, 2) int64, the characters of each.

    A token that holds a part of a character has the whole of it, and so has one that a part of a
    character became by normalizing. Of characters that are composed, the first counts. A pair of
    surrogates is two characters of ``text`` that stand together. Ids of the template have (0, 0).

    Raises ArgumentError if ``text`` is no str; and what ``Tokenizer.encode`` raises.

    >>> from numbpe import Tokenizer
    >>> tokenizer = Tokenizer({0: b"a", 1: b"\xc3", 2: b"\xa9"}, [])
    >>> encode_with_offsets(tokenizer, "a\u00e9", "allow", False)[1].tolist()
    [[0, 1], [1, 2], [1, 2]]
    """
    if not isinstance(text, str):
        raise ArgumentError(
            f"cannot count characters: text must be a str, not {type(text).__name__} "
            f"({shorten_value(text)}); decode it first, or call encode"
        )
    definition = tokenizer.definition
    parts = _prepare_parts(tokenizer, text, special)
    ids, offsets, added = _encode_parts(tokenizer, parts)
    if definition.trim_offsets:
        _trim_offsets(definition, ids, added, offsets)
    if add_special_tokens:
        template = definition.template
        ids = np.array([*template.prefix, *ids.tolist(), *template.suffix], dtype=np.uint32)
        n_before, n_behind = len(template.prefix), len(template.suffix)
        offsets = np.pad(offsets, ((n_before, n_behind), (0, 0)))
    return ids, offsets


def _prepare_parts(tokenizer: "Tokenizer", text: str, special: SpecialPolicy) -> list[_Part]:
    """Return the parts of ``text``: what ``Segmenter.prepare`` does, and where all comes from."""
    matcher, definition = tokenizer._segmenter.matcher, tokenizer.definition
    repaired, spans = _locate_characters(text)
    found: list[_Part] = []
    array = copy_text(repaired.encode())
    matches = matcher.find(array, 0, _count_bytes(array), special)
    for raw in _cut(repaired, spans, matches):
        normalized = _change(raw, definition.normalizer, is_first=not found)
        inner = [normalized]
        if matcher.has_normalized:
            content = copy_text(normalized.text.encode())
            matches = matcher.find_normalized(content, 0, _count_bytes(content), special)
            inner = _cut(normalized.text, normalized.spans, matches)
            inner[-1] = replace(raw, text=inner[-1].text, spans=inner[-1].spans)
        for part in inner:
            # The start of the text is where its first character is, whatever stands before.
            at_start = len(part.spans) > 0 and int(part.spans[0, 0]) == 0
            found.append(_change(part, definition.preparation, is_first=at_start))
    return found


def _locate_characters(text: str) -> tuple[str, _Spans]:
    """Return ``text`` with surrogates repaired, and where each of its characters was."""
    starts = np.arange(len(text) + 1, dtype=np.int64)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        units = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        is_high = (units >= 0xD800) & (units < 0xDC00)
        is_low = (units >= 0xDC00) & (units < 0xE000)
        is_second = np.zeros(len(text) + 1, dtype=np.bool_)
        is_second[1:-1] = is_high[:-1] & is_low[1:]
        starts = starts[~is_second]
        text = repair_surrogates(text)
    return text, np.stack([starts[:-1], starts[1:]], axis=1)


def _count_bytes(array: TextArray) -> int:
    return len(array) - len(copy_text(b""))


def _find_characters(content: TextArray) -> NDArray[np.int64]:
    """Return the number of the character that each byte of UTF-8 belongs to."""
    return np.cumsum((content & 0xC0) != 0x80, dtype=np.int64) - 1


def _cut(text: str, spans: _Spans, matches: NDArray[np.int64]) -> list[_Part]:
    """Return ``text`` as parts: one before each match, and one behind the last."""
    if len(matches) == 0:
        return [_Part(text, spans, -1, "", (0, 0))]
    content = np.frombuffer(text.encode(), dtype=np.uint8)
    positions = np.append(_find_characters(content), len(text))
    places = positions[matches[:, :2]]
    starts = np.append(0, places[:, 1]).tolist()
    stops = np.append(places[:, 0], len(text)).tolist()
    parts: list[_Part] = []
    for (first, last), token_id in zip(places.tolist(), matches[:, 2].tolist(), strict=True):
        span = int(spans[first, 0]), int(spans[last - 1, 1])
        start = starts[len(parts)]
        parts.append(_Part(text[start:first], spans[start:first], token_id, text[first:last], span))
    start, stop = starts[-1], stops[-1]
    return [*parts, _Part(text[start:stop], spans[start:stop], -1, "", (0, 0))]


def _change(part: _Part, steps: Sequence[TextStep], *, is_first: bool) -> _Part:
    """Return ``part`` changed by ``steps``."""
    if not steps or not may_change(steps, part.text):
        return part
    text, origins = apply_steps_aligned(steps, part.text, is_first=is_first)
    # What comes from no character (0, 0) is put where the part begins.
    spans = part.spans[origins[:, 0]] if len(part.spans) else origins
    return replace(part, text=text, spans=spans)


def _encode_parts(
    tokenizer: "Tokenizer", parts: list[_Part]
) -> tuple[TokenIds, NDArray[np.int64], dict[int, str]]:
    """Return the ids of all parts, the characters of each, and the text of those that were added."""
    contents = [part.text.encode() for part in parts]
    stops = np.cumsum([len(content) for content in contents], dtype=np.int64)
    rows = np.empty((len(parts), 3), dtype=np.int64)
    rows[:, 1] = stops
    rows[1:, 0] = stops[:-1]
    rows[0, 0] = 0
    rows[:, 2] = [part.token_id for part in parts]
    text = copy_text(b"".join(contents))
    ids, first_ids = tokenizer._encoder.encode_parts(text, rows)
    lengths = _load_lengths(tokenizer)[ids]
    offsets = np.zeros((len(ids), 2), dtype=np.int64)
    added: dict[int, str] = {}
    bounds = zip(first_ids[:-1].tolist(), first_ids[1:].tolist(), strict=True)
    for part, (start, stop, token_id), (first, last) in zip(
        parts, rows.tolist(), bounds, strict=True
    ):
        if token_id >= 0:
            last -= 1
            offsets[last] = part.token_span
            added[last] = part.token_text
        if first == last:
            continue
        ends = _find_ends(tokenizer, part.text, ids[first:last], lengths[first:last])
        assert int(ends[-1]) == stop - start, "the tokens of a part have all of its bytes"
        character = _find_characters(text[start:stop])
        offsets[first, 0] = part.spans[0, 0]
        offsets[first + 1 : last, 0] = part.spans[character[ends[:-1]], 0]
        offsets[first:last, 1] = part.spans[character[ends - 1], 1]
    return ids, offsets, added


def _load_lengths(tokenizer: "Tokenizer") -> NDArray[np.int64]:
    """Return how many bytes of prepared text each token stands for; -1 for the unknown one."""
    found = _lengths.get(tokenizer._encoder)
    if found is None:
        found = _lengths[tokenizer._encoder] = _measure_tokens(tokenizer.definition)
    return found


def _measure_tokens(definition: TokenizerDefinition) -> NDArray[np.int64]:
    rules, vocabulary = definition.rules, definition.vocabulary
    lengths = np.diff(vocabulary.offsets)
    if rules.byte_fallback:
        known = vocabulary.ordinary_ids
        byte_ids = {known.get(b"<0x%02X>" % byte, -1) for byte in range(256)}
        # A merge may spell such a token by its characters.
        byte_ids -= {-1, *vocabulary.merge_results.tolist()}
        lengths[list(byte_ids)] = 1
    if rules.unk_id is not None:
        lengths[rules.unk_id] = -1
    return lengths


def _find_ends(
    tokenizer: "Tokenizer", text: str, ids: TokenIds, lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return where the bytes of each token of a part end, in bytes from the part's start."""
    is_unknown = lengths < 0
    if is_unknown.any():
        lengths = lengths.copy()
        lengths[is_unknown] = _measure_unknown(tokenizer, text)
    return np.cumsum(lengths)


def _measure_unknown(tokenizer: "Tokenizer", text: str) -> list[int]:
    """Return the bytes of each unknown token of a part: a character, or a run of them."""
    definition = tokenizer.definition
    known = definition.vocabulary.ordinary_ids
    content = text.encode()
    borders: set[int] = set()
    if tokenizer.pattern is not None:
        borders = set(tokenizer.pattern.find_ends(copy_text(content), 0, len(content)).tolist())
    unknown = {
        character: len(character.encode())
        for character in set(text)
        if not _has_tokens(character.encode(), known, definition.rules.byte_fallback)
    }
    lengths: list[int] = []
    position = last_stop = 0
    for character in text:
        n_bytes = unknown.get(character, 0)
        goes_on = lengths and last_stop == position and position not in borders
        position += n_bytes or len(character.encode())
        if n_bytes and goes_on and definition.rules.fuse_unk:
            lengths[-1] += n_bytes
            last_stop = position
        elif n_bytes:
            lengths.append(n_bytes)
            last_stop = position
    return lengths


def _has_tokens(character: bytes, known: Mapping[bytes, int], byte_fallback: bool) -> bool:
    if character in known:
        return True
    return byte_fallback and all(b"<0x%02X>" % byte in known for byte in character)


def _trim_offsets(
    definition: TokenizerDefinition,
    ids: TokenIds,
    added: Mapping[int, str],
    offsets: NDArray[np.int64],
) -> None:
    """Leave white space at the ends of tokens out of ``offsets``, in place.

    A single space at the very start stays if the tokenizer puts one there.
    """
    adds_space = any(
        isinstance(step, Prepend) and step.content == " " for step in definition.preparation
    )
    tokens = definition.vocabulary.tokens
    for i, token_id in enumerate(ids.tolist()):
        spelled = added.get(i)
        if spelled is not None:
            n_left = len(spelled) - len(spelled.lstrip(WHITE_SPACE))
            n_right = len(spelled) - len(spelled.rstrip(WHITE_SPACE))
        else:
            content = tokens[token_id]
            n_left = len(content) - len(content.lstrip(b" "))
            n_right = len(content) - len(content.rstrip(b" "))
        start, stop = offsets[i].tolist()
        if n_left == 1 and adds_space and (i == 0 or start == 0):
            n_left = 0
        if n_left:
            start = min(start + n_left, stop)
        if n_right and stop >= n_right:
            stop = max(stop - n_right, start)
        offsets[i] = start, stop
