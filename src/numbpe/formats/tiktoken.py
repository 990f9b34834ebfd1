"""NAME.tiktoken: one line a token, its bytes in base64 and its rank, which is also its id.

The file holds neither the special tokens nor the pattern. To use it with tiktoken give both::

    tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=load_tiktoken_bpe("NAME.tiktoken"),
                      special_tokens={"<|endoftext|>": 256})

tiktoken takes a piece that is a token as it stands, and else merges whichever two tokens together
make the token of lowest rank. That is our rule if every way to make a token of two is a merge and
ranks rise in the order of the merges; or, where each token is made by one merge, if every token is
what its own bytes merge to. It is checked before a file is written.
"""

import base64
from pathlib import Path
from typing import Final

import numpy as np

from numbpe.definition import TokenizerDefinition
from numbpe.encoder import Encoder
from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import write_atomically
from numbpe.formats.refusals import check_is_plain
from numbpe.formats.tiktoken_reading import list_splits
from numbpe.vocabulary import Vocabulary

_REMEDY: Final = "save as .json"


def save(definition: TokenizerDefinition, path: Path) -> None:
    """Write a rank file; ArgumentError if tiktoken would make other ids of it than we do."""
    check_is_plain(definition, ".tiktoken", _REMEDY)
    vocabulary = definition.vocabulary
    check_ranks(definition)
    by_rank = sorted(vocabulary.ordinary_ids.items(), key=lambda item: item[1])
    with write_atomically(path) as file:
        file.writelines(base64.b64encode(content) + b" %d\n" % id for content, id in by_rank)


def check_ranks(definition: TokenizerDefinition) -> None:
    """Raise ArgumentError if ids are not ranks of merges, naming the first token that is wrong."""
    vocabulary = definition.vocabulary
    is_by_rank = definition.rules.merge_order == "result"
    for byte in range(256):
        if not is_by_rank and bytes([byte]) not in vocabulary.ordinary_ids:
            raise _describe_misfit(f"the byte {byte} has no token")
    if definition.rules.ignore_merges and _has_all_splits(vocabulary, is_by_rank=is_by_rank):
        return
    if is_by_rank:
        raise _describe_misfit("some two tokens that make a token are no merge")
    _check_single_merges(vocabulary)


def _has_all_splits(vocabulary: Vocabulary, *, is_by_rank: bool) -> bool:
    """Return whether every way to make a token of two is a merge, ranked by what it makes."""
    results = vocabulary.merge_results
    if not is_by_rank and (np.diff(results) < 0).any():
        return False
    found = np.column_stack([vocabulary.merge_pairs, results])
    expected = np.array(list_splits(vocabulary.ordinary_ids), dtype=np.int32).reshape(-1, 3)
    return np.array_equal(np.unique(found, axis=0), np.unique(expected, axis=0))


def _check_single_merges(vocabulary: Vocabulary) -> None:
    results = vocabulary.merge_results
    falls = np.flatnonzero(np.diff(results) <= 0)
    if len(falls):
        rank = int(falls[0]) + 1
        raise _describe_misfit(
            f"merge {rank} makes the token {results[rank]}, but the merge before it "
            f"{results[rank - 1]}; ids must rise in the order of the merges"
        )
    encoder = Encoder(TokenizerDefinition.from_vocabulary(vocabulary), None)
    for content, token_id in vocabulary.ordinary_ids.items():
        if encoder.encode_text(content).tolist() != [token_id]:
            raise _describe_misfit(
                f"the bytes of token {token_id}, {shorten_value(content)}, do not merge to it"
            )
    if len(results) and int(results[0]) < max(_list_byte_ids(vocabulary)):
        raise _describe_misfit("a merged token has a lower id than a byte")


def _list_byte_ids(vocabulary: Vocabulary) -> list[int]:
    return [vocabulary.ordinary_ids[bytes([byte])] for byte in range(256)]


def _describe_misfit(problem: str) -> ArgumentError:
    return ArgumentError(
        f"cannot save as .tiktoken, which would give other ids than this tokenizer: {problem}; "
        "save as .json or .pkl"
    )
