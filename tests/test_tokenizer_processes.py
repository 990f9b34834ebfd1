"""A tokenizer in several threads and processes."""

import multiprocessing
import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import numbpe

TEXT = "the cat sat on the mat, the hat; 12 rats \u4e2d\u6587 and \u00e9t\u00e9 <|endoftext|>"


@pytest.fixture(scope="module")
def tokenizer() -> numbpe.Tokenizer:
    """A small tokenizer, trained here."""
    return numbpe.train([TEXT], 280, progress=False)


def make_texts(rng: np.random.Generator, n_texts: int) -> list[str]:
    words = TEXT.split(" ")
    return [
        " ".join(words[i] for i in rng.integers(len(words), size=int(n)))
        for n in rng.integers(0, 60, size=n_texts)
    ]


def encode_in_child(tokenizer: numbpe.Tokenizer, texts: list[str]) -> list[list[int]]:
    """Encode a batch large enough for threads, and one text."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch = tokenizer.encode_batch(texts * 40, threads=2)
        assert batch[0].tolist() == tokenizer.encode(texts[0]).tolist()
        return batch.to_list()[: len(texts)]


def test_encode__from_many_threads_at_once(
    tokenizer: numbpe.Tokenizer, rng: np.random.Generator
) -> None:
    """Truth: the same calls one after another."""
    texts = make_texts(rng, 2_000)
    expected = [tokenizer.encode(text).tolist() for text in texts]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(3):
            assert [ids.tolist() for ids in pool.map(tokenizer.encode, texts)] == expected


@pytest.mark.parametrize("threads", [1, 2, 3, None])
def test_encode_batch__does_not_depend_on_threads(
    tokenizer: numbpe.Tokenizer, rng: np.random.Generator, threads: int | None
) -> None:
    """Truth: encode of each text, in their order; more text than one call takes."""
    texts = make_texts(rng, 20_000)
    batch = tokenizer.encode_batch(iter(texts), threads=threads)
    assert batch.to_list() == [tokenizer.encode(text).tolist() for text in texts]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_encode__in_a_child_process(
    tokenizer: numbpe.Tokenizer, rng: np.random.Generator, method: str
) -> None:
    """Truth: the parent's ids; it has used threads before, and nothing warns or hangs."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    texts = make_texts(rng, 200)
    expected = encode_in_child(tokenizer, texts)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(encode_in_child, tokenizer, texts).result(timeout=120) == expected


def test_tokenizer__pickles(tokenizer: numbpe.Tokenizer) -> None:
    """Truth: the original, before and after it has encoded."""
    for original in (numbpe.train([TEXT], 280, progress=False), tokenizer):
        copy = pickle.loads(pickle.dumps(original))
        assert copy.encode(TEXT).tolist() == original.encode(TEXT).tolist()
        assert copy.special_tokens == original.special_tokens
        assert copy.vocab == original.vocab
        assert copy.merges == original.merges


@pytest.mark.parametrize(
    "texts, message",
    [
        ("one text", r"write \['one text'\], or call encode"),
        (None, "texts must be an iterable of str or bytes, not NoneType"),
        (["a", None], r"texts\[1\] must be a str or bytes, not NoneType"),
        (["a", ["b"]], r"texts\[1\] must be a str or bytes, not list"),
        ([3], r"texts\[0\] must be a str or bytes, not int"),
    ],
)
def test_encode_batch__of_no_texts_is_an_error(
    tokenizer: numbpe.Tokenizer, texts: object, message: str
) -> None:
    """Truth: the contract of encode_batch: the argument and the place are named."""
    with pytest.raises(ValueError, match=message):
        tokenizer.encode_batch(texts)  # type: ignore[arg-type]


def test_encode_batch__of_nothing_is_empty(tokenizer: numbpe.Tokenizer) -> None:
    """Truth: by definition; no texts, and texts without characters."""
    assert tokenizer.encode_batch([]).to_list() == []
    assert tokenizer.encode_batch(["", b""]).to_list() == [[], []]
