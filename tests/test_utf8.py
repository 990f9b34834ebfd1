"""``str`` to UTF-8."""

import os
import threading

import numpy as np
import pytest

from numbpe import utf8
from numbpe.errors import ArgumentError
from numbpe.utf8 import LEAST_CHARACTERS, MOST_CHARACTERS, encode_utf8

SAMPLES = {
    "ASCII": "plain text, ",
    "Latin-1": "caf\xe9 au lait, ",
    "two bytes": "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440, ",
    "three bytes": "\u201ccurly\u201d \u4e2d\u6587\uff0c\u0e44\u0e17\u0e22 ",
    "four bytes": "an \U0001f600 or two \U0001f468\u200d\U0001f469, ",
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(
    "length",
    [0, 1, LEAST_CHARACTERS - 1, LEAST_CHARACTERS, 1000, 10_007, MOST_CHARACTERS]
    + [MOST_CHARACTERS + 1],
)
def test_encode_utf8__is_pythons(name: str, length: int) -> None:
    """Truth: Python's own codec."""
    sample = SAMPLES[name]
    text = (sample * (length // len(sample) + 1))[:length]
    assert encode_utf8(text) == text.encode()
    assert encode_utf8(text.encode()) == text.encode()


def test_encode_utf8__of_random_texts(rng: np.random.Generator) -> None:
    """Truth: Python's own codec; parts of texts, joined, sliced and repeated."""
    for _ in range(300):
        parts = [str(rng.choice(list(SAMPLES.values()))) for _ in range(40)]
        text = "".join(part[int(rng.integers(0, 5)) :] for part in parts)
        assert encode_utf8(text) == text.encode()


@pytest.mark.parametrize("name", SAMPLES)
def test_encode_utf8__repairs_surrogates(name: str) -> None:
    """Truth: the Unicode Standard, 3.9: what has no partner becomes U+FFFD."""
    text = SAMPLES[name] * 40
    broken = f"{text}\ud83d\ude00{text}\ud800{text}\udc00"
    assert encode_utf8(broken) == f"{text}\U0001f600{text}\ufffd{text}\ufffd".encode()


def test_encode_utf8__of_a_subclass() -> None:
    """Truth: Python's own codec; a subclass keeps its characters elsewhere."""

    class Text(str):
        __slots__ = ()

    for sample in SAMPLES.values():
        assert encode_utf8(Text(sample * 40)) == (sample * 40).encode()


@pytest.mark.parametrize("wrong", [None, 3, bytearray(b"a"), ["a"]])
def test_encode_utf8__refuses_what_is_no_text(wrong: object) -> None:
    """Truth: by definition."""
    with pytest.raises(ArgumentError, match="text must be a str or bytes, not"):
        encode_utf8(wrong)


def test_encode_utf8__in_threads() -> None:
    """Truth: Python's own codec; each thread has a buffer of its own."""
    texts = [sample * (n * 30 + 10) for n, sample in enumerate(SAMPLES.values())]
    failures: list[str] = []

    def encode_all() -> None:
        for _ in range(200):
            failures.extend(text for text in texts if encode_utf8(text) != text.encode())

    threads = [threading.Thread(target=encode_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_encode_utf8__where_characters_lie_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: Python's own codec; what is no public interface may change."""
    utf8._prepare_writing.cache_clear()
    monkeypatch.setattr(utf8, "_CHARACTERS", utf8._CHARACTERS + 1)
    try:
        assert utf8._prepare_writing() is None
        for sample in SAMPLES.values():
            assert encode_utf8(sample * 40) == (sample * 40).encode()
    finally:
        utf8._prepare_writing.cache_clear()


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled"
)
def test_prepare_writing__knows_this_python() -> None:
    """Truth: PEP 393, and the C structures of the versions that are tested; none falls back silently."""
    assert utf8._prepare_writing() is not None
