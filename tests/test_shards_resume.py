"""Several shards: dealing, resuming, mishaps, and the bound on memory."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numbpe
from numbpe import shard_writers
from numbpe.errors import ArgumentError, DataError, FolderInUseError
from numbpe.files import lock_output
from numbpe.shard_manifest import find_id_type
from numbpe.shards import encode_files
from numbpe.tokenizer import Tokenizer

AUSTEN = Path(__file__).resolve().parents[1] / "data" / "austen.txt"
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Trained on the shipped corpus."""
    return numbpe.train(AUSTEN, 400, progress=False)


@pytest.fixture
def corpus(tmp_path: Path, rng: np.random.Generator) -> list[Path]:
    """Three files of several documents each."""
    words = AUSTEN.read_text(encoding="utf-8").split(" ")[:6000]
    paths = []
    for number in range(3):
        documents = [
            " ".join(rng.choice(words, size=int(rng.integers(1, 60)))) for _ in range(20 + number)
        ]
        paths.append(tmp_path / f"in{number}.txt")
        paths[-1].write_text(END.join(documents) + (END if number else ""), encoding="utf-8")
    return paths


def read_shards(paths: Sequence[Path]) -> list[bytes]:
    return [path.read_bytes() for path in paths]


def list_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("in"))


@pytest.mark.parametrize("n_shards", [2, 5, 80])
def test_shards__are_the_one_file_cut_between_documents(
    tokenizer: Tokenizer, corpus: list[Path], n_shards: int, tmp_path: Path
) -> None:
    """Truth: the single file of the same run; sizes by the docstring."""
    whole = encode_files(tokenizer, corpus, tmp_path / "one.bin").files[0].read_bytes()
    end = tokenizer.special_tokens[END]
    expected = None
    for chunk_nbytes, threads in ((50, 1), (999, 2), (1 << 20, 1)):
        report = encode_files(
            tokenizer, corpus, tmp_path / "many.bin", shards=n_shards,
            threads=threads, chunk_nbytes=chunk_nbytes,
        )  # fmt: skip
        assert report.files[1].name == f"many-00001-of-{n_shards:05d}.bin"
        shards = read_shards(report.files)
        assert b"".join(shards) == whole
        for shard in shards:
            assert not shard or np.frombuffer(shard, "<u2")[-1] == end
        if n_shards < 10:
            assert max(map(len, shards)) - min(map(len, shards)) < len(whole) // n_shards
        assert expected in (None, shards)
        expected = shards


