"""NAME.tiktoken to a definition: tokens in base64 with their ranks, which are their ids.

tiktoken takes a piece that is a token as it stands, and else merges whichever two tokens together
make the token of lowest rank. So every way to cut a token into two tokens is a merge.

The file holds neither pattern nor special tokens; those of OpenAI's encodings are known by the name
of the file.
"""

import base64
import binascii
from collections.abc import Mapping
from functools import partial
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from numbpe.arrays import copy_text
from numbpe.definition import AddedToken, ModelRules, TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.formats.reading import (
    GivenSpecialTokens,
    assign_added_tokens,
    describe_fault,
    read_bytes,
)
from numbpe.pattern_sources import PatternSource
from numbpe.special_tokens import check_special_tokens
from numbpe.vocabulary import Vocabulary
from numbpe.vocabulary_checks import MAX_TOKEN_ID

_END_OF_TEXT: Final = "<|endoftext|>"
_END_OF_PROMPT: Final = "<|endofprompt|>"
_FILL_IN: Final = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")

# <|reserved_200018|> of tiktoken's o200k_harmony has the id of <|endofprompt|>, and is left out.
_HARMONY: Final = {f"<|reserved_{id}|>": id for id in range(200_000, 201_088)} | {
    "<|startoftext|>": 199_998,
    _END_OF_TEXT: 199_999,
    "<|return|>": 200_002,
    "<|constrain|>": 200_003,
    "<|channel|>": 200_005,
    "<|start|>": 200_006,
    "<|end|>": 200_007,
    "<|message|>": 200_008,
    "<|call|>": 200_012,
    _END_OF_PROMPT: 200_018,
}
_R50K: Final = ("r50k", {_END_OF_TEXT: 50_256})

KNOWN_ENCODINGS: Final[Mapping[str, tuple[str, Mapping[str, int]]]] = MappingProxyType(
    {
        "gpt2": _R50K,
        "r50k_base": _R50K,
        "p50k_base": _R50K,
        "p50k_edit": (
            "r50k",
            _R50K[1] | dict(zip(_FILL_IN, count(50_281))),
        ),
        "cl100k_base": (
            "cl100k",
            {_END_OF_TEXT: 100_257}
            | dict(zip(_FILL_IN, count(100_258)))
            | {_END_OF_PROMPT: 100_276},
        ),
        "o200k_base": ("o200k", {_END_OF_TEXT: 199_999, _END_OF_PROMPT: 200_018}),
        "o200k_harmony": (
            "o200k",
            {name: id for id, name in sorted({id: name for name, id in _HARMONY.items()}.items())},
        ),
    }
)
"""Pattern and special tokens of OpenAI's encodings, by the name of their file."""


def read(
    path: Path, pattern: PatternSource | None = None, special_tokens: GivenSpecialTokens = None
) -> TokenizerDefinition:
    """Return the definition of a rank file.

    pattern, special_tokens: None stands for those of the encoding that the file is named after.

    Raises FormatError for a damaged file, naming the line; ArgumentError if no pattern is known.
    """
    ranks = read_ranks(path)
    known_pattern, known_tokens = KNOWN_ENCODINGS.get(path.stem, (None, None))
    if pattern is None:
        pattern = known_pattern
    if pattern is None:
        raise ArgumentError(
            f"a .tiktoken file holds no pattern, and {shorten_value(path.name)} is the name of no "
            f"known encoding ({', '.join(KNOWN_ENCODINGS)}); give it: "
            'numbpe.load(path, pattern="cl100k")'
        )
    given = known_tokens if special_tokens is None else special_tokens
    if not isinstance(given, Mapping):
        given = check_special_tokens(given)
    ids = {name: ranks[name.encode()] for name in given if name.encode() in ranks}
    added = assign_added_tokens(given, ids, max(ranks.values()) + 1)
    vocabulary = _build_vocabulary(path, ranks, added, pattern)
    rules = ModelRules(merge_order="result", ignore_merges=True)
    by_id = sorted(added, key=lambda token: token.id)
    return TokenizerDefinition(vocabulary, rules, tuple(by_id))


