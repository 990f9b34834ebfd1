"""Words to token ids by merging alone, without a pattern."""

from numbpe.arrays import TokenIds
from numbpe.definition import TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.vocabulary import Vocabulary


class WordMerger:
    """Merges words by a vocabulary: lowest rank first, then leftmost, one merge at a time."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._encoder = Encoder(TokenizerDefinition.from_vocabulary(vocabulary), None)

    def merge_word(self, word: bytes) -> TokenIds:
        """Return the ids of one word; DataError if one of its bytes has no token."""
        return self._encoder.encode_text(word)
