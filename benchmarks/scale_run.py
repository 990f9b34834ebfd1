"""One step of the benchmark of scale, in a process of its own: ``scale.py`` starts it and measures it.

What a step found out is written to a file as JSON.
"""

import argparse
import hashlib
import json
import os
import time
from dataclasses import asdict
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

SEPARATOR = "<|endoftext|>"
PACKAGES = ("numbpe", "numba", "llvmlite", "numpy")
N_HALVINGS = 3
"""Heaps' law is fitted to an eighth of the corpus, a quarter, a half and all of it: of smaller parts it
has a greater exponent, and what is wanted is how the text grows on."""


def main() -> None:
    """Do what the command line says and write a report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--input", type=Path, nargs="+")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--bytes", type=int, help="of text to make")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--vocab", type=int)
    parser.add_argument("--memory", type=int, help="bytes that the run may take")
    parser.add_argument("--address-space", type=int, help="bytes of RLIMIT_AS")
    parser.add_argument("--words", type=json.loads, help="pairs of distinct words and their bytes")
    arguments = parser.parse_args()
    report = STEPS[arguments.step](arguments)
    arguments.report.write_text(json.dumps(report), encoding="utf-8")


def make_text(arguments: argparse.Namespace) -> dict[str, Any]:
    """Write rounds of a corpus, one file each, and return the law by which new words come."""
    from scale_fits import fit_power_law
    from scale_text import GrowingText, cut_shares, iterate_rounds

    import numbpe

    text = GrowingText(arguments.input[0].read_bytes(), arguments.seed)
    first = list(text.shuffle())
    points = []
    for share in cut_shares(first, N_HALVINGS):
        words = numbpe.count_words([b"".join(share)], threads=arguments.threads)
        points.append((sum(map(len, share)), len(words)))
    law = fit_power_law(points)
    n_rounds = max(1, round(arguments.bytes / text.n_bytes))
    rounds = chain([iter(first)], iterate_rounds(text, law, n_rounds))
    for number, documents in enumerate(rounds):
        with (arguments.output / f"round-{number:04}.txt").open("wb", buffering=1 << 24) as out:
            out.writelines(documents)
            out.flush()
            os.fsync(out.fileno())  # so that the disk is idle when runs are timed
    return {"points": points, "n_rounds": n_rounds, "round_nbytes": text.n_bytes, **asdict(law)}


def count(arguments: argparse.Namespace) -> dict[str, Any]:
    """Count the words of all files within a bound, and return time and sizes, and what they give."""
    from numbpe.counting import count_words
    from numbpe.training import train_with_report

    started = time.perf_counter()
    words = count_words(
        arguments.input,
        special_tokens=[SEPARATOR],
        threads=arguments.threads,
        memory=arguments.memory,
    )
    report = {"counting": time.perf_counter() - started, **describe_process()}
    # Not bounded and not timed: whether the counts are those of a run without a bound.
    tokenizer, trained = train_with_report(
        words, arguments.vocab, special_tokens=[SEPARATOR], progress=False
    )
    return {**report, **describe_training(tokenizer, trained)}


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on all files, within bounds if there are any, and return times and sizes."""
    import resource

    if arguments.address_space is not None:
        resource.setrlimit(resource.RLIMIT_AS, (arguments.address_space,) * 2)
    from numbpe.training import train_with_report

    started = time.perf_counter()
    tokenizer, report = train_with_report(
        arguments.input,
        arguments.vocab,
        special_tokens=[SEPARATOR],
        threads=arguments.threads,
        memory=arguments.memory,
        progress=False,
    )
    seconds = {"seconds": time.perf_counter() - started, **report.seconds}
    return {**seconds, **describe_process(), **describe_training(tokenizer, report)}


def describe_process() -> dict[str, Any]:
    """Return the most memory that this process has taken, and what it has written to disk."""
    import resource

    from numbpe.process_memory import measure_peak_rss

    return {
        "peak_rss_nbytes": measure_peak_rss(),
        # Text is read and nothing is written but what does not fit; the system counts in blocks of 512.
        "n_bytes_written": 512 * resource.getrusage(resource.RUSAGE_SELF).ru_oublock,
    }


def describe_training(tokenizer: Any, report: Any) -> dict[str, Any]:
    """Return the sizes of a text, and a digest of the merges that it gives."""
    return {
        "n_bytes": report.n_source_bytes,
        "n_distinct_words": report.n_distinct_words,
        "n_word_bytes": int(report.word_counts.offsets[-1]),
        "n_pieces": report.n_pieces,
        "merges": hashlib.sha256(tokenizer.vocabulary.merge_pairs.tobytes()).hexdigest()[:16],
    }


def estimate(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return, for each pair of distinct words and their bytes, what merging them takes at least."""
    from numbpe.merging import estimate_merging_nbytes

    return {
        "versions": {name: version(name) for name in PACKAGES},
        # The words themselves, with an offset and a count each, and what the budget is asked for.
        "needs": [
            n_bytes + 16 * n_words + estimate_merging_nbytes(n_bytes, n_words, arguments.vocab)
            for n_words, n_bytes in arguments.words
        ],
    }


STEPS = {"make": make_text, "count": count, "train": train, "estimate": estimate}

if __name__ == "__main__":
    main()
