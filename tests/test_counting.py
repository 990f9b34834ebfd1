"""Counting words: any route, any chunk, any number of threads, with and without runs on disk."""

import io
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import numbpe
from numbpe import counting, reference, spilling, word_counter
from numbpe.errors import ArgumentError, BudgetError, DataError, InvalidTextError
from numbpe.patterns import SlowPatternWarning
from numbpe.process_memory import measure_peak_rss

SPECIAL = "<|endoftext|>"
PARTS = ["a", "bc", "the", " ", "  ", "\n", "\r\n", "'s", "1", "23", "!", "é", "中", "🙃", "\0", "<|",
         SPECIAL, "long" * 9, " word", "\ufeff"]  # fmt: skip


def make_text(seed, n_parts=300):
    rng = random.Random(seed)
    return "".join(rng.choice(PARTS) for _ in range(n_parts))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "deepseek_v3"])
def test_count_words__random_text(seed, pattern):
    """Truth: reference.count_words, through the regex module."""
    text = make_text(seed)
    sources = counting.compile_pattern(pattern).sources
    expected = reference.count_words([text], patterns=sources, special_tokens=[SPECIAL])
    actual = numbpe.count_words([text], pattern=pattern, threads=1)
    assert actual.to_dict() == expected
    assert actual.n_source_bytes == len(text.encode())


@pytest.mark.parametrize("chunk_nbytes", [1, 2, 3, 7, 64, 1000, 1 << 20])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_count_words__chunks_and_threads(tmp_path, chunk_nbytes, threads):
    """Truth: reference.count_words; sizes of chunks and numbers of threads change nothing."""
    text = make_text(5)
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    expected = reference.count_words([text], special_tokens=[SPECIAL])
    actual = numbpe.count_words(path, chunk_nbytes=chunk_nbytes, threads=threads)
    assert actual.to_dict() == expected


