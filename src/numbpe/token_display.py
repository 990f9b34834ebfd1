"""Tokens made visible: white space, control characters and stray bytes shown, tokens in colours."""

from collections.abc import Sequence
from typing import Final

_BACKGROUNDS: Final = ("\x1b[48;5;153m", "\x1b[48;5;223m", "\x1b[48;5;157m", "\x1b[48;5;218m")
"""Light blue, sand, green and pink: black letters can be read on each."""

_BLACK: Final = "\x1b[30m"
_RESET: Final = "\x1b[0m"
_SHOWN: Final = {" ": "\u00b7", "\n": "\u23ce", "\t": "\u2192", "\r": "\u240d"}


def show_token(content: bytes) -> str:
    """Return the bytes of a token as printable text.

    A space is shown as a middle dot, a line end as a return sign, a tab as an arrow; what is not
    printable or not UTF-8 as in a Python literal.

    Example: ``show_token(b" caf\\xc3")`` is ``"·caf\\\\xc3"``.
    """
    text = content.decode("utf-8", "surrogateescape")
    return "".join(map(_show_character, text))


def _show_character(character: str) -> str:
    if character in _SHOWN:
        return _SHOWN[character]
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    if character == "\\" or character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def show_text(contents: Sequence[bytes], *, in_color: bool) -> list[str]:
    """Return the tokens of a text as lines, broken where the text's lines end.

    in_color: whether backgrounds tell tokens apart; if not, a bar stands between them.
    """
    lines: list[str] = []
    line: list[str] = []
    for position, content in enumerate(contents):
        shown = show_token(content)
        if in_color:
            background = _BACKGROUNDS[position % len(_BACKGROUNDS)]
            shown = f"{background}{_BLACK}{shown}{_RESET}"
        line.append(shown)
        if content.endswith(b"\n"):
            lines.append(_join(line, in_color))
            line = []
    if line or not lines:
        lines.append(_join(line, in_color))
    return lines


def _join(shown: list[str], in_color: bool) -> str:
    return ("" if in_color else "|").join(shown)
