"""One text to ids: cut at added tokens, in the arrays of a thread where it is short."""

from numbpe.added_tokens import SpecialPolicy
from numbpe.arrays import TokenIds
from numbpe.encoder import Encoder
from numbpe.segments import Segmenter
from numbpe.utf8 import encode_utf8


def encode_any_text(
    segmenter: Segmenter, encoder: Encoder, text: str | bytes, special: SpecialPolicy
) -> TokenIds:
    """Return the ids of any text; ArgumentError for what is none, and as Segmenter.prepare."""
    content = encode_utf8(text)
    n_characters = len(text) if isinstance(text, str) else 0
    whole = segmenter.change_whole(content, special, text.isascii())
    if whole is not None:
        return encoder.encode_text(whole, n_characters)
    return encode_cut_text(segmenter, encoder, content, special, n_characters)


def encode_cut_text(
    segmenter: Segmenter,
    encoder: Encoder,
    content: bytes,
    special: SpecialPolicy,
    n_characters: int = 0,
) -> TokenIds:
    """Return the ids of a text that may hold added tokens, or becomes another by normalizing.

    n_characters: as for Encoder.encode_text.
    """
    if segmenter.leaves_text(content):
        cut = segmenter.matcher.cut_into
        ids = encoder.encode_parts_of(content, cut, special, n_characters)
        if ids is not None:
            return ids
    prepared = segmenter.prepare([content], special)
    return encoder.encode_parts(prepared.text, prepared.parts)[0]
