"""NAME.tiktoken: one line a token, its bytes in base64 and its rank, which is also its id.

The file holds neither the special tokens nor the pattern. To use it with tiktoken give both::

    tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=load_tiktoken_bpe("NAME.tiktoken"),
                      special_tokens={"<|endoftext|>": 256})

tiktoken merges whichever two tokens together make the token of lowest rank. That is our rule only
if ranks rise in the order of the merges, each token is made by one merge, and every token is what
its own bytes merge to. It holds for all that is trained here, and is checked before a file is
written.
"""

import base64
from pathlib import Path

import numpy as np

from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import write_atomically
from numbpe.vocabulary import Vocabulary
from numbpe.word_merger import WordMerger


def save(vocabulary: Vocabulary, path: Path) -> None:
    """Write a rank file; ArgumentError if tiktoken would make other ids of it than we do."""
    check_ranks(vocabulary)
    with write_atomically(path) as file:
        for content, token_id in vocabulary.ordinary_ids.items():
            file.write(base64.b64encode(content) + b" %d\n" % token_id)


def check_ranks(vocabulary: Vocabulary) -> None:
    """Raise ArgumentError if ids are not ranks of merges, naming the first token that is wrong."""
    results = vocabulary.merge_results
    falls = np.flatnonzero(np.diff(results) <= 0)
    if len(falls):
        rank = int(falls[0]) + 1
        raise _describe_misfit(
            f"merge {rank} makes the token {results[rank]}, but the merge before it "
            f"{results[rank - 1]}; ids must rise in the order of the merges"
        )
    contents = list(vocabulary.ordinary_ids)
    for byte in range(256):
        if bytes([byte]) not in vocabulary.ordinary_ids:
            raise _describe_misfit(f"the byte {byte} has no token")
    merger = WordMerger(vocabulary)
    for content, token_id in vocabulary.ordinary_ids.items():
        if merger.merge_word(content).tolist() != [token_id]:
            raise _describe_misfit(
                f"the bytes of token {token_id}, {shorten_value(content)}, do not merge to it"
            )
    if contents and len(results) and int(results[0]) < max(_list_byte_ids(vocabulary)):
        raise _describe_misfit("a merged token has a lower id than a byte")


def _list_byte_ids(vocabulary: Vocabulary) -> list[int]:
    return [vocabulary.ordinary_ids[bytes([byte])] for byte in range(256)]


def _describe_misfit(problem: str) -> ArgumentError:
    return ArgumentError(
        f"cannot save as .tiktoken, which would give other ids than this tokenizer: {problem}; "
        "save as .json or .pkl"
    )
