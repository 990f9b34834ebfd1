"""A model over the rows of a real tokenizer: what it draws can be read, and training compares."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numbpe
from numbpe.combinatorial.definition import CombinatorialVocabulary

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'numbpe[torch]'")

from numbpe.torch import ChainedHead, FactoredEmbedding

ROOT = Path(__file__).resolve().parents[2]
VOCABULARY = CombinatorialVocabulary(
    prefixes=("", " ", "\n"),
    suffixes=("", ","),
    alphabet=("!", "1", "a", "b", "c", "\u00df"),
    merges=(("a", "b"), ("ab", "c"), ("b", "c"), ("a", "bc")),
)
"""A sharp s has no capital of one letter, a digit no capital, and abc is made a second time."""


def test_sampled_rows__decode_and_are_legal() -> None:
    """Truth: the tokenizer: each row's core under its variation is what its text is encoded to."""
    tokenizer = numbpe.CombinatorialTokenizer(VOCABULARY)
    torch.manual_seed(1)
    head = ChainedHead(FactoredEmbedding(tokenizer.sizes, 16))
    rows = head.sample(torch.randn(2_000, 16), tokenizer.legal_variations)
    rows = rows.numpy().astype(np.int32)
    assert tokenizer.legal_variations[rows[:, 2], rows[:, 0]].all()
    assert set(rows[:, 0].tolist()) == {0, 1, 2}
    spelled = b"".join(tokenizer.token_bytes(row) for row in rows)
    assert tokenizer.decode_bytes(rows) == spelled
    for variation, _, core, _ in np.unique(rows[rows[:, 2] >= 256], axis=0)[:40].tolist():
        bare = np.array([[variation, 0, core, 0]], dtype=np.int32)
        assert tokenizer.encode(tokenizer.decode(bare)).tolist() == bare.tolist()


@pytest.mark.slow
def test_script__compares_vocabularies_at_equal_compute(tmp_path: Path) -> None:
    """Truth: the multiplications that it states; and a model must beat a random choice of bytes."""
    output = tmp_path / "figures.json"
    options = "--limit 150000 --vocab 500 --width 32 --layers 1 --heads 2 --context 32 --batch 8"
    command = [
        *(sys.executable, str(ROOT / "scripts" / "train_language_model.py")),
        *("--input", str(ROOT / "data" / "austen.txt"), *options.split()),
        *("--steps", "60", "--sample", "5", "--threads", "1", "--json", str(output)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    document = json.loads(output.read_text(encoding="utf-8"))
    plain, chained = document["models"]
    assert (plain["vocabulary"], chained["vocabulary"]) == ("gpt2", "combinatorial")
    assert plain["n_steps"] == 60 > chained["n_steps"]
    assert chained["total_macs"] == pytest.approx(plain["total_macs"], rel=0.5 / chained["n_steps"])
    assert chained["bytes_per_token"] > plain["bytes_per_token"]
    for model in (plain, chained):
        assert 1 < model["bits_per_byte"] < 6
        assert sum(model["factor_bits_per_byte"]) == pytest.approx(model["bits_per_byte"])
    assert "goes on" in done.stdout
