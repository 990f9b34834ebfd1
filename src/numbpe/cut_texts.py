"""One text that is cut at added tokens, to ids: in the arrays of a thread, where it is short."""

from functools import partial

from numbpe.added_tokens import SpecialPolicy
from numbpe.arrays import TokenIds
from numbpe.encoder import Encoder
from numbpe.segments import Segmenter


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
        cut = partial(segmenter.matcher.cut_into, stop=len(content), special=special)
        ids = encoder.encode_parts_of(content, cut, n_characters)
        if ids is not None:
            return ids
    prepared = segmenter.prepare([content], special)
    return encoder.encode_parts(prepared.text, prepared.parts)[0]
