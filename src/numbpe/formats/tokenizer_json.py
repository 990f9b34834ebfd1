"""tokenizer.json, as the ``tokenizers`` library (0.20 and later) reads it.

Written are a BPE model over letters that stand for bytes, the pattern as one Split for each of its
regular expressions, and the special tokens. The library then makes exactly our ids.

The format numbers tokens by their spelling, so it cannot hold a special token that is spelled like
an ordinary one: that is refused rather than renumbered.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import write_atomically
from numbpe.formats.byte_alphabet import LETTERS, spell_merges, spell_tokens
from numbpe.formats.oniguruma import translate_pattern
from numbpe.named_patterns import NAMED_PATTERNS
from numbpe.vocabulary import Vocabulary

(GPT2_SOURCE,) = NAMED_PATTERNS["gpt2"]
"""The expression that the library's ByteLevel step has built in."""


def save(vocabulary: Vocabulary, path: Path) -> None:
    """Write a tokenizer.json; ArgumentError if the format cannot hold the vocabulary."""
    document = build_document(vocabulary)
    data = json.dumps(document, ensure_ascii=False).encode()
    with write_atomically(path) as file:
        file.write(data)


def check_can_hold(special_tokens: Iterable[str], pattern_sources: Iterable[str]) -> None:
    """Raise ArgumentError for what no tokenizer.json can hold, known before any training."""
    for name in special_tokens:
        if len(name) == 1 and name in LETTERS:
            raise _describe_clash(name, LETTERS.index(name))
    for source in pattern_sources:
        translate_pattern(source)


def build_document(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the content of a tokenizer.json as JSON values."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _list_added_tokens(vocabulary),
        "normalizer": None,
        "pre_tokenizer": _build_pre_tokenizer(vocabulary.pattern_sources),
        "post_processor": None,
        "decoder": _build_byte_level(use_regex=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": _spell_vocabulary(vocabulary),
            "merges": spell_merges(vocabulary),
        },
    }


def _spell_vocabulary(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the ids by spelling, ids ascending.

    Special tokens are among them, or the library would give them ids after all the others.
    """
    names = {id: name for name, id in vocabulary.special_tokens.items()}
    spelled: dict[str, int] = {}
    for token_id, letters in enumerate(spell_tokens(vocabulary)):
        spelling = names.get(token_id, letters)
        if not spelling:
            continue
        if spelling in spelled:
            other_id = spelled[spelling]
            raise _describe_clash(names.get(token_id) or names[other_id], min(token_id, other_id))
        spelled[spelling] = token_id
    return spelled


def _describe_clash(name: str, ordinary_id: int) -> ArgumentError:
    return ArgumentError(
        f"a tokenizer.json cannot hold the special token {shorten_value(name)}: it is written like "
        f"the ordinary token {ordinary_id}; choose another special token, or save as .pkl, "
        ".tiktoken or a folder"
    )


def _list_added_tokens(vocabulary: Vocabulary) -> list[dict[str, Any]]:
    by_id = sorted(vocabulary.special_tokens.items(), key=lambda item: item[1])
    return [
        {
            "id": token_id,
            "content": name,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for name, token_id in by_id
    ]


def _build_pre_tokenizer(sources: tuple[str, ...]) -> dict[str, Any]:
    """Return the steps that cut text into pieces and write their bytes as letters.

    The GPT-2 expression, if it comes last, is left to ByteLevel: other readers know it there.
    """
    is_built_in = sources[-1] == GPT2_SOURCE
    steps: list[dict[str, Any]] = [
        {
            "type": "Split",
            "pattern": {"Regex": translate_pattern(source)},
            "behavior": "Isolated",
            "invert": False,
        }
        for source in (sources[:-1] if is_built_in else sources)
    ]
    steps.append(_build_byte_level(use_regex=is_built_in))
    return steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps}


def _build_byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": use_regex,
    }
