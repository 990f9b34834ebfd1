"""What is measured of encoding, as data: engines, vocabularies, texts and their sizes."""

from collections.abc import Sequence

from cells import IDLE, NUMBPE, Cell, Check, Contender, run_python

DOCUMENT_NBYTES = 10 * 1024
SMALL_DOCUMENT_NBYTES = 512

LABELS = {
    "numbpe": NUMBPE,
    "gigatoken": "gigatoken",
    "tokenizers_rc": "tokenizers 1.0",
    "tiktoken": "tiktoken",
    "tokenizers": "tokenizers 0.23",
}
"""What engines are called in tables: tokenizers is here twice."""

REFERENCE = "tokenizers"
SLOW = ("tiktoken", "tokenizers")

THROUGHPUT_NBYTES = {**dict.fromkeys(LABELS, 5_000_000), **dict.fromkeys(SLOW, 1_000_000)}
"""Text for each engine, the fifth that warms up and what is not read included: of slow ones less,
from the same beginning."""
BATCH_NBYTES = {**dict.fromkeys(LABELS, 20_000_000), **dict.fromkeys(SLOW, 4_000_000)}
LATENCY_NBYTES = dict.fromkeys(LABELS, 2_600_000)
MEMORY_NBYTES = 100_000_000

TITLES = {
    "english": "English",
    "code": "program code",
    "hi": "Hindi",
    "zh": "Chinese",
    "ja": "Japanese",
    "th": "Thai",
    "ko": "Korean",
    "ru": "Russian",
}
CORPORA = tuple(TITLES)

COMPARED = ("gpt2", "llama3_1", "qwen3", "gptoss")
"""The vocabularies that are run on all corpora; the others on some."""
OTHER_VOCABULARIES = {
    "deepseek_v3": ("english", "code", "zh"),
    "llama2": ("english", "zh"),
    "gemma3": ("english", "zh"),
}
# A tiktoken encoding has one pattern and no normalizer.
TIKTOKEN_VOCABULARIES = ("gpt2", "llama3_1", "gptoss")


def encode_with(
    engine: str,
    operation: str,
    n_bytes: int = 0,
    *,
    document_nbytes: int = DOCUMENT_NBYTES,
    label: str | None = None,
    tokenizer: str | None = None,
    compared: bool = True,
    warm_up: bool = False,
) -> Contender:
    """Return the contender that runs one of the operations of :mod:`encode_operations`."""
    command = ["{python}", "{root}/benchmarks/child.py", operation, engine]
    command += ["--input", "{input}", "--output", "{output}", "--report", "{report}"]
    command += ["--threads", "{threads}", "--tokenizer", "{tokenizer}"]
    command += ["--bytes", str(n_bytes), "--document", str(document_nbytes)]
    if compared:
        command += ["--reference", "{reference}"]
    label = LABELS[engine] if label is None else label
    return Contender(label, tuple(command), engine, tokenizer=tokenizer, warm_up=warm_up)


def list_engines(vocabulary: str) -> list[str]:
    """Return the engines that take a vocabulary."""
    return [name for name in LABELS if name != "tiktoken" or vocabulary in TIKTOKEN_VOCABULARIES]


def compare_ids(
    kind: str,
    vocabulary: str,
    corpus: str,
    sizes: dict[str, int],
    *,
    name: str,
    title: str,
    threads: int = 1,
    document_nbytes: int = DOCUMENT_NBYTES,
    warm_up: bool = False,
) -> Cell:
    """Return a cell of engines whose ids must be those of the reference.

    warm_up : whether numbpe runs once before, unmeasured, so that all that it needs is compiled
    """
    return Cell(
        name=name,
        title=title,
        corpus=corpus,
        kind=kind,
        tokenizer=vocabulary,
        threads=threads,
        rounds=3,
        contenders=[
            encode_with(
                engine,
                kind,
                sizes[engine],
                document_nbytes=document_nbytes,
                warm_up=warm_up and engine == NUMBPE,
            )
            for engine in list_engines(vocabulary)
        ],
        reference=encode_with(
            REFERENCE, "reference", max(sizes.values()), document_nbytes=document_nbytes
        ),
    )


