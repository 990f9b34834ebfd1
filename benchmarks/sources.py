"""How fast each kind of source is read and counted, beside plain text and beside undoing it alone.

    python benchmarks/sources.py TEXT [--megabytes 100] [--rounds 3] [--threads 1 2]

TEXT is cut into documents at ``<|endoftext|>``, and written in each form to a temporary folder. The
routes take turns within a round, in one process whose kernels are compiled; figures are the best of
the rounds, in millions of bytes of text a second. *Alone* is reading and undoing the file with
nothing done to the text. A route is fine if it has 0.7 of plain text, or of what undoing alone gives,
whichever is less. On a machine that is busy the seconds on a core tell more: counting takes those of
plain text and those of undoing, side by side if there is a core for each. Before a figure counts, the words of each route are compared with those of plain text.
"""

import argparse
import bz2
import gzip
import json
import lzma
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import numbpe
from numbpe.documents import Batch
from numbpe.sources import resolve_source

LEAST_SHARE = 0.7
SLOW_NBYTES = 4_000_000
"""How much text goes into archives that take long to undo."""


def write_files(folder: Path, text: bytes) -> dict[str, Path]:
    """Write the text in each form; return the files by name."""
    documents = text.decode().split("<|endoftext|>")
    rows = [
        {"id": n, "url": f"https://example.org/{n}", "text": t} for n, t in enumerate(documents)
    ]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    table = pa.Table.from_pylist(rows)
    contents = {
        "c.txt": text,
        "c.txt.gz": gzip.compress(text, 6),
        "c.txt.zst": pa.compress(text, codec="zstd", asbytes=True),
        "c.jsonl": lines,
        "c.jsonl.gz": gzip.compress(lines, 6),
        "c.jsonl.zst": pa.compress(lines, codec="zstd", asbytes=True),
        "slow.txt.bz2": bz2.compress(text[:SLOW_NBYTES]),
        "slow.txt.xz": lzma.compress(text[:SLOW_NBYTES], preset=3),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    pq.write_table(table, folder / "c.parquet")
    pq.write_table(table, folder / "zstd.parquet", compression="zstd")
    pyarrow.feather.write_feather(table, str(folder / "c.feather"), compression="uncompressed")
    return {path.name: path for path in sorted(folder.iterdir())}


def drain(path: Path) -> int:
    """Read and undo a file, and do nothing else; return the bytes of text."""
    n_bytes = 0
    buffer = memoryview(bytearray(1 << 20))
    for document in resolve_source(path).open(1 << 18):
        if isinstance(document, Batch):
            n_bytes += document.n_bytes
        else:
            while n_read := document.readinto(buffer):
                n_bytes += n_read
    return n_bytes


def measure(function: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that a call takes, and those of all its threads on a core."""
    started, used = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - started, time.process_time() - used


def main() -> None:
    """Measure all routes and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    with arguments.text.open("rb") as file:
        text = file.read(arguments.megabytes * 1_000_000)
    text = text[: text.rfind(b"<|endoftext|>")]
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), text)
        for threads in arguments.threads:
            print_table(files, threads, arguments.rounds)


def print_table(files: dict[str, Path], threads: int, n_rounds: int) -> None:
    """Print the speed of each file with so many threads."""
    counting: dict[str, float] = {}
    alone: dict[str, float] = {}
    cpu: dict[str, tuple[float, float]] = {}
    wanted = numbpe.count_words(files["c.txt"], threads=threads).to_dict()
    for _ in range(n_rounds):
        for name, path in files.items():
            counts = numbpe.count_words(path, threads=threads)
            assert name.startswith("slow") or counts.to_dict() == wanted, name
            n_bytes = counts.n_source_bytes
            del counts
            seconds, used = measure(lambda path=path: numbpe.count_words(path, threads=threads))
            counting[name] = max(counting.get(name, 0), n_bytes / 1e6 / seconds)
            seconds, used_alone = measure(lambda path=path: drain(path))
            before = cpu.get(name, (1e9, 1e9))
            cpu[name] = (
                min(before[0], 1e9 * used / n_bytes),
                min(before[1], 1e9 * used_alone / n_bytes),
            )
            alone[name] = max(alone.get(name, 0), n_bytes / 1e6 / seconds)
    plain = counting["c.txt"]
    print(
        f"\n{threads} thread(s)\n\n| source | MB/s | × plain text | alone, MB/s | share | fine | CPU, s/GB | alone |"
    )
    print("| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |")
    for name, speed in counting.items():
        share = speed / min(plain, alone[name])
        fine = "yes" if share >= LEAST_SHARE else "NO"
        ratios = f"{speed:.0f} | {speed / plain:.2f} | {alone[name]:.0f} | {share:.2f} | {fine}"
        print(f"| {name} | {ratios} | {cpu[name][0]:.1f} | {cpu[name][1]:.1f} |")


if __name__ == "__main__":
    main()
