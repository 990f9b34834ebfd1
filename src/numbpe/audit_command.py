"""``numbpe audit``: which rows of a vocabulary spell a word again, and which are never used."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from numbpe.command_options import (
    CommandReport,
    add_errors_option,
    add_output_options,
    add_tokenizer_options,
    add_width_option,
    check_width,
    collect_load_options,
    list_files,
    write_lines,
)
from numbpe.errors import ArgumentError
from numbpe.sizes import format_nbytes
from numbpe.token_display import show_token

if TYPE_CHECKING:
    from numbpe.see.audit import VocabularyAudit
    from numbpe.see.spellings import Family

_DESCRIPTION = """Show what the rows of a vocabulary are spent on.

Rows of letters alone that differ in a leading space or in case spell one word; all but one of them
would not be needed by a vocabulary that stores space and case apart. A row counts if its case can be made
again from its lower-case form: it is that form, Capitalised or UPPER. Rows of mixed case are counted apart.
With --text also how often each spelling comes in a text, and which rows never do."""

_EPILOG = """examples:
  numbpe audit llama3/tokenizer.json
  numbpe audit llama3/tokenizer.json --text owt.txt --width 8192
  numbpe audit gpt2/tokenizer.json --json
  numbpe audit combinatorial.json --text owt.txt"""

_SHOWN_IDS = 12


def run(arguments: argparse.Namespace) -> CommandReport:
    """Audit a vocabulary, and return the figures."""
    check_width(arguments)
    if arguments.families < 0:
        raise ArgumentError(f"--families must be 0 or more, not {arguments.families}")
    paths = list_files(arguments.text)
    found = _audit(arguments, paths)
    if not arguments.json:
        write_lines(*word_audit(found, arguments.families))
    return CommandReport({"tokenizer": arguments.tokenizer} | found.to_dict(arguments.families))


def _audit(arguments: argparse.Namespace, paths: "Sequence[str | Path]") -> "VocabularyAudit":
    from numbpe.see.audit import audit
    from numbpe.see.kinds import load_either
    from numbpe.see.subjects import as_subject
    from numbpe.see.usage import count_tokens

    tokenizer = load_either(arguments.tokenizer, **collect_load_options(arguments))
    subject = as_subject(tokenizer, arguments.tokenizer)
    usage = count_tokens(subject, paths, arguments.errors) if paths else None
    return audit(subject, width=arguments.width, usage=usage)


def word_audit(found: "VocabularyAudit", n_families: int) -> list[str]:
    """Return an audit as lines for a person."""
    spellings, saved = found.spellings, found.spellings.rows_saved
    lines = [
        f"rows        {found.n_rows:,}, of which {spellings.n_rows:,} spell {len(spellings.families):,} words",
        f"again       {saved:,} rows ({found.share_saved:.1%}) spell a word that another row spells",
        (
            f"            and {spellings.n_mixed_case_saved:,} of {spellings.n_mixed_case:,} rows of mixed "
            "case differ from another by a space"
        ),
        (
            f"cost        {found.parameters['tied']:,} parameters at width {found.width:,}, tied; "
            f"{found.parameters['untied']:,} untied"
        ),
        *_word_kinds(found),
        *_word_ids(
            found, "unmade", found.unreachable.by_merging, "merge to other rows: never given"
        ),
        *_word_ids(
            found, "cut", found.unreachable.by_pattern, "are cut by the pattern: never given"
        ),
    ]
    if found.usage is None:
        return lines + _word_families(found, "largest", spellings.repeated[:n_families])
    usage = found.usage
    lines += [
        f"text        {format_nbytes(usage.n_bytes)}, {usage.n_tokens:,} tokens",
        *_word_ids(found, "unused", found.never_used, "do not come in the text"),
        (
            f"rare        {found.n_rare:,} rows are not the commonest spelling of their word, and come less "
            "than 10 times"
        ),
    ]
    return lines + _word_families(found, "most used", found.most_used[:n_families])


def _word_kinds(found: "VocabularyAudit") -> list[str]:
    kinds = found.spellings.count_kinds()
    width = max(map(len, kinds))
    lines = [f"{'kind':<12}{'':<{width}}  {'rows':>8}  {'again':>8}"]
    return lines + [
        f"{'':<12}{kind:<{width}}  {rows:>8,}  {saved:>8,}" for kind, (rows, saved) in kinds.items()
    ]


def _word_ids(found: "VocabularyAudit", name: str, ids: Sequence[int], about: str) -> list[str]:
    shown = ", ".join(f"{show_token(found.contents[i])} {i}" for i in ids[:_SHOWN_IDS])
    more = ", ..." if len(ids) > _SHOWN_IDS else ""
    return [f"{name:<12}{len(ids):,} rows {about}{': ' if ids else ''}{shown}{more}"]


def _word_families(found: "VocabularyAudit", name: str, families: "Sequence[Family]") -> list[str]:
    lines = []
    for family in families:
        counts = found.count_spellings(family) or None
        rows = ", ".join(
            f"{show_token(found.contents[row.id])} {row.id if counts is None else f'{counts[place]:,}'}"
            for place, row in enumerate(family.spellings)
        )
        lines.append(f"{name:<12}{family.word}, {len(family.spellings)} rows: {rows}")
        name = ""
    return lines


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``audit`` to the sub-commands."""
    parser = commands.add_parser(
        "audit",
        help="show which rows of a vocabulary spell a word again",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_tokenizer_options(parser, is_positional=True)
    group = parser.add_argument_group("what to count")
    group.add_argument(
        "--text",
        metavar="FILE",
        action="append",
        default=[],
        help="count how often this text uses the rows; a file, a glob or -; may be repeated",
    )
    add_errors_option(group, "strict")
    add_width_option(group)
    group.add_argument(
        "--families",
        metavar="N",
        type=int,
        default=20,
        help="how many words to show with their spellings (default: %(default)s)",
    )
    add_output_options(parser)
