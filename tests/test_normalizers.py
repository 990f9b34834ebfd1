"""Normalizers: equal to tokenizers over all of Unicode, whatever Unicode the running Python has."""

import random
import sys
import unicodedata
from typing import Any, get_args

import numpy as np
import pytest
from tokenizers import Regex, models, normalizers
from tokenizers import Tokenizer as PeerTokenizer

from numbpe import normalizer_tables
from numbpe.alignments import apply_steps_aligned, find_segment_starts
from numbpe.definition import (
    Lowercase,
    Normalization,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    TextStep,
)
from numbpe.errors import PatternError
from numbpe.normalizers import apply_steps, may_change
from numbpe.unicode_tables import load_unicode_tables

CHARACTERS = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
# Those that may do something beside others.
MARKS = [c for c in CHARACTERS if unicodedata.category(c)[0] == "M" or unicodedata.combining(c)]
DECOMPOSING = [c for c in CHARACTERS if unicodedata.decomposition(c)]

FORMS = get_args(Normalization.__annotations__["form"])

STEPS: dict[str, tuple[TextStep, Any]] = {
    **{form: (Normalization(form), getattr(normalizers, form)()) for form in FORMS},
    "lowercase": (Lowercase(), normalizers.Lowercase()),
    "strip accents": (StripAccents(), normalizers.StripAccents()),
    "strip": (Strip(), normalizers.Strip()),
    "strip left": (Strip(right=False), normalizers.Strip(right=False)),
    "strip right": (Strip(left=False), normalizers.Strip(left=False)),
    "replace": (Replace(" ", "\u2581"), normalizers.Replace(" ", "\u2581")),
    "replace more": (Replace("ab", "x\u00e9z"), normalizers.Replace("ab", "x\u00e9z")),
    "remove": (Replace("a", ""), normalizers.Replace("a", "")),
    "replace regex": (
        Replace(r"[ab]+|\s", "\u00e9", is_regex=True),
        normalizers.Replace(Regex(r"[ab]+|\s"), "\u00e9"),
    ),
    "prepend": (Prepend("\u2581x"), normalizers.Prepend("\u2581x")),
}

# tokenizers panics when another step follows these, so each stands alone.
EMPTY_MATCHES: dict[str, tuple[TextStep, Any]] = {
    "replace nothing": (Replace("", "Q"), normalizers.Replace("", "Q")),
    "replace maybe": (
        Replace("b*", "Q", is_regex=True),
        normalizers.Replace(Regex("b*"), "Q"),
    ),
}


def draw_text(generator: random.Random) -> str:
    """Return a text of letters, spaces, marks in any order, and what decomposes."""
    common = "abcA  e\u00c9\u0130\u03a3\u0301\u0323\u0327\u1100\u1161\u11a8\uac00\ufb01\u3000\u1e9b"
    pools = (common, common, MARKS, DECOMPOSING)
    return "".join(
        generator.choice(generator.choice(pools)) for _ in range(generator.randrange(12))
    )


@pytest.mark.parametrize("name", [*FORMS, "lowercase", "strip accents"])
def test_apply_steps__every_character(name: str) -> None:
    """Truth: tokenizers, for every code point between a capital letter with a mark and a letter."""
    step, peer = STEPS[name]
    text = "\n".join(f"\u03a3\u0345{character}b" for character in CHARACTERS)
    assert apply_steps([step], text) == peer.normalize_str(text)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    "context", ["{}", "e{}\u0301", "a\u0323\u0302{}\u0316", "\u1100{}\u11a8", "{}\u0301"]
)
def test_apply_steps__marks_and_composites_in_context(name: str, context: str) -> None:
    """Truth: tokenizers, for all code points that may decompose, compose or be reordered."""
    step, peer = STEPS[name]
    text = "\n".join(context.format(character) for character in [*MARKS, *DECOMPOSING])
    assert apply_steps([step], text) == peer.normalize_str(text)


def test_strip__white_space() -> None:
    """Truth: tokenizers, for code points to U+127FF at both ends, and the table of Unicode."""
    peer = normalizers.Strip()
    stripped = [c for c in CHARACTERS[:0x12000] if apply_steps([Strip()], f"{c}x{c}") == "x"]
    assert all(peer.normalize_str(f"{c}x{c}") == "x" for c in stripped)
    spaces = load_unicode_tables("16").white_space
    assert list(map(ord, stripped)) == [c for c in range(0x3001) if c in spaces]


