"""Tokenizers from files: which format a path stands for."""

import errno
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from numbpe.errors import ArgumentError, FormatError, shorten_value
from numbpe.files import FilePath
from numbpe.garbage import paused_collection

if TYPE_CHECKING:
    from numbpe.definition import TokenizerDefinition
    from numbpe.pattern_sources import PatternSource
    from numbpe.tokenizer import Tokenizer

_KNOWN: Final = (
    "a tokenizer.json, a NAME.tiktoken, a folder with vocab.json and merges.txt, or NAME.pkl for "
    "NAME_vocab.pkl and NAME_merges.pkl"
)
_CONTROLS: Final = frozenset(range(32)) - set(b"\t\n\r")


def load(
    path: FilePath,
    *,
    pattern: "PatternSource | None" = None,
    special_tokens: Iterable[str] | Mapping[str, int] | None = None,
) -> "Tokenizer":
    """Return the tokenizer that a file or a folder holds.

    path: a tokenizer.json; a NAME.tiktoken; a folder with a tokenizer.json, or with vocab.json and
        merges.txt, or one of these two; NAME.pkl for NAME_vocab.pkl and NAME_merges.pkl, or one of
        these two. What a file is shows in what it holds, not in its name alone. Files of
        transformers that lie beside it are read where they bear on ids.
    pattern: how text is cut into pieces, where the file does not say. Pickles and vocab.json take
        GPT-2's if none is given; a .tiktoken file that is named after a known encoding, such as
        cl100k_base.tiktoken, takes that one's.
    special_tokens: names, or names with their ids, where the file does not say. A name that the
        file knows has its id, others get ids after the last.

    Raises FormatError for a file that is damaged or not of its format, and for what numbpe cannot
    do exactly as the file asks; FileNotFoundError if there is none; ArgumentError for an argument
    that cannot be used. A pickle is read as plain data: nothing in it is run.

    Example: ``numbpe.load("tokenizer.json").encode("Hello")``.
    """
    from numbpe.tokenizer import Tokenizer

    if not isinstance(path, (str, Path)) and not hasattr(path, "__fspath__"):
        raise ArgumentError(f"path must be a str or a Path, not {shorten_value(path)}")
    with paused_collection():
        return Tokenizer.from_definition(_read(Path(path), pattern, special_tokens))


def _read(
    path: Path,
    pattern: "PatternSource | None",
    special_tokens: Iterable[str] | Mapping[str, int] | None,
) -> "TokenizerDefinition":
    from numbpe.formats import gpt2_reading, pickle_reading, tiktoken_reading

    source = _find_source(path)
    if len(source) == 2:
        vocab_path, merges_path = source
        is_pickle = vocab_path.suffix in (".pkl", ".pickle")
        reader = pickle_reading.read if is_pickle else gpt2_reading.read
        return reader(vocab_path, merges_path, pattern, special_tokens)
    (file_path,) = source
    if _starts_like_json(file_path):
        return _read_json(file_path, pattern, special_tokens)
    return tiktoken_reading.read(file_path, pattern, special_tokens)


def _find_source(path: Path) -> tuple[Path] | tuple[Path, Path]:
    """Return the one or two files that ``path`` stands for; vocabulary first, merges second."""
    if path.is_dir():
        return _find_in_folder(path)
    if path.suffix in (".pkl", ".pickle"):
        if path.exists() or not path.with_name(f"{path.stem}_vocab{path.suffix}").exists():
            return _find_pair(path, path.suffix, path.suffix)
        return tuple(path.with_name(f"{path.stem}_{part}{path.suffix}") for part in _PARTS)  # type: ignore[return-value]
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, f"there is no such file; give {_KNOWN}", str(path))
    if path.suffix == ".txt" and "merges" in path.stem:
        return _find_pair(path, ".json", ".txt")
    return (path,)


_PARTS: Final = ("vocab", "merges")


def _find_in_folder(folder: Path) -> tuple[Path] | tuple[Path, Path]:
    if (folder / "tokenizer.json").is_file():
        return (folder / "tokenizer.json",)
    pair = folder / "vocab.json", folder / "merges.txt"
    if all(path.is_file() for path in pair):
        return pair
    names = sorted(path.name for path in folder.iterdir())
    raise FormatError(
        f"cannot load the folder {shorten_value(str(folder), 200)}: it must hold tokenizer.json, "
        f"or both vocab.json and merges.txt; it holds {shorten_value(names) if names else 'nothing'}"
    )


def _find_pair(path: Path, vocab_suffix: str, merges_suffix: str) -> tuple[Path, Path]:
    """Return the vocabulary and the merges of which ``path`` is one; the other is named alike."""
    for part in _PARTS:
        before, found, after = path.stem.rpartition(part)
        if not found:
            continue
        pair = (
            path.with_name(f"{before}vocab{after}{vocab_suffix}"),
            path.with_name(f"{before}merges{after}{merges_suffix}"),
        )
        for other in pair:
            if not other.is_file():
                raise FileNotFoundError(
                    errno.ENOENT,
                    f"this file must lie beside {path.name}: one holds the tokens, the other the "
                    "merges",
                    str(other),
                )
        return pair
    raise FileNotFoundError(
        errno.ENOENT,
        f"there are no such pickles; NAME{path.suffix} stands for NAME_vocab{path.suffix} and "
        f"NAME_merges{path.suffix}",
        str(path),
    )


def _starts_like_json(path: Path) -> bool:
    from numbpe.formats.reading import BYTE_ORDER_MARK, describe_fault

    with path.open("rb") as file:
        head = file.read(64)
    if _CONTROLS & set(head):
        kind = "a SentencePiece model" if path.suffix == ".model" else "a binary file"
        raise describe_fault(path, f"this is {kind}, which numbpe does not read; give {_KNOWN}")
    starts_object = head.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{")
    return starts_object or path.suffix == ".json"


def _read_json(
    path: Path,
    pattern: "PatternSource | None",
    special_tokens: Iterable[str] | Mapping[str, int] | None,
) -> "TokenizerDefinition":
    """Read a tokenizer.json, or a vocab.json with the merges beside it."""
    from numbpe.formats import gpt2_reading, tokenizer_json_reading
    from numbpe.formats.json_documents import read_json
    from numbpe.formats.side_files import SideFiles, read_side_files

    document = read_json(path)
    is_tokenizer = isinstance(document.value.get("model"), dict)  # "model" may be a token, too
    if not is_tokenizer and "vocab" in path.stem:
        return gpt2_reading.read(*_find_pair(path, ".json", ".txt"), pattern, special_tokens)
    for name, value in (("pattern", pattern), ("special_tokens", special_tokens)):
        if value is not None:
            raise ArgumentError(
                f"{name} cannot be given for {shorten_value(path.name)}: a tokenizer.json holds "
                f"its own; leave {name} out"
            )
    has_side_files = path.name == "tokenizer.json"
    side_files = read_side_files(path.parent) if has_side_files else SideFiles()
    return tokenizer_json_reading.read_document(document, side_files)
