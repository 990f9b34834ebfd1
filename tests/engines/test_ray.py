"""Ray, on a cluster of two nodes on this machine: results, workers that die, addresses without an answer."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import numbpe
from numbpe import cli
from numbpe.errors import ArgumentError, DataError, EngineError
from numbpe.shards import encode_files

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'numbpe[ray]'")

from ray.cluster_utils import Cluster

from numbpe.engines import RayEngine
from numbpe.engines.ray_engine import RaySession

AUSTEN = Path(__file__).resolve().parents[2] / "data" / "austen.txt"
BLOCK_NBYTES = 1 << 17

# The workers cannot import this file.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a cluster of two nodes with one core each."""
    small = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **small})
    cluster.add_node(**small)
    yield cluster.address
    cluster.shutdown()


@pytest.fixture(scope="module")
def counts() -> numbpe.WordCounts:
    return numbpe.count_words(AUSTEN)


@pytest.fixture(scope="module")
def tokenizer(counts: numbpe.WordCounts) -> numbpe.Tokenizer:
    return numbpe.train(counts, 1000, progress=False)


def test_count_words__of_two_nodes(
    address: str, counts: numbpe.WordCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Truth: count_words in this process; RAY_ADDRESS names the cluster, too."""
    monkeypatch.setenv("RAY_ADDRESS", address)
    engine = RayEngine(block_nbytes=BLOCK_NBYTES)
    assert engine.address == address
    assert numbpe.count_words(AUSTEN, engine=engine) == counts
    assert not ray.is_initialized()


def test_command_line__trains_and_encodes_on_a_cluster(
    address: str, tokenizer: numbpe.Tokenizer, tmp_path: Path
) -> None:
    """Truth: the same commands without --engine."""
    far = ["--engine", "ray", "--address", address, "--quiet"]
    train = ["train", "--input", str(AUSTEN), "--vocab", "1000", "--output"]
    assert cli.main([*train, str(tmp_path / "far"), *far]) == 0
    assert numbpe.load(tmp_path / "far" / "austen.json").merges == tokenizer.merges
    files = ["--tokenizer", str(tmp_path / "far" / "austen.json"), "--input", str(AUSTEN)]
    outputs = [tmp_path / "far.bin", tmp_path / "local.bin"]
    assert cli.main(["encode", *files, "--output", str(outputs[0]), *far]) == 0
    assert cli.main(["encode", *files, "--output", str(outputs[1]), "--quiet"]) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_signals__stay_those_of_the_program(address: str) -> None:
    """Truth: the handler that was set before; Ray sets one that ends the process at once."""
    before = signal.getsignal(signal.SIGTERM)
    with RayEngine(address).open():
        assert signal.getsignal(signal.SIGTERM) is before


def answer(server: socket.socket, data: bytes | None) -> None:
    """Answer the first caller; say nothing at all if there is no data."""
    connection, _ = server.accept()
    if data is not None:
        connection.recv(1000)
        connection.sendall(data)
        connection.close()
    else:
        time.sleep(1)
        connection.close()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (None, r"nothing answers within 0\.5 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no head of a cluster"),
        (b"", "no head of a cluster"),
        # Of another server of HTTP/2: settings, and headers with the status 404.
        (bytes(3) + b"\4" + bytes(5) + b"\0\0\1\1\5\0\0\0\1\x8d", "no head of a cluster"),
        (bytes(3) + b"\4" + bytes(5), "no head of a cluster"),
    ],
)
def test_address__without_an_answer_is_an_error_in_time(data: bytes | None, found: str) -> None:
    """Truth: the wording of the message and the clock."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server, data), daemon=True)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(EngineError, match=f"cannot connect to Ray at '{address}': .*{found}"):
            numbpe.count_words(["a"], engine=RayEngine(address, timeout=0.5))
        assert time.monotonic() - started < 2.5
        thread.join(5)


def test_address__that_is_closed_or_none_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Truth: the wording of the messages."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(EngineError, match="Connection refused; check that the cluster runs"):
        numbpe.count_words(["a"], engine="ray", address=closed)
    command = ["train", "--input", str(AUSTEN), "--vocab", "300", "--engine", "ray"]
    assert cli.main([*command, "--address", closed, "--connect-timeout", "1"]) == 1
    assert "error: cannot connect to Ray" in capsys.readouterr().err
    for wrong in ("somewhere", "host:", "host:99999", ":1"):
        with pytest.raises(ArgumentError, match="must be 'host:port', 'auto' or 'local'"):
            RayEngine(wrong)
    with pytest.raises(ArgumentError, match="one of a Ray client"):
        RayEngine("ray://head:10001")
    with pytest.raises(ArgumentError, match="a number of seconds above 0"):
        RayEngine(timeout=0)


@pytest.fixture(scope="module")
def connected(address: str) -> Iterator[str]:
    """The address of the cluster; the program is connected to it, from here to the end."""
    ray.init(address, log_to_driver=False, logging_level="error")
    yield address
    ray.shutdown()


def test_connection__of_the_program_is_used_and_kept(
    connected: str, counts: numbpe.WordCounts
) -> None:
    """Truth: the state of Ray before; another address is refused."""
    texts = AUSTEN.read_text().splitlines(keepends=True)[:3000]
    assert numbpe.count_words(texts, engine="ray", address=connected) == numbpe.count_words(texts)
    assert numbpe.count_words(AUSTEN, engine="ray") == counts
    with pytest.raises(ArgumentError, match="connected to the one at"):
        numbpe.count_words(AUSTEN, engine="ray", address="127.0.0.1:1")
    assert ray.is_initialized()


def test_encode_files__of_two_nodes(
    connected: str, tokenizer: numbpe.Tokenizer, tmp_path: Path
) -> None:
    """Truth: encode_files in this process; the text has separators, and many blocks."""
    text = AUSTEN.read_bytes().replace(b"\n\n", b"<|endoftext|>")
    (tmp_path / "in.txt").write_bytes(text)
    engine = RayEngine(connected, block_nbytes=BLOCK_NBYTES)
    for name in ("ids.bin", "ids.parquet"):
        options: dict[str, Any] = {"shards": 2, "progress": False}
        local = encode_files(tokenizer, tmp_path / "in.txt", tmp_path / name, **options)
        expected = [path.read_bytes() for path in local.files]
        far = encode_files(
            tokenizer, tmp_path / "in.txt", tmp_path / name, engine=engine, **options
        )
        assert [path.read_bytes() for path in far.files] == expected
        assert (far.n_documents, far.n_tokens) == (local.n_documents, local.n_tokens)


class Dying:
    """Does what a function does; the first time that two calls are done, the worker is killed."""

    def __init__(self, function: Any, folder: Path) -> None:
        self.function = function
        self.folder = folder

    def __call__(self, shared: Any, block: Any) -> Any:
        result = self.function(shared, block)
        (self.folder / f"{os.getpid()}-{time.monotonic_ns()}.done").touch()
        if len(list(self.folder.glob("*.done"))) > 1:
            try:
                (self.folder / "killed").touch(exist_ok=False)
            except FileExistsError:
                return result
            os.kill(os.getpid(), signal.SIGKILL)
        return result


class DyingEngine(RayEngine):
    """A cluster one of whose workers is killed when it is about to give its result back."""

    def __init__(self, address: str, folder: Path) -> None:
        super().__init__(address, block_nbytes=BLOCK_NBYTES)
        self.folder = folder

    @contextmanager
    def open(self) -> Iterator[RaySession]:
        with super().open() as session:
            make_call = session._make_call

            def make_dying_call(function: Any, *arguments: Any) -> Any:
                return make_call(Dying(function, self.folder), *arguments)

            session._make_call = make_dying_call  # type: ignore[method-assign]
            yield session


@pytest.mark.parametrize("work", ["count", "encode"])
def test_worker__that_is_killed_in_the_middle_loses_nothing(
    work: str,
    connected: str,
    counts: numbpe.WordCounts,
    tokenizer: numbpe.Tokenizer,
    tmp_path: Path,
) -> None:
    """Truth: the local results; SIGKILL, once, between the work and the handing over."""
    (tmp_path / "marks").mkdir()
    engine = DyingEngine(connected, tmp_path / "marks")
    if work == "count":
        assert numbpe.count_words(AUSTEN, engine=engine) == counts
    else:
        source = AUSTEN.read_text().splitlines()[:4000]
        for name, where in (("far.bin", engine), ("local.bin", None)):
            encode_files(tokenizer, source, tmp_path / name, progress=False, engine=where)
        assert (tmp_path / "far.bin").read_bytes() == (tmp_path / "local.bin").read_bytes()
    assert (tmp_path / "marks" / "killed").exists()


class Travelling:
    """Notes in a folder each time that it arrives somewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        (self.folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()


def name_process(shared: Travelling, block: int) -> tuple[int, int]:
    return block, os.getpid()


def test_shared__travels_once_to_each_worker_and_order_is_kept(
    connected: str, tmp_path: Path
) -> None:
    """Truth: one file for each process that worked, whatever the number of blocks."""
    with RayEngine(connected).open() as session:
        results = list(session.map_in_order(name_process, Travelling(tmp_path), range(40), 1))
    assert [block for block, _ in results] == list(range(40))
    arrivals = sorted(path.name.split("-")[0] for path in tmp_path.iterdir())
    assert arrivals == sorted({str(process) for _, process in results})


def test_errors__come_from_the_workers_as_they_are(connected: str, tmp_path: Path) -> None:
    """Truth: the classes and messages of the local run."""
    (tmp_path / "a.jsonl").write_text('{"text": null}\n')
    engine = RayEngine(connected)
    with pytest.raises(DataError, match="is null, not text"):
        numbpe.count_words(tmp_path / "a.jsonl", engine=engine)
    with pytest.raises(EngineError, match="has 2 cores, and each task is to use 9"):
        numbpe.count_words(AUSTEN, engine=engine, threads=9)
