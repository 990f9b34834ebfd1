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


def make_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table of text; a column of numbers stands on the right."""
    listed = [list(row) for row in rows]
    is_number = [
        bool(listed) and all(_NUMBER.fullmatch(row[k]) for row in listed) for k in range(len(head))
    ]

    def fill(tag: str, cells: Sequence[str]) -> str:
        classes = [' class="number"' if number else "" for number in is_number]
        return "".join(
            f"<{tag}{kind}>{escape(cell)}</{tag}>"
            for kind, cell in zip(classes, cells, strict=True)
        )

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
    """Return a token made visible, with its length and its id; it is not escaped yet."""
    n_bytes = len(figures.audit.contents[token_id])
    return f"{word_token(figures, token_id)} ({n_bytes:,} bytes, id {token_id})"


def color_tokens(figures: TokenizerFigures, text: str) -> str:
    """Return the tokens of a text in colours, with their ids where the pointer rests."""
    ids = figures.tokenizer.encode(text).tolist()
    spans = []
    for place, token_id in enumerate(ids):
        shown = show_token(figures.audit.contents[token_id])
        # A line end is shown, and ends the line.
        ended = escape(shown).replace("\u23ce", "\u23ce\n")
        spans.append(
            f'<span class="color-{place % _N_COLORS}" title="{escape(f"id {token_id}: {shown}")}">'
            f"{ended}</span>"
        )
    n_tokens = f"{len(ids):,} tokens"
    return (
        f'<p><strong>{escape(figures.name)}</strong> <span class="soft">{n_tokens}</span></p>'
        f'<div class="sample">{"".join(spans)}</div>'
    )
