"""A folder with vocab.json and merges.txt to a definition, and the files that lie beside them."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from numbpe.definition import AddedToken, ModelRules, Prepend, TokenizerDefinition
from numbpe.errors import shorten_value
from numbpe.formats.gpt2 import ADDED_TOKENS_NAME
from numbpe.formats.json_documents import JsonValue, read_json
from numbpe.formats.reading import (
    GivenSpecialTokens,
    assign_added_tokens,
    describe_fault,
    read_text,
)
from numbpe.formats.side_files import SideFiles, read_side_files
from numbpe.formats.token_tables import SpelledModel
from numbpe.pattern_sources import PatternSource
from numbpe.vocabulary_checks import MAX_TOKEN_ID


def read(
    vocab_path: Path,
    merges_path: Path,
    pattern: PatternSource | None = None,
    special_tokens: GivenSpecialTokens = None,
) -> TokenizerDefinition:
    """Return the definition of a vocab.json and a merges.txt.

    pattern: GPT-2's if it is None, since the files do not say.
    special_tokens: None stands for those of added_tokens.json, special_tokens_map.json and
        tokenizer_config.json in the folder of ``vocab_path``.

    Raises FormatError for files that are damaged or contradict each other.
    """
    vocab = read_json(vocab_path)
    spelled = SpelledModel(
        vocab.value,
        read_merges(merges_path),
        vocab,
        JsonValue(merges_path, "", None),
        allows_homonyms=True,
    )
    side_files = read_side_files(vocab_path.parent)
    free_id = _find_free_id(vocab, side_files)
    if special_tokens is None:
        added = _list_added_tokens(vocab, side_files, free_id)
    else:
        added = assign_added_tokens(special_tokens, vocab.value, free_id)
    vocabulary = spelled.build_vocabulary("bytes", added, "gpt2" if pattern is None else pattern)
    return TokenizerDefinition(
        vocabulary,
        ModelRules(),
        added,
        preparation=(Prepend(" ", unless=" "),) if side_files.adds_prefix_space else (),
        roles=side_files.find_roles(added),
    )


def _find_free_id(vocab: JsonValue, side_files: SideFiles) -> int:
    """Return the id after the last; ids that are none are found out about later."""
    ids = [id for id in vocab.value.values() if type(id) is int and 0 <= id <= MAX_TOKEN_ID]
    return max([*ids, *(token.id for token, _ in side_files.added_tokens)], default=-1) + 1


def _list_added_tokens(
    vocab: JsonValue, side_files: SideFiles, free_id: int
) -> tuple[AddedToken, ...]:
    """Return the added tokens of the side files; a role's token that has no id gets a new one."""
    tokens = {token.content: token for token, _ in side_files.added_tokens}
    path = vocab.path.parent / ADDED_TOKENS_NAME
    if path.is_file():
        document = read_json(path)
        for name in document.value:
            token = AddedToken(name, document.require(name, int))
            other = tokens.setdefault(name, token)
            if other.id != token.id:
                raise document.fail(
                    f"{shorten_value(name)} has the id {token.id}, but in tokenizer_config.json "
                    f"{other.id}; make them equal"
                )
    for name in side_files.special_names:
        if name not in tokens:
            tokens[name] = AddedToken(name, vocab.value.get(name, free_id))
            free_id = max(free_id, tokens[name].id + 1)
    by_id = sorted(tokens.values(), key=lambda token: token.id)
    for token, following in pairwise(by_id):
        if token.id == following.id:
            raise vocab.fail(
                f"the added tokens {shorten_value(token.content)} and "
                f"{shorten_value(following.content)} have one id, {token.id}; give each its own"
            )
    return tuple(by_id)


def read_merges(path: Path) -> list[Any]:
    """Return the merges of a merges.txt; FormatError, with the line, for what is no merge.

    Lines that begin with "#version" are left out, and an empty line at the end.
    """
    lines = read_text(path).replace("\r\n", "\n").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, start=1):
        if line.count(" ") != 1 and not line.startswith("#version"):
            raise describe_fault(
                path,
                f"line {number} is {shorten_value(line)}; a merge is two tokens and a space "
                "between them",
            )
    return [line for line in lines if not line.startswith("#version")]
