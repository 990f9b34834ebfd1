"""The plain vocabularies over characters that Combinatorial BPE is compared with, as a Tokenizer.

They are byte-pair encoding over the characters of what a pattern cuts, with a token for each byte of
a character that is not in the alphabet. :class:`numbpe.Tokenizer` encodes that as it encodes any
vocabulary over characters.
"""

from numbpe.combinatorial.definition import N_BYTES, STANDARD_SOURCES, CharacterVocabulary
from numbpe.combinatorial.formats import read_vocabulary
from numbpe.definition import DecodingRules, ModelRules, TokenizerDefinition
from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.files import FilePath
from numbpe.tokenizer import Tokenizer
from numbpe.vocabulary import Vocabulary


def load_standard(path: FilePath) -> Tokenizer:
    """Return the tokenizer of a plain vocabulary over characters that a file holds.

    Raises FormatError and OSError as ``read_vocabulary`` does, ArgumentError for a file of another
    kind, DataError as :func:`make_standard_tokenizer`.
    """
    vocabulary = read_vocabulary(path)
    if not isinstance(vocabulary, CharacterVocabulary):
        raise ArgumentError(
            f"cannot load {shorten_value(str(path), 200)} as a plain vocabulary over characters: it "
            "holds a combinatorial one; read it by numbpe.CombinatorialTokenizer.load"
        )
    return make_standard_tokenizer(vocabulary)


def make_standard_tokenizer(vocabulary: CharacterVocabulary) -> Tokenizer:
    """Return the tokenizer of a plain vocabulary over characters; ids are those of its table.

    Raises DataError for a vocabulary with a core spelled ``<0x41>`` or the like, as tokens for bytes
    are.

    Example: ``make_standard_tokenizer(vocabulary).encode("the")``
    """
    tokens = {byte: b"<0x%02X>" % byte for byte in range(N_BYTES)}
    spelled_as_bytes = set(tokens.values())
    for text, core in vocabulary.core_ids.items():
        if text.encode() in spelled_as_bytes:
            raise DataError(
                f"cannot encode with core {core}, {text!r}: tokens for bytes are spelled so here"
            )
        tokens[core] = text.encode()
    merges = [(left.encode(), right.encode()) for left, right in vocabulary.merges]
    made = Vocabulary.from_tokens(
        tokens,
        merges,
        special_tokens=vocabulary.special_token_ids,
        pattern=STANDARD_SOURCES[vocabulary.pattern],
    )
    base = TokenizerDefinition.from_vocabulary(made)
    return Tokenizer.from_definition(
        TokenizerDefinition(
            made,
            rules=ModelRules(alphabet="characters", byte_fallback=True),
            added_tokens=base.added_tokens,
            decoding=DecodingRules(byte_fallback=True),
        )
    )
