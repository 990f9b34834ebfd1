"""Ids are those of ``tokenizers``, for the real files; benchmarks/parity.py does this at length."""

import lzma
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tokenizers

import numbpe

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
NAMES = ("gpt2", "llama3_1", "qwen3", "deepseek_v3", "gptoss", "gpt4o", "llama2", "gemma3")
CORPORA = ("english", "code", "zh", "hi", "ja", "ko", "ru", "ar", "th", "chat")
CORPUS_NBYTES = 30_000
N_FUZZED = 600


@pytest.fixture(scope="module", params=NAMES)
def pair(
    request: pytest.FixtureRequest, shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[numbpe.Tokenizer, tokenizers.Tokenizer]:
    """One tokenizer, read by numbpe and by tokenizers."""
    path = tmp_path_factory.mktemp("parity") / f"{request.param}.json"
    packed = shared_data / "tokenizers" / f"{request.param}.json.xz"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return numbpe.load(path), tokenizers.Tokenizer.from_file(str(path))


def iterate_fuzzed(specials: list[str]) -> Iterator[str]:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import fuzz_texts
    finally:
        sys.path.remove(str(BENCHMARKS))
    yield from fuzz_texts.iterate_texts(N_FUZZED, specials, seed=7)


@pytest.mark.slow
def test_ids_of_corpora__equal_tokenizers(
    pair: tuple[numbpe.Tokenizer, tokenizers.Tokenizer], shared_data: Path
) -> None:
    """Truth: tokenizers 0.23.3 on text in ten languages; separators are in it."""
    ours, theirs = pair
    for name in CORPORA:
        with lzma.open(shared_data / "corpora" / f"{name}.txt.xz") as file:
            text = file.read(CORPUS_NBYTES).decode("utf-8", "ignore")
        expected = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text).tolist() == expected, name
        with_template = theirs.encode(text[:100]).ids
        assert ours.encode(text[:100], add_special_tokens=True).tolist() == with_template


@pytest.mark.slow
def test_ids_of_fuzzed_text__equal_tokenizers(
    pair: tuple[numbpe.Tokenizer, tokenizers.Tokenizer],
) -> None:
    """Truth: tokenizers 0.23.3; decoding gives back what was not normalized."""
    ours, theirs = pair
    texts = list(iterate_fuzzed([token.content for token in ours.definition.added_tokens]))
    batch = ours.encode_batch(texts, threads=2)
    expected = [e.ids for e in theirs.encode_batch(texts, add_special_tokens=False)]
    assert batch.to_list() == expected
    if not (ours.definition.normalizer or ours.definition.preparation):
        assert ours.decode_batch(batch) == texts
    theirs.encode_special_tokens = True
    as_text = [e.ids for e in theirs.encode_batch(texts, add_special_tokens=False)]
    assert ours.encode_batch(texts, special="text").to_list() == as_text
