"""Blocks of a source, each read for itself, give what the whole gives: by an engine in this process."""

import gzip
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import numbpe
from numbpe.bad_input import SkippedWarning
from numbpe.engines.counting import split_words
from numbpe.engines.file_cuts import FileCutter, find_behind_token
from numbpe.errors import ArgumentError, DataError, EngineError, InvalidTextError
from numbpe.input_files import InputFile
from numbpe.shards import count_files, encode_files

TOKENS = ("<|endoftext|>", "<|end", "oft", "aa", "\N{REPLACEMENT CHARACTER}\n")

MakeEngine = Callable[[int], Any]


@pytest.mark.parametrize("block_nbytes", [50, 700])
@pytest.mark.parametrize(
    "options",
    [
        {"special_tokens": TOKENS},
        {"special_tokens": TOKENS[:1], "errors": "ignore", "pattern": "o200k"},
        {"special_tokens": (), "cuts_lines": True},
        {"special_tokens": TOKENS, "pattern": r"\w+|\s+|(?<=a)b|.", "errors": "ignore"},
    ],
)
@pytest.mark.filterwarnings("ignore::numbpe.patterns.SlowPatternWarning")
def test_count_words__in_blocks_of_files(
    corpus: list[Path], make_engine: MakeEngine, options: dict[str, Any], block_nbytes: int
) -> None:
    """Truth: count_words in this process; more blocks than files where the pattern has cuts."""
    engine = make_engine(block_nbytes)
    expected = numbpe.count_words(corpus, **options)
    actual = numbpe.count_words(corpus, engine=engine, **options)
    assert actual == expected
    assert actual.n_source_bytes == expected.n_source_bytes
    assert engine.n_blocks > len(corpus) or "(?<=" in options.get("pattern", "")


def test_count_words__in_blocks_of_a_file_system(
    corpus: list[Path], make_engine: MakeEngine
) -> None:
    """Truth: count_words in this process; parts of files are opened through the file system."""
    options: dict[str, Any] = {"filesystem": fs.LocalFileSystem()}
    engine = make_engine(100)
    paths = [str(path) for path in corpus]
    assert numbpe.count_words(paths, engine=engine, **options) == numbpe.count_words(corpus)
    assert engine.n_blocks > len(corpus)


def list_routes(folder: Path, texts: list[str]) -> Iterator[Any]:
    """Yield the same documents in files and in memory."""
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (folder / "rows.jsonl").write_text(lines)
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    table = pa.table({"text": texts})
    pq.write_table(table, folder / "rows.parquet", row_group_size=7)
    for name in ("rows.jsonl", "rows.jsonl.gz", "rows.parquet"):
        yield folder / name
    yield from (table, texts, table["text"])


@pytest.fixture
def documents(make_text: Callable[[int], bytes]) -> list[str]:
    return [make_text(length).decode("utf-8", "replace") for length in [3, 0, 400, *[5] * 60]]


def test_every_route__counts_and_ids_are_those_of_the_local_run(
    documents: list[str], tmp_path: Path, make_engine: MakeEngine
) -> None:
    """Truth: count_words and encode_files in this process, on the list of documents."""
    tokenizer = numbpe.train(documents, 300, special_tokens=TOKENS[:2], progress=False)
    expected = numbpe.count_words(documents)
    encode_files(tokenizer, documents, tmp_path / "local.parquet", progress=False)
    ids = (tmp_path / "local.parquet").read_bytes()
    for source in list_routes(tmp_path, documents):
        engine = make_engine(300)
        assert numbpe.count_words(source, engine=engine) == expected
        assert engine.n_blocks > 1 or isinstance(source, Path)
        encode_files(tokenizer, source, tmp_path / "far.parquet", progress=False, engine=engine)
        assert (tmp_path / "far.parquet").read_bytes() == ids


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"special": "text"},
        {"separator": None, "errors": "ignore", "chunk_nbytes": 64},
        {"separator": "oft", "shards": 3, "errors": "ignore"},
        {"shards": 4, "write_separator": False, "add_special_tokens": True},
    ],
)
def test_encode_files__writes_the_same_bytes(
    corpus: list[Path], tmp_path: Path, make_engine: MakeEngine, options: dict[str, Any]
) -> None:
    """Truth: encode_files in this process, file for file, and what it says of them."""
    tokenizer = numbpe.train(corpus, 320, special_tokens=TOKENS, progress=False)
    for suffix in (".bin", ".arrow"):
        path = tmp_path / "out" / f"ids{suffix}"
        path.parent.mkdir(exist_ok=True)
        encode_files(tokenizer, corpus, path, progress=False, **options)
        expected = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        for block_nbytes in (50, 900):
            engine = make_engine(block_nbytes)
            encode_files(tokenizer, corpus, path, progress=False, engine=engine, **options)
            actual = {file.name: file.read_bytes() for file in path.parent.iterdir()}
            assert actual == expected
            is_cut = options.get("special") != "text" and options.get("separator", "") is not None
            assert (engine.n_blocks > 10) == (is_cut and block_nbytes == 50)


