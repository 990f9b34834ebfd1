"""``numbpe train``: its work. Nothing is printed here; :mod:`numbpe.cli` does that."""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from numbpe.command_options import describe_inputs
from numbpe.errors import ArgumentError
from numbpe.outputs import (
    STANDARD_INPUT,
    check_name,
    choose_name,
    reserve_folder,
    write_results,
)
from numbpe.process_memory import measure_peak_rss
from numbpe.summary import TrainingSummary
from numbpe.train_checks import (
    SECOND_CHUNK_NBYTES,
    CheckLines,
    check_training,
    choose_second_threads,
)
from numbpe.train_options import DESCRIPTION, EPILOG, add_options
from numbpe.train_plan import TrainingPlan, make_plan

if TYPE_CHECKING:
    from numbpe.checkpoints import Checkpoint
    from numbpe.tokenizer import Tokenizer
    from numbpe.training import TrainingReport

CHECKPOINT_SUFFIX: Final = ".checkpoint"


def run(arguments: argparse.Namespace) -> TrainingSummary:
    """Train as the command line says, write the results, and return the figures."""
    started = time.perf_counter()
    _check_combinations(arguments)
    name = check_name(arguments.name or choose_name(arguments.input, arguments.counts))
    folder = Path(arguments.output)
    with reserve_folder(folder), _open_checkpoint(arguments, folder, name) as checkpoint:
        return _train_in_folder(arguments, folder, name, started, checkpoint)


@contextmanager
def _open_checkpoint(
    arguments: argparse.Namespace, folder: Path, name: str
) -> "Iterator[Checkpoint | None]":
    """Give the checkpoint of the run, if it is to have one."""
    if not arguments.resume:
        yield None
        return
    from numbpe.checkpoints import open_checkpoint

    path = arguments.checkpoint or folder / f"{name}{CHECKPOINT_SUFFIX}"
    with open_checkpoint(path, resume=True) as checkpoint:
        yield checkpoint


def _check_combinations(arguments: argparse.Namespace) -> None:
    """Refuse options that make no sense together."""
    if not arguments.input and arguments.counts is None:
        raise ArgumentError(
            "there is nothing to train on; give text by --input or counts by --counts"
        )
    if arguments.held_out is not None and not arguments.check:
        raise ArgumentError("--held-out names the text for --check; give --check too")
    if arguments.checkpoint is not None and not arguments.resume:
        raise ArgumentError("--checkpoint names the folder for --resume; give --resume too")
    if arguments.engine is not None and not arguments.input:
        raise ArgumentError("--engine counts text; --counts alone needs none")
    if arguments.engine is not None and arguments.resume:
        raise ArgumentError(
            "--resume keeps what this machine has counted; with --engine leave it out: what a worker "
            "was at that dies is done again"
        )
    if arguments.resume and not arguments.input:
        raise ArgumentError("--resume is for text that is counted; --counts alone needs none")
    if arguments.check and STANDARD_INPUT in arguments.input:
        raise ArgumentError(
            "--check reads the text twice, which standard input cannot give; put it into a file"
        )


def _train_in_folder(
    arguments: argparse.Namespace,
    folder: Path,
    name: str,
    started: float,
    checkpoint: "Checkpoint | None",
) -> TrainingSummary:
    """Count, merge, write and check; return the figures."""
    plan = make_plan(arguments)
    sizes = arguments.vocab
    plan.check_sizes(sizes)
    saves_counts = bool(arguments.input) and arguments.counts is not None
    save_counts = (lambda counts: counts.save(arguments.counts)) if saves_counts else None
    clock = _Clock(started)
    clock.finish("starting")
    tokenizer, report = plan.train(sizes[-1], on_counted=save_counts, checkpoint=checkpoint)
    clock.add(report.seconds)
    tokenizers = plan.list_sizes(tokenizer, report, sizes)
    named = {name if len(sizes) == 1 else f"{name}-{size}": t for size, t in tokenizers.items()}
    files, refusals = write_results(named, folder, arguments.format)
    if checkpoint is not None:
        checkpoint.discard()
    clock.finish("writing")
    peak_rss_nbytes = measure_peak_rss()
    checks = None
    if arguments.check:
        checks = _check(arguments, plan, tokenizers, report)
        clock.finish("checking")
    return TrainingSummary(
        n_source_bytes=report.n_source_bytes if arguments.input else 0,
        n_pieces=report.n_pieces,
        n_distinct_words=report.n_distinct_words,
        vocab_size=report.vocab_size,
        asked_vocab_size=sizes[-1],
        vocab_sizes=tuple(len(tokenizers[size]) for size in sizes),
        n_merges=report.n_merges,
        stopped_early=report.stopped_early,
        seconds=clock.seconds,
        total_seconds=time.perf_counter() - started,
        files={**files, "counts": Path(arguments.counts)} if saves_counts else files,
        peak_rss_nbytes=peak_rss_nbytes,
        checks=checks,
        skipped=report.skipped,
        refusals=refusals,
    )


class _Clock:
    """Seconds by stage, one stage after another."""

    def __init__(self, started: float) -> None:
        self.seconds: dict[str, float] = {}
        self._last = started

    def finish(self, stage: str) -> None:
        """End a stage that began where the last one ended."""
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now

    def add(self, seconds: dict[str, float]) -> None:
        """Add stages that were timed elsewhere, and end now."""
        self.seconds |= seconds
        self._last = time.perf_counter()


def _check(
    arguments: argparse.Namespace,
    plan: TrainingPlan,
    tokenizers: "dict[int, Tokenizer]",
    report: "TrainingReport",
) -> CheckLines:
    """Run the checks; the second training run is one with other threads and chunks."""
    threads = choose_second_threads(arguments.threads)
    largest = arguments.vocab[-1]
    held_out = None
    if arguments.held_out is not None:
        held_out = describe_inputs(arguments, [arguments.held_out])
    elif arguments.input:
        held_out = replace(plan.source, source=plan.source.source[:1])
    return check_training(
        tokenizers,
        lambda: plan.train(largest, threads=threads, chunk_nbytes=SECOND_CHUNK_NBYTES)[0],
        lambda size: plan.train(size, source=report.word_counts)[0],
        f"threads {threads}, chunks of {SECOND_CHUNK_NBYTES:,} bytes"
        if arguments.input
        else "from the same counts",
        held_out,
        was_trained_on=arguments.held_out is None,
    )


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``train`` to the sub-commands."""
    parser = commands.add_parser(
        "train",
        help="train a vocabulary on text",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_options(parser)
