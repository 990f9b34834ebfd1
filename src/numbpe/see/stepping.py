"""The page on which one types a text and steps through its encoding.

What decides ids is written into the page as data: tokens, merges, and the pattern as a JavaScript
regular expression over lists of code points, so that text is cut alike by every browser.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from numbpe.code_point_sets import CodePointSet
from numbpe.definition import (
    AddedToken,
    Normalization,
    Prepend,
    Replace,
    TextStep,
    TokenizerDefinition,
)
from numbpe.errors import ArgumentError, shorten_value
from numbpe.normalizers import apply_steps
from numbpe.regex_nodes import (
    Characters,
    Choice,
    LookAhead,
    Node,
    Repeat,
    RepeatMode,
    UnsupportedPatternError,
)
from numbpe.regex_parser import parse_pattern
from numbpe.see.pages import escape, fill_page, load_asset, load_script, pack
from numbpe.sizes import format_nbytes
from numbpe.tokenizer import Tokenizer
from numbpe.unicode_tables import load_unicode_tables

if TYPE_CHECKING:
    from numbpe.combinatorial.definition import CombinatorialVocabulary

MAX_PAGE_NBYTES: Final = 24_000_000
"""Default of the greatest size of a page; that of Gemma 3, the largest known vocabulary, fits."""

Model = dict[str, Any]
"""A tokenizer as the page holds it."""


class _Translator:
    """Turns parsed patterns into JavaScript; ``<3>`` in it stands for class 3."""

    def __init__(self) -> None:
        self.classes: list[list[int]] = []
        self._numbers: dict[bytes, int] = {}
        self._n_groups = 0

    def translate(self, node: Node) -> str:
        """Return a regular expression for the flags ``gu`` that matches as the pattern does."""
        self._n_groups = 0
        return self._write(node)

    def add_class(self, members: CodePointSet) -> str:
        """Return what stands for a class."""
        number = self._numbers.setdefault(members.key, len(self._numbers))
        if number == len(self.classes):
            self.classes.append(members.bounds.tolist())
        return f"<{number}>"

    def _write(self, node: Node) -> str:
        match node:
            case Characters(members):
                return self.add_class(members)
            case LookAhead(members, at_end):
                return f"(?={self.add_class(members)}{'|$' if at_end else ''})"
            case Choice(options):
                return f"(?:{'|'.join(map(self._write, options))})"
            case Repeat():
                return self._write_repeat(node)
            case _:
                return "".join(map(self._write, node.items))

    def _write_repeat(self, node: Repeat) -> str:
        is_possessive = node.mode is RepeatMode.POSSESSIVE
        if is_possessive:
            # JavaScript has no possessive repeats, but nothing goes back into a look-ahead.
            self._n_groups += 1
            group = self._n_groups
        most = "" if node.maximum is None else str(node.maximum)
        lazy = "?" if node.mode is RepeatMode.LAZY else ""
        text = f"(?:{self._write(node.item)}){{{node.minimum},{most}}}{lazy}"
        return f"(?=({text}))(?:\\{group})" if is_possessive else text


def describe_standard(tokenizer: Tokenizer, name: str) -> Model:
    """Return a tokenizer as the page holds it.

    Raises ArgumentError for what the page could not do exactly.
    """
    definition = tokenizer.definition
    vocabulary, rules = definition.vocabulary, definition.rules
    translator = _Translator()
    tables = load_unicode_tables("16")
    try:
        splits = [
            translator.translate(parse_pattern(source, tables))
            for source in vocabulary.pattern_sources
        ]
    except UnsupportedPatternError as error:
        raise ArgumentError(
            f"cannot step with the pattern of {name}: it holds {error}, which JavaScript may take "
            "otherwise"
        ) from None
    merges = [
        number
        for (left, right), result in zip(
            vocabulary.merge_pairs.tolist(), vocabulary.merge_results.tolist(), strict=True
        )
        for number in (left, right, result)
    ]
    return {
        "kind": "standard",
        "name": name,
        "rows": tokenizer.vocab_size,
        "tokens": [content.decode("latin-1") for content in vocabulary.tokens],
        "notOrdinary": list(vocabulary.special_tokens.values()),
        "merges": merges,
        "classes": translator.classes,
        "splits": splits,
        "byResult": rules.merge_order == "result",
        "overCharacters": rules.alphabet == "characters",
        "ignoreMerges": rules.ignore_merges,
        "byteFallback": rules.byte_fallback,
        "unkId": rules.unk_id,
        "fuseUnk": rules.fuse_unk,
        **_describe_steps(definition, name),
    }


def _describe_steps(definition: TokenizerDefinition, name: str) -> dict[str, Any]:
    raw, normalized = [], []
    for token in definition.added_tokens:
        _check_added(token, name)
        if token.normalized:
            normalized.append((apply_steps(definition.normalizer, token.content), token.id))
        else:
            raw.append((token.content, token.id))
    moves_starts = any(isinstance(s, Prepend) and s.first_only for s in definition.preparation)
    if definition.normalizer and moves_starts:
        raise ArgumentError(
            f"cannot step with {name}: it normalizes text and then marks its start, which the page "
            "cannot do exactly"
        )
    return {
        "added": raw,
        # Of several that the normalizer makes equal the first one counts; of nothing, none.
        "normalizedAdded": [(text, i) for text, i in reversed(normalized) if text],
        "normalizer": [_describe_step(step, name) for step in definition.normalizer],
        "preparation": [_describe_step(step, name) for step in definition.preparation],
    }


def _check_added(token: AddedToken, name: str) -> None:
    if token.single_word or token.lstrip or token.rstrip:
        raise ArgumentError(
            f"cannot step with {name}: its added token {shorten_value(token.content)} depends on what "
            "stands beside it, which the page cannot do exactly"
        )


def _describe_step(step: TextStep, name: str) -> dict[str, Any]:
    match step:
        case Normalization(form):
            return {"type": "Normalization", "form": form}
        case Replace(pattern, content, False) if pattern:
            return {"type": "Replace", "pattern": pattern, "content": content}
        case Prepend(content, unless, first_only):
            return {
                "type": "Prepend",
                "content": content,
                "unless": unless,
                "firstOnly": first_only,
            }
    raise ArgumentError(
        f"cannot step with {name}: it changes text by {step}, which the page cannot do exactly"
    )


def describe_combinatorial(vocabulary: "CombinatorialVocabulary", name: str) -> Model:
    """Return the tables of Combinatorial BPE as the page holds them."""
    from numbpe.combinatorial.definition import VARIATIONS
    from numbpe.combinatorial.folding import load_folding, load_traditional_forms

    tables = load_unicode_tables("16")
    translator = _Translator()
    sources = (r"[\p{L}\p{M}\p{N}]", r"[\p{L}\p{M}]", r"\p{N}", r"[^\s\p{L}\p{M}\p{N}]")
    for source in (*sources, r"\p{Lu}", r"\p{Ll}"):
        translator.translate(parse_pattern(source, tables))
    folding = load_folding(vocabulary.fold_case, vocabulary.fold_han)
    rows = zip(*(array.tolist() for array in folding), strict=True)
    uses_han = vocabulary.fold_han
    return {
        "kind": "combinatorial",
        "name": name,
        "rows": vocabulary.vocab_size,
        "alphabet": list(vocabulary.alphabet),
        "merges": list(vocabulary.merges),
        "prefixes": list(vocabulary.prefixes),
        "suffixes": list(vocabulary.suffixes),
        "variations": list(VARIATIONS),
        "special": list(vocabulary.special_token_ids.items()),
        "punctToNext": vocabulary.punct_to_next,
        "splitCamel": vocabulary.split_camel,
        "classes": translator.classes,
        "folds": [(chr(source), chr(target), mark) for source, target, mark in rows],
        "toTraditional": [chr(i) for i, _ in load_traditional_forms().tolist()] if uses_han else [],
    }


def pack_models(models: Sequence[Model], limit: int = MAX_PAGE_NBYTES) -> str:
    """Return models as the elements of a page.

    Raises ArgumentError if they take more than ``limit`` bytes.
    """
    elements = [f'<script type="text/plain" data-model>{pack(model)}</script>' for model in models]
    n_bytes = sum(map(len, elements))
    if n_bytes > limit:
        raise ArgumentError(
            f"the page would have {format_nbytes(n_bytes)}, more than {format_nbytes(limit)}; give "
            "fewer or smaller tokenizers, or a greater --limit"
        )
    return "\n".join(elements)


def build_stepper(text: str) -> str:
    """Return the part of a page that the script makes the stepper of, with ``text`` to begin with."""
    return (
        '<p><label for="text">Text</label></p>\n'
        # The first line end after the tag is not part of the text.
        f'<textarea id="text" rows="4" spellcheck="false">\n{escape(text)}</textarea>\n'
        '<p><label><input type="checkbox" id="crlf"> Line ends are CRLF</label></p>\n'
        '<div id="stepper" class="panels"><p>The stepper needs JavaScript.</p></div>'
    )


def build_step_page(
    models: Sequence[Model], *, text: str, notes: Sequence[str] = (), limit: int = MAX_PAGE_NBYTES
) -> str:
    """Return the whole page as HTML.

    models: what :func:`describe_standard` and :func:`describe_combinatorial` return; the first of a
        kind is shown first.
    notes: what the page says above the stepper.
    """
    told = "".join(f"<p>{escape(note)}</p>" for note in notes)
    parts = {
        "title": "Encoding, step by step",
        "body": f"{load_asset('step_intro.html')}{told}\n{build_stepper(text)}",
        "models": pack_models(models, limit),
    }
    return fill_page(load_script("engine.js", "stepper.js"), parts)
