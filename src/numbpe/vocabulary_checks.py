"""What vocabularies are checked for, and the errors that say what is wrong."""

from collections.abc import Iterator, Mapping
from operator import index
from typing import Final

import numpy as np

from numbpe.arrays import Offsets, Tokens
from numbpe.errors import DataError, shorten_value
from numbpe.recipes import N_BYTES
from numbpe.special_tokens import encode_special_token

MAX_TOKEN_ID: Final = (1 << 24) - 1
"""Greatest token id that is accepted: tables are as long as the greatest id, not the size."""


def spell_symbols(merge_symbols: Tokens) -> list[bytes]:
    """Return the bytes of every symbol; DataError if the merges cannot come from training."""
    limits = np.arange(N_BYTES, N_BYTES + len(merge_symbols))
    wrong = (merge_symbols.min(axis=1, initial=0) < 0) | (
        merge_symbols.max(axis=1, initial=0) >= limits
    )
    if wrong.any():
        rank = int(wrong.argmax())
        left, right = merge_symbols[rank].tolist()
        raise DataError(
            f"merge {rank} joins the symbols {left} and {right}; "
            f"only 0 to {N_BYTES + rank - 1} exist before it"
        )
    contents = [bytes([byte]) for byte in range(N_BYTES)]
    for left, right in merge_symbols.tolist():
        contents.append(contents[left] + contents[right])
    if len(set(contents)) < len(contents):
        seen: set[bytes] = set()
        for symbol, content in enumerate(contents):
            if content in seen:
                raise DataError(
                    f"merge {symbol - N_BYTES} makes {shorten_value(content)}, "
                    "which an earlier merge has made"
                )
            seen.add(content)
    return contents


def list_tokens(tokens: Mapping[int, bytes]) -> list[bytes]:
    """Return the tokens in a list by id, holes empty; DataError for a bad id or no bytes."""
    for token_id, content in tokens.items():
        check_token_id(token_id, content)
        if not isinstance(content, bytes) or not content:
            raise DataError(
                f"token {token_id} must be one or more bytes, not {shorten_value(content)}"
            )
    listed = [b""] * (max(map(index, tokens), default=-1) + 1)
    for token_id, content in tokens.items():
        listed[index(token_id)] = content
    return listed


def check_token_id(token_id: object, content: object) -> None:
    """Raise DataError for an id that is no integer or out of range."""
    is_integer = isinstance(token_id, (int, np.integer)) and not isinstance(token_id, bool)
    if not is_integer or not 0 <= index(token_id) <= MAX_TOKEN_ID:  # type: ignore[arg-type]
        raise DataError(
            f"the token {shorten_value(content)} has the id {shorten_value(token_id)}; "
            f"ids are integers from 0 to {MAX_TOKEN_ID:,}"
        )


def check_merge(rank: int, merge: object) -> tuple[bytes, bytes]:
    """Return the two byte strings of a merge; DataError if it is anything else."""
    match merge:
        case (bytes(left), bytes(right)) if left and right:
            return left, right
    raise DataError(f"merge {rank} must be two byte strings, not {shorten_value(merge)}")


def place_special_tokens(tokens: list[bytes], special_ids: Mapping[str, int]) -> None:
    """Write the special tokens into the list ``tokens``, which grows where it must."""
    names_by_id: dict[int, str] = {}
    for name, token_id in special_ids.items():
        content = encode_special_token(name)
        check_token_id(token_id, content)
        if token_id in names_by_id:
            raise DataError(
                f"the special tokens {shorten_value(names_by_id[token_id])} and "
                f"{shorten_value(name)} have one id, {token_id}; give each its own"
            )
        names_by_id[token_id] = name
        tokens.extend([b""] * (token_id + 1 - len(tokens)))
        if tokens[token_id] not in (b"", content):
            raise DataError(
                f"the special token {shorten_value(name)} cannot have the id {token_id}: "
                f"that is the token {shorten_value(tokens[token_id])}"
            )
        tokens[token_id] = content


def index_ordinary_tokens(
    tokens: list[bytes], special_tokens: Mapping[str, int]
) -> dict[bytes, int]:
    """Return the ids of the ordinary tokens by bytes; DataError if two have the same bytes."""
    special_ids = set(special_tokens.values())
    ids: dict[bytes, int] = {}
    for token_id, content in _enumerate_used(tokens):
        if token_id in special_ids:
            continue
        if content in ids:
            raise DataError(
                f"the tokens {ids[content]} and {token_id} are both {shorten_value(content)}; "
                "if one of them is a special token, name it with its id in special_tokens"
            )
        ids[content] = token_id
    return ids


def _enumerate_used(tokens: list[bytes]) -> Iterator[tuple[int, bytes]]:
    return ((token_id, content) for token_id, content in enumerate(tokens) if content)


def check_arrays(
    offsets: Offsets, merge_pairs: Tokens, merge_results: Tokens, special_tokens: Mapping[str, int]
) -> None:
    """Raise DataError if merges and special tokens are not those of tokens with these offsets."""
    lengths = np.diff(offsets)
    if len(lengths) > MAX_TOKEN_ID + 1:
        raise DataError(f"ids are integers from 0 to {MAX_TOKEN_ID:,}, not {len(lengths) - 1:,}")
    for name, token_id in special_tokens.items():
        if not 0 <= token_id < len(lengths) or lengths[token_id] != len(name.encode()):
            raise DataError(f"the special token {shorten_value(name)} is not the token {token_id}")
    used = np.concatenate([merge_pairs.ravel(), merge_results])
    if len(used) and (used.min() < 0 or used.max() >= len(lengths) or not lengths[used].all()):
        raise DataError("a merge joins or makes a token that the vocabulary does not have")
    wrong = lengths[merge_pairs].sum(axis=1) != lengths[merge_results]
    if wrong.any():
        rank = int(wrong.argmax())
        raise DataError(f"merge {rank} does not make what its two parts joined are")
