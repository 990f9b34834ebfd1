"""The small JSON file beside shards: what they hold, and what they were made of."""

import glob
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.files import write_together
from numbpe.run_descriptions import find_difference
from numbpe.shard_settings import ShardSettings, count_ids
from numbpe.sources import ResolvedSource

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer

MANIFEST_SUFFIX: Final = ".json"
_FORMAT: Final = 1


@dataclass(frozen=True)
class ShardEntry:
    """A shard that is complete. nbytes is the size of its file."""

    name: str
    n_documents: int
    n_tokens: int
    nbytes: int


def name_manifest(output: Path) -> Path:
    """Return the file that describes ``output``: its name with ``.json`` behind."""
    return output.with_name(output.name + MANIFEST_SUFFIX)


class Manifest:
    """Which shards of one run are complete; kept on disk after each of them.

    path: the file.
    description: what decides the contents of the shards, as values that JSON can hold.
    """

    def __init__(self, path: Path, description: dict[str, Any]) -> None:
        self.path = path
        self._description = description
        self._entries: dict[str, ShardEntry] = {}

    def load_complete(self) -> dict[str, ShardEntry]:
        """Return the shards of an earlier run that are still there.

        Raises DataError, naming the difference, if that run made something else.
        """
        content = read_manifest(self.path)
        if content is None:
            return {}
        made_from = content.get("made_from")
        if made_from != self._description:
            old = made_from if isinstance(made_from, dict) else {}
            raise DataError(
                f"cannot resume: by {shorten_value(str(self.path), 200)} the "
                f"{find_difference(old, self._description)}; give what the files were made with, or "
                "leave resume (--resume) out to make all of them anew"
            )
        for entry in list_entries(content):
            if _measure_file(self.path.with_name(entry.name)) == entry.nbytes:
                self._entries[entry.name] = entry
        return dict(self._entries)

    def add(self, path: Path, n_documents: int, n_tokens: int) -> None:
        """Say that the shard ``path`` is complete."""
        nbytes = _measure_file(path) or 0
        self._entries[path.name] = ShardEntry(path.name, n_documents, n_tokens, nbytes)
        self._save()

    def _save(self) -> None:
        entries = sorted(self._entries.values(), key=lambda entry: entry.name)
        content = {
            "numbpe_shards": _FORMAT,
            "dtype": self._description["settings"]["dtype"],
            "separator": self._description["settings"]["separator"],
            "n_documents": sum(entry.n_documents for entry in entries),
            "n_tokens": sum(entry.n_tokens for entry in entries),
            "files": [asdict(entry) for entry in entries],
            "made_from": self._description,
        }
        text = json.dumps(content, indent=1, ensure_ascii=True) + "\n"
        write_together({self.path: text.encode("ascii")})


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return what a manifest says; None if there is none, or it is not one of numbpe's."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    is_ours = isinstance(content, dict) and content.get("numbpe_shards") == _FORMAT
    return content if is_ours else None


def list_entries(content: dict[str, Any]) -> list[ShardEntry]:
    """Return the complete shards of a manifest; those that are not well described are left out."""
    names = {field.name for field in fields(ShardEntry)}
    rows = content.get("files")
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [ShardEntry(**row) for row in found if row.keys() == names]


def describe_run(
    tokenizer: "Tokenizer", settings: ShardSettings, source: ResolvedSource, n_shards: int
) -> dict[str, Any]:
    """Return what decides the contents of the shards of a run, as values that JSON can hold."""
    return {
        "settings": settings.describe(),
        "n_shards": n_shards,
        "n_ids": count_ids(tokenizer.definition),
        "tokenizer_sha256": fingerprint_tokenizer(tokenizer),
        "inputs": source.describe_files(),
        "reading": source.describe_reading(),
    }


def require_lasting_inputs(source: ResolvedSource) -> None:
    """Raise ArgumentError if it cannot be told whether a source is the one of an earlier run."""
    if source.describe_files() is None:
        raise ArgumentError(
            f"cannot resume from {source.description}: whether it gives the text of the earlier run "
            "cannot be known; give files, or leave resume out"
        )


def fingerprint_tokenizer(tokenizer: "Tokenizer") -> str:
    """Return a digest of all that decides the ids of a text."""
    definition = tokenizer.definition
    vocabulary = definition.vocabulary
    digest = hashlib.sha256()
    for array in (vocabulary.offsets, vocabulary.merge_pairs, vocabulary.merge_results):
        digest.update(np.ascontiguousarray(array).tobytes() + b"|")
    digest.update(vocabulary.contents[: int(vocabulary.offsets[-1])].tobytes())
    pattern = tokenizer.pattern
    values = (
        sorted(vocabulary.special_tokens.items()),
        vocabulary.pattern_sources,
        None if pattern is None else pattern.unicode_version,
        definition.rules,
        definition.added_tokens,
        definition.normalizer,
        definition.preparation,
        definition.template,
    )
    digest.update(repr(values).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _measure_file(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def find_id_type(path: Path) -> str | None:
    """Return the type of ids that a manifest beside the shard ``path`` names; None if none does."""
    for manifest in _list_manifests(path):
        content = read_manifest(manifest) or {}
        entries = {entry.name: entry for entry in list_entries(content)}
        entry = entries.get(path.name)
        dtype = content.get("dtype")
        if entry is not None and entry.nbytes == _measure_file(path) and isinstance(dtype, str):
            return dtype
    return None


def _list_manifests(path: Path) -> Sequence[Path]:
    """Return where a shard's manifest may lie: NAME-00000-of-00002.bin has NAME.bin.json."""
    stem = path.stem
    parts = stem.rsplit("-", 3)
    whole = [path.with_name(parts[0] + path.suffix)] if len(parts) == 4 else []
    return [name_manifest(candidate) for candidate in [path, *whole]]


def remove_stale_parts(paths: Sequence[Path]) -> None:
    """Remove what runs that were killed have left of the files ``paths``."""
    for path in paths:
        target = Path(os.path.realpath(path))
        for left in target.parent.glob(f".{glob.escape(target.name[:50])}.*.numbpe-tmp"):
            left.unlink(missing_ok=True)
