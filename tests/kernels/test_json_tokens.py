"""Vocabularies written as JSON, against the json module."""

import json
import random

import numpy as np
import pytest

from numbpe.arrays import join_byte_strings
from numbpe.formats import quoted_tokens
from numbpe.formats.byte_alphabet import spell_bytes
from numbpe.formats.quoted_tokens import QuotedTokens


@pytest.fixture(params=["compiled", "interpreted"])
def _kernels(request, monkeypatch):
    """Run the kernels as they are, and as the plain Python that they are compiled from."""
    if request.param == "interpreted":
        for name in ("json_quote_tokens", "json_write_ids", "json_write_pairs"):
            monkeypatch.setattr(quoted_tokens, name, getattr(quoted_tokens, name).py_func)


def make_tokens(seed):
    """Tokens of all bytes, none twice, some ids without one."""
    rng = random.Random(seed)
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += {rng.randbytes(rng.choice([2, 3, 30, 31, 32, 33, 100])) for _ in range(200)}
    rng.shuffle(tokens)
    return [b"" if rng.random() < 0.05 else token for token in tokens]


@pytest.mark.usefixtures("_kernels")
@pytest.mark.parametrize("seed", range(3))
def test_quoted_tokens__bytes(seed):
    """Truth: json.dumps of the same values."""
    tokens = make_tokens(seed)
    names = {'<"\\\n\u00e9\u4e2d>': 3, "<|x|>": len(tokens) - 1}
    spellings = [spell_bytes(token) for token in tokens]
    for name, id in names.items():
        spellings[id] = name
    quoted = QuotedTokens.from_bytes(*join_byte_strings(tokens), names)
    check(quoted, spellings, seed)


@pytest.mark.usefixtures("_kernels")
@pytest.mark.parametrize("seed", range(3))
def test_quoted_tokens__spellings(seed):
    """Truth: json.dumps of the same values."""
    rng = random.Random(seed)
    spellings = ["".join(rng.choices('a"\\\t\u00e9\u4e2d\U0001f600', k=k % 7)) for k in range(300)]
    check(QuotedTokens.from_spellings(spellings), spellings, seed)


def check(quoted, spellings, seed):
    rng = random.Random(seed)
    ids = [id for id, spelling in enumerate(spellings) if spelling]
    assert np.flatnonzero(quoted.lengths).tolist() == ids
    rng.shuffle(ids)
    written = quoted.write_ids(np.array(ids, dtype=np.int64))
    members = ", ".join(f"{json.dumps(spellings[id], ensure_ascii=False)}: {id}" for id in ids)
    assert written.decode() == "{" + members + "}"
    pairs = [[rng.choice(ids), rng.choice(ids)] for _ in range(500)]
    written = quoted.write_pairs(np.array(pairs, dtype=np.int32))
    values = [[spellings[left], spellings[right]] for left, right in pairs]
    assert written.decode() == json.dumps(values, ensure_ascii=False)


@pytest.mark.usefixtures("_kernels")
def test_quoted_tokens__none():
    """Truth: json.dumps of an empty object and an empty list."""
    quoted = QuotedTokens.from_bytes(*join_byte_strings([]), {})
    assert quoted.write_ids(np.zeros(0, dtype=np.int64)) == b"{}"
    assert quoted.write_pairs(np.zeros((0, 2), dtype=np.int32)) == b"[]"


def test_quoted_tokens__ids_of_many_digits():
    """Truth: by definition."""
    quoted = QuotedTokens.from_spellings(["a"] * 100_001)
    ids = np.array([0, 9, 10, 99, 100, 99_999, 100_000], dtype=np.int64)
    assert list(json.loads(quoted.write_ids(ids), object_pairs_hook=list)) == [
        ("a", id) for id in ids.tolist()
    ]
