"""How much memory reading takes: no more for a long file than for a short one."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

N_BYTES = 64 << 20
"""Text in the long file; the short one has an eighth of it."""

_CODE = """
import sys
import numbpe
from numbpe.process_memory import measure_peak_rss
numbpe.count_words(sys.argv[1], threads=1)
print(measure_peak_rss())
"""


def measure_counting(path: Path) -> int:
    """Return the greatest memory of a process that counts the words of a file."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, str(path)],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return int(done.stdout)


def write_json_lines(path: Path, documents: list[str]) -> None:
    """Write documents as an archive of rows."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.writelines(json.dumps({"text": text}).encode() + b"\n" for text in documents)


def write_parquet(path: Path, documents: list[str]) -> None:
    """Write documents as one row group, of which each page has about a megabyte."""
    table = pa.table({"text": documents, "more": documents})
    pq.write_table(table, path, use_dictionary=False, row_group_size=10**6, compression="none")


def test_count_words__memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Truth: the peak for a file of an eighth of the size. What differs is less than the text that
    is more: what the allocator of pyarrow keeps, 20 to 40 MB whatever the size."""
    documents = ["some words of a text " * 50] * (N_BYTES // 1_050)
    for write, name in ((write_json_lines, "c.jsonl.gz"), (write_parquet, "c.parquet")):
        write(tmp_path / f"short_{name}", documents[: len(documents) // 8])
        write(tmp_path / name, documents)
        # The short one first: the first process may have to compile kernels.
        before = [measure_counting(tmp_path / f"short_{name}") for _ in range(2)][-1]
        growth = measure_counting(tmp_path / name) - before
        assert growth < N_BYTES * 3 // 4, f"{name}: {growth >> 20} MiB more"
