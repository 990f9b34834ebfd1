"""tokenizer_config.json and special_tokens_map.json, which ``transformers`` writes beside others.

Of what they hold only this bears on ids here: added tokens that the tokenizer itself lacks, which
token has which role, and for the classes of Llama and Gemma whether the template begins and ends
with one. Nothing is cleaned up and no chat template is applied.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from numbpe.definition import AddedToken, Template, TemplatePiece
from numbpe.formats.added_token_reading import read_added_token
from numbpe.formats.json_documents import JsonValue, read_json

CONFIG_NAME: Final = "tokenizer_config.json"
MAP_NAME: Final = "special_tokens_map.json"

_ROLES: Final = ("bos", "eos", "unk", "pad", "sep", "cls", "mask")
_TEMPLATE_CLASSES: Final = ("Llama", "CodeLlama", "Gemma")
"""Classes that make their template anew from add_bos_token and add_eos_token."""


@dataclass
class SideFiles:
    """What lies beside a tokenizer.

    added_tokens: tokens with their ids, and where they stand.
    role_names: the token of every role, "bos_token" and the like.
    special_names: all tokens that are called special by name, those of the roles first.
    ends: add_bos_token and add_eos_token, if the tokenizer's class goes by them.
    """

    added_tokens: list[tuple[AddedToken, JsonValue]] = field(default_factory=list)
    role_names: dict[str, str] = field(default_factory=dict)
    special_names: list[str] = field(default_factory=list)
    adds_prefix_space: bool = False
    ends: tuple[bool, bool] | None = None

    def find_roles(self, added_tokens: Iterable[AddedToken]) -> dict[str, int]:
        """Return the ids by role, of the roles whose token is an added one."""
        ids = {token.content: token.id for token in added_tokens}
        return {role: ids[name] for role, name in self.role_names.items() if name in ids}

    def adapt_template(self, template: Template, roles: dict[str, int]) -> Template:
        """Return the template that the tokenizer's class makes, ``template`` if it makes none."""
        if self.ends is None:
            return template
        adds_bos, adds_eos = self.ends
        first, second = (
            [
                *_list_piece(adds_bos, roles.get("bos_token"), type_id),
                (text, type_id),
                *_list_piece(adds_eos, roles.get("eos_token"), type_id),
            ]
            for type_id, text in enumerate(("A", "B"))
        )
        return Template(tuple(first), (*first, *second))  # type: ignore[arg-type]


def _list_piece(is_added: bool, token_id: int | None, type_id: int) -> list[TemplatePiece]:
    return [(token_id, type_id)] if is_added and token_id is not None else []


def read_side_files(folder: Path) -> SideFiles:
    """Return what the side files in ``folder`` hold, those that are there."""
    found = SideFiles()
    for name in (CONFIG_NAME, MAP_NAME):
        if (folder / name).is_file():
            document = read_json(folder / name)
            _read_names(document, found)
            if name == CONFIG_NAME:
                _read_config(document, found)
    return found


def _read_names(document: JsonValue, found: SideFiles) -> None:
    for role in (f"{name}_token" for name in _ROLES):
        name = _read_name(document.value.get(role))
        if name:
            found.role_names[role] = name
            found.special_names.append(name)
    for item in document.iterate("additional_special_tokens"):
        name = _read_name(item.value)
        if name:
            found.special_names.append(name)
    found.special_names = [*dict.fromkeys(found.special_names)]


def _read_name(value: Any) -> str | None:
    """Return a token that is given as a string or as an object with its content."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def _read_config(document: JsonValue, found: SideFiles) -> None:
    decoder = document.get("added_tokens_decoder")
    for key in decoder.expect(dict) if decoder is not None else ():
        assert decoder is not None
        item = JsonValue(document.path, decoder.locate(key), decoder.value[key])
        if not key.isdecimal() or len(key) > 9:
            raise item.fail(f"the key {key!r} must be the id of a token")
        found.added_tokens.append((read_added_token(item, int(key)), item))
    found.adds_prefix_space = document.value.get("add_prefix_space") is True
    kind = document.value.get("tokenizer_class")
    classes = [f"{name}Tokenizer{end}" for name in _TEMPLATE_CLASSES for end in ("", "Fast")]
    flags = [document.value.get(key) for key in ("add_bos_token", "add_eos_token")]
    if kind in classes and flags != [None, None]:
        # What a class does that is told nothing: begin with one, end without.
        found.ends = flags[0] is not False, flags[1] is True
