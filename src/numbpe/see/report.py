"""The page that compares tokenizers on texts: one file, whose numbers and charts need no script."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from numbpe.errors import ArgumentError
from numbpe.see.charts import check_charts, draw_bars, draw_lines
from numbpe.see.markup import color_tokens, make_table, word_row, word_share, word_token
from numbpe.see.pages import escape, fill_page, load_script
from numbpe.see.report_figures import LONGEST_SHOWN, TokenizerFigures, collect_figures
from numbpe.see.stepping import MAX_PAGE_NBYTES, build_stepper, pack_models
from numbpe.see.subjects import AnyTokenizer, Subject, as_subject
from numbpe.see.texts import NamedText
from numbpe.see.token_kinds import MIXED, OTHER, PART
from numbpe.sizes import format_nbytes

MAX_TEXT_NBYTES: Final = 50_000_000
"""Texts that together have more are sampled."""

_EXAMPLE_LENGTH: Final = 600
_SHOWN_KINDS: Final = 10
_PROBES: Final = (
    ("digits", "In 2024 it cost 1234567.89, or 3,141,592 in all; 007 and 12 34."),
    ("white space", "def f(x):\n    if x:\n\t\treturn  x\r\n\r\n\n   end "),
    ("signs", "a=b==c!=d; x->y :: [[]] {} ... -- ?! \u2014 \u201cq\u201d"),
)


@dataclass(frozen=True)
class ReportPage:
    """A report as HTML, and what it could not hold."""

    html: str
    remarks: tuple[str, ...]


def build_report(
    tokenizers: Mapping[str, AnyTokenizer],
    texts: Sequence[NamedText],
    *,
    width: int = 4096,
    limit: int = MAX_PAGE_NBYTES,
    max_text_nbytes: int = MAX_TEXT_NBYTES,
) -> ReportPage:
    """Return a page that compares ``tokenizers``, by name, on ``texts``.

    width: numbers in a row of the embedding, for what rows cost.
    limit: bytes that the vocabularies of the stepper may take; where they take more, or the page
        cannot step with one, it has no stepper or leaves that one out, and says so.
    max_text_nbytes: what the texts were sampled to, for the words of the page.

    Raises ArgumentError without a tokenizer, without a text, or without matplotlib.
    """
    check_charts()
    if not tokenizers or not texts:
        raise ArgumentError("a report needs one tokenizer and one text at least")
    subjects = [as_subject(one, name) for name, one in tokenizers.items()]
    figures = [collect_figures(subject, texts, width) for subject in subjects]
    stepper, models, remarks = _make_stepper(subjects, texts, limit)
    parts = {
        "Texts": _tell_texts(texts, max_text_nbytes),
        "Tokenizers": _tell_tokenizers(figures),
        "Text for each token": _tell_ratios(figures, texts),
        "Rows by script": _tell_kinds(figures),
        "Rows by length": _tell_lengths(figures),
        "Use of the vocabulary": _tell_use(figures),
        "Longest and unused rows": _tell_rows(figures),
        "Spellings of one word": _tell_spellings(figures),
        "Parts of characters": _tell_fallback(figures),
        "Digits, white space and signs": _tell_probes(figures),
        "Examples": _tell_examples(figures, texts),
        "Step by step": stepper,
    }
    body = _make_contents(parts) + "".join(
        _make_section(name, part) for name, part in parts.items()
    )
    page = fill_page(
        load_script("engine.js", "stepper.js"),
        {"title": "Tokenizers compared", "body": body, "models": models},
    )
    return ReportPage(page, tuple(remarks))


def _make_anchor(name: str) -> str:
    return name.lower().replace(" ", "-").replace(",", "")


def _make_contents(names: Iterable[str]) -> str:
    rows = "".join(f'<li><a href="#{_make_anchor(name)}">{name}</a></li>' for name in names)
    return f'<nav class="no-print" aria-label="Contents"><ol>{rows}</ol></nav>'


def _make_section(name: str, content: str) -> str:
    anchor = _make_anchor(name)
    return (
        f'<section class="part" aria-labelledby="{anchor}"><h2 id="{anchor}">{name}</h2>{content}'
        "</section>"
    )


def _tell_texts(texts: Sequence[NamedText], max_text_nbytes: int) -> str:
    rows = [
        (
            text.name,
            format_nbytes(text.n_bytes),
            format_nbytes(text.n_text_bytes) if text.is_sample else "all of it",
            f"{len(text.text):,}",
            f"{text.n_words:,}",
        )
        for text in texts
    ]
    note = ""
    if any(text.is_sample for text in texts):
        note = (
            f'<p id="sampled"><strong>Sampled:</strong> together the files have more than '
            f"{format_nbytes(max_text_nbytes)}. All figures are of blocks of whole lines, spread evenly over each "
            "file.</p>"
        )
    return note + make_table(("text", "file", "used", "characters", "words"), rows)


def _tell_tokenizers(figures: Sequence[TokenizerFigures]) -> str:
    rows = [
        (
            one.name,
            f"{one.subject.n_rows:,}",
            f"{one.subject.n_merges:,}",
            f"{one.subject.n_special_tokens:,}",
            one.subject.makeup,
        )
        for one in figures
    ]
    head = ("tokenizer", "rows", "merges", "special tokens", "pattern, or tables")
    return make_table(head, rows) + _note_cores(figures)


def _note_cores(figures: Sequence[TokenizerFigures]) -> str:
    """Return what is counted of tokenizers whose tokens are rows of four indices, if there are any."""
    names = [one.name for one in figures if one.subject.row_name == "core"]
    if not names:
        return ""
    return (
        f"<p>A token of {escape(' and of '.join(names))} is a row of four indices: variation, prefix, "
        "core, suffix. Where rows of a vocabulary are listed, counted or used below, cores are meant; "
        "rows of the other three tables count only in the number of all rows above.</p>"
    )


def _tell_ratios(figures: Sequence[TokenizerFigures], texts: Sequence[NamedText]) -> str:
    rows = [
        (
            text.name,
            one.name,
            f"{one.texts[i].n_tokens:,}",
            *(f"{r:.3f}" for r in one.texts[i].ratios),
        )
        for i, text in enumerate(texts)
        for one in figures
    ]
    head = (
        "text",
        "tokenizer",
        "tokens",
        "bytes per token",
        "characters per token",
        "words per token",
    )
    chart = draw_bars(
        "ratios",
        "Bytes per token: longer bars need fewer tokens",
        [text.name for text in texts],
        {one.name: [text.ratios[0] for text in one.texts] for one in figures},
        "bytes per token",
    )
    return chart + make_table(head, rows)


def _tell_kinds(figures: Sequence[TokenizerFigures]) -> str:
    total = sum((one.kinds for one in figures), start=type(figures[0].kinds)())
    last = [kind for kind in (OTHER, MIXED, PART) if kind in total]
    kinds = [kind for kind, _ in total.most_common() if kind not in last] + last
    shown = kinds[:_SHOWN_KINDS]
    chart = draw_bars(
        "kinds",
        f"The {len(shown)} commonest kinds of rows",
        shown,
        {one.name: [100 * one.kinds[k] / one.kinds.total() for k in shown] for one in figures},
        "per cent of the rows",
    )
    rows = [(kind, *(f"{one.kinds[kind]:,}" for one in figures)) for kind in kinds]
    note = "<p>Special tokens and rows for the bytes of unknown characters are left out.</p>"
    return note + chart + make_table(("rows of", *(one.name for one in figures)), rows)


def _tell_lengths(figures: Sequence[TokenizerFigures]) -> str:
    places = list(range(1, LONGEST_SHOWN + 1))
    chart = draw_lines(
        "lengths",
        "How long rows are",
        {
            one.name: (places, (100 * one.lengths[1:] / max(1, one.lengths.sum())).tolist())
            for one in figures
        },
        (f"bytes; {LONGEST_SHOWN} stands for that many or more", "per cent of the rows"),
    )
    head = ("bytes", *(one.name for one in figures))
    rows = [(str(place), *(f"{int(one.lengths[place]):,}" for one in figures)) for place in places]
    return chart + f"<details><summary>The numbers</summary>{make_table(head, rows)}</details>"


def _tell_use(figures: Sequence[TokenizerFigures]) -> str:
    series = {}
    for one in figures:
        n_used = len(one.sorted_counts)
        # Places that are even on a logarithmic scale: a line needs no more.
        ranks = np.unique(np.geomspace(1, max(1, n_used), 200).astype(np.int64))[: max(0, n_used)]
        values = [int(one.sorted_counts[rank - 1]) for rank in ranks]
        series[one.name] = ([int(rank) for rank in ranks], values)
    chart = draw_lines(
        "use",
        "How often rows are used, the most used first",
        series,
        ("rank of the row", "times used"),
        is_log=True,
    )
    rows = []
    for one in figures:
        n_rows, n_used = len(one.audit.ordinary_ids), len(one.sorted_counts)
        unreachable = one.audit.unreachable
        rows.append(
            (
                one.name,
                f"{n_used:,}",
                word_share(n_used, len(one.audit.contents)),
                f"{len(one.audit.never_used):,}",
                word_share(len(one.audit.never_used), n_rows),
                f"{len(unreachable.by_merging) + len(unreachable.by_pattern):,}",
            )
        )
    head = (
        "tokenizer",
        "rows used",
        "share",
        "rows never used",
        "share",
        "rows no text can become",
    )
    return chart + make_table(head, rows)


def _tell_rows(figures: Sequence[TokenizerFigures]) -> str:
    parts = []
    for one in figures:
        pairs = zip(one.list_longest(), one.list_wasteful() + [None] * 10, strict=False)
        rows = [
            (word_row(one, longest), "" if unused is None else word_row(one, unused))
            for longest, unused in pairs
        ]
        parts.append(
            make_table(("longest rows", "longest rows that the texts do not use"), rows, one.name)
        )
    return "".join(parts)


def _tell_spellings(figures: Sequence[TokenizerFigures]) -> str:
    head = (
        "tokenizer",
        "rows that spell a word again",
        "share",
        "parameters, tied",
        "rarely used ones",
    )
    rows = [
        (
            one.name,
            f"{one.audit.spellings.rows_saved:,}",
            word_share(one.audit.spellings.rows_saved, one.audit.n_rows),
            f"{one.audit.parameters['tied']:,}",
            f"{one.audit.n_rare:,}",
        )
        for one in figures
    ]
    parts = [
        (
            "<p>Rows of letters that differ by a leading space or by case alone. Rarely used: not the "
            "commonest spelling of the word, and less than ten times in the texts.</p>"
        ),
        make_table(head, rows),
    ]
    for one in figures:
        families = [
            (
                family.word,
                f"{len(family.spellings)}",
                "; ".join(
                    f"{word_token(one, row.id)}: {count:,}"
                    for row, count in zip(
                        family.spellings, one.audit.count_spellings(family), strict=True
                    )
                ),
            )
            for family in one.audit.most_used[:8]
        ]
        if families:
            columns = ("word", "rows", "spellings, and times used")
            parts.append(make_table(columns, families, one.name))
        else:
            parts.append(f"<p><strong>{escape(one.name)}</strong>: no word has several rows.</p>")
    return "".join(parts)


def _tell_fallback(figures: Sequence[TokenizerFigures]) -> str:
    names = [text.text.name for text in figures[0].texts]
    chart = draw_bars(
        "fallback",
        "Tokens that are parts of characters",
        names,
        {one.name: [100 * text.fallback_share for text in one.texts] for one in figures},
        "per cent of the tokens",
    )
    rows = [
        (name, *(f"{one.texts[i].fallback_share:.3%}" for one in figures))
        for i, name in enumerate(names)
    ]
    return chart + make_table(("text", *(one.name for one in figures)), rows)


def _tell_probes(figures: Sequence[TokenizerFigures]) -> str:
    rows = [
        (
            one.name,
            ", ".join(f"{n}: {one.digit_rows[n]:,}" for n in sorted(one.digit_rows)),
            f"{one.white_space_rows[0]:,}",
            f"{one.white_space_rows[1]:,}",
        )
        for one in figures
    ]
    head = ("tokenizer", "rows of digits, by digits", "rows of white space", "bytes of the longest")
    parts = [make_table(head, rows)]
    for name, probe in _PROBES:
        parts.append(f"<h3>{escape(name.capitalize())}</h3>")
        parts += [color_tokens(one, probe) for one in figures]
    return "".join(parts)


def _tell_examples(figures: Sequence[TokenizerFigures], texts: Sequence[NamedText]) -> str:
    parts = ['<p class="no-print">Point at a token to see its id, or its row of four indices.</p>']
    for text in texts:
        parts.append(f"<h3>{escape(text.name)}</h3>")
        parts += [color_tokens(one, text.text[:_EXAMPLE_LENGTH]) for one in figures]
    return "".join(parts)


def _make_stepper(
    subjects: Sequence[Subject], texts: Sequence[NamedText], limit: int
) -> tuple[str, str, list[str]]:
    """Return the stepper's part of the page, its models, and what is left out and why."""
    models, remarks = [], []
    for subject in subjects:
        try:
            models.append(subject.describe())
        except ArgumentError as error:
            remarks.append(f"the stepper leaves {subject.name} out: {error}")
    packed = ""
    try:
        packed = pack_models(models, limit)
    except ArgumentError as error:
        models = []
        remarks.append(f"there is no stepper: {error}")
    note = "".join(f"<p>{escape(remark)}</p>" for remark in remarks)
    if not models:
        return note, "", remarks
    return note + build_stepper(texts[0].text[:200]), packed, remarks
