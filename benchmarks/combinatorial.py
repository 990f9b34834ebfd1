"""Measure Combinatorial BPE: characters per token beside plain vocabularies of equal rows, speed.

``python benchmarks/combinatorial.py --corpora DIR`` takes some minutes on 2 cores, writes
results/combinatorial.json after every figure, and the tables from it; see combinatorial.md beside
this file. What is in the results already is not measured again, unless by --fresh.
"""

import argparse
import datetime
import hashlib
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import render
from corpora import SEPARATOR, Corpora, CorpusError
from documents import count_bytes, cut_slices
from machine import describe_machine, digest_code, find_commit
from records import Record, RecordError, load_results, save_results
from reported_figures import ROWS

import numbpe
from numbpe.combinatorial.standard import make_standard_tokenizer
from numbpe.combinatorial.standard_training import train_standard
from numbpe.training import StoppedEarlyWarning

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SHARED = ROOT.parent / "shared" / "data" / "corpora"
CORPORA = ("english", "ru", "zh", "hi", "code")
TRAINING_NBYTES, HELD_OUT_NBYTES = 40_000_000, 2_500_000

PLAIN = ("gpt2", "cl100k")
SPACE = {"prefixes": ["", " "], "suffixes": [""]}
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "no case": {"fold_case": False},
    "no affixes": {"n_prefix": 0, "n_suffix": 0},
    "space and case": SPACE,
    "space": SPACE | {"fold_case": False},
}
EXTRA: dict[str, dict[str, dict[str, Any]]] = {
    "code": {"camel": {"split_camel": True}},
    "zh": {"han": {"fold_han": True}},
}

SPEED_ROWS, SPEED_NBYTES, DOCUMENT_NBYTES, ROUNDS = 16_384, 10_000_000, 10_240, 5
TRAINED_NBYTES, TRAINED_ROWS = 6_000_000, 8_192
"""What the reference implementation was timed on: see :mod:`reported_figures`."""


@dataclass(frozen=True)
class Texts:
    """A corpus without the lines between its documents: what is trained on, and what is not."""

    training: str
    held_out: str


