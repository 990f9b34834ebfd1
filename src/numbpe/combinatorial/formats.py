"""Files of Combinatorial BPE: the JSON of the reference implementation, and our own.

The reference, https://github.com/SwayStar123/CombinatorialBPE, writes ``{"type": "combinatorial",
"prefixes": [...], "suffixes": [...], "fold_case": ..., "punct_to_next": ..., "fold_han": ...,
"split_camel": ..., "alphabet": [...], "merges": [[left, right], ...], "merge_counts": [...]}``, and
for the plain baseline ``{"type": "standard", "pattern": ..., "alphabet": ..., ...}``. Flags that
are missing are false, but for ``fold_case``; ``merge_counts`` may be missing.

Ours has the same members, and in front of them ``"format": "numbpe-combinatorial"``, ``"version":
1`` and ``"unicode_version": "16"``; and ``special_tokens`` behind. A reader of the reference's files
that ignores what it does not know reads it too, as long as there are no special tokens.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from numbpe.combinatorial.definition import (
    STANDARD_PATTERNS,
    CharacterVocabulary,
    CombinatorialVocabulary,
)
from numbpe.combinatorial.folding import CASE_VERSION
from numbpe.errors import ArgumentError, shorten_value
from numbpe.files import FilePath, write_atomically
from numbpe.formats.json_documents import JsonValue, read_json

FORMAT_NAME: Final = "numbpe-combinatorial"
FORMAT_VERSION: Final = 1

_FLAGS: Final = {
    "fold_case": True,
    "punct_to_next": False,
    "fold_han": False,
    "split_camel": False,
}
"""The flags and what they are where they are missing."""


def read_vocabulary(path: FilePath) -> CombinatorialVocabulary | CharacterVocabulary:
    """Read a file of ours or of the reference.

    Raises FormatError, which names the file and the place, for a file that is neither, is of a
    later version, or holds what cannot be used; OSError where it cannot be read.

    Example: ``read_vocabulary("wiki_en_16384_comb.json").sizes``
    """
    document = read_json(Path(path))
    _check_header(document)
    kind = document.require("type", str)
    try:
        if kind == "combinatorial":
            return _read_combinatorial(document)
        if kind == "standard":
            return _read_standard(document)
    except ArgumentError as error:
        raise document.fail(str(error)) from None
    hint = ""
    if kind == "unrestricted":
        hint = "; the unrestricted kind of the reference is another algorithm, whose model is a file of its own"
    raise document.fail(
        f'its type is {shorten_value(kind)}, but must be "combinatorial" or "standard"{hint}'
    )


def write_vocabulary(
    vocabulary: CombinatorialVocabulary | CharacterVocabulary, path: FilePath
) -> None:
    """Write our own format; the file appears whole or not at all."""
    _write(_describe(vocabulary), path)


def write_reference_file(
    vocabulary: CombinatorialVocabulary | CharacterVocabulary, path: FilePath
) -> None:
    """Write the format of the reference, byte for byte as it does.

    Raises ArgumentError if there are special tokens, which it does not have.
    """
    if vocabulary.special_tokens:
        raise ArgumentError(
            f"cannot write {shorten_value(str(path))} for the reference implementation: it has no "
            f"special tokens, but here are {len(vocabulary.special_tokens)}; save it in numbpe's "
            "own format"
        )
    members = _list_members(vocabulary)
    text = json.dumps(members, ensure_ascii=isinstance(vocabulary, CharacterVocabulary))
    with write_atomically(path) as file:
        file.write(text.encode())


def _describe(vocabulary: CombinatorialVocabulary | CharacterVocabulary) -> dict[str, Any]:
    header = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "unicode_version": CASE_VERSION,
    }
    return header | _list_members(vocabulary) | {"special_tokens": vocabulary.special_tokens}


def _write(members: Mapping[str, Any], path: FilePath) -> None:
    with write_atomically(path) as file:
        file.write(json.dumps(members, ensure_ascii=False).encode())


def _list_members(vocabulary: CombinatorialVocabulary | CharacterVocabulary) -> dict[str, Any]:
    """Return the members of the reference's file, in its order."""
    members: dict[str, Any]
    if isinstance(vocabulary, CombinatorialVocabulary):
        members = {
            "type": "combinatorial",
            "prefixes": vocabulary.prefixes,
            "suffixes": vocabulary.suffixes,
        }
        members |= {flag: getattr(vocabulary, flag) for flag in _FLAGS}
    else:
        members = {"type": "standard", "pattern": vocabulary.pattern}
    members["alphabet"] = vocabulary.alphabet
    members["merges"] = vocabulary.merges
    if vocabulary.merge_counts is not None:
        members["merge_counts"] = vocabulary.merge_counts
    return members


def _check_header(document: JsonValue) -> None:
    """Refuse other formats and later versions; a file of the reference has no header."""
    name = document.take("format", str, FORMAT_NAME)
    if name != FORMAT_NAME:
        raise document.fail(f"its format is {shorten_value(name)}, but must be {FORMAT_NAME!r}")
    version = document.take("version", int, FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise document.fail(
            f"it is of version {version} of the format, and this release of numbpe reads version "
            f"{FORMAT_VERSION}; install a later release"
        )
    unicode_version = document.take("unicode_version", str, CASE_VERSION)
    if unicode_version != CASE_VERSION:
        raise document.fail(
            f"it was made for Unicode {shorten_value(unicode_version)}, and this release of numbpe "
            f"folds case by Unicode {CASE_VERSION}"
        )


def _read_combinatorial(document: JsonValue) -> CombinatorialVocabulary:
    for key in ("letter_prefixes", "letter_suffixes"):
        if document.take(key, list, []):
            raise document.fail(
                f"it has {key}, affixes of letters, which only a later, experimental version of the "
                "reference has; train anew without them"
            )
    flags = {flag: document.take(flag, bool, default) for flag, default in _FLAGS.items()}
    return CombinatorialVocabulary(
        prefixes=_read_strings(document, "prefixes"),
        suffixes=_read_strings(document, "suffixes"),
        **_read_table(document),
        **flags,
    )


def _read_standard(document: JsonValue) -> CharacterVocabulary:
    pattern = document.require("pattern", str)
    if pattern not in STANDARD_PATTERNS:
        raise document.fail(
            f"its pattern is {shorten_value(pattern)}, but must be one of "
            f"{', '.join(map(repr, STANDARD_PATTERNS))}"
        )
    return CharacterVocabulary(pattern=pattern, **_read_table(document))


def _read_table(document: JsonValue) -> dict[str, Any]:
    """Return the arguments of a :class:`CharacterTable`."""
    document.require("merges", list)
    merges = []
    for merge in document.iterate("merges"):
        parts = merge.expect(list)
        if len(parts) != 2 or not all(type(part) is str for part in parts):
            raise merge.fail(f"a merge must be two strings, not {shorten_value(parts)}")
        merges.append((parts[0], parts[1]))
    counts = None
    if document.get("merge_counts") is not None:
        counts = tuple(count.expect(int) for count in document.iterate("merge_counts"))
    return {
        "alphabet": _read_strings(document, "alphabet"),
        "merges": tuple(merges),
        "merge_counts": counts,
        "special_tokens": _read_strings(document, "special_tokens", required=False),
    }


def _read_strings(document: JsonValue, key: str, *, required: bool = True) -> tuple[str, ...]:
    if required:
        document.require(key, list)
    return tuple(item.expect(str) for item in document.iterate(key))
