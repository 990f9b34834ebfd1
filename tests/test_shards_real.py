"""Corpora to ids with published vocabularies: normalizers, added tokens and alphabets of all kinds."""

import lzma
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import numbpe
from numbpe.shards import encode_files
from numbpe.tokenizer import Tokenizer

NAMES = ["gpt2", "llama3_1", "qwen3", "deepseek_v3", "gptoss", "gpt4o", "llama2", "gemma3"]
CORPORA = ["english", "code", "hi", "zh"]


def load(shared_data: Path, name: str, folder: Path) -> Tokenizer:
    path = folder / f"{name}.json"
    with lzma.open(shared_data / "tokenizers" / f"{name}.json.xz") as file, path.open("wb") as copy:
        shutil.copyfileobj(file, copy)
    return numbpe.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_encode_files__equals_encode_whatever_the_chunks(
    name: str, shared_data: Path, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Truth: Tokenizer.encode of each document whole; no chunk is larger than it must be."""
    tokenizer = load(shared_data, name, tmp_path)
    special = list(tokenizer.special_tokens)
    texts = []
    for corpus in CORPORA:
        with lzma.open(shared_data / "corpora" / f"{corpus}.txt.xz") as file:
            text = file.read(60_000).decode("utf-8", "ignore")
        words = text.replace("<|endoftext|>", "").split(" ")
        for place in rng.integers(len(words), size=5).tolist():
            words[place] += special[int(rng.integers(len(special)))]
        texts.append(" ".join(words))
        texts.append(" ".join(words).replace("\n", "  \n") + "e\u0301  \u00e9\t\u3000")
    path = tmp_path / "ids.arrow"
    expected = None
    for chunk_nbytes, threads in ((1 << 20, 1), (2_000, 2), (333, 1)):
        report = encode_files(
            tokenizer, iter(texts), path, chunk_nbytes=chunk_nbytes, threads=threads
        )
        rows = pa.ipc.open_file(path).read_all()["ids"].to_pylist()
        assert report.n_documents == len(rows)
        assert expected in (None, rows)
        expected = rows
    encode_files(tokenizer, iter(texts), path, separator=None)
    whole = pa.ipc.open_file(path).read_all()["ids"].to_pylist()
    assert whole == [tokenizer.encode(text).tolist() for text in texts]
    encode_files(tokenizer, iter(texts), path, separator=None, chunk_nbytes=777, special="text")
    plain = pa.ipc.open_file(path).read_all()["ids"].to_pylist()
    assert plain == [tokenizer.encode(text, special="text").tolist() for text in texts]
