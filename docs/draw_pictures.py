"""Draw the pictures of these pages: ``python docs/draw_pictures.py``.

What they show of merging is what ``numbpe.reference``, the specification, does.
"""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

from numbpe.reference import merge_pair, train_symbols

PICTURES = Path(__file__).resolve().parent / "pictures"
WORDS: Mapping[bytes, int] = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3}
N_MERGES = 5
INK, PALE, STRONG = "#1b1f24", "#e8eef7", "#ffd37a"
STAGES = (
    ("files", "paths, pipes, tables"),
    ("documents", "between special tokens"),
    ("pieces", "cut by the pattern"),
    ("words", "distinct pieces, counted"),
    ("merges", "the most frequent pair"),
    ("tokens", "numbered by the recipe"),
)
SPELLINGS = (
    ("the", "as it is", "", "the", ""),
    (" the", "as it is", " ", "the", ""),
    ("The", "Capitalised", "", "the", ""),
    (" THE,", "UPPER", " ", "the", ","),
)


def draw_box(x: float, y: float, width: float, text: str, fill: str = PALE) -> str:
    """Return a box of 30 pixels' height with a text in its middle."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="30" rx="4" fill="{fill}" '
        f'stroke="{INK}"/>' + draw_text(x + width / 2, y + 20, text, "middle")
    )


def draw_text(x: float, y: float, text: str, anchor: str = "start", size: int = 14) -> str:
    """Return a text."""
    shown = escape(text)
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{INK}">{shown}</text>'
    )


def make_picture(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    """Return an SVG with a title for those who do not see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def draw_stages() -> str:
    """Return the way from files to tokens."""
    parts = []
    for number, (name, meaning) in enumerate(STAGES):
        x = 14 + 160 * number
        parts.append(draw_box(x, 24, 120, name, STRONG if name == "merges" else PALE))
        parts.append(draw_text(x + 60, 76, meaning, "middle", 12))
        if number:
            parts.append(f'<path d="M{x - 36} 39h28m-7 -5l7 5l-7 5" fill="none" stroke="{INK}"/>')
    return make_picture(950, 96, "From files to tokens in six stages", parts)


def trace_merges() -> list[tuple[str, list[tuple[list[str], int]]]]:
    """Return what each step is called, with the words as they are after it, in tokens."""
    words = {tuple(word): count for word, count in WORDS.items()}
    strings = [bytes([byte]) for byte in range(256)]

    def spell() -> list[tuple[list[str], int]]:
        return [([strings[s].decode() for s in word], count) for word, count in words.items()]

    steps = [("bytes", spell())]
    for (left, right), count in train_symbols(words, N_MERGES, tie="greatest_bytes"):
        strings.append(strings[left] + strings[right])
        words = {
            merge_pair(word, (left, right), len(strings) - 1): number
            for word, number in words.items()
        }
        name = f"{strings[left].decode()} + {strings[right].decode()}: {count} times"
        steps.append((name, spell()))
    return steps


def draw_merges() -> str:
    """Return the first merges of four words, one line for each."""
    parts = []
    steps = trace_merges()
    before: set[str] = set()
    for line, (name, words) in enumerate(steps):
        y = 44 + 42 * line
        parts.append(draw_text(14, y + 20, name))
        new = {token for tokens, _ in words for token in tokens} - before if line else set()
        before |= {token for tokens, _ in words for token in tokens}
        for column, (tokens, count) in enumerate(words):
            x: float = 150 + 200 * column
            if not line:
                parts.append(draw_text(x, 28, f"{''.join(tokens)}, {count} times"))
            for token in tokens:
                width = 28.0 * len(token)
                parts.append(draw_box(x, y, width, token, STRONG if token in new else PALE))
                x += width
    title = "; ".join(f"{name}" for name, _ in steps[1:])
    return make_picture(950, 56 + 42 * len(steps), f"The first merges: {title}", parts)


def draw_rows() -> str:
    """Return four spellings of one word as rows of four indices."""
    columns = ("spelling", "variation", "prefix", "core", "suffix")
    parts = [draw_text(74 + 150 * i, 28, name, "middle") for i, name in enumerate(columns)]
    for line, cells in enumerate(SPELLINGS):
        y = 44 + 42 * line
        for column, cell in enumerate(cells):
            shown = cell.replace(" ", "\u2423") if column != 1 else cell
            fill = STRONG if column == 3 else PALE
            parts.append(draw_box(14 + 150 * column, y, 120, shown, fill))
    for (first, _), column in zip(pairwise(range(44, 212, 42)), [3] * 3, strict=True):
        x = 74 + 150 * column
        parts.append(f'<path d="M{x} {first + 30}v12" stroke="{INK}" stroke-width="2"/>')
    return make_picture(770, 224, "Four spellings that share one core", parts)


def draw_all() -> dict[Path, str]:
    """Return the pictures by the files that they belong in."""
    return {
        PICTURES / "stages.svg": draw_stages(),
        PICTURES / "merges.svg": draw_merges(),
        PICTURES / "rows.svg": draw_rows(),
    }


if __name__ == "__main__":
    for path, picture in draw_all().items():
        path.write_text(picture, encoding="utf-8")
