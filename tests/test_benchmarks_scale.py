"""The benchmark of scale: text grows as real text does, fits are what they say, tables have them."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import numbpe

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SEPARATOR = b"<|endoftext|>\n"


def run_program(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)


def make_corpus(n_documents: int, seed: int = 1) -> bytes:
    """Return documents of some frequent words and many rare ones."""
    rng = random.Random(seed)
    frequent = ["".join(rng.choices("etaoinshr", k=rng.randint(2, 9))) for _ in range(200)]
    documents = []
    for _ in range(n_documents):
        words = rng.choices(frequent, k=60)
        words += ["".join(rng.choices("etaoinshrdlu", k=rng.randint(7, 11))) for _ in range(6)]
        rng.shuffle(words)
        documents.append((" ".join(words) + ".\n").encode())
    return SEPARATOR.join(documents) + SEPARATOR


def test_law__is_that_of_the_points(load_module) -> None:
    """Truth: by construction: points of 3 n ** 0.6, and of 5 + 2 n."""
    fits = load_module("scale_fits")
    law = fits.fit_power_law([(n, 3 * n**0.6) for n in (10, 1_000, 50_000)])
    assert law.factor == pytest.approx(3)
    assert law.exponent == pytest.approx(0.6)
    assert law.predict(10**6) == pytest.approx(3 * 10**3.6)
    line = fits.fit_line([(n, 5 + 2 * n) for n in (1, 2, 9)])
    assert (line.constant, line.slope) == (pytest.approx(5), pytest.approx(2))
    with pytest.raises(ValueError, match="two places"):
        fits.fit_power_law([(3, 4), (3, 5)])


def test_extrapolation__follows_the_laws(load_module) -> None:
    """Truth: by construction: counting n, merging n ** 0.5, memory 1000 + 50 a word, words n ** 0.5."""
    fits = load_module("scale_fits")
    runs = [
        {
            "n_bytes": n, "n_distinct_words": n**0.5, "n_word_bytes": 8 * n**0.5,
            "counting": n / 100, "merging": n**0.5, "peak_rss_nbytes": 1000 + 50 * n**0.5,
        }
        for n in (10_000, 40_000, 90_000)
    ]  # fmt: skip
    point = fits.extrapolate(runs, {"factor": 1, "exponent": 0.5}, 10**8)
    assert point["n_distinct_words"] == 10_000
    assert point["n_word_bytes"] == 80_000
    assert point["counting"] == pytest.approx(10**6)
    assert fits.extrapolate(
        [{**run, "counting": run["n_bytes"] ** 0.5} for run in runs],
        {"factor": 1, "exponent": 0.5},
        10**8,
    )["counting"] == pytest.approx(300 * 10**8 / 90_000)
    assert point["merging"] == pytest.approx(10_000)
    assert point["peak_rss_nbytes"] == 501_000


def test_rounds__have_as_many_new_words_as_the_law_asks_for(load_module) -> None:
    """Truth: the distinct words of the rounds, counted; the law says 30 % more each round."""
    texts, fits = load_module("scale_text"), load_module("scale_fits")
    corpus = make_corpus(300)
    n_words = len(numbpe.count_words([corpus]))
    exponent = 0.4
    law = fits.PowerLaw(n_words / len(corpus) ** exponent, exponent)

    def make_rounds(seed: int) -> list[bytes]:
        text = texts.GrowingText(corpus, seed)
        first = b"".join(text.shuffle())
        return [first, *(b"".join(r) for r in texts.iterate_rounds(text, law, 4))]

    rounds = make_rounds(1)
    # Only letters change: the documents have the lengths they had, and the first round all contents.
    documents = Counter(rounds[0].split(SEPARATOR))
    assert documents == Counter(corpus.split(SEPARATOR))
    lengths = Counter(map(len, corpus.split(SEPARATOR)))
    assert all(Counter(map(len, text.split(SEPARATOR))) == lengths for text in rounds)
    assert [len(set(rounds)), rounds == make_rounds(1), rounds == make_rounds(2)] == [
        4,
        True,
        False,
    ]
    pieces = numbpe.count_words([corpus]).n_pieces
    for n in range(1, 5):
        words = numbpe.count_words(rounds[:n])
        assert words.n_pieces == n * pieces
        # A new spelling may by chance be there already.
        assert len(words) == pytest.approx(law.predict(n * len(corpus)), rel=0.001)


def test_new_words__that_there_is_no_place_for_are_refused(load_module) -> None:
    """Truth: by definition; a text of sixteen words, twelve of them long, has no room for a hundred."""
    texts = load_module("scale_text")
    text = texts.GrowingText(b"some perfectly ordinary sentence " * 4 + b"\n", 1)
    with pytest.raises(ValueError, match="cannot put 100 new words into the text: it has 12 rare"):
        text.add_words(100)


def test_slots__are_lower_case_words_between_spaces(load_module) -> None:
    """Truth: hand-computed; six letters, capitals and letters outside ASCII beside are no places."""
    texts = load_module("scale_text")
    content = (
        " letters wonderful. Capitals short1 naïveteee abcdefgé xabcdefG sixsix a-hyphenated end"
    )
    text = texts.np.frombuffer(content.encode(), dtype=texts.np.uint8)
    places = texts.find_slots(text).places.tolist()
    found = {content.encode()[place : place + 6].decode() for place in places}
    assert found == {"etters", "derful"}


def make_run(kind: str, n_bytes: int, **others: Any) -> dict[str, Any]:
    return {
        "kind": kind, "n_bytes": n_bytes, "seconds": 3.0, "counting": 2.0, "merging": 1.0,
        "n_distinct_words": 1_100, "n_bytes_written": 0, "peak_rss_nbytes": 250_000_000, **others,
    }  # fmt: skip


def make_counting_run() -> dict[str, Any]:
    run = make_run("counting", 10**6, memory=300_000_000, n_bytes_written=5_000_000)
    return {name: value for name, value in run.items() if name not in ("seconds", "merging")}


def make_results() -> dict[str, Any]:
    point = {
        "n_bytes": 15 * 10**9, "n_distinct_words": 2_000_000, "counting": 80.0, "merging": 20.0,
        "counting_exponent": 0.99, "merging_exponent": 0.5, "peak_rss_nbytes": 7 * 10**8,
        "nbytes_a_word": 123.4, "least_budget_nbytes": 6 * 10**8,
    }  # fmt: skip
    far = {**point, "n_bytes": 10**12, "counting": 7200.0, "peak_rss_nbytes": 26 * 10**9}
    return {
        "benchmark": "scale",
        "machine": {
            "cpu": "A CPU", "cores": 2, "memory_nbytes": 1 << 33, "system": "Linux", "python": "3.11.0",
        },
        "versions": {"numpy": "2.0"},
        "date": "2026-01-01",
        "seconds": 420.0,
        "threads": 2,
        "vocab_size": 32_000,
        "law": {
            "factor": 1.0, "exponent": 0.5, "round_nbytes": 10**6, "points": [[2500, 50], [10**6, 1250]],
        },
        "runs": [
            make_run("free", 10**6),
            make_counting_run(),
            make_run("bounded", 15 * 10**9, memory=8 * 10**9, seconds=90.0, counting=78.0),
        ],
        "extrapolated": [point, far],
        "checks": [
            {"what": "counts within a budget give the same merges", "equal": True},
            {"what": "1 GB stays within 0.1 GB", "equal": False},
        ],
    }  # fmt: skip


def test_render__tells_figures_and_what_they_say(tmp_path: Path) -> None:
    """Truth: by hand; 10**6 bytes have 1,000 words by the law, 26 GB take 48 GiB or a power of two."""
    path = tmp_path / "results.json"
    path.write_text(json.dumps(make_results()), encoding="utf-8")
    lines = run_program("render.py", "--results", str(path)).stdout.splitlines()
    assert "| 1 MB |  | 3.0 | 2.0 | 1.0 | 0 | 250 |  | 1,100 | +10.0 % |" in lines
    assert (
        "| 1 MB | counting alone, budget 0.3 GB |  | 2.0 |  | 0 | 250 | 5 | 1,100 | +10.0 % |"
        in lines
    )
    assert "| 15 GB | 2.0 | 80 s | 20 s | 100 s | 0.7 | 0.6 | 1 GiB |" in lines
    assert "| 1 TB | 2.0 | 2.0 h | 20 s | 2.0 h | 26.0 | 0.6 | 64 GiB |" in lines
    text = "\n".join(lines)
    assert "*n* bytes have 1 · *n*^0.500 distinct words" in text
    assert "1 MB, it is off by 20.0 % at most" in text
    assert "**not so:** 1 GB stays within 0.1 GB" in text
    assert "Of 15 GB, 100 s and 0.7 GB were foretold; measured were 79 s and 0.2 GB." in text


def test_benchmark__of_small_sizes(tmp_path: Path) -> None:
    """Truth: the corpus: as many rounds as the sizes ask for, and equal merges within a budget."""
    corpus = make_corpus(3_000)
    (tmp_path / "english.txt").write_bytes(corpus)
    results = tmp_path / "results.json"
    sizes = [n * len(corpus) / 1e9 for n in (1, 2, 3)]
    done = run_program(
        *("scale.py", "--corpora", str(tmp_path), "--sizes", *map(str, sizes[:2])),
        *("--largest", str(sizes[2]), "--bound", "3", "--vocab", "600", "--results", str(results)),
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(results.read_text(encoding="utf-8"))
    expected = [("free", 1), ("free", 2), ("counting", 2), ("bounded", 3)]
    actual = [(run["kind"], run["n_bytes"] / len(corpus)) for run in figures["runs"]]
    assert actual == expected
    assert all(check["equal"] for check in figures["checks"])
    assert len(figures["checks"]) == 3
    assert "**Measured**" in run_program("render.py", "--results", str(results)).stdout


def test_benchmark__of_other_sizes_is_kept_out_of_the_pages() -> None:
    """Truth: the rule that pages show figures of whole runs only."""
    done = run_program("scale.py", "--largest", "1")
    assert done.returncode == 2
    assert "--results" in done.stderr
