"""What engines share: the job, reading documents, writing merges where an engine has no writer."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEPARATOR = "<|endoftext|>"
GPT2_PATTERN = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # as published
)

BLOCK_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class Job:
    """One run: train on ``input``, leave the results in the folder ``output``."""

    input: Path
    output: Path
    vocab_size: int
    threads: int
    options: dict[str, str]


@dataclass(frozen=True)
class Merges:
    """What a run has made, in order. pairs : None for engines that tell the tokens only."""

    tokens: list[bytes]
    pairs: list[tuple[bytes, bytes]] | None

    @classmethod
    def from_pairs(cls, pairs: Sequence[tuple[bytes, bytes]]) -> "Merges":
        """Return the merges of pairs."""
        return cls([left + right for left, right in pairs], list(pairs))

    def describe(self, n: int) -> dict[str, Any]:
        """Return the size, and digests over the first ``n``.

        Engines that give no ids to bytes that do not occur make more merges for the same size of
        vocabulary; the first ``n``, which all engines make, can be compared.
        """
        pairs = self.pairs
        return {
            "n_merges": len(self.tokens),
            "n_compared": min(n, len(self.tokens)),
            "tokens_digest": _digest(token.hex() for token in self.tokens[:n]),
            "merges_digest": None
            if pairs is None
            else _digest(f"{left.hex()} {right.hex()}" for left, right in pairs[:n]),
        }


def iterate_documents(path: Path) -> Iterator[str]:
    """Yield the documents between separators, read in blocks."""
    rest = ""
    with path.open(encoding="utf-8", newline="") as text:
        while block := text.read(BLOCK_CHARACTERS):
            *documents, rest = (rest + block).split(SEPARATOR)
            yield from documents
    yield rest


def write_tokens(folder: Path, tokens: Sequence[bytes]) -> None:
    """Write tokens as JSON, a character a byte."""
    texts = [token.decode("latin-1") for token in tokens]
    (folder / "tokens.json").write_text(json.dumps(texts), encoding="ascii")


def write_pairs(folder: Path, pairs: Sequence[tuple[bytes, bytes]]) -> None:
    """Write merges as JSON, a character a byte."""
    texts = [(left.decode("latin-1"), right.decode("latin-1")) for left, right in pairs]
    (folder / "merges.json").write_text(json.dumps(texts), encoding="ascii")


def read_merges(folder: Path) -> Merges:
    """Return what a run has left: its tokens, its merges, or a byte-level tokenizer.json."""
    if (tokens := folder / "tokens.json").exists():
        texts = json.loads(tokens.read_text(encoding="ascii"))
        return Merges([text.encode("latin-1") for text in texts], None)
    if (merges := folder / "merges.json").exists():
        texts = json.loads(merges.read_text(encoding="ascii"))
        return Merges.from_pairs([(a.encode("latin-1"), b.encode("latin-1")) for a, b in texts])
    return _parse_tokenizer_json((folder / "tokenizer.json").read_text(encoding="utf-8"))


def _parse_tokenizer_json(text: str) -> Merges:
    byte_of = map_characters_to_bytes()
    merges = json.loads(text)["model"]["merges"]
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    return Merges.from_pairs(
        [(bytes(map(byte_of.__getitem__, a)), bytes(map(byte_of.__getitem__, b))) for a, b in pairs]
    )


def map_characters_to_bytes() -> dict[str, int]:
    """Return GPT-2's names of bytes: printable ones stand for themselves, others follow U+0100."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + position): byte for position, byte in enumerate(others)
    }


def _digest(lines: Iterator[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
