"""Train the plain vocabularies over characters that Combinatorial BPE is compared with.

Follows ``StandardBPE.train`` of https://github.com/SwayStar123/CombinatorialBPE: byte-pair encoding over
characters, not bytes, within pieces that a pattern cuts.
"""

from collections.abc import Iterable
from typing import Unpack

from numbpe.bad_input import warn_of_skipped
from numbpe.combinatorial.core_corpus import fold_strings
from numbpe.combinatorial.core_training import train_core
from numbpe.combinatorial.definition import (
    N_BYTES,
    STANDARD_SOURCES,
    CharacterVocabulary,
    StandardPattern,
    check_standard_pattern,
)
from numbpe.combinatorial.folding import load_folding
from numbpe.combinatorial.training import check_source, warn_of_early_stop
from numbpe.combinatorial.training_options import check_number
from numbpe.combinatorial.unit_counting import count_units
from numbpe.corpus import CHUNK_NBYTES, ErrorPolicy
from numbpe.errors import ArgumentError
from numbpe.garbage import paused_collection
from numbpe.memory_budget import open_budget
from numbpe.parallel import call_interruptibly, resolve_threads
from numbpe.progress import Progress
from numbpe.sources import ReadingOptions, Source, describe_source
from numbpe.special_tokens import check_special_tokens
from numbpe.training_options import MAX_VOCAB_SIZE


def train_standard(
    source: Source,
    vocab_size: int,
    pattern: StandardPattern = "gpt2",
    *,
    min_char_freq: int = 20,
    special_tokens: Iterable[str | bytes] = (),
    threads: int | None = None,
    memory: int | str | None = None,
    errors: ErrorPolicy = "replace",
    progress: bool | Progress = True,
    chunk_nbytes: int = CHUNK_NBYTES,
    **reading: Unpack[ReadingOptions],
) -> CharacterVocabulary:
    """Return a plain vocabulary over characters, the baseline of Combinatorial BPE.

    vocab_size : ids in all: 256 bytes, characters, merges and special tokens
    pattern : "gpt2" or "cl100k", what cuts text into pieces; both take marks for letters
    min_char_freq : characters that occur less often are left to bytes
    Other arguments and errors are those of :func:`train_combinatorial`.

    Example: ``train_standard("wiki.txt", 16_384, "cl100k").merges[0]``
    """
    check_standard_pattern(pattern)
    names = check_special_tokens(special_tokens)
    check_number("vocab_size", vocab_size)
    check_number("min_char_freq", min_char_freq)
    if not N_BYTES + len(names) <= vocab_size <= MAX_VOCAB_SIZE:
        raise ArgumentError(
            f"vocab_size is {vocab_size:,}; it must be at least {N_BYTES + len(names):,}, for "
            f"{N_BYTES} bytes and {len(names)} special tokens, and at most {MAX_VOCAB_SIZE:,}"
        )
    bars = progress if isinstance(progress, Progress) else Progress(enabled=progress)
    budget = open_budget(memory)
    pieces = count_units(
        describe_source(check_source(source), reading),
        STANDARD_SOURCES[pattern],
        takes_apart=False,
        special_tokens=names,
        threads=resolve_threads(threads),
        budget=budget,
        errors=errors,
        progress=bars,
        chunk_nbytes=chunk_nbytes,
    )
    with paused_collection():
        targets, _ = load_folding(False, False).make_dense()
        words = call_interruptibly(lambda: fold_strings(pieces.words, targets))
        n_cores = vocab_size - len(names)
        core = train_core(
            [words], n_cores, min_char_freq=min_char_freq, budget=budget, progress=bars
        )
        counts = tuple(core.merge_counts.tolist())
        vocabulary = CharacterVocabulary(
            alphabet=core.alphabet,
            merges=core.merges,
            merge_counts=counts,
            special_tokens=names,
            pattern=pattern,
        )
    warn_of_skipped(pieces.skipped)
    if core.stopped_early:
        warn_of_early_stop(vocab_size, vocabulary.vocab_size)
    return vocabulary
