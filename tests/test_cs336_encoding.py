"""The tokenizer tests of the Stanford CS336 course, as the course states them."""

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil
import pytest
import tiktoken

import numbpe
from numbpe.formats.byte_alphabet import LETTERS

END = "<|endoftext|>"
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
TEXTS = (
    "",
    "s",
    "\U0001f643",
    "Hello, how are you?",
    "H\xe9ll\xf2 h\xf4w are \xfc? \U0001f643",
    f"H\xe9ll\xf2 h\xf4w {END}{END} are \xfc? \U0001f643{END}",
    f"A text with trailing newlines{END}\n\n",
    f"Double newlines before a word{END}\n\nword",
)
FILES = ("address.txt", "german.txt", "tinystories_sample.txt")


class CourseTokenizer:
    """The interface of the course over ours: lists of int."""

    def __init__(self, tokenizer: numbpe.Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).tolist()

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids)

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        for ids in self._tokenizer.encode_iterable(texts):
            yield from ids.tolist()


@pytest.fixture(scope="module")
def fixtures(shared_data: Path) -> Path:
    return shared_data / "cs336"


def load_gpt2(fixtures: Path, special_tokens: list[str] | None) -> CourseTokenizer:
    """Build a tokenizer from two dictionaries, as the course's adapter does."""
    byte_of = {letter: byte for byte, letter in enumerate(LETTERS)}
    spelled = json.loads((fixtures / "gpt2_vocab.json").read_text(encoding="utf-8"))
    vocab = {
        token_id: bytes(byte_of[letter] for letter in token) for token, token_id in spelled.items()
    }
    lines = (fixtures / "gpt2_merges.txt").read_text(encoding="utf-8").splitlines()
    merges = [
        (bytes(byte_of[c] for c in left), bytes(byte_of[c] for c in right))
        for left, right in (line.split(" ") for line in lines if line)
    ]
    for token in special_tokens or []:
        if token.encode() not in vocab.values():
            vocab[len(vocab)] = token.encode()
    return CourseTokenizer(numbpe.Tokenizer(vocab, merges, special_tokens))


@pytest.fixture(scope="module")
def gpt2(fixtures: Path) -> CourseTokenizer:
    return load_gpt2(fixtures, [END])


@pytest.fixture(scope="module")
def reference(fixtures: Path) -> tiktoken.Encoding:
    """tiktoken's GPT-2, from the same files, without the network."""
    byte_of = {letter: byte for byte, letter in enumerate(LETTERS)}
    spelled = json.loads((fixtures / "gpt2_vocab.json").read_text(encoding="utf-8"))
    ranks = {
        bytes(byte_of[letter] for letter in token): token_id
        for token, token_id in spelled.items()
        if token != END
    }
    return tiktoken.Encoding(
        "gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={END: 50256}
    )


@pytest.mark.parametrize("text", TEXTS)
def test_text__round_trips_and_equals_tiktoken(
    gpt2: CourseTokenizer, reference: tiktoken.Encoding, text: str
) -> None:
    """Truth: tiktoken, as the course has it."""
    ids = gpt2.encode(text)
    assert gpt2.decode(ids) == text
    assert ids == reference.encode(text, allowed_special={END})
    parts = [gpt2.decode([token_id]) for token_id in ids]
    assert parts.count(END) == text.count(END)


@pytest.mark.parametrize("name", FILES)
def test_file__round_trips_and_equals_tiktoken(
    gpt2: CourseTokenizer, reference: tiktoken.Encoding, fixtures: Path, name: str
) -> None:
    """Truth: tiktoken; whole, and by lines through encode_iterable."""
    text = (fixtures / name).read_text(encoding="utf-8")
    expected = reference.encode(text, allowed_special={END})
    assert gpt2.encode(text) == expected
    assert gpt2.decode(expected) == text
    with open(fixtures / name, encoding="utf-8") as file:
        assert list(gpt2.encode_iterable(file)) == expected


def test_without_special_tokens__they_are_text(
    fixtures: Path, reference: tiktoken.Encoding
) -> None:
    """Truth: tiktoken with no special token allowed."""
    plain = load_gpt2(fixtures, None)
    text = f"a{END}b"
    assert plain.encode(text) == reference.encode(text, disallowed_special=())


def test_overlapping_special_tokens__the_longest_wins(fixtures: Path) -> None:
    """Truth: the course: one of each is decoded."""
    double = load_gpt2(fixtures, [END, END + END])
    ids = double.encode(f"Hello, how {END}{END} are you?{END}")
    parts = [double.decode([token_id]) for token_id in ids]
    assert parts.count(END) == 1
    assert parts.count(END + END) == 1
    assert "".join(parts) == f"Hello, how {END}{END} are you?{END}"


def test_encode_iterable__keeps_memory_down(
    gpt2: CourseTokenizer, fixtures: Path, tmp_path: Path
) -> None:
    """Truth: the course: 5 MB within 1 MB of memory; compiled and loaded before."""
    resource = pytest.importorskip("resource")
    story = (fixtures / "tinystories_sample.txt").read_text(encoding="utf-8")
    path = tmp_path / "stories.txt"
    path.write_text(story * (5_242_880 // len(story.encode()) + 1), encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    n_expected = sum(1 for _ in gpt2.encode_iterable([text]))
    # One that has made its cache and no other tables: what other tests have made must not decide.
    gpt2 = load_gpt2(fixtures, [END])
    assert gpt2.decode(gpt2.encode("Hello")) == "Hello"
    limits = resource.getrlimit(resource.RLIMIT_AS)
    memory = psutil.Process().memory_info().vms
    tracemalloc.start()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (memory + 1_000_000, limits[1]))
        with open(path, encoding="utf-8") as file:
            n_ids = sum(1 for _ in gpt2.encode_iterable(file))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        tracemalloc.stop()
    assert n_ids == n_expected
    assert peak < 1_000_000