def test_encode_files__resumes_and_counts_with_an_engine(
    corpus: list[Path], tmp_path: Path, make_engine: MakeEngine
) -> None:
    """Truth: encode_files and count_files in this process."""
    tokenizer = numbpe.train(corpus, 320, progress=False)
    path = tmp_path / "ids.npy"
    first = encode_files(tokenizer, corpus, path, shards=3, progress=False)
    expected = [file.read_bytes() for file in first.files]
    first.files[1].unlink()
    again = encode_files(
        tokenizer, corpus, path, shards=3, progress=False, resume=True, engine=make_engine(200)
    )
    assert again.n_kept == 2
    assert [file.read_bytes() for file in again.files] == expected
    counted = count_files(tokenizer, corpus, progress=False, engine=make_engine(200))
    assert counted.n_tokens == count_files(tokenizer, corpus, progress=False).n_tokens


@pytest.mark.parametrize("recipe", ["cs336", "hf"])
def test_train__and_extend_by_counts_of_an_engine(
    corpus: list[Path], make_engine: MakeEngine, recipe: str
) -> None:
    """Truth: train and extended in this process; the recipe "hf" cuts files into lines."""
    options = {"progress": False, "recipe": recipe}
    expected = numbpe.train(corpus, 300, **options)
    actual = numbpe.train(corpus, 300, engine=make_engine(90), **options)
    assert (actual.vocab, actual.merges) == (expected.vocab, expected.merges)
    more = actual.extended(corpus, 310, progress=False, engine=make_engine(90))
    assert more.merges == expected.extended(corpus, 310, progress=False).merges


def test_skipped__is_counted_over_all_blocks(tmp_path: Path, make_engine: MakeEngine) -> None:
    """Truth: by hand; two rows of three files are no text."""
    for number, row in enumerate(['{"text": null}', '{"text": "a"}', '{"text": 7}']):
        (tmp_path / f"{number}.jsonl").write_text(row + "\n")
    with pytest.warns(SkippedWarning, match=r"2 rows; the first: .*line 1 of.*0\.jsonl"):
        counts = numbpe.count_words(tmp_path, on_bad="skip", engine=make_engine(3))
    assert counts.to_dict() == {b"a": 1}
    with pytest.raises(DataError, match="null"):
        numbpe.count_words(tmp_path, engine=make_engine(3))


