"""Compare ids with ``tokenizers`` and ``tiktoken``: ``python benchmarks/parity.py``.

For each tokenizer.json: some of each corpus, document by document, and fuzzed strings; the ids must
be equal, and decoding must give the text back where the tokenizer does not normalize it.
"""

import argparse
import lzma
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tokenizers
from fuzz_texts import iterate_texts

import numbpe

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
SEPARATOR = "<|endoftext|>"
BATCH = 2_000
"""Texts that are compared at once."""


def main() -> int:
    """Compare what the command line asks for; return 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="parity.py", description=__doc__)
    parser.add_argument("--tokenizers", type=Path, default=SHARED / "tokenizers", metavar="DIR")
    parser.add_argument("--corpora", type=Path, default=SHARED / "corpora", metavar="DIR")
    parser.add_argument("--only", default="", help="names of tokenizers, with commas between")
    parser.add_argument("--bytes", type=int, default=2_000_000, help="of each corpus")
    parser.add_argument("--fuzz", type=int, default=100_000, help="fuzzed strings")
    arguments = parser.parse_args()
    only = set(filter(None, arguments.only.split(",")))
    n_different = 0
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(arguments.tokenizers.glob("*.json*")):
            name = path.name.split(".")[0]
            if only and name not in only:
                continue
            unpacked = Path(work) / f"{name}.json"
            unpacked.write_bytes(read_bytes(path))
            n_different += compare_tokenizer(name, unpacked, arguments)
    print("all ids are equal" if n_different == 0 else f"{n_different} texts differ")
    return int(n_different > 0)


def read_bytes(path: Path, limit: int = -1) -> bytes:
    """Return the first ``limit`` bytes of a file, unpacked if it is packed."""
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        return file.read(limit)


def compare_tokenizer(name: str, path: Path, arguments: argparse.Namespace) -> int:
    """Compare one tokenizer over all texts; return how many texts differ."""
    ours = numbpe.load(path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    specials = [token.content for token in ours.definition.added_tokens]
    n_different = 0
    for corpus in sorted(arguments.corpora.glob("*.txt*")):
        text = read_bytes(corpus, arguments.bytes).decode("utf-8", "ignore")
        title = f"{name}: {corpus.name.split('.')[0]}"
        n_different += compare_texts(title, ours, theirs, text.split(SEPARATOR))
    if arguments.fuzz:
        texts = iterate_texts(arguments.fuzz, specials)
        n_different += compare_texts(f"{name}: fuzzed", ours, theirs, texts)
    return n_different


def iterate_batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in lists."""
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def compare_texts(
    title: str, ours: numbpe.Tokenizer, theirs: tokenizers.Tokenizer, texts: Iterable[str]
) -> int:
    """Compare ids and round trips; print a line, and the first text that differs."""
    started = time.perf_counter()
    n_texts = n_ids = n_different = n_changed = 0
    definition = ours.definition
    keeps_text = not (definition.normalizer or definition.preparation)
    for batch in iterate_batches(texts):
        found = ours.encode_batch(batch).to_list()
        expected = [e.ids for e in theirs.encode_batch_fast(batch, add_special_tokens=False)]
        decoded = [ours.decode(ids) for ids in found] if keeps_text else batch
        for text, our_ids, their_ids, back in zip(batch, found, expected, decoded, strict=True):
            n_texts += 1
            n_ids += len(our_ids)
            # A text by itself takes another way than many together.
            differing = [ids for ids in (our_ids, ours.encode(text).tolist()) if ids != their_ids]
            if differing:
                if n_different == 0:
                    print_difference(title, text, differing[0], their_ids)
                n_different += 1
            elif back != text:
                n_changed += 1
                print(f"{title}: round trip differs: {text[:200]!r} -> {back[:200]!r}")
    seconds = time.perf_counter() - started
    verdict = "equal" if n_different + n_changed == 0 else f"{n_different} DIFFER"
    print(f"{title}: {n_texts:,} texts, {n_ids:,} ids: {verdict} ({seconds:.0f} s)", flush=True)
    return n_different + n_changed


def print_difference(title: str, text: str, ours: list[int], theirs: list[int]) -> None:
    """Print where two lists of ids part."""
    place: Any = next(
        (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
        min(len(ours), len(theirs)),
    )
    print(f"{title}: text {text[:200]!r}")
    print(
        f"  at id {place}: numbpe {ours[place : place + 6]}, tokenizers {theirs[place : place + 6]}"
    )


if __name__ == "__main__":
    sys.exit(main())
