"""An engine without a cluster, and texts that are hard to cut."""

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TOKENS = ("<|endoftext|>", "<|end", "oft", "aa", "\N{REPLACEMENT CHARACTER}\n")
"""Special tokens that overlap with each other and with themselves, and one that repairing makes."""


class PickledEngine:
    """Does in this process what an engine does elsewhere: all that would travel is pickled."""

    def __init__(self, block_nbytes: int) -> None:
        self.block_nbytes = block_nbytes
        self.n_cores = 3
        self.n_blocks = 0

    @contextmanager
    def open(self) -> Iterator["PickledEngine"]:
        yield self

    def _send(self, thing: Any) -> Any:
        return pickle.loads(pickle.dumps(thing))

    def map_in_order(self, function, shared, blocks, threads):  # type: ignore[no-untyped-def]
        sent = self._send(shared)
        for block in blocks:
            self.n_blocks += 1
            yield self._send(function(sent, self._send(block)))

    def map_and_sum(self, function, combine, shared, blocks, n_parts, threads, on_report):  # type: ignore[no-untyped-def]
        rows = []
        for report, *parts in self.map_in_order(function, shared, blocks, threads):
            assert len(parts) == n_parts
            on_report(report)
            rows.append(parts)
        # In halves, as sums of sums.
        for column in zip(*rows, strict=True):
            yield combine(combine(*column[::2]), combine(*column[1::2]))


@pytest.fixture
def make_engine() -> Callable[[int], PickledEngine]:
    """Return an engine that works in this process, for a size of blocks."""
    return PickledEngine


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let places to cut be looked for in windows that are much shorter than the texts here."""
    monkeypatch.setattr("numbpe.engines.file_cuts.WINDOW_NBYTES", 37)


@pytest.fixture
def make_text(rng: np.random.Generator) -> Callable[[int], bytes]:
    """Return text of about n words, with special tokens, lines, broken characters and other scripts."""
    words = [
        "the",
        " the",
        "a",
        "aa",
        " don't",
        "\n",
        "\r\n",
        "  ",
        "\u00e9t\u00e9",
        "\u6f22\u5b57",
        "1234",
        "?!",
        "<|",
        "'ll",
    ]
    words += [*TOKENS, TOKENS[0], TOKENS[0]]
    pieces = [word.encode() for word in words] + [b"\xff", b"\xe6\xbc", b"\xf0\x9f"]
    shares = np.array([8.0] * 14 + [1.0] * 7 + [0.3] * 3)

    def make(n_words: int) -> bytes:
        chosen = rng.choice(len(pieces), n_words, p=shares / shares.sum())
        return b"".join(pieces[place] for place in chosen)

    return make


@pytest.fixture
def corpus(tmp_path: Path, make_text: Callable[[int], bytes]) -> list[Path]:
    """Files of text: long, short, empty, ending with a separator or with broken text."""
    texts = [
        make_text(1500),
        b"",
        make_text(3) + TOKENS[0].encode(),
        make_text(400) + b"\xf0\x9f",
        make_text(9),
    ]
    paths = [tmp_path / f"text{number}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)
    return paths


def flatten(lists: list[list[Any]]) -> list[Any]:
    """Return the items of lists."""
    return list(chain.from_iterable(lists))