def main() -> int:
    """Measure what the command line asks for; return the exit code."""
    arguments = make_parser().parse_args()
    own = arguments.results == RESULTS / "combinatorial.json"
    if own and (arguments.limit is not None or arguments.rows != list(ROWS)):
        print("error: give --results FILE with --limit or --rows", file=sys.stderr)
        return 2
    try:
        results = open_results(arguments)
        with tempfile.TemporaryDirectory(dir=arguments.work) as work:
            corpora = Corpora(arguments.corpora or [SHARED], Path(work), None)
            measure_all(results, corpora, arguments)
    except (RecordError, CorpusError, numbpe.NumbpeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if own:
        render.update_pages()
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--corpora", type=Path, action="append", metavar="DIR", help="folder with english.txt, ...")
    add("--only", nargs="+", choices=CORPORA, default=CORPORA, help="some corpora")
    add("--rows", nargs="+", type=int, default=list(ROWS), help="sizes of vocabularies")
    add("--limit", type=int, metavar="BYTES", help="cut training texts, and the rest to a tenth")
    add("--what", choices=("all", "compression", "speed"), default="all")
    add("--fresh", action="store_true", help="drop earlier figures")
    add("--work", type=Path, metavar="DIR", help="for temporary files")
    add("--results", type=Path, metavar="FILE", default=RESULTS / "combinatorial.json")
    return parser


def open_results(arguments: argparse.Namespace) -> Record:
    """Return the results so far. Characters per token are the same on every machine; speeds are not."""
    machine = describe_machine()
    results = load_results(arguments.results, "combinatorial", None, fresh=arguments.fresh)
    if results["machine"] is None:
        results["machine"] = machine
    if arguments.what != "compression" and results["machine"] != machine:
        for cell in results["cells"].values():
            cell["speed"] = {}
        results["machine"] = machine
    return results


def measure_all(results: Record, corpora: Corpora, arguments: argparse.Namespace) -> None:
    """Add to the results what they lack, and save them after every figure."""

    def save() -> None:
        results["date"] = datetime.date.today().isoformat()
        results["commit"] = find_commit(ROOT)
        results["versions"] = {name: version(name) for name in ("numba", "numbpe", "numpy")}
        save_results(arguments.results, results)

    cells = results["cells"]
    for name in arguments.only:
        texts = read_texts(corpora.prepare(name), arguments.limit)
        described = {"training": describe(texts.training), "held_out": describe(texts.held_out)}
        cell = cells.get(name)
        if cell is None or cell["texts"] != described:
            cell = cells[name] = {"texts": described, "compression": {}, "speed": {}}
        if arguments.what != "speed":
            measure_compression(name, texts, arguments.rows, cell["compression"], save)
        code = digest_code(ROOT)
        if arguments.what != "compression" and cell["speed"].get("code") != code:
            cell["speed"] = measure_speed(texts, min(SPEED_ROWS, max(arguments.rows)))
            cell["speed"]["code"] = code
            save()


def read_texts(path: Path, limit: int | None) -> Texts:
    """Return the beginning of a corpus and its end, which do not overlap, in whole documents."""
    n_training, n_held_out = TRAINING_NBYTES, HELD_OUT_NBYTES
    if limit is not None:
        n_training, n_held_out = limit, min(limit // 10, HELD_OUT_NBYTES)
    size = path.stat().st_size
    with path.open("rb") as file:
        training = file.read(min(n_training, size - n_held_out))
        file.seek(size - n_held_out)
        held_out = file.read()
    # A document that is cut belongs to neither.
    training = training[: training.rfind(SEPARATOR) + len(SEPARATOR)]
    held_out = held_out[held_out.find(SEPARATOR) + len(SEPARATOR) :]
    return Texts(*(raw.replace(SEPARATOR, b"").decode() for raw in (training, held_out)))


def describe(text: str) -> Record:
    """Return size and digest of a text."""
    raw = text.encode()
    digest = hashlib.sha256(raw).hexdigest()
    return {"n_bytes": len(raw), "n_characters": len(text), "sha256": digest}


def measure_compression(
    name: str, texts: Texts, all_rows: Sequence[int], cells: Record, save: Callable[[], None]
) -> None:
    """Add the characters per token of all vocabularies that are not there yet."""
    variants = VARIANTS | EXTRA.get(name, {})
    for rows in all_rows:
        for variant in (*PLAIN, *variants):
            cell = cells.setdefault(variant, {})
            if str(rows) in cell:
                continue
            started = time.perf_counter()
            tokenizer = train(texts.training, rows, variant, variants.get(variant))
            seconds = time.perf_counter() - started
            cell[str(rows)] = count(tokenizer, texts.held_out)
            ratio = cell[str(rows)]["characters_per_token"]
            print(f"{name} {rows} {variant}: {ratio:.3f} in {seconds:.1f} s", file=sys.stderr)
            save()


def train(text: str, rows: int, variant: str, options: dict[str, Any] | None) -> Any:
    """Return a tokenizer of at most ``rows`` rows; options : None for a plain vocabulary."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoppedEarlyWarning)
        if options is None:
            return make_standard_tokenizer(train_standard([text], rows, variant, progress=False))
        return numbpe.CombinatorialTokenizer.train([text], rows, **options, progress=False)


def count(tokenizer: Any, text: str) -> Record:
    """Return how a text is encoded, after seeing that it is decoded to itself."""
    tokens = tokenizer.encode(text)
    if tokenizer.decode(tokens) != text:
        raise numbpe.DataError(
            f"the rows of {tokenizer} are not decoded to the text they come from"
        )
    figures: Record = {
        "n_rows": tokenizer.vocab_size,
        "n_tokens": len(tokens),
        "characters_per_token": round(len(text) / len(tokens), 4),
    }
    if tokens.ndim == 2:
        figures["sizes"] = tokenizer.sizes
        shares = (tokens != 0).mean(axis=0).round(4).tolist()
        figures["shares"] = dict(
            zip(("variation", "prefix", "core", "suffix"), shares, strict=True)
        )
        figures["bytes_share"] = round(float((tokens[:, 2] < 256).mean()), 4)
    return figures


def measure_speed(texts: Texts, rows: int) -> Record:
    """Return how fast a text is trained on, encoded and decoded, on one thread."""
    tail = texts.training[-SPEED_NBYTES:] + texts.held_out
    documents = [
        part.decode("utf-8", "ignore") for part in split_evenly(tail.encode()[-SPEED_NBYTES:])
    ]
    warming, timed, _ = cut_slices(documents)
    figures: Record = {"n_timed_bytes": count_bytes(timed), "rows": rows}
    for variant in ("full", "gpt2"):
        tokenizer = train(texts.training, rows, variant, VARIANTS.get(variant))
        runs = [time_encoding(tokenizer, warming, timed) for _ in range(ROUNDS + 1)][1:]
        figures[variant] = {
            name: round(statistics.median(run[name] for run in runs), 2) for name in runs[0]
        }
    sample = texts.training.encode()[:TRAINED_NBYTES].decode("utf-8", "ignore")
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        train(sample, min(TRAINED_ROWS, rows), "full", {})
        seconds.append(time.perf_counter() - started)
    figures["training"] = {
        "n_bytes": len(sample.encode()),
        "rows": min(TRAINED_ROWS, rows),
        "seconds": round(statistics.median(seconds), 3),
        "least_seconds": round(min(seconds), 3),
    }
    return figures


def split_evenly(raw: bytes) -> list[bytes]:
    """Return documents of equal length."""
    starts = range(0, len(raw), DOCUMENT_NBYTES)
    return [raw[start : start + DOCUMENT_NBYTES] for start in starts]


def time_encoding(tokenizer: Any, warming: Sequence[str], timed: Sequence[str]) -> Record:
    """Return MB/s of a tokenizer that has seen no text: cold, warm, and decoding."""
    # Unpickling makes a tokenizer with empty caches; its tables are made before the clock starts.
    make, values = tokenizer.__reduce__()[:2]
    fresh = make(*values)
    fresh.encode("")
    cold = time_calls(fresh.encode, warming)
    warm = time_calls(fresh.encode, timed)
    encoded = [fresh.encode(document) for document in timed]
    fresh.decode(encoded[0])
    decoding = time_calls(fresh.decode, encoded)
    n_bytes = count_bytes(timed)
    return {
        "encode_cold": count_bytes(warming) / cold / 1e6,
        "encode": n_bytes / warm / 1e6,
        "decode": n_bytes / decoding / 1e6,
    }


def time_calls(call: Callable[[Any], object], values: Sequence[Any]) -> float:
    """Return the seconds of one call for each value."""
    started = time.perf_counter()
    for value in values:
        call(value)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
