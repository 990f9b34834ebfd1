"""What is timed of an encoder, inside the process of its engine; ``child.py`` calls these.

An engine gives, besides the names of its packages (see README.md):

- ``load(path)``: its tokenizer of a tokenizer.json, with its best settings;
- ``make_encoder(tokenizer)``: a function from one text to ids, a list or a uint32 array;
- ``make_batch_encoder(tokenizer, threads)``: one from many texts to whatever its call gives, and
- ``list_ids(result)``: the ids of each text of that, outside the clock;
- ``encode_file(tokenizer, source, output, threads)``: writes the ids of a file as uint16.
"""

import gc
import hashlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from documents import count_bytes, cut_slices, iterate_documents, read_documents
from references import compare_with_reference, write_reference

Report = dict[str, Any]

N_SAMPLES = 2_000
SHORT_CHARACTERS = 20
GROUP = 256
"""Documents of a call that makes a reference."""
LINEAR_TEXTS = {"letter": "a", "space": " ", "ab": "ab"}
LINEAR_SIZES = (1_000_000, 2_000_000)
LINEAR_TURNS = 3


@dataclass(frozen=True)
class EncodeJob:
    """One run: the text, cut into documents, the tokenizer, and the ids to compare with.

    reference : None where ids are not compared in this run
    """

    input: Path
    output: Path
    tokenizer: Path
    reference: Path | None
    n_bytes: int
    document_nbytes: int
    threads: int

    def read(self) -> list[str]:
        """Return all documents."""
        return read_documents(self.input, self.n_bytes, self.document_nbytes)

    def compare(self, ids: Sequence[Any], first: int) -> Report:
        """Return what is to be reported on the ids of the documents from ``first`` on."""
        if self.reference is None:
            return {}
        return {"ids": compare_with_reference(self.reference, ids, first)}


def measure_throughput(engine: ModuleType, job: EncodeJob) -> Report:
    """Encode document by document: one call each, each text once."""
    encode = engine.make_encoder(engine.load(job.tokenizer))
    warm, timed, first = cut_slices(job.read())
    for document in warm:
        encode(document)
    stop_collecting()
    started = time.perf_counter()
    results = [encode(document) for document in timed]
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "n_bytes": count_bytes(timed)} | job.compare(results, first)


def measure_batch(engine: ModuleType, job: EncodeJob) -> Report:
    """Encode all documents in one call, after one call with those that warm up."""
    encode_batch = engine.make_batch_encoder(engine.load(job.tokenizer), job.threads)
    warm, timed, first = map(as_list, cut_slices(job.read()))
    encode_batch(warm)
    stop_collecting()
    started = time.perf_counter()
    result = encode_batch(timed)
    seconds = time.perf_counter() - started
    report = {"seconds": seconds, "n_bytes": count_bytes(timed)}
    return report | job.compare(engine.list_ids(result), first)


def as_list(value: Any) -> Any:
    """Return a sequence of documents as a list, anything else as it is."""
    return list(value) if isinstance(value, Sequence) else value


def measure_latency(engine: ModuleType, job: EncodeJob) -> Report:
    """Time calls one by one: small documents, and then texts of 20 characters."""
    encode = engine.make_encoder(engine.load(job.tokenizer))
    documents = job.read()
    warm, timed, first = cut_slices(documents)
    short = [document[:SHORT_CHARACTERS] for document in documents[first + len(timed) :]]
    for document in warm:
        encode(document)
    stop_collecting()
    seconds, results = time_calls(encode, timed[:N_SAMPLES])
    short_seconds, _ = time_calls(encode, short[:N_SAMPLES])
    return {
        "p50_seconds": take_quantile(seconds, 0.5),
        "p99_seconds": take_quantile(seconds, 0.99),
        "short_seconds": statistics.median(short_seconds),
        "n_samples": len(seconds),
    } | job.compare(results, first)


def time_calls(encode: Callable[[str], Any], texts: Sequence[str]) -> tuple[list[float], list[Any]]:
    """Return what each call took and what it gave."""
    seconds, results = [], []
    for text in texts:
        started = time.perf_counter_ns()
        ids = encode(text)
        stopped = time.perf_counter_ns()
        seconds.append((stopped - started) * 1e-9)
        results.append(ids)
    return seconds, results


