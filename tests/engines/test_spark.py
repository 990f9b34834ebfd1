"""Spark, two workers on this machine: mapInArrow over the two functions, and a worker that dies."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import numbpe
from numbpe.engines import count_batch, encode_batch

for name in ("pyspark", "pandas"):
    pytest.importorskip(name, reason=f"{name} is not installed: pip install pyspark pandas")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

from pyspark import cloudpickle
from pyspark.sql import SparkSession

AUSTEN = Path(__file__).resolve().parents[2] / "data" / "austen.txt"

# The workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # Of the connections to the JVM that stay open to the end of the process.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Two processes of Java with one core each, which start the Python of this test."""
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    if before is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = before


def test_map_in_arrow__gives_the_counts_and_ids_of_the_local_run(
    spark: Any, tmp_path: Path
) -> None:
    """Truth: count_words and Tokenizer.encode; a worker is killed, once, while it counts."""
    texts = AUSTEN.read_text().split("\n\n")[:2000]
    rows = [*enumerate(texts), (-1, None)]
    frame = spark.createDataFrame(rows, "key long, text string").repartition(6)
    expected = numbpe.count_words(texts)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            partial = count_batch(batch, on_bad="skip").to_batches()
            try:
                (tmp_path / "killed").touch(exist_ok=False)
            except FileExistsError:
                yield from partial
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    counted = frame.mapInArrow(count, "word binary, count long").groupBy("word").sum("count")
    table = counted.toArrow().rename_columns(["word", "count"])
    origin = {"pattern": expected.pattern, "special_tokens": expected.special_tokens}
    assert numbpe.WordCounts.from_arrow(table, **origin) == expected
    assert len(table) == len(expected)
    assert (tmp_path / "killed").exists()

    tokenizer = numbpe.train(expected, 600, progress=False)
    shared = spark.sparkContext.broadcast(tokenizer)

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from encode_batch(batch, shared.value).select(["key", "ids"]).to_batches()

    encoded = frame.mapInArrow(encode, "key long, ids array<int>").orderBy("key").toArrow()
    ids = [None, *(tokenizer.encode(text).tolist() for text in texts)]
    assert encoded["ids"].to_pylist() == ids