def read_ranks(path: Path) -> dict[bytes, int]:
    """Return the rank of every token; FormatError, with the line, for what is damaged."""
    data = read_bytes(path)
    lines = data.removesuffix(b"\n").removesuffix(b"\r").split(b"\n")
    fields = [*map(bytes.split, lines)]
    if set(map(len, fields)) == {2}:
        flat = [*chain.from_iterable(fields)]
        try:
            contents = [*map(_decode_strictly, flat[0::2])]
        except binascii.Error:
            contents = []
        texts = flat[1::2]
        if all(contents) and contents and all(map(bytes.isdigit, texts)):
            numbers = [*map(int, texts)] if max(map(len, texts)) < 9 else [MAX_TOKEN_ID + 1]
            ranks = dict(zip(contents, numbers, strict=False))
            if max(numbers) <= MAX_TOKEN_ID and len(ranks) == len(set(numbers)) == len(texts):
                return ranks
    raise _describe_damage(path, lines)


_decode_strictly = partial(binascii.a2b_base64, strict_mode=True)


def _describe_damage(path: Path, lines: list[bytes]) -> Exception:
    """Return the error about the first line that is wrong."""
    tokens: dict[bytes, int] = {}
    ranks: dict[int, int] = {}
    for number, line in enumerate(lines, start=1):
        problem = _find_damage(line, tokens, ranks)
        if problem:
            if number == 1 and line.lstrip().startswith((b"<", b"{")):
                problem = "this is no list of ranks but a web page or JSON; fetch the file anew"
            return describe_fault(path, f"line {number}, {shorten_value(line)}: {problem}")
        tokens[_decode_strictly(line.split()[0])] = ranks[int(line.split()[1])] = number
    raise AssertionError("no line is damaged")


def _find_damage(line: bytes, tokens: dict[bytes, int], ranks: dict[int, int]) -> str:
    fields = line.split()
    if len(fields) != 2:
        return f"a line is a token in base64 and its rank, not {len(fields)} fields"
    encoded, rank = fields
    try:
        content = base64.b64decode(encoded, validate=True)
        _decode_strictly(encoded)
    except binascii.Error as error:
        return f"the token is not base64 ({error})"
    if not content:
        return "the token is empty"
    if not rank.isdigit() or len(rank) > 9 or int(rank) > MAX_TOKEN_ID:
        return f"the rank must be a number from 0 to {MAX_TOKEN_ID:,}"
    if content in tokens:
        return f"the token stands in line {tokens[content]} already"
    if int(rank) in ranks:
        return f"the rank stands in line {ranks[int(rank)]} already"
    return ""


def _build_vocabulary(
    path: Path,
    ranks: dict[bytes, int],
    added_tokens: tuple[AddedToken, ...],
    pattern: PatternSource,
) -> Vocabulary:
    special = {token.content: token.id for token in added_tokens}
    contents = {rank: content for content, rank in ranks.items()}
    for name, token_id in special.items():
        if token_id in contents and contents[token_id] != name.encode():
            raise describe_fault(
                path,
                f"the special token {shorten_value(name)} cannot have the id {token_id}: that is "
                f"the token {shorten_value(contents[token_id])}; give it another id",
            )
        contents[token_id] = name.encode()
    ids = np.fromiter(sorted(contents), np.int64, len(contents))
    ordered = [*map(contents.__getitem__, ids.tolist())]
    offsets = np.zeros(int(ids[-1]) + 2, dtype=np.int64)
    offsets[ids + 1] = [*map(len, ordered)]
    np.cumsum(offsets, out=offsets)
    ordinary = dict(ranks)
    for name, token_id in special.items():
        if ordinary.get(name.encode()) == token_id:
            del ordinary[name.encode()]
    flat = chain.from_iterable(list_splits(ordinary))
    splits = np.fromiter(flat, np.int32).reshape(-1, 3)
    return Vocabulary.from_arrays(
        copy_text(b"".join(ordered)),
        offsets,
        np.ascontiguousarray(splits[:, :2]),
        np.ascontiguousarray(splits[:, 2]),
        special_tokens=special,
        pattern=pattern,
    )


def list_splits(ranks: Mapping[bytes, int]) -> list[tuple[int, int, int]]:
    """Return all (left, right, whole) where two tokens make a token, by rank of the whole.

    Splits of one token are in the order of their parts, as the ``tokenizers`` converter has them.
    """
    find = ranks.get
    found: list[tuple[int, int, int]] = []
    for content, whole in sorted(ranks.items(), key=lambda item: item[1]):
        splits = [
            (left, right, whole)
            for stop in range(1, len(content))
            if (left := find(content[:stop])) is not None
            and (right := find(content[stop:])) is not None
        ]
        found += sorted(splits) if len(splits) > 1 else splits
    return found
