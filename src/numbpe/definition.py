"""Everything that decides which ids a text becomes: what a tokenizer file holds, as plain values.

Formats read and write a :class:`TokenizerDefinition`; the encoder, the normalizers, the matcher of
added tokens and the decoder are each made from one. Nothing here computes.

The way of a text, as in the ``tokenizers`` library:

1. Added tokens that are not ``normalized`` are cut out of the raw text.
2. What lies between them is changed by ``normalizer``, step after step.
3. Added tokens that are ``normalized`` are cut out of that.
4. What is left is changed by ``preparation``, part for part.
5. The pattern of the vocabulary cuts it into pieces; without a pattern it is one piece.
6. Each piece becomes token ids by the merges of the vocabulary and the ``rules``.
7. ``template`` adds ids around the whole, if that is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Self, TypeAlias

from numbpe.vocabulary import Vocabulary

METASPACE: Final = "\u2581"
"""The character that stands for a space in vocabularies of the SentencePiece kind."""


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is found in text as it is spelled, before merging: leftmost, then longest.

    special: whether the text of a user must be able to spell it without becoming it (the policies
        ``"text"`` and ``"error"``), and whether ``skip_special_tokens`` leaves it out.
    normalized: whether it is looked for in normalized text, and is normalized itself for that.
    single_word: only where no word character stands beside it.
    lstrip, rstrip: white space before or behind belongs to it.
    """

    content: str
    id: int
    special: bool = True
    normalized: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False


@dataclass(frozen=True, slots=True)
class ModelRules:
    """How a piece becomes token ids.

    alphabet: ``"bytes"``: a piece is its bytes, each of which has a token. ``"characters"``: it is
        its characters, and tokens of the vocabulary are spelled in UTF-8.
    merge_order: the pair to merge next is the one whose merge has the lowest rank
        (``"merge"``), or the one that makes the token of lowest id (``"result"``, as in tiktoken);
        among equals the leftmost.
    ignore_merges: whether a piece that is a token as it stands becomes that token, unmerged.
    byte_fallback: whether a character without a token becomes the tokens ``<0x00>`` ... of its bytes.
    unk_id: the id of what has no token; None if that is an error.
    fuse_unk: whether successive unknown characters become one unknown token.
    """

    alphabet: Literal["bytes", "characters"] = "bytes"
    merge_order: Literal["merge", "result"] = "merge"
    ignore_merges: bool = False
    byte_fallback: bool = False
    unk_id: int | None = None
    fuse_unk: bool = False


@dataclass(frozen=True, slots=True)
class Normalization:
    """A Unicode normalization form: ``"NFC"``, ``"NFD"``, ``"NFKC"`` or ``"NFKD"``."""

    form: Literal["NFC", "NFD", "NFKC", "NFKD"]


@dataclass(frozen=True, slots=True)
class Lowercase:
    """Every character in lower case."""


@dataclass(frozen=True, slots=True)
class StripAccents:
    """Combining marks are left out; they are not taken apart from their letters first."""


@dataclass(frozen=True, slots=True)
class Strip:
    """White space at the start (``left``) and at the end (``right``) is left out."""

    left: bool = True
    right: bool = True


@dataclass(frozen=True, slots=True)
class Replace:
    """Every occurrence of ``pattern``, a literal or a regular expression, becomes ``content``."""

    pattern: str
    content: str
    is_regex: bool = False


@dataclass(frozen=True, slots=True)
class Prepend:
    """``content`` is put before a part that is not empty.

    unless: a part that begins with this stays as it is; "" for none.
    first_only: only the part at the start of the text, not those after an added token.
    """

    content: str
    unless: str = ""
    first_only: bool = False


TextStep: TypeAlias = Normalization | Lowercase | StripAccents | Strip | Replace | Prepend
"""One step of a normalizer or of a preparation."""

TemplatePiece: TypeAlias = tuple[int | Literal["A", "B"], int]
"""A token id, or which of the texts stands here; and the type id."""


@dataclass(frozen=True, slots=True)
class Template:
    """Which ids are added around a text, or around a pair of texts, if that is asked for."""

    single: tuple[TemplatePiece, ...] = (("A", 0),)
    pair: tuple[TemplatePiece, ...] = (("A", 0), ("B", 1))

    @property
    def prefix(self) -> tuple[int, ...]:
        """The ids before a single text."""
        return self._list_ids(0, self._find_text())

    @property
    def suffix(self) -> tuple[int, ...]:
        """The ids behind a single text."""
        return self._list_ids(self._find_text() + 1, len(self.single))

    def _find_text(self) -> int:
        return [piece for piece, _ in self.single].index("A")

    def _list_ids(self, start: int, stop: int) -> tuple[int, ...]:
        return tuple(piece for piece, _ in self.single[start:stop] if not isinstance(piece, str))


@dataclass(frozen=True, slots=True)
class DecodingRules:
    """How the spelling of tokens becomes text again.

    replacements: byte strings to replace in the spelling of every token, in this order.
    byte_fallback: whether a token spelled ``<0x41>`` stands for that byte.
    strip_left, strip_right: how many spaces at most are taken off the start and the end of the text.
    drops_first_metaspace: whether U+2581 in the first token stands for nothing, rather than a space.
    """

    replacements: tuple[tuple[bytes, bytes], ...] = ()
    byte_fallback: bool = False
    strip_left: int = 0
    strip_right: int = 0
    drops_first_metaspace: bool = False


@dataclass(frozen=True, slots=True)
class TokenizerDefinition:
    """All of a tokenizer, as values; never changes.

    vocabulary: tokens, merges and pattern. Its ``special_tokens`` are the tokens that merging never
        makes: special ones, and other added tokens that the model itself does not have.
    added_tokens: all tokens that are found in text as they are spelled, special or not, by id.
    trim_offsets: whether the character offsets of a token leave out white space at its ends.
    roles: ids by role: "bos_token", "eos_token", "pad_token", "unk_token" and the like.
    """

    vocabulary: Vocabulary
    rules: ModelRules = ModelRules()
    added_tokens: tuple[AddedToken, ...] = ()
    normalizer: tuple[TextStep, ...] = ()
    preparation: tuple[TextStep, ...] = ()
    template: Template = Template()
    decoding: DecodingRules = DecodingRules()
    trim_offsets: bool = False
    roles: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary) -> Self:
        """Return the definition of what was trained here: every special token is an added one."""
        by_id = sorted(vocabulary.special_tokens.items(), key=lambda item: item[1])
        return cls(vocabulary, added_tokens=tuple(AddedToken(name, id) for name, id in by_id))
