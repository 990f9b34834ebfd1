"""How much memory reading takes: as much as plain text does, and one block."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_BYTES = 96 << 20

_CODE = """
import sys
import numbpe
from numbpe.process_memory import measure_peak_rss
import pyarrow.parquet, pyarrow.compute
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


def test_count_words__memory_does_not_grow_with_archives_and_tables(tmp_path: Path) -> None:
    """Truth: the peak for plain text; a block is a row group's pages here, some megabytes.

    The tables are read with the same packages imported, which take memory themselves.
    """
    words = [f"w{number}" for number in np.random.default_rng(1).integers(0, 5_000, 20_000)]
    document = " ".join(words)
    documents = [document] * (N_BYTES // len(document))
    (tmp_path / "c.txt").write_text("<|endoftext|>".join(documents))
    with gzip.open(tmp_path / "c.jsonl.gz", "wb", compresslevel=1) as file:
        file.writelines(json.dumps({"text": text}).encode() + b"\n" for text in documents)
    table = pa.table({"text": documents, "more": documents})
    pq.write_table(table, tmp_path / "c.parquet", use_dictionary=False, row_group_size=10**6)
    plain = measure_counting(tmp_path / "c.txt")
    for name in ("c.jsonl.gz", "c.parquet"):
        peak = measure_counting(tmp_path / name)
        assert peak - plain < N_BYTES // 3, (
            f"{name}: {peak >> 20} MiB, plain text {plain >> 20} MiB"
        )