def test_engines__refuse_what_they_cannot_do_exactly(
    corpus: list[Path], tmp_path: Path, make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the wording of the messages."""
    engine = make_engine(100)
    with corpus[0].open("rb") as file, pytest.raises(ArgumentError, match="save it to a file"):
        numbpe.count_words(file, engine=engine)
    with pytest.raises(ArgumentError, match="standard input with an engine"):
        numbpe.count_words("-", engine=engine)
    with pytest.raises(ArgumentError, match="keeps no checkpoint"):
        numbpe.count_words(corpus, checkpoint=tmp_path / "kept", engine=engine)
    with pytest.raises(ArgumentError, match='give engine="ray"'):
        numbpe.count_words(corpus, address="10.0.0.1:6379")
    with pytest.raises(ArgumentError, match="leave address out"):
        numbpe.count_words(corpus, engine=engine, address="10.0.0.1:6379")
    with pytest.raises(ArgumentError, match="engine must be one of 'ray'"):
        numbpe.count_words(corpus, engine="spark")
    with pytest.raises(InvalidTextError, match=r"bytes .* to .* of '.*text0\.txt'"):
        numbpe.count_words(corpus, errors="strict", engine=engine)
    with pytest.raises(DataError, match=r"nothing to read: .* holds no text"):
        numbpe.count_words(corpus[1], engine=engine)
    tokenizer = numbpe.train(corpus, 300, progress=False)
    with pytest.raises(DataError, match=r"nothing to read: .* holds no text"):
        encode_files(tokenizer, corpus[1], tmp_path / "o.bin", engine=engine)
    with pytest.raises(ArgumentError, match="its workers encode"):
        encode_files(tokenizer, corpus, tmp_path / "o.bin", engine=engine, memory="1GiB")
    with pytest.raises(ArgumentError, match=r"in bytes .*text0\.txt'?: the text spells"):
        encode_files(tokenizer, corpus, tmp_path / "o.bin", engine=engine, special="error")
    assert not (tmp_path / "o.bin").exists()
    with pytest.raises(InvalidTextError, match="row 1 of the documents from item 2 on"):
        numbpe.count_words(
            [b"abc", b"def", b"ghi", b"\xff"], errors="strict", engine=make_engine(4)
        )
    monkeypatch.setattr("numbpe.engines.counting.get_version", lambda: "0.0.9")
    with pytest.raises(EngineError, match=r"the run was started with 0\.0\.9"):
        numbpe.count_words(corpus, engine=engine)


def test_workers__that_see_other_files_say_so(
    corpus: list[Path], make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: the wording of the messages; the file changes between listing and reading."""
    engine = make_engine(1 << 20)
    send = engine._send
    for change, found in (
        (lambda: corpus[0].write_bytes(b"x"), "it finds 1 bytes"),
        (corpus[0].unlink, "No such file"),
    ):

        def send_late(thing: Any, change: Callable[[], Any] = change) -> Any:
            if type(thing).__name__ == "FileBlock":
                change()
            return send(thing)

        monkeypatch.setattr(engine, "_send", send_late)
        with pytest.raises(DataError, match=f"a worker cannot read .*: .*{found}.*the same files"):
            numbpe.count_words(corpus, engine=engine)


def test_parts_of_files__are_read_as_what_the_file_is(
    tmp_path: Path, make_engine: MakeEngine
) -> None:
    """Truth: the local run; a part begins like JSON Lines, and broken bytes stand within a token."""
    texts = (
        b"first<|endoftext|>" + b'{"text": "a b"}<|endoftext|>' * 30,
        b"<|endof\xfftext|>" * 40,
    )
    for number, text in enumerate(texts):
        path = tmp_path / f"notes{number}"
        path.write_bytes(text)
        engine = make_engine(60)
        options: dict[str, Any] = {"errors": "ignore"}
        expected = numbpe.count_words(path, **options)
        assert numbpe.count_words(path, engine=engine, **options) == expected
        tokenizer = numbpe.train(["ab ab"], 258, progress=False)
        options |= {"progress": False}
        encode_files(tokenizer, path, tmp_path / "local.parquet", **options)
        encode_files(tokenizer, path, tmp_path / "far.parquet", engine=engine, **options)
        expected_ids = (tmp_path / "local.parquet").read_bytes()
        assert (tmp_path / "far.parquet").read_bytes() == expected_ids
        assert engine.n_blocks > 6 or number == 1


def test_split_words__sends_each_word_once(rng: np.random.Generator) -> None:
    """Truth: the bytes of all words and counts, and some for the frame of each part."""
    words = numbpe.WordCounts.from_dict({rng.bytes(100): n + 1 for n in range(3000)})
    parts = list(split_words((words.contents, words.offsets, words.counts), 32))
    assert numbpe.WordCounts.from_arrow(pa.Table.from_batches(parts)) == words
    assert all(len(part) > 10 for part in parts)
    assert sum(len(pickle.dumps(part)) for part in parts) < 3000 * (100 + 16) + 32 * 2000


def test_file_cutter__takes_no_place_within_tokens_that_overlap(tmp_path: Path) -> None:
    """Truth: by hand; where separators overlap only the search from the start tells which count."""
    path = tmp_path / "text"
    # Windows begin at 16, 53 and so on, or behind the last cut; what is near their ends is not taken.
    for text, literals, expected in (
        (b"x" * 40 + b"aa--" * 9, [b"aa"], [42, 62]),
        (b"x" * 40 + b"a" * 60, [b"aa"], [42]),
        (b"x" * 40 + b"aa--" * 9, [b"aa", b"aa-"], []),
        (b"x" * 40 + b"aa--" * 9, [b"aa", b"xaa", b"-aa"], []),
        (b"x" * 40 + b"aa--" * 9, [b"aa", b"a-", b"x"], [42, 62]),
    ):
        path.write_bytes(text)
        cutter = FileCutter(literals, find_behind_token(b"aa"))
        assert cutter.find_cuts(InputFile(str(path)), len(text), 16) == expected, literals


def test_import__without_ray_says_what_to_install() -> None:
    """Truth: the name of the extra in pyproject.toml."""
    code = "import sys; sys.modules['ray'] = None\nimport numbpe\nnumbpe.count_words(['a'], engine='ray')"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "pip install 'numbpe[ray]'" in done.stderr.splitlines()[-1]