def test_shards_of_a_list__are_dealt_by_size(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Truth: hand-computed; 12 bytes in three stretches of four."""
    report = encode_files(
        tokenizer, ["\u00e9\u00e9", "cdef", "gh", "ij"], tmp_path / "o.arrow", shards=3
    )
    assert [_count_rows(path) for path in report.files] == [1, 1, 2]


def _count_rows(path: Path) -> int:
    import pyarrow as pa

    return int(pa.ipc.open_file(path).read_all().num_rows)


def test_resume__keeps_what_is_complete_and_makes_the_rest_anew(
    tokenizer: Tokenizer, corpus: list[Path], tmp_path: Path
) -> None:
    """Truth: a run that was never interrupted."""
    output = tmp_path / "o.bin"
    options: dict[str, Any] = {"shards": 4, "resume": True, "chunk_nbytes": 500}
    first = encode_files(tokenizer, corpus, output, **options)
    expected = read_shards(first.files)
    states = [path.stat().st_mtime_ns for path in first.files]
    again = encode_files(tokenizer, corpus, output, **options)
    assert (again.n_kept, again.n_source_bytes) == (4, 0)
    assert (again.n_tokens, again.n_documents) == (first.n_tokens, first.n_documents)
    first.files[1].unlink()
    first.files[2].write_bytes(b"short")
    stale = tmp_path / ".o-00001-of-00004.bin.0123456789abcdef.numbpe-tmp"
    stale.write_bytes(b"half")
    partly = encode_files(tokenizer, corpus, output, **options)
    assert partly.n_kept == 2
    assert partly.n_tokens == first.n_tokens
    assert read_shards(first.files) == expected
    kept = [path.stat().st_mtime_ns for path in first.files]
    assert [kept[0], kept[3]] == [states[0], states[3]]
    assert list_files(tmp_path) == sorted(
        ["o.bin.json", *(f"o-0000{number}-of-00004.bin" for number in range(4))]
    )


def test_resume__refuses_what_was_made_otherwise(
    tokenizer: Tokenizer, corpus: list[Path], tmp_path: Path
) -> None:
    """Truth: by definition; the difference is named, and the shards stay as they were."""
    output = tmp_path / "o.bin"
    first = encode_files(tokenizer, corpus, output, shards=2)
    expected = read_shards(first.files)
    for change, other, message in (
        ({"special": "text"}, tokenizer, "special was 'allow', and now it is 'text'"),
        ({"dtype": "uint32"}, tokenizer, "dtype was 'uint16'"),
        ({}, tokenizer.truncated(300), "n ids was .* and now it is 300"),
        ({}, Tokenizer(tokenizer.vocab, tokenizer.merges[::-1], [END]), "tokenizer was another"),
        ({"shards": 3}, tokenizer, "n shards was 2"),
    ):
        options: dict[str, Any] = {"shards": 2, "resume": True, **change}
        with pytest.raises(DataError, match=f"cannot resume: by .*o.bin.json' the {message}"):
            encode_files(other, corpus, output, **options)
    corpus[0].write_text("changed", encoding="utf-8")
    with pytest.raises(DataError, match=f"file '{corpus[0]}' had another size"):
        encode_files(tokenizer, corpus, output, shards=2, resume=True)
    assert read_shards(first.files) == expected
    with pytest.raises(ArgumentError, match="resume"):
        encode_files(tokenizer, ["a text", "another"], output, resume=True)


def test_lock__keeps_other_runs_from_the_same_files(
    tokenizer: Tokenizer, corpus: list[Path], tmp_path: Path
) -> None:
    """Truth: by definition; another output in the same folder is free."""
    output = tmp_path / "deep" / "folder" / "o.bin"
    with lock_output(output):
        with pytest.raises(FolderInUseError, match="another run .* choose another name"):
            encode_files(tokenizer, corpus, output)
        encode_files(tokenizer, corpus, output.with_name("p.bin"))
    assert list_files(output.parent) == ["p.bin", "p.bin.json"]
    with lock_output(tmp_path / "none" / "folder" / "o.bin"):
        pass
    assert not (tmp_path / "none").exists()


def test_manifest__says_what_is_in_the_files(
    tokenizer: Tokenizer, corpus: list[Path], tmp_path: Path
) -> None:
    """Truth: the report of the run."""
    report = encode_files(tokenizer, corpus, tmp_path / "o.bin", shards=2, dtype="uint32")
    content = json.loads((tmp_path / "o.bin.json").read_text())
    assert (content["dtype"], content["separator"]) == ("uint32", END)
    assert (content["n_documents"], content["n_tokens"]) == (report.n_documents, report.n_tokens)
    assert [entry["name"] for entry in content["files"]] == [path.name for path in report.files]
    assert find_id_type(report.files[1]) == "uint32"
    report.files[1].write_bytes(b"other")
    assert find_id_type(report.files[1]) is None


@pytest.mark.parametrize("suffix", [".bin", ".npy", ".parquet", ".arrow"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_mishap__leaves_the_shards_that_were_complete(
    tokenizer: Tokenizer,
    corpus: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    error: BaseException,
) -> None:
    """Truth: the promise that a file appears whole or not at all."""
    kind = {
        ".bin": shard_writers._FlatWriter,
        ".npy": shard_writers._FlatWriter,
        ".parquet": shard_writers._RowWriter,
        ".arrow": shard_writers._RowWriter,
    }[suffix]
    write: Any = kind.write  # type: ignore[attr-defined]
    n_calls = 0

    def write_some(*arguments: Any) -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 25:
            raise error
        write(*arguments)

    output = tmp_path / f"o{suffix}"
    options: dict[str, Any] = {"shards": 3, "chunk_nbytes": 200, "threads": 2}
    with monkeypatch.context() as patch:
        patch.setattr(kind, "write", write_some)
        with pytest.raises(type(error)) as caught:
            encode_files(tokenizer, corpus, output, **options)
    if isinstance(error, OSError):
        assert "o-0000" in str(getattr(caught.value, "filename", ""))
    left = list_files(tmp_path)
    assert f"o-00000-of-00003{suffix}" in left
    assert f"o-00002-of-00003{suffix}" not in left
    assert not [name for name in left if "numbpe-tmp" in name]
    resumed = encode_files(tokenizer, corpus, output, **options, resume=True)
    assert resumed.n_kept >= 1
    fresh = encode_files(tokenizer, corpus, tmp_path / "fresh" / f"o{suffix}", **options)
    assert read_shards(resumed.files) == read_shards(fresh.files)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_full_disk__is_said_in_words(
    tokenizer: Tokenizer, corpus: list[Path], tmp_path: Path
) -> None:
    """Truth: the system's own message; /dev/full refuses every byte."""
    (tmp_path / "full.bin").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        encode_files(tokenizer, corpus, tmp_path / "full.bin")


KILLED_RUN = """
import sys, pickle
from pathlib import Path
from numbpe.shards import encode_files
from numbpe import shard_writers
write = shard_writers._FlatWriter.write
def write_slowly(self, ids, ends):
    write(self, ids, ends)
    Path(sys.argv[3] + ".started").touch()
    import time; time.sleep(0.01)
shard_writers._FlatWriter.write = write_slowly
tokenizer = pickle.loads(Path(sys.argv[1]).read_bytes())
encode_files(tokenizer, sys.argv[2] + "/in*.txt", sys.argv[3], shards=3, chunk_nbytes=100, threads=1)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_resume__after_a_kill(tokenizer: Tokenizer, corpus: list[Path], tmp_path: Path) -> None:
    """Truth: a run that was never interrupted."""
    import pickle

    (tmp_path / "in.pkl").write_bytes(pickle.dumps(tokenizer))
    output = tmp_path / "o.bin"
    command = [
        sys.executable,
        "-c",
        KILLED_RUN,
        str(tmp_path / "in.pkl"),
        str(tmp_path),
        str(output),
    ]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 120
    while not (tmp_path / "o.bin.json").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None, "the run ended before it was killed"
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (tmp_path / "o.bin.started").unlink()
    assert "o-00002-of-00003.bin" not in list_files(tmp_path)
    options: dict[str, Any] = {"shards": 3, "chunk_nbytes": 100}
    resumed = encode_files(tokenizer, str(tmp_path / "in*.txt"), output, resume=True, **options)
    assert resumed.n_kept >= 1
    fresh = encode_files(tokenizer, corpus, tmp_path / "fresh" / "o.bin", **options)
    assert read_shards(resumed.files) == read_shards(fresh.files)
    assert not [name for name in list_files(tmp_path) if "numbpe-tmp" in name]


MEASURED_RUN = """
import sys, pickle
from pathlib import Path
from numbpe.shards import encode_files
tokenizer = pickle.loads(Path(sys.argv[1]).read_bytes())
report = encode_files(tokenizer, sys.argv[2:], "{output}", progress=False, threads=2)
print(report.n_source_bytes, report.peak_rss_nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from /proc")
@pytest.mark.parametrize("suffix", [".bin", ".arrow"])
def test_memory__does_not_grow_with_the_file(
    tokenizer: Tokenizer, tmp_path: Path, suffix: str
) -> None:
    """Truth: the bound (case 95): 60 MB take hardly more than 6 MB, which fill all buffers."""
    import pickle

    (tmp_path / "in.pkl").write_bytes(pickle.dumps(tokenizer))
    text = AUSTEN.read_bytes()
    block = text * (6_000_000 // len(text)) + END.encode()
    small, large = tmp_path / "in_small.txt", tmp_path / "in_large.txt"
    small.write_bytes(block)
    with large.open("wb") as file:
        for _ in range(10):
            file.write(block)
    peaks = []
    for path in (small, small, large):
        program = MEASURED_RUN.format(output=tmp_path / f"o{suffix}")
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "in.pkl"), str(path)],
            capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        n_read, peak = map(int, done.stdout.split())
        assert n_read == path.stat().st_size
        peaks.append(peak)
    extra = 24 << 20 if suffix == ".bin" else 160 << 20
    assert peaks[2] - peaks[1] < extra, peaks
