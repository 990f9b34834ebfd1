"""Changing many texts at once, against changing each on its own."""

import numpy as np
import pytest

from numbpe.arrays import copy_text
from numbpe.definition import (
    Lowercase,
    Normalization,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    TextStep,
)
from numbpe.normalizers import apply_steps
from numbpe.text_changes import TextChanger

ALL_CONTROLS = "".join(map(chr, range(32)))

STEPS: list[tuple[TextStep, ...]] = [
    (Normalization("NFC"),),
    (Normalization("NFKD"), StripAccents(), Lowercase(), Strip()),
    (Replace(" ", "\u2581"),),
    (Replace(" ", "\u2581"), Prepend("\u2581", unless="\u2581", first_only=True)),
    (Prepend("\u2581"), Replace(" ", "\u2581")),
    (Prepend(" ", unless=" "),),
    (Replace("", "-"),),
    (Replace("^a|\\s+$", "b", is_regex=True), Strip(right=False)),
    (Replace("a", "\0"), Replace("\1", "\2\3")),
    (Strip(), Prepend("\0")),
]

LETTERS = [*"abA \t<\0\1", "\u00e9", "e\u0301", "\u0301", "\u0323", "\ufb01", "\u3000", "\u2581"]


@pytest.mark.parametrize("steps", STEPS, ids=repr)
@pytest.mark.parametrize("more", [b"", ALL_CONTROLS.encode(), b"\xff\xe3\x80"], ids=ascii)
def test_change__equals_each_text_on_its_own(
    steps: tuple[TextStep, ...], more: bytes, rng: np.random.Generator
) -> None:
    """Truth: apply_steps on each part; with all control characters nothing can stand between."""
    changer = TextChanger(steps)
    for _ in range(60):
        n_parts = int(rng.integers(1, 6))
        contents = [
            "".join(LETTERS[i] for i in rng.integers(len(LETTERS), size=rng.integers(0, 6)))
            for _ in range(n_parts)
        ]
        encoded = [content.encode() for content in contents]
        encoded[int(rng.integers(n_parts))] += more
        # Tokens between the parts, which must not change anything.
        data = b"<t> " + b" <\0>".join(encoded) + b"<t>"
        lengths = np.array([len(content) for content in encoded])
        stops = 4 + np.cumsum(lengths) + 4 * np.arange(n_parts)
        parts = np.stack([stops - lengths, stops, np.arange(n_parts)], axis=1)
        heads = [k for k in range(n_parts) if rng.integers(2)]
        text = copy_text(data)
        result, changed = changer.change(text, parts.copy(), heads) or (text, parts)
        expected = [
            apply_steps(steps, content.decode("utf-8", "surrogateescape"), is_first=k in heads)
            for k, content in enumerate(encoded)
        ]
        assert [result[a:b].tobytes() for a, b, _ in changed.tolist()] == [
            content.encode("utf-8", "surrogateescape") for content in expected
        ]
        assert changed[:, 2].tolist() == list(range(n_parts))


def test_change__says_that_nothing_changes() -> None:
    """Truth: NFC leaves ASCII and what it has composed alone."""
    changer = TextChanger((Normalization("NFC"),))
    for content in ("plain ASCII", "\u00e9\u4e2d", ""):
        data = content.encode()
        assert changer.change(copy_text(data), np.array([[0, len(data), -1]]), [0]) is None
    assert TextChanger(()).change(copy_text(b"a"), np.array([[0, 1, -1]]), [0]) is None
    no_parts = np.empty((0, 3), dtype=np.int64)
    assert changer.change(copy_text(b""), no_parts, []) is None


@pytest.mark.parametrize("steps", STEPS, ids=repr)
@pytest.mark.parametrize("n_letters", [1, 3000])
def test_change_text__equals_apply_steps(
    steps: tuple[TextStep, ...], n_letters: int, rng: np.random.Generator
) -> None:
    """Truth: apply_steps, for short texts and for long ones, which other code may change."""
    changer = TextChanger(steps)
    for share in (0.0, 0.01, 1.0):
        choices = np.where(rng.random(n_letters) < share, rng.integers(9, len(LETTERS)), 0)
        text = "b" + "".join(LETTERS[i] for i in choices)
        expected = apply_steps(steps, text).encode()
        assert changer.change_text(text.encode()) == expected
        # The second of two parts, the first of which is empty.
        parts = np.array([[0, 0, 1], [0, len(text.encode()), 2]])
        array = copy_text(text.encode())
        result, changed = changer.change(array, parts.copy(), [1]) or (array, parts)
        assert result[changed[1, 0] : changed[1, 1]].tobytes() == expected
        assert changed[:, 2].tolist() == [1, 2]