@pytest.mark.parametrize("seed", range(4))
def test_apply_steps__equals_tokenizers_with_alignments(seed: int) -> None:
    """Truth: tokenizers' normalizers, and the offsets of a model that knows no character."""
    generator = random.Random(seed)
    for _ in range(1000):
        count = generator.choice([1, 1, 2, 3])
        chosen = [STEPS[generator.choice(list(STEPS))] for _ in range(count)]
        if generator.random() < 0.1:
            chosen = [EMPTY_MATCHES[generator.choice(list(EMPTY_MATCHES))]]
        steps: list[TextStep] = [step for step, _ in chosen]
        peer = PeerTokenizer(models.BPE({"<unk>": 0}, [], unk_token="<unk>"))
        peer.normalizer = normalizers.Sequence([other for _, other in chosen])
        text = draw_text(generator)
        expected = peer.normalizer.normalize_str(text)
        assert apply_steps(steps, text) == expected
        changed, spans = apply_steps_aligned(steps, text)
        assert changed == expected
        assert spans.tolist() == [list(span) for span in peer.encode(text).offsets]
        assert may_change(steps, text) or expected == text


@pytest.mark.parametrize("form", FORMS)
def test_find_segment_starts__text_can_be_parted_there(form: str) -> None:
    """Truth: the definition, normalizing the whole."""
    generator = random.Random(5)
    step = STEPS[form][0]
    n_parted = 0
    for _ in range(2000):
        text = draw_text(generator)
        whole = apply_steps([step], text)
        for position in np.flatnonzero(find_segment_starts(text)).tolist():
            parts = text[:position], text[position:]
            assert "".join(apply_steps([step], part) for part in parts) == whole
            n_parted += 1
    assert n_parted > 5000


def test_tables__do_not_depend_on_the_running_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: tokenizers; a Python that knew new letters is played by one that lacks old ones."""

    class NewerText(str):
        """A text with a lower case for U+0378, which Unicode 17.0 does not assign."""

        def lower(self) -> str:
            return super().lower().replace("\u0378", "x").replace("q", "Q")

    join = normalizer_tables.join_code_points
    monkeypatch.setattr(normalizer_tables, "join_code_points", lambda array: NewerText(join(array)))
    is_odd, mapping = normalizer_tables.find_odd_lowercase.__wrapped__()
    assert mapping["\u0378"] == "\u0378"
    assert mapping["Q"] == "q"
    assert is_odd[0x378]


def test_inert__are_the_characters_after_unicode_9() -> None:
    """Truth: U+32FF came with Unicode 12.1, U+1DF6 with 10.0; tokenizers leaves both alone."""
    text = "\u32ff a\u0345\u1df6"
    assert normalizers.NFKD().normalize_str(text) == text
    assert apply_steps([Normalization("NFKD")], text) == text
    assert {"\u32ff", "\u1df6"} <= normalizer_tables.find_inert()


def test_surrogate_escapes__pass() -> None:
    """Truth: the contract of apply_steps; they stand for bytes that are not UTF-8."""
    text = b"\xff e\xcc\x81 \x80\xcc\x81A\xfe".decode("utf-8", "surrogateescape")
    steps = [Normalization("NFKC"), Lowercase(), StripAccents(), Replace("b", "c"), Strip()]
    expected = b"\xff \xc3\xa9 \x80a\xfe".decode("utf-8", "surrogateescape")
    assert apply_steps(steps, text) == expected
    assert apply_steps_aligned(steps, text)[0] == expected


def test_prepend__conditions() -> None:
    """Truth: the definition of Prepend, which tells Metaspace's prepend_scheme."""
    first = Prepend("_", unless="_", first_only=True)
    assert apply_steps([first], "a") == "_a"
    assert apply_steps([first], "_a") == "_a"
    assert apply_steps([first], "a", is_first=False) == "a"
    assert apply_steps([first], "") == ""
    assert apply_steps([Prepend("_")], "_a", is_first=False) == "__a"


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([Normalization("NFC"), StripAccents()], "plain"),
        ([Lowercase()], "plain 1"),
        ([Strip()], "a b"),
        ([Replace(" ", "_")], "ab"),
        ([Prepend("_", unless="_")], "_a"),
        ([Prepend("_")], ""),
    ],
)
def test_may_change__is_false_where_nothing_changes(steps: list[TextStep], text: str) -> None:
    """Truth: the steps change nothing of such text."""
    assert apply_steps(steps, text) == text
    assert not may_change(steps, text)


def test_replace__bad_regex() -> None:
    """Truth: the contract; an unclosed group is no expression."""
    with pytest.raises(PatternError, match="cannot replace what '\\(' matches"):
        apply_steps([Replace("(", "x", is_regex=True)], "a")
