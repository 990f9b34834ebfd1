"""Tables and coloured tokens as HTML, with all that comes from outside escaped."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from numbpe.see.pages import escape
from numbpe.see.report_figures import TokenizerFigures
from numbpe.token_display import show_token

_NUMBER: Final = re.compile(r"[\d,.]+( ?%| bytes| [kMGT]B)?|")
_N_COLORS: Final = 4
_LONGEST_SHOWN: Final = 80
_LONGEST_UNBROKEN: Final = 24
"""Cells of up to so many characters are not broken into lines, but scroll where the page is narrow."""


def make_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table of text; a column of numbers stands on the right."""
    listed = [list(row) for row in rows]
    is_number = [
        bool(listed) and all(_NUMBER.fullmatch(row[k]) for row in listed) for k in range(len(head))
    ]

    def fill(tag: str, cells: Sequence[str]) -> str:
        filled = []
        for number, cell in zip(is_number, cells, strict=True):
            kind = "number" if number else "short" if len(cell) <= _LONGEST_UNBROKEN else "long"
            filled.append(f'<{tag} class="{kind}">{escape(cell)}</{tag}>')
        return "".join(filled)

    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(f"<tr>{fill('td', row)}</tr>" for row in listed)
    return (
        f'<div class="scroll"><table>{title}<thead><tr>{fill("th", head)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def word_share(part: int, whole: int) -> str:
    """Return a share in per cent."""
    return f"{part / max(1, whole):.1%}"


def word_token(figures: TokenizerFigures, token_id: int) -> str:
    """Return a token made visible, cut if it is long; it is not escaped yet."""
    shown = show_token(figures.audit.contents[token_id])
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[: _LONGEST_SHOWN - 1]}\u2026"


def word_row(figures: TokenizerFigures, token_id: int) -> str:
    """Return a token made visible, with its length and its number; it is not escaped yet."""
    n_bytes = len(figures.audit.contents[token_id])
    return f"{word_token(figures, token_id)} ({n_bytes:,} bytes, {figures.subject.row_name} {token_id})"


def color_tokens(figures: TokenizerFigures, text: str) -> str:
    """Return the tokens of a text in colours, with what they are called where the pointer rests."""
    tokens = figures.subject.list_tokens(text)
    spans = []
    for place, token in enumerate(tokens):
        shown = show_token(token.content)
        # A line end is shown, and ends the line.
        ended = escape(shown).replace("\u23ce", "\u23ce\n")
        title = escape(f"{figures.subject.token_name} {token.label}: {shown}")
        spans.append(f'<span class="color-{place % _N_COLORS}" title="{title}">{ended}</span>')
    n_tokens = f"{len(tokens):,} tokens"
    # Not everybody has a pointer to rest on a token.
    labels = f"{figures.subject.token_name.capitalize()}s of {figures.name}"
    return (
        f'<p><strong>{escape(figures.name)}</strong> <span class="soft">{n_tokens}</span></p>'
        f'<div class="sample">{"".join(spans)}</div>'
        f"<details><summary>{escape(labels)}</summary>"
        f'<p class="labels">{", ".join(token.label for token in tokens)}</p></details>'
    )