def compare_throughput(vocabulary: str, corpus: str) -> Cell:
    """Return a cell of documents encoded one by one, on one thread."""
    return compare_ids(
        "throughput",
        vocabulary,
        corpus,
        THROUGHPUT_NBYTES,
        name=f"{vocabulary}-{corpus}",
        title=f"{vocabulary}, {TITLES[corpus]}",
        # Once for each vocabulary; what else a text needs is compiled in its first fifth.
        warm_up=corpus == CORPORA[0],
    )


def compare_batch(vocabulary: str, corpus: str, threads: int) -> Cell:
    """Return a cell of all documents in one call."""
    return compare_ids(
        "batch",
        vocabulary,
        corpus,
        BATCH_NBYTES,
        name=f"batch-{threads}-{vocabulary}-{corpus}",
        title=f"{vocabulary}, {TITLES[corpus]}, {threads} thread{'s' * (threads > 1)}",
        threads=threads,
    )


def compare_latency(vocabulary: str, corpus: str) -> Cell:
    """Return a cell of small documents, each timed."""
    return compare_ids(
        "latency",
        vocabulary,
        corpus,
        LATENCY_NBYTES,
        name=f"latency-{vocabulary}-{corpus}",
        title=f"{vocabulary}, {TITLES[corpus]}",
        document_nbytes=SMALL_DOCUMENT_NBYTES,
    )


def compare_loading(vocabulary: str) -> Cell:
    """Return a cell of the time until the first ids are there."""
    return Cell(
        name=f"load-{vocabulary}",
        title=vocabulary,
        corpus="austen",
        kind="load",
        tokenizer=vocabulary,
        threads=1,
        rounds=3,
        contenders=[
            encode_with(engine, "load", compared=False, warm_up=engine == NUMBPE)
            for engine in LABELS
            if engine != "tiktoken"  # has no such file
        ],
    )


ENCODING_CELLS: Sequence[Cell] = (
    *(compare_throughput(vocabulary, corpus) for vocabulary in COMPARED for corpus in CORPORA),
    *(
        compare_throughput(vocabulary, corpus)
        for vocabulary, corpora in OTHER_VOCABULARIES.items()
        for corpus in corpora
    ),
    *(
        compare_batch(vocabulary, corpus, threads)
        for vocabulary, corpus in (("gpt2", "english"), ("qwen3", "zh"))
        for threads in (1, 2)
    ),
    compare_latency("gpt2", "english"),
    compare_latency("qwen3", "zh"),
    Cell(
        name="files",
        title="gpt2, English",
        corpus="english",
        kind="files",
        tokenizer="gpt2",
        threads=2,
        rounds=3,
        contenders=[
            encode_with(engine, "files", compared=False, warm_up=engine == NUMBPE)
            for engine in (NUMBPE, "gigatoken")
        ],
        checks=[Check("file", (NUMBPE, "gigatoken"))],
    ),
    compare_loading("gpt2"),
    compare_loading("gptoss"),
    Cell(
        name="peak",
        title="gpt2, English",
        corpus="english",
        kind="memory",
        tokenizer="gpt2",
        threads=1,
        rounds=3,
        contenders=[
            *(
                encode_with(
                    engine, "memory", MEMORY_NBYTES, compared=False, warm_up=engine == NUMBPE
                )
                for engine in (NUMBPE, "gigatoken", "tokenizers_rc")
            ),
            run_python("import numpy", IDLE),
        ],
    ),
    Cell(
        name="linearity",
        title="One or two million characters of one kind",
        corpus="austen",
        kind="linearity",
        tokenizer="gpt2",
        threads=1,
        rounds=3,
        contenders=[
            encode_with(NUMBPE, "linearity", compared=False, label=name, tokenizer=name)
            for name in ("gpt2", "gptoss", "llama2", "gemma3")
        ],
    ),
)
