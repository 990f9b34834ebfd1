"""What is measured, as data: a cell is a group of contenders that are compared in the same rounds.

In commands, ``{python}``, ``{root}`` (the repository), ``{input}``, ``{output}`` (a new folder),
``{report}``, ``{tokenizer}`` and ``{reference}`` (a folder with ids) stand for what they say.
The cells of encoding are in :mod:`encoding_cells`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

NUMBPE = "numbpe"
TIKTOKEN_RECIPE = "numbpe, recipe tiktoken"
IDLE = "idle interpreter: `import numpy`"


@dataclass(frozen=True)
class Contender:
    """What is run and how it is called in tables.

    corpus : its own, where it is not the cell's; see :mod:`corpora`
    tokenizer : its own, where it is not the cell's
    max_rounds : fewer rounds than the others, for what is slow; 0: run once, after the rounds,
        for its result alone
    has_merges : whether the run leaves merges to be compared
    warm_up : run once before the first round, unmeasured
    empty_cache : with a new and empty folder for compiled kernels
    """

    label: str
    command: tuple[str, ...]
    engine: str | None = None
    corpus: str | None = None
    tokenizer: str | None = None
    max_rounds: int | None = None
    has_merges: bool = False
    warm_up: bool = False
    empty_cache: bool = False


@dataclass(frozen=True)
class Check:
    """Contenders that must make the same: ``"merges"`` (pairs), ``"tokens"``, or the ``"file"``."""

    what: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """Contenders measured alternately.

    kind : which table it belongs to, see :mod:`render` and :mod:`render_encoding`
    threads : also the number of CPUs they may run on
    tokenizer : the name of the vocabulary that they encode with
    reference : writes the ids that all must give, before the first round
    """

    name: str
    title: str
    corpus: str
    contenders: Sequence[Contender]
    rounds: int
    vocab_size: int | None = None
    threads: int = 2
    checks: Sequence[Check] = ()
    kind: str = "training"
    tokenizer: str | None = None
    reference: Contender | None = None


def run_engine(
    engine: str,
    label: str | None = None,
    *,
    operation: str = "train",
    corpus: str | None = None,
    max_rounds: int | None = None,
    **options: str,
) -> Contender:
    """Return the contender that runs an engine by ``child.py``."""
    command = ["{python}", "{root}/benchmarks/child.py", operation, engine]
    command += ["--input", "{input}", "--report", "{report}", "--threads", "{threads}"]
    if operation == "train":
        command += ["--output", "{output}", "--vocab", "{vocab}"]
    for name, value in options.items():
        command += ["--option", f"{name}={value}"]
    return Contender(
        label or engine,
        tuple(command),
        engine,
        corpus,
        max_rounds=max_rounds,
        has_merges=operation == "train",
        warm_up=engine == NUMBPE,
    )


def run_python(code: str, label: str) -> Contender:
    """Return the contender that is an interpreter running a line of code."""
    return Contender(label, ("{python}", "-c", code), warm_up=True)


_COMMAND = (
    *("{python}", "{root}/scripts/train.py", "--input", "{input}", "--vocab", "{vocab}"),
    *("--threads", "{threads}", "--output", "{output}", "--quiet"),
)

# gigatoken cuts documents at the special token and resolves ties as numbpe's recipe tiktoken does;
# so do rustbpe and bpeasy, given the documents one by one. tokenizers and gigabpe read lines.
_SAME_TOKENS = Check("tokens", (TIKTOKEN_RECIPE, "gigatoken", "rustbpe", "bpeasy"))
_SAME_MERGES = Check("merges", (TIKTOKEN_RECIPE, "gigatoken"))
_HF_MERGES = Check("merges", ("gigabpe", "tokenizers"))
_FOR_CHECKS = run_engine(NUMBPE, TIKTOKEN_RECIPE, max_rounds=0, recipe="tiktoken")


def _compare_small(name: str, title: str) -> Cell:
    return Cell(
        name=name,
        title=title,
        corpus=name,
        vocab_size=32_000,
        rounds=3,
        contenders=[
            run_engine(NUMBPE),
            run_engine("gigabpe"),
            run_engine("gigatoken"),
            _FOR_CHECKS,
        ],
        checks=[_SAME_MERGES],
    )


TRAINING_CELLS: Sequence[Cell] = (
    Cell(
        name="english",
        title="English",
        corpus="english",
        vocab_size=32_000,
        rounds=3,
        contenders=[
            run_engine(NUMBPE),
            run_engine("gigabpe"),
            run_engine("gigatoken"),
            run_engine("rustbpe"),
            run_engine("bpeasy", max_rounds=1),
            run_engine("tokenizers", max_rounds=3),
            run_python("import numpy", IDLE),
            _FOR_CHECKS,
        ],
        checks=[_SAME_TOKENS, _SAME_MERGES, _HF_MERGES],
    ),
    _compare_small("code", "program code"),
    _compare_small("zh", "Chinese"),
    Cell(
        name="counting",
        title="Scanning and counting on one thread, `count_words`, inside the process",
        corpus="english",
        threads=1,
        rounds=3,
        contenders=[
            run_engine(NUMBPE, label, operation="count", corpus=corpus)
            for corpus, label in (
                ("english", "English"),
                ("code", "program code"),
                ("zh", "Chinese"),
                ("hi", "Hindi"),
            )
        ],
    ),
    Cell(
        name="memory",
        title="Memory as the text grows: training on copies of the English text",
        corpus="english",
        vocab_size=32_000,
        rounds=3,
        contenders=[
            run_engine(NUMBPE, "one copy", corpus="english"),
            run_engine(NUMBPE, "five copies", corpus="english*5"),
        ],
        # The same merges, for all counts are five times as large.
        checks=[Check("merges", ("one copy", "five copies"))],
    ),
    Cell(
        name="start",
        title="Starting: whole processes on `data/austen.txt`, 4,000 tokens",
        corpus="austen",
        vocab_size=4_000,
        rounds=5,
        contenders=[
            Contender("first run ever: kernels compile", _COMMAND, max_rounds=2, empty_cache=True),
            Contender("later runs: kernels from the cache", _COMMAND, warm_up=True),
            run_python("import numbpe", "`import numbpe`"),
            run_python("import numpy", IDLE),
            run_python("pass", "`python -c pass`"),
        ],
    ),
    Cell(
        name="cs336",
        title="The CS336 course's training test: corpus.en, 500 tokens",
        corpus="corpus.en",
        vocab_size=500,
        rounds=5,
        contenders=[run_engine(NUMBPE, "corpus.en")],
    ),
)
