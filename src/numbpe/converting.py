"""Files of one format to files of another, checked: the new file gives the same ids.

Many converters write a file that loads and is subtly another tokenizer: white-space tokens lost, a
pattern read otherwise, special tokens renumbered. So the result is loaded again and compared over
text of many scripts before it takes its name.
"""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numbpe.errors import DataError, shorten_value
from numbpe.files import FilePath
from numbpe.formats import choose_writer, save, tokenizer_json
from numbpe.loading import load
from numbpe.sample_texts import SAMPLE_TEXTS

if TYPE_CHECKING:
    from numbpe.pattern_sources import PatternSource
    from numbpe.tokenizer import Tokenizer

_MAX_CHECKED_BYTES = 4_000_000
"""How much of a text file is compared."""


@dataclass(frozen=True)
class ConversionReport:
    """What was converted and compared.

    n_texts, n_tokens: how many texts gave the same ids, and how many ids these were.
    left_out: what the new format does not hold, so that it must be given when the file is loaded.
    """

    source: Path
    target: Path
    vocab_size: int
    n_merges: int
    n_texts: int
    n_tokens: int
    left_out: tuple[str, ...]


def convert(
    source: FilePath,
    target: FilePath,
    *,
    pattern: "PatternSource | None" = None,
    special_tokens: Iterable[str] | Mapping[str, int] | None = None,
    text_files: Iterable[FilePath] = (),
) -> ConversionReport:
    """Write the tokenizer in ``source`` to ``target``, in the format that its suffix stands for.

    pattern, special_tokens: as for :func:`numbpe.load`, where ``source`` does not hold them.
    text_files: text to compare the ids of, besides text of many scripts that is built in; of each
        the first 4 MB.

    Raises DataError, which names the first difference, if the new file gives other ids, and
    ArgumentError if the format cannot hold the tokenizer; then nothing is left at ``target``.

    Example: ``convert("cl100k_base.tiktoken", "tokenizer.json")``.
    """
    tokenizer = load(source, pattern=pattern, special_tokens=special_tokens)
    texts = [*SAMPLE_TEXTS, *_list_spellings(tokenizer), *map(_read_text, text_files)]
    is_folder_form, left_out = _list_left_out(target)
    staging = Path(tempfile.mkdtemp(prefix="numbpe-convert-"))
    try:
        staged = staging / ("folder" if is_folder_form else Path(target).name)
        save(tokenizer.definition, f"{staged}/" if is_folder_form else staged)
        options: dict[str, Any] = {}
        if left_out:
            vocabulary = tokenizer.vocabulary
            options["pattern"] = vocabulary.pattern_name or vocabulary.pattern_sources
        if "special tokens" in left_out:
            options["special_tokens"] = tokenizer.special_tokens
        n_tokens = _compare(tokenizer, load(staged, **options), texts)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    save(tokenizer.definition, target)
    return ConversionReport(
        Path(source),
        Path(target),
        tokenizer.vocab_size,
        tokenizer.vocabulary.n_merges,
        len(texts),
        n_tokens,
        left_out,
    )


def _list_left_out(target: FilePath) -> tuple[bool, tuple[str, ...]]:
    """Return whether ``target`` is a folder, and what its format does not hold."""
    from numbpe.formats import gpt2

    writer = choose_writer(target)
    if writer is tokenizer_json.save:
        return False, ()
    if writer is gpt2.save:
        return True, ("pattern",)
    return False, ("pattern", "special tokens")


def _list_spellings(tokenizer: "Tokenizer") -> list[str]:
    """Return texts that spell the added tokens, amid others and side by side."""
    names = [token.content for token in tokenizer.definition.added_tokens]
    return ["".join(f"a {name}{name}\n{name} b" for name in names)] if names else []


def _read_text(path: FilePath) -> str:
    with Path(path).open("rb") as file:
        return file.read(_MAX_CHECKED_BYTES).decode("utf-8", "replace")


def _compare(old: "Tokenizer", new: "Tokenizer", texts: Iterable[str]) -> int:
    """Return how many ids were compared; DataError at the first difference."""
    n_tokens = 0
    for text in texts:
        for policy in ("allow", "text"):
            ids = old.encode(text, special=policy).tolist()
            found = new.encode(text, special=policy).tolist()
            if found != ids:
                raise _describe_difference(old, text, ids, found)
            n_tokens += len(ids)
        if old.decode(ids) != new.decode(ids):
            raise DataError(
                f"the converted file decodes otherwise: {shorten_value(ids)} becomes "
                f"{shorten_value(new.decode(ids))}, not {shorten_value(old.decode(ids))}; "
                "nothing was written"
            )
    return n_tokens


def _describe_difference(
    old: "Tokenizer", text: str, expected: list[int], found: list[int]
) -> DataError:
    pairs = zip(expected, found, strict=False)
    position = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(found)))
    before = old.decode_bytes(expected[max(0, position - 5) : position])
    return DataError(
        f"the converted file gives other ids for {shorten_value(text)}: at position {position}, "
        f"after {shorten_value(before)}, {shorten_value(found[position : position + 5])} instead "
        f"of {shorten_value(expected[position : position + 5])}; nothing was written"
    )
