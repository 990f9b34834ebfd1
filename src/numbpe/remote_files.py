"""Files in a file system of pyarrow's: ``s3://``, ``gs://`` and others, by address or by path."""

import os
import re
from typing import Any

from numbpe.errors import ArgumentError, DataError, shorten_value
from numbpe.input_files import (
    InputFile,
    expand_path,
    find_magic,
    has_magic,
    is_hidden,
    naming_errors,
)


def check_filesystem(filesystem: Any) -> Any:
    """Return a file system of pyarrow's; one of fsspec's is wrapped."""
    from pyarrow import fs

    if isinstance(filesystem, fs.FileSystem):
        return filesystem
    if hasattr(filesystem, "open") and hasattr(filesystem, "ls"):
        return fs.PyFileSystem(fs.FSSpecHandler(filesystem))
    raise ArgumentError(
        "filesystem must be one of pyarrow.fs, such as pyarrow.fs.S3FileSystem(), or of fsspec, not "
        f"{shorten_value(filesystem)}"
    )


def expand_address(address: str) -> list[InputFile]:
    """Return the files of an address such as ``s3://bucket/folder/*.parquet``."""
    from pyarrow import fs, lib

    magic = find_magic(address)
    base = address if magic < 0 else address[: address.rindex("/", 0, magic) + 1]
    try:
        filesystem, path = fs.FileSystem.from_uri(base)
    except (lib.ArrowException, OSError, ImportError) as error:
        raise DataError(
            f"cannot read {shorten_value(address, 200)}: {error}; addresses begin with file://, s3://, "
            "gs://, abfs:// or hdfs://, or give the path, and filesystem="
        ) from None
    rest = address[len(base) :]
    if isinstance(filesystem, fs.LocalFileSystem):
        return expand_path(os.path.join(path, rest) if rest else path)
    joined = f"{path.rstrip('/')}/{rest}" if rest else path
    return expand_remote(joined, filesystem, address)


def expand_remote(path: str, filesystem: Any, address: str) -> list[InputFile]:
    """Return the files that a path, a folder or a glob stands for in a file system."""
    from pyarrow import fs

    shown = shorten_value(address, 200)
    with naming_errors(shown):
        info = filesystem.get_file_info(path)
        if info.type == fs.FileType.File:
            return [InputFile(path, filesystem, address)]
        if info.type == fs.FileType.Directory:
            folder = path.rstrip("/")
            found = _list_folder(filesystem, folder)
            start = len(folder) + 1 if folder else 0
            found = [name for name in found if not is_hidden(name[start:])]
        elif has_magic(path):
            folder = path[: max(0, path.rfind("/", 0, find_magic(path)))]
            matches = re.compile(translate_glob(path)).fullmatch
            found = [name for name in _list_folder(filesystem, folder) if matches(name)]
        else:
            found = []
    if not found:
        raise FileNotFoundError(
            f"cannot read {shown}: there is no such file in the {filesystem.type_name} file system"
        )
    # The address without what is the same in the path of each file, which follows it.
    prefix = address[: -len(path)] if path and address.endswith(path) else ""
    return [InputFile(name, filesystem, prefix + name) for name in sorted(found)]


def _list_folder(filesystem: Any, folder: str) -> list[str]:
    from pyarrow import fs

    selector = fs.FileSelector(folder, allow_not_found=True, recursive=True)
    infos = filesystem.get_file_info(selector)
    return [info.path for info in infos if info.type == fs.FileType.File]


def translate_glob(pattern: str) -> str:
    r"""Return the regular expression of a glob, as ``glob.glob(recursive=True)`` has it.

    A star is any part of one name, ``**`` any number of folders; neither stands for a dot at the
    start of a name.

    Example: ``re.fullmatch(translate_glob("a/**/*.txt"), "a/b/c.txt")`` is a match.
    """
    expressions = []
    names = pattern.split("/")
    for place, name in enumerate(names):
        is_last = place == len(names) - 1
        if name == "**":
            expressions.append(r"(?:(?!\.)[^/]+/)*" + (r"(?!\.)[^/]+" if is_last else ""))
            continue
        expressions.append(_translate_name(name) + ("" if is_last else "/"))
    return "".join(expressions)


def _translate_name(name: str) -> str:
    expression = "" if name.startswith(".") else r"(?!\.)"
    position = 0
    while position < len(name):
        character = name[position]
        position += 1
        stop = name.find("]", position + 1 + (name[position : position + 1] == "!"))
        if character == "*":
            expression += "[^/]*"
        elif character == "?":
            expression += "[^/]"
        elif character == "[" and stop > 0:
            members = name[position:stop].replace("\\", "\\\\").replace("[", "\\[")
            members = f"^{members[1:]}" if members.startswith("!") else members.replace("^", "\\^")
            expression += f"(?!/)[{members}]"
            position = stop + 1
        else:
            expression += re.escape(character)
    return expression
