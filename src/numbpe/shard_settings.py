"""What a run that writes token ids to files was asked for, checked before anything is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from numbpe.added_tokens import SpecialPolicy, check_policy
from numbpe.definition import TokenizerDefinition
from numbpe.errors import ArgumentError, shorten_value

IdType: TypeAlias = Literal["uint16", "uint32"]
"""The type of ids in a file: never a signed one, in which large ids would turn negative."""

SUFFIXES: Final = (".bin", ".npy", ".parquet", ".arrow")
ROW_SUFFIXES: Final = (".parquet", ".arrow")
"""Forms with a row for each document; in the others the ids of all documents follow each other."""

MAX_SHARDS: Final = 99_999
MAX_UINT16_IDS: Final = 1 << 16

KNOWN_SEPARATORS: Final = (
    "<|endoftext|>",
    "<|end_of_text|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "<eos>",
    "</s>",
)
"""Special tokens that stand between documents in known vocabularies, the most usual first."""

DEFAULT_SEPARATOR: Final = "auto"


@dataclass(frozen=True)
class ShardSettings:
    """What decides which ids are written for a text, and in which form.

    separator, separator_id: the token that ends documents; None if only files and items do.
    writes_separator: whether its id is written behind each document.
    template_prefix, template_suffix: the ids that the template puts around each document.
    """

    form: str
    """The suffix of the file, in small letters."""
    id_type: IdType
    special: SpecialPolicy
    errors: Literal["replace", "ignore", "strict"]
    separator: str | None
    separator_id: int | None
    writes_separator: bool
    template_prefix: tuple[int, ...]
    template_suffix: tuple[int, ...]

    @property
    def ids_behind(self) -> tuple[int, ...]:
        """The ids that are written behind a document."""
        if not self.writes_separator or self.separator_id is None:
            return self.template_suffix
        # A template that ends with the separator has marked the end already.
        if self.template_suffix[-1:] == (self.separator_id,):
            return self.template_suffix
        return (*self.template_suffix, self.separator_id)

    @property
    def numpy_type(self) -> "np.dtype[Any]":
        """The type of ids as they lie in a file: little-endian."""
        return np.dtype(self.id_type).newbyteorder("<")

    def describe(self) -> dict[str, object]:
        """Return all of it as values that JSON can hold."""
        return {
            "dtype": self.id_type,
            "special": self.special,
            "errors": self.errors,
            "separator": self.separator,
            "separator_id": self.separator_id,
            "writes_separator": self.writes_separator,
            "template_prefix": list(self.template_prefix),
            "template_suffix": list(self.template_suffix),
        }


def make_settings(
    definition: TokenizerDefinition,
    output: Path,
    *,
    separator: str | None,
    write_separator: bool | None,
    special: SpecialPolicy,
    errors: Literal["replace", "ignore", "strict"],
    dtype: str | None,
    add_special_tokens: bool,
) -> ShardSettings:
    """Return the settings for arguments of :func:`numbpe.shards.encode_files`.

    Raises ArgumentError for one that cannot be used.
    """
    check_policy(special)
    form = check_suffix(output)
    name, token_id = find_separator(definition, separator)
    if write_separator is None:
        write_separator = form not in ROW_SUFFIXES
    elif write_separator and token_id is None:
        raise ArgumentError(
            "write_separator=True needs a separator, and the tokenizer has no end-of-text token "
            'that is known; name one of its special tokens: separator="..."'
        )
    template = definition.template
    return ShardSettings(
        form=form,
        id_type=choose_id_type(definition, dtype),
        special=special,
        errors=errors,
        separator=name,
        separator_id=token_id,
        writes_separator=write_separator,
        template_prefix=template.prefix if add_special_tokens else (),
        template_suffix=template.suffix if add_special_tokens else (),
    )


def check_suffix(output: Path) -> str:
    """Return the suffix of ``output`` in small letters; ArgumentError if it stands for no form."""
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise ArgumentError(
            f"cannot tell the form of the output {shorten_value(str(output))} by its suffix; give it "
            f"one of {', '.join(SUFFIXES)}"
        )
    return suffix


def find_separator(
    definition: TokenizerDefinition, separator: str | None
) -> tuple[str | None, int | None]:
    """Return the name and the id of the token that ends documents; None and None for none.

    ``"auto"`` takes the first of :data:`KNOWN_SEPARATORS` that is a special token, else what has the
    role ``eos_token``. Raises ArgumentError for a separator that is no special or added token.
    """
    ids = {token.content: token.id for token in definition.added_tokens}
    if separator is None:
        return None, None
    if separator == DEFAULT_SEPARATOR and separator not in ids:
        return _find_end_of_text(ids, definition.roles)
    if not isinstance(separator, str) or separator not in ids:
        raise ArgumentError(
            f"separator must be a special token of the tokenizer, not {shorten_value(separator)}; "
            f"it has {shorten_value(list(ids), 200)}; give separator=None if only the ends of files "
            "and items end documents"
        )
    return separator, ids[separator]


def _find_end_of_text(
    ids: Mapping[str, int], roles: Mapping[str, int]
) -> tuple[str | None, int | None]:
    for name in KNOWN_SEPARATORS:
        if name in ids:
            return name, ids[name]
    for name, token_id in ids.items():
        if token_id == roles.get("eos_token"):
            return name, token_id
    return None, None


def count_ids(definition: TokenizerDefinition) -> int:
    """Return one more than the greatest id that a text can get."""
    greatest = max((token.id for token in definition.added_tokens), default=-1)
    return max(definition.vocabulary.n_ids, greatest + 1)


def choose_id_type(definition: TokenizerDefinition, dtype: str | None) -> IdType:
    """Return the type of ids: uint16 if and only if all fit, or what ``dtype`` asks for.

    Raises ArgumentError for another type, and for uint16 where ids do not fit.
    """
    n_ids = count_ids(definition)
    fitting: IdType = "uint16" if n_ids <= MAX_UINT16_IDS else "uint32"
    if dtype is None:
        return fitting
    try:
        wanted = np.dtype(dtype).name
    except TypeError:
        wanted = ""
    if wanted == "uint16" and fitting == "uint32":
        raise ArgumentError(
            f"ids of this tokenizer go up to {n_ids - 1:,} and do not fit into uint16, which ends "
            'at 65,535; give dtype="uint32" or leave it out'
        )
    if wanted == "uint16":
        return "uint16"
    if wanted == "uint32":
        return "uint32"
    raise ArgumentError(f'dtype must be "uint16" or "uint32", not {shorten_value(dtype)}')


def name_shards(output: Path, n_shards: int) -> list[Path]:
    """Return the files of a run: ``output`` itself, or NAME-00000-of-00002.SUFFIX and so on.

    Raises ArgumentError unless ``n_shards`` is from 1 to 99,999.
    """
    is_number = isinstance(n_shards, int) and not isinstance(n_shards, bool)
    if not is_number or not 1 <= n_shards <= MAX_SHARDS:
        raise ArgumentError(
            f"shards must be a whole number from 1 to {MAX_SHARDS:,}, not {shorten_value(n_shards)}"
        )
    if n_shards == 1:
        return [output]
    return [
        output.with_name(f"{output.stem}-{number:05d}-of-{n_shards:05d}{output.suffix}")
        for number in range(n_shards)
    ]