def test_count_words__routes(tmp_path, monkeypatch):
    """Truth: by definition; path, list, generator, bytes and stdin give the same counts."""
    documents = [make_text(seed, 60) for seed in range(8)]
    whole = SPECIAL.join(documents)
    path = tmp_path / "whole.txt"
    path.write_bytes(whole.encode())
    for i, document in enumerate(documents):
        (tmp_path / f"part{i}.txt").write_bytes(document.encode())
    expected = numbpe.count_words(path, threads=1).to_dict()
    stdin = io.TextIOWrapper(io.BytesIO(whole.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    for source in (
        str(path),
        [whole],
        [whole.encode()],
        documents,
        (document.encode() for document in documents),
        str(tmp_path / "part*.txt"),
        sorted(tmp_path.glob("part*.txt")),
        "-",
    ):
        assert numbpe.count_words(source, threads=2).to_dict() == expected


def test_count_words__one_document_for_each_worker():
    """Truth: by arithmetic; none of 1,001 documents is lost, whatever the workers (case 9)."""
    for threads in (1, 2, 3, 8):
        counts = numbpe.count_words((f" w{i}" for i in range(1001)), threads=threads)
        assert counts.to_dict()[b" w"] == 1001
        assert len(counts) == 1002


def shrink_tables(monkeypatch):
    """Make every worker begin small and spill whenever its first table is three quarters full."""
    monkeypatch.setattr(word_counter, "FIRST_SLOTS", 64)
    monkeypatch.setattr(word_counter, "FIRST_ARENA_NBYTES", 1 << 14)
    limit = 64 * word_counter.ROW_NBYTES + (1 << 14)
    monkeypatch.setattr(counting.CountingRun, "_limit_tables", lambda run, chunk_nbytes: limit)


@pytest.mark.parametrize("threads", [1, 2])
def test_count_words__spilled(monkeypatch, threads):
    """Truth: the same counts made in memory; and the temporary folder is gone."""
    documents = [
        make_text(seed, 200) + " ".join(map(str, range(seed, 900 + seed))) for seed in range(6)
    ]
    expected = numbpe.count_words(documents, threads=1)
    written = []
    write = spilling.SpilledRuns.write

    def record(runs, path, table):
        written.append(path)
        write(runs, path, table)

    monkeypatch.setattr(spilling.SpilledRuns, "write", record)
    shrink_tables(monkeypatch)
    actual = numbpe.count_words(documents, threads=threads, chunk_nbytes=512)
    assert len(written) > 5
    assert actual == expected
    assert actual.to_dict() == expected.to_dict()
    assert not any(path.parent.exists() for path in written)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_count_words__spilled_and_interrupted(monkeypatch, tmp_path, failure):
    """Truth: by definition; nothing temporary is left after an error or Ctrl-C."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shrink_tables(monkeypatch)

    def make_documents():
        for i in range(40):
            yield " ".join(map(str, range(200 * i, 200 * i + 300)))
        assert list(tmp_path.iterdir())
        raise failure

    with pytest.raises(failure):
        numbpe.count_words(make_documents(), threads=2, chunk_nbytes=512)
    assert not list(tmp_path.iterdir())


def test_count_words__disk_full_while_spilling(monkeypatch, tmp_path):
    """Truth: by definition; the error names the folder and the ways out, and nothing is left."""
    import pyarrow as pa

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(pa, "OSFile", fail)
    shrink_tables(monkeypatch)
    with pytest.raises(OSError, match="disk is full; set TMPDIR"):
        numbpe.count_words([" ".join(map(str, range(5000)))], threads=2, chunk_nbytes=512)
    assert not list(tmp_path.iterdir())


def test_count_words__budget_too_small():
    """Truth: by definition; the error states the need and the ways out."""
    with pytest.raises(BudgetError, match=r"needs about .* of memory in all.*memory="):
        numbpe.count_words(["a b c"], memory="1MiB")


def test_count_words__pattern_of_the_regex_module():
    """Truth: hand-computed; a pattern with a look-behind runs all the same, with one warning."""
    with pytest.warns(SlowPatternWarning):
        counts = numbpe.count_words(["abab"], pattern="(?<=a)b|a")
    assert counts.to_dict() == {b"a": 2, b"b": 2}


def test_count_words__bad_input(tmp_path):
    """Truth: by definition; one clear error each."""
    with pytest.raises(DataError, match="nothing to read"):
        numbpe.count_words([])
    with pytest.raises(FileNotFoundError):
        numbpe.count_words(tmp_path / "missing.txt")
    with pytest.raises(ArgumentError):
        numbpe.count_words(["a"], special_tokens=["x", "x"])
    with pytest.raises(ArgumentError, match="threads"):
        numbpe.count_words(["a"], threads=0)
    with pytest.raises(ArgumentError, match="size"):
        numbpe.count_words(["a"], memory="lots")
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"abc \xff\xfe abc \xe2\x82")
    with pytest.raises(InvalidTextError, match=r"bad\.txt.* byte 4 "):
        numbpe.count_words(bad, errors="strict")
    assert numbpe.count_words(bad).to_dict() == reference.count_words(
        [bad.read_bytes().decode("utf-8", "replace")]
    )


@pytest.mark.slow
def test_count_words__address_space_limit(tmp_path):
    """Truth: the same counts without a limit; under ulimit -v words go to disk, and nothing aborts."""
    path = tmp_path / "numbers.txt"
    path.write_text(" ".join(f"{i * 7919 % 900_001:x}" for i in range(900_000)))
    script = (
        "import resource, sys, numbpe\n"
        "limit = int(sys.argv[2])\n"
        "numbpe.count_words(['warm'], threads=2)\n"
        "import pyarrow, pyarrow.compute, pyarrow.ipc\n"
        "pages = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "if limit: resource.setrlimit(resource.RLIMIT_AS, (pages + limit,) * 2)\n"
        "counts = numbpe.count_words(sys.argv[1], pattern=r'\\S+|\\s+', threads=2)\n"
        "print(len(counts), counts.n_pieces)\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script, str(path), str(limit)],
            capture_output=True, text=True, check=True,
        ).stdout
        for limit in (0, 500 << 20)
    ]  # fmt: skip
    assert outputs[0] == outputs[1]


def test_count_words__memory_is_that_of_the_words(tmp_path):
    """Truth: measured; five times the text takes no more memory, since the words are the same (case 21)."""
    script = (
        "import sys, numbpe\n"
        "from numbpe.process_memory import measure_peak_rss\n"
        "numbpe.count_words(sys.argv[1], threads=2)\n"
        "print(measure_peak_rss())\n"
    )
    if measure_peak_rss() is None:
        pytest.skip("this system does not tell how much memory a process took")
    text = " ".join(f"word{i * 7919 % 60_001}" for i in range(1_500_000)).encode()
    peaks = []
    for n_copies in (1, 5):
        path = Path(tmp_path) / f"{n_copies}.txt"
        path.write_bytes(text * n_copies)
        run = [sys.executable, "-c", script, str(path)]
        peaks.append(int(subprocess.run(run, capture_output=True, check=True).stdout))
    assert peaks[1] < 1.1 * peaks[0]
