"""``numbpe inspect``: what a tokenizer is made of, and the tokens of a text, in colours."""

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from numbpe.command_options import (
    CommandReport,
    add_output_options,
    add_tokenizer_options,
    load_tokenizer,
    wants_color,
    write_lines,
)
from numbpe.documents import encode_text
from numbpe.errors import ArgumentError, shorten_value
from numbpe.token_display import show_text, show_token

if TYPE_CHECKING:
    from numbpe.definition import TextStep
    from numbpe.tokenizer import Tokenizer
    from numbpe.vocabulary import Vocabulary

_DESCRIPTION = """Show what a tokenizer is made of: sizes, special tokens, pattern, normalizer, longest tokens.

Of a tokenizer that was trained here it also says how often the pair of a token stood in the corpus when
it was merged. With --text also the tokens of a text: a space is shown as a dot, a line end as a return sign, bytes that
are no character as \\xe4 and the like."""

_EPILOG = """examples:
  numbpe inspect gpt2/tokenizer.json
  numbpe inspect gpt2/tokenizer.json --text 'Hello, world' --color always"""

_SHOWN_SPECIAL_TOKENS = 12


def run(arguments: argparse.Namespace) -> CommandReport:
    """Show a tokenizer, and return the same as figures."""
    if arguments.longest < 0:
        raise ArgumentError(f"--longest must be 0 or more, not {arguments.longest}")
    tokenizer = load_tokenizer(arguments)
    figures = describe_tokenizer(tokenizer, arguments.longest)
    texts = [_describe_text(tokenizer, text, arguments.special) for text in arguments.text]
    if not arguments.json:
        lines = [] if texts and arguments.quiet else _word_figures(figures)
        in_color = wants_color(arguments.color)
        for text in texts:
            lines += (
                ["", *_word_text(text, in_color=in_color)]
                if lines
                else _word_text(text, in_color=in_color)
            )
        write_lines(*lines)
    shown = [
        {
            "ids": text["ids"],
            "tokens": list(map(show_token, text["contents"])),
            "merge_counts": text["merge_counts"],
        }
        for text in texts
    ]
    return CommandReport(figures | ({"texts": shown} if texts else {}))


def describe_tokenizer(tokenizer: "Tokenizer", n_longest: int) -> dict[str, Any]:
    """Return what a tokenizer is made of, as values that JSON can hold."""
    definition = tokenizer.definition
    vocabulary = definition.vocabulary
    rules = definition.rules
    lengths = np.diff(vocabulary.offsets)
    longest = np.argsort(-lengths, kind="stable")[:n_longest].tolist()
    merge_counts = list_merge_counts(vocabulary)
    return {
        "vocab_size": tokenizer.vocab_size,
        "n_ids": vocabulary.n_ids,
        "n_merges": vocabulary.n_merges,
        "special_tokens": tokenizer.special_tokens,
        "other_added_tokens": {t.content: t.id for t in definition.added_tokens if not t.special},
        "roles": dict(definition.roles),
        "pattern_name": vocabulary.pattern_name,
        "pattern": list(vocabulary.pattern_sources),
        "normalizer": list(map(_word_step, definition.normalizer)),
        "preparation": list(map(_word_step, definition.preparation)),
        "alphabet": rules.alphabet,
        "merge_order": rules.merge_order,
        "ignore_merges": rules.ignore_merges,
        "byte_fallback": rules.byte_fallback,
        "unk_id": rules.unk_id,
        "template": [list(definition.template.prefix), list(definition.template.suffix)],
        "recipe": vocabulary.recipe_name,
        "merge_counts": _describe_counts(vocabulary),
        "mean_token_bytes": round(float(lengths[lengths > 0].mean()), 3) if lengths.any() else 0.0,
        "longest_tokens": [
            {
                "id": i,
                "n_bytes": int(lengths[i]),
                "token": show_token(vocabulary.tokens[i]),
                "merge_count": merge_counts.get(i),
            }
            for i in longest
        ],
    }


def list_merge_counts(vocabulary: "Vocabulary") -> dict[int, int]:
    """Return how often the pair of each token stood in the corpus when it was merged.

    Tokens that no merge makes, and those of which it is not known, are left out.
    """
    counts = vocabulary.merge_counts
    if counts is None:
        return {}
    pairs = zip(vocabulary.merge_results.tolist(), counts.tolist(), strict=True)
    return {token_id: count for token_id, count in pairs if count}


