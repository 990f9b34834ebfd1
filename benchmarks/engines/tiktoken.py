"""tiktoken: takes ranks and pattern out of a tokenizer.json of the same kind."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken
from jobs import map_characters_to_bytes
from numpy.typing import NDArray
from tiktoken_ext.openai_public import r50k_pat_str

DISTRIBUTIONS = ("tiktoken",)


def load(path: Path) -> tiktoken.Encoding:
    """Return the encoding of a byte-level tokenizer.json: ids are ranks, normalizers unknown."""
    content = json.loads(path.read_text(encoding="utf-8"))
    added = {token["content"]: token["id"] for token in content["added_tokens"]}
    byte_of = map_characters_to_bytes()
    ranks = {
        bytes(map(byte_of.__getitem__, token)): rank
        for token, rank in content["model"]["vocab"].items()
        if token not in added
    }
    return tiktoken.Encoding(
        path.stem,
        pat_str=find_pattern(content["pre_tokenizer"]),
        mergeable_ranks=ranks,
        special_tokens=added,
    )


def find_pattern(pre_tokenizer: dict[str, Any]) -> str:
    """Return the pattern: that of GPT-2 as tiktoken words it, which is quicker, or the file's."""
    if pre_tokenizer["type"] == "ByteLevel":
        return str(r50k_pat_str)
    return str(pre_tokenizer["pretokenizers"][0]["pattern"]["Regex"])


def make_encoder(encoding: tiktoken.Encoding) -> Callable[[str], NDArray[np.uint32]]:
    """Return the encoder of one text. An array is made quicker than encode_ordinary's list."""

    def encode(text: str) -> NDArray[np.uint32]:
        return encoding.encode_to_numpy(text, disallowed_special=())

    return encode


def make_batch_encoder(
    encoding: tiktoken.Encoding, threads: int
) -> Callable[[Sequence[str]], list[list[int]]]:
    """Return the encoder of many texts."""

    def encode_batch(texts: Sequence[str]) -> list[list[int]]:
        return encoding.encode_ordinary_batch(list(texts), num_threads=threads)

    return encode_batch


def list_ids(batch: list[list[int]]) -> list[list[int]]:
    """Return the ids of each text."""
    return batch
