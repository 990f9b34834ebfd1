"""A folder with vocab.json and merges.txt, as GPT-2 was published, and added_tokens.json.

The pattern is not in these files. vocab.json holds the special tokens too where no ordinary token
is spelled like one; added_tokens.json, which is there only if there are special tokens, holds them
all with their ids.
"""

import json
from pathlib import Path
from typing import Final

from numbpe.definition import TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import write_together
from numbpe.formats.byte_alphabet import spell_merges, spell_tokens
from numbpe.formats.refusals import check_is_plain, check_merges_by_list
from numbpe.vocabulary import Vocabulary

VOCAB_NAME: Final = "vocab.json"
MERGES_NAME: Final = "merges.txt"
ADDED_TOKENS_NAME: Final = "added_tokens.json"
_VERSION_LINE: Final = "#version: 0.2"
_FORM: Final = "a folder with vocab.json and merges.txt"
_REMEDY: Final = "save as .json"


def save(definition: TokenizerDefinition, path: Path) -> None:
    """Write the folder ``path``; ArgumentError for what it cannot hold.

    That is, among others, a merge that readers take for the version line.
    """
    _check_characters(definition)
    check_is_plain(definition, _FORM, _REMEDY)
    check_merges_by_list(definition, _FORM, _REMEDY)
    vocabulary = definition.vocabulary
    contents = {
        path / VOCAB_NAME: _format_json(_spell_vocabulary(vocabulary)),
        path / MERGES_NAME: _format_merges(vocabulary),
    }
    if vocabulary.special_tokens:
        contents[path / ADDED_TOKENS_NAME] = _format_json(dict(vocabulary.special_tokens))
    write_together(contents)
    if not vocabulary.special_tokens:
        # Special tokens of an older vocabulary in this folder would be taken for this one's.
        (path / ADDED_TOKENS_NAME).unlink(missing_ok=True)


def _check_characters(definition: TokenizerDefinition) -> None:
    """Raise ArgumentError if a merge of characters holds what parts the merges of merges.txt."""
    if definition.rules.alphabet == "bytes":
        return
    for rank, (left, right) in enumerate(definition.vocabulary.merges):
        if b"\n" in left + right or b" " in left + right:
            raise ArgumentError(
                f"cannot save as {_FORM}: merge {rank}, "
                f"{shorten_value((left.decode(), right.decode()))}, holds a line end or a space, "
                f"which merges.txt cannot hold; {_REMEDY}"
            )


def _spell_vocabulary(vocabulary: Vocabulary) -> dict[str, int]:
    names = {id: name for name, id in vocabulary.special_tokens.items()}
    tokens = spell_tokens(vocabulary)
    ordinary = {letters for token_id, letters in enumerate(tokens) if token_id not in names}
    spelled: dict[str, int] = {}
    for token_id, letters in enumerate(tokens):
        name = names.get(token_id)
        if name is None and letters:
            spelled[letters] = token_id
        elif name is not None and name not in ordinary:
            spelled[name] = token_id
    return spelled


def _format_merges(vocabulary: Vocabulary) -> bytes:
    lines = [f"{left} {right}" for left, right in spell_merges(vocabulary)]
    for rank, line in enumerate(lines):
        # Readers skip every line that begins so, not the first alone.
        if line.startswith("#version"):
            raise ArgumentError(
                f"cannot save merges.txt: merge {rank}, {line!r}, looks like its version line; "
                "save as .json or .tiktoken"
            )
    return "\n".join([_VERSION_LINE, *lines, ""]).encode()


def _format_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