def _describe_counts(vocabulary: "Vocabulary") -> dict[str, int] | None:
    """Return the counts of some merges: what the first, a middle and the last one were worth."""
    counts = vocabulary.merge_counts
    if counts is None or not len(counts):
        return None
    places = {"first": 0, "middle": len(counts) // 2, "last": len(counts) - 1}
    return {name: int(counts[place]) for name, place in places.items()}


def _word_step(step: "TextStep") -> str:
    return repr(step)


def _describe_text(tokenizer: "Tokenizer", text: str, special: str) -> dict[str, Any]:
    ids = tokenizer.encode(text, special).tolist()  # type: ignore[arg-type]
    contents = [tokenizer.vocabulary.token_bytes(token_id) for token_id in ids]
    counts = list_merge_counts(tokenizer.vocabulary)
    return {
        "ids": ids,
        "contents": contents,
        "n_bytes": len(encode_text(text)),
        "merge_counts": [counts.get(token_id) for token_id in ids],
    }


def _word_figures(figures: dict[str, Any]) -> list[str]:
    holes = figures["n_ids"] - figures["vocab_size"]
    unused = f", {holes:,} ids without a token" if holes else ""
    rows = [
        (
            "tokens",
            f"{figures['vocab_size']:,}{unused}; {figures['mean_token_bytes']} bytes on average",
        ),
        ("merges", f"{figures['n_merges']:,}"),
        ("worth", _word_counts(figures["merge_counts"])),
        ("special", _word_tokens(figures["special_tokens"])),
        ("added", _word_tokens(figures["other_added_tokens"])),
        ("roles", ", ".join(f"{role} {token_id}" for role, token_id in figures["roles"].items())),
        ("pattern", _word_pattern(figures)),
        ("normalizer", ", ".join(figures["normalizer"])),
        ("preparation", ", ".join(figures["preparation"])),
        ("model", _word_model(figures)),
        ("template", _word_template(figures["template"])),
    ]
    lines = [f"{name:<12}{value}" for name, value in rows if value]
    for row in figures["longest_tokens"]:
        name = "longest" if row is figures["longest_tokens"][0] else ""
        count = row["merge_count"]
        worth = f", {count:,} times" if count else ""
        lines.append(
            f"{name:<12}{row['n_bytes']} bytes, id {row['id']}{worth}: {_cut(row['token'])}"
        )
    return lines


def _word_counts(counts: dict[str, int] | None) -> str:
    if counts is None:
        return ""
    return (
        f"pairs stood {counts['first']:,} times in the corpus at the first merge, "
        f"{counts['middle']:,} in the middle, {counts['last']:,} at the last"
    )


def _cut(shown: str, limit: int = 80) -> str:
    return shown if len(shown) <= limit else f"{shown[: limit - 3]}..."


def _word_tokens(ids: dict[str, int]) -> str:
    if not ids:
        return ""
    listed = [
        f"{show_token(name.encode())} {token_id}"
        for name, token_id in list(ids.items())[:_SHOWN_SPECIAL_TOKENS]
    ]
    more = f", and {len(ids) - len(listed):,} more" if len(ids) > len(listed) else ""
    return f"{len(ids):,}: {', '.join(listed)}{more}"


def _word_pattern(figures: dict[str, Any]) -> str:
    sources = figures["pattern"]
    if not sources:
        return "none: a text is one piece"
    name = f"{figures['pattern_name']}: " if figures["pattern_name"] else ""
    return name + " then ".join(shorten_value(source, 2000) for source in sources)


def _word_model(figures: dict[str, Any]) -> str:
    parts = [
        f"merges {figures['alphabet']}",
        "lowest merge first" if figures["merge_order"] == "merge" else "lowest id first",
    ]
    if figures["ignore_merges"]:
        parts.append("pieces that are tokens are not merged")
    if figures["byte_fallback"]:
        parts.append("bytes stand for characters without a token")
    if figures["unk_id"] is not None:
        parts.append(f"unknown is {figures['unk_id']}")
    return ", ".join(parts)


def _word_template(template: list[list[int]]) -> str:
    before, behind = template
    if not before and not behind:
        return ""
    return " ".join(map(str, [*before, "TEXT", *behind]))


def _word_text(text: dict[str, Any], *, in_color: bool) -> list[str]:
    ids, contents = text["ids"], text["contents"]
    lines = show_text(contents, in_color=in_color)
    n_bytes = text["n_bytes"]
    ratio = f", {n_bytes / len(ids):.2f} bytes per token" if ids else ""
    lines.append(f"{len(ids):,} tokens, {n_bytes:,} bytes{ratio}")
    width = max(map(len, map(str, ids)), default=0)
    counts = [f"{count:,}" if count else "" for count in text["merge_counts"]]
    count_width = max(map(len, counts), default=0)
    return lines + [
        f"{token_id:>{width}}  {f'{count:>{count_width}}  ' if count_width else ''}"
        f"{show_token(content)}"
        for token_id, content, count in zip(ids, contents, counts, strict=True)
    ]


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``inspect`` to the sub-commands."""
    parser = commands.add_parser(
        "inspect",
        help="show what a tokenizer is made of",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_tokenizer_options(parser, is_positional=True)
    group = parser.add_argument_group("what to show")
    group.add_argument(
        "--text",
        metavar="TEXT",
        action="append",
        default=[],
        help="show the tokens of a text; may be repeated. With --quiet they alone are shown",
    )
    group.add_argument(
        "--special",
        choices=("allow", "text", "error"),
        default="allow",
        help="what text that spells a special token is (default: %(default)s, that token)",
    )
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours (default: %(default)s: on a terminal, unless NO_COLOR is set)",
    )
    group.add_argument(
        "--longest",
        metavar="N",
        type=int,
        default=10,
        help="how many of the longest tokens to show",
    )
    add_output_options(parser)
