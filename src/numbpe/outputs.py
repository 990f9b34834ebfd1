"""The files that a training run leaves: named, written all or none, one run in a folder at a time."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from numbpe.errors import ArgumentError, DataError, NumbpeError, shorten_value
from numbpe.files import lock_folder

if TYPE_CHECKING:
    from numbpe.tokenizer import Tokenizer

FORMATS: Final = ("json", "tiktoken", "gpt2")
"""What may be written besides the two pickles: NAME.json (a tokenizer.json), NAME.tiktoken, and
the folder NAME with vocab.json and merges.txt."""

STANDARD_INPUT: Final = "-"
_ARCHIVE_SUFFIXES: Final = (".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz")
_COUNTS_SUFFIX: Final = ".counts"


def choose_name(inputs: Sequence[str], counts_file: str | None) -> str:
    """Return the name of the results where none was given: the stem of the first input.

    ``owt.txt`` and ``owt.jsonl.gz`` give ``owt``, stdin gives ``stdin``, ``owt.counts.parquet`` gives ``owt``.
    """
    if not inputs:
        return Path(counts_file or "counts").stem.removesuffix(_COUNTS_SUFFIX) or "counts"
    if inputs[0] == STANDARD_INPUT:
        return "stdin"
    # Of a glob, what stands before the first wildcard: shards-*.txt gives shards.
    stem = Path(inputs[0]).stem
    if Path(inputs[0]).suffix.lower() in _ARCHIVE_SUFFIXES:
        stem = Path(stem).stem
    for wildcard in "*?[":
        stem = stem.split(wildcard)[0]
    return stem.rstrip("-_.") or "corpus"


def check_name(name: str) -> str:
    """Return ``name`` if files can be called so; raise :class:`ArgumentError` if not."""
    if name in ("", ".", "..") or "\0" in name or Path(name).name != name:
        raise ArgumentError(
            f"cannot name the results {shorten_value(name)}; give a name without a folder, such as "
            "--name owt, and the folder by --output"
        )
    return name


@contextlib.contextmanager
def reserve_folder(folder: Path) -> Iterator[None]:
    """Make ``folder`` where it is missing, and keep other runs from writing to it meanwhile.

    Called before the work begins, so that a folder that cannot be written is found out before and
    not after it. If the work fails, a folder that was made for it is removed again.
    """
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise DataError(
            f"cannot write results to {shorten_value(str(folder))}: it is a file, not a folder; "
            "give another folder by --output"
        ) from None
    try:
        with lock_folder(folder):
            yield
    except BaseException:
        if is_new:
            # Not empty if somebody else has put something there: then it stays.
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def write_results(
    tokenizers: "Mapping[str, Tokenizer]", folder: Path, formats: Sequence[str]
) -> tuple[dict[str, Path], list[str]]:
    """Write NAME_vocab.pkl, NAME_merges.pkl and the ``formats`` of every tokenizer, by name.

    Returns the paths by what they are (of several tokenizers, "NAME form"), and what was found of
    formats that cannot hold a vocabulary: these are left out, since the rest may be the work of hours.

    Everything is written to a temporary folder inside ``folder`` first and then renamed, so that
    a full disk leaves the earlier results, if there are any, as they were.
    """
    refusals: list[str] = []
    paths: dict[str, Path] = {}
    staging = Path(tempfile.mkdtemp(prefix=".numbpe-", dir=folder))
    try:
        with _naming_final_paths(staging, folder):
            for name, tokenizer in tokenizers.items():
                written, refused = _write_tokenizer(tokenizer, staging, name, formats)
                refusals += refused
                for form, file_name in written.items():
                    paths[form if len(tokenizers) == 1 else f"{name} {form}"] = folder / file_name
            _move_files(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return paths, refusals


def _write_tokenizer(
    tokenizer: "Tokenizer", folder: Path, name: str, formats: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Write one tokenizer; return the names of the files by what they are, and what was refused."""
    from numbpe.formats.pickles import save_pickles

    written = {"vocab": f"{name}_vocab.pkl", "merges": f"{name}_merges.pkl"}
    refusals = []
    save_pickles(tokenizer, folder / written["vocab"], folder / written["merges"])
    for form in FORMATS:
        if form not in formats:
            continue
        file_name = f"{name}/" if form == "gpt2" else f"{name}.{form}"
        try:
            tokenizer.save(f"{folder}/{file_name}")
        except NumbpeError as error:
            refusals.append(f"no {file_name}: {error}")
        else:
            written[form] = file_name
    return written, refusals


def _move_files(source: Path, target: Path) -> None:
    """Rename all files below ``source`` into ``target``, over older ones of the same name."""
    from numbpe.formats.gpt2 import ADDED_TOKENS_NAME

    for path in sorted(source.rglob("*")):
        destination = target / path.relative_to(source)
        if path.is_dir():
            destination.mkdir(exist_ok=True)
            # Special tokens of an older vocabulary would be taken for this one's.
            if not (path / ADDED_TOKENS_NAME).exists():
                (destination / ADDED_TOKENS_NAME).unlink(missing_ok=True)
        else:
            os.replace(path, destination)


@contextlib.contextmanager
def _naming_final_paths(staging: Path, folder: Path) -> Iterator[None]:
    """Let an OSError about a file in ``staging`` name the file that it was to become."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not str(error.filename).startswith(str(staging)):
            raise
        final = str(error.filename).replace(str(staging), str(folder), 1)
        raise type(error)(error.errno, f"cannot write: {error.strerror}", final) from error