def take_quantile(values: Sequence[float], share: float) -> float:
    """Return the least value that is not below ``share`` of all."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def measure_loading(engine: ModuleType, job: EncodeJob) -> Report:
    """Load a tokenizer and encode a first short text: what an engine puts off is done by then."""
    started = time.perf_counter()
    encode = engine.make_encoder(engine.load(job.tokenizer))
    loaded = time.perf_counter()
    encode("Hello, world! 1 2 3")
    stopped = time.perf_counter()
    return {
        "seconds": stopped - started,
        "load_seconds": loaded - started,
        "first_call_seconds": stopped - loaded,
    }


def measure_memory(engine: ModuleType, job: EncodeJob) -> Report:
    """Encode a long text and keep nothing: the peak is measured from outside."""
    encode = engine.make_encoder(engine.load(job.tokenizer))
    started = time.perf_counter()
    n_bytes = n_ids = 0
    for document in iterate_documents(job.input, job.n_bytes, job.document_nbytes):
        n_ids += len(encode(document))
        n_bytes += job.document_nbytes
    return {"seconds": time.perf_counter() - started, "n_bytes": n_bytes, "n_ids": n_ids}


def measure_files(engine: ModuleType, job: EncodeJob) -> Report:
    """Encode a file to a file of ids, uint16, without those of separators."""
    tokenizer = engine.load(job.tokenizer)
    engine.make_encoder(tokenizer)("Hello, world!")
    output = job.output / "ids.bin"
    started = time.perf_counter()
    engine.encode_file(tokenizer, job.input, output, job.threads)
    seconds = time.perf_counter() - started
    with output.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "seconds": seconds,
        "n_bytes": job.input.stat().st_size,
        "file": {"sha256": digest, "n_bytes": output.stat().st_size},
    }


def measure_linearity(engine: ModuleType, job: EncodeJob) -> Report:
    """Encode texts that are one piece, or pieces as long as they get, of two sizes, in turns.

    The least seconds of each are kept: a machine that others use, too, may change its speed in between.
    """
    encode = engine.make_encoder(engine.load(job.tokenizer))
    for unit in LINEAR_TEXTS.values():
        encode(unit * 100_000)
    texts = {}
    for name, unit in LINEAR_TEXTS.items():
        contents = [(unit * size)[:size] for size in LINEAR_SIZES]
        turns = [[time_one(encode, text) for text in contents] for _ in range(LINEAR_TURNS)]
        texts[name] = [min(seconds) for seconds in zip(*turns, strict=True)]
    return {"texts": texts, "seconds": sum(map(sum, texts.values()))}


def time_one(encode: Callable[[str], Any], text: str) -> float:
    """Return the seconds of a call."""
    started = time.perf_counter()
    encode(text)
    return time.perf_counter() - started


def make_reference(engine: ModuleType, job: EncodeJob) -> Report:
    """Write the ids of all documents that anybody is timed with."""
    assert job.reference is not None
    encode_batch = engine.make_batch_encoder(engine.load(job.tokenizer), job.threads)
    documents = job.read()
    n_timed = 3 * len(documents) // 5
    # In groups: what an engine keeps of a text may be many times its size.
    groups = (documents[start : min(start + GROUP, n_timed)] for start in range(0, n_timed, GROUP))
    ids = (row for group in groups for row in engine.list_ids(encode_batch(group)))
    return write_reference(job.reference, ids)


def stop_collecting() -> None:
    """Keep the garbage collector out of the figures of all engines."""
    gc.collect()
    gc.disable()


OPERATIONS: dict[str, Callable[[ModuleType, EncodeJob], Report]] = {
    "throughput": measure_throughput,
    "batch": measure_batch,
    "latency": measure_latency,
    "load": measure_loading,
    "memory": measure_memory,
    "files": measure_files,
    "linearity": measure_linearity,
    "reference": make_reference,
}
