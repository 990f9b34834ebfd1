"""Train a small GPT on either vocabulary, plain or combinatorial, and compare bits per byte.

``python scripts/train_language_model.py --input data/austen.txt --vocab 4096`` takes some minutes
on a CPU. Both vocabularies have the same number of embedding rows and are trained on the same text;
both models see as many multiplications (or as much text, with ``--equal text``) and are measured on
text that nothing was trained on. Needs PyTorch: ``pip install 'numbpe[torch]'``.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numbpe
from numbpe.combinatorial.standard import make_standard_tokenizer
from numbpe.combinatorial.standard_training import train_standard
from numbpe.torch import (
    LanguageModel,
    ModelSettings,
    TrainingSettings,
    count_macs,
    evaluate_model,
    train_model,
)

# isort: split
# After numbpe.torch, which says what to install where it is missing.
import torch

SEPARATOR = "<|endoftext|>\n"
KINDS = ("gpt2", "cl100k", "combinatorial")
FACTORS = ("case", "prefix", "core", "suffix")
MACS_A_STEP = 3
"""A step computes about three times what its way forward does."""


@dataclass(frozen=True)
class Texts:
    """The text to learn and the text to be measured on."""

    training: str
    held_out: str


@dataclass
class Contender:
    """A tokenizer, the tokens it makes of the texts, and what a model needs to know of it."""

    name: str
    tokenizer: Any
    training: Any
    held_out: Any

    @property
    def vocabulary(self) -> Any:
        """Number of ids, or sizes of the tables."""
        return self.tokenizer.sizes if self.is_chained else self.tokenizer.vocab_size

    @property
    def is_chained(self) -> bool:
        """Whether tokens are tuples."""
        return self.name == "combinatorial"


def main() -> int:
    """Train and measure what the command line asks for; return the exit code."""
    arguments = make_parser().parse_args()
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    settings = ModelSettings(arguments.width, arguments.layers, arguments.heads, arguments.context)
    try:
        texts = read_texts(arguments)
        contenders = [make_contender(kind, texts, arguments) for kind in arguments.vocabularies]
        n_steps = count_steps(contenders, texts, settings, arguments)
        results = [
            train_contender(contender, texts, settings, n_steps[contender.name], arguments)
            for contender in contenders
        ]
    except (numbpe.NumbpeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print_table(results)
    if arguments.json is not None:
        document = {
            "benchmark": "language model",
            "settings": asdict(settings) | describe_arguments(arguments),
            "n_training_bytes": len(texts.training.encode()),
            "n_held_out_bytes": len(texts.held_out.encode()),
            "models": results,
        }
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--input", type=Path, nargs="+", required=True, metavar="FILE", help="text to learn")
    add("--limit", type=int, metavar="BYTES", help="read no more than this of each file")
    add("--held-out", type=int, metavar="BYTES", help="size of the end that is measured (a 20th)")
    add("--vocab", type=int, default=4096, metavar="ROWS", help="embedding rows (%(default)s)")
    add("--vocabularies", nargs="+", choices=KINDS, default=["gpt2", "combinatorial"],
        help="which to compare; gpt2 and cl100k are plain ones (gpt2 combinatorial)")  # fmt: skip
    add("--split-camel", action="store_true", help="cut words where small letters meet capitals")
    add("--width", type=int, default=192, help="of the model's states (%(default)s)")
    add("--layers", type=int, default=4, help="blocks (%(default)s)")
    add("--heads", type=int, default=4, help="of attention (%(default)s)")
    add("--context", type=int, default=128, metavar="TOKENS", help="length of texts (%(default)s)")
    add("--batch", type=int, default=32, help="texts in a step (%(default)s)")
    add("--steps", type=int, default=500, help="of the first vocabulary named (%(default)s)")
    add("--equal", choices=("compute", "text"), default="compute",
        help="what the others get as much of as the first (%(default)s)")  # fmt: skip
    add("--lr", type=float, default=4e-3, help="greatest learning rate (%(default)s)")
    add("--seed", type=int, default=0, help="of all randomness (%(default)s)")
    add("--threads", type=int, help="of PyTorch")
    add(
        "--sample", type=int, default=60, metavar="TOKENS", help="to write at the end (%(default)s)"
    )
    add("--json", type=Path, metavar="FILE", help="write the figures there")
    return parser


def describe_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that decide on the figures, without the places of files."""
    names = ("vocab", "split_camel", "batch", "steps", "equal", "lr", "seed")
    inputs = {"inputs": [path.name for path in arguments.input]}
    return inputs | {name: getattr(arguments, name) for name in names}


def read_texts(arguments: argparse.Namespace) -> Texts:
    """Return the texts of the files, the end of each held out, cut at a line."""
    training, held_out = [], []
    for path in arguments.input:
        with path.open("rb") as file:
            raw = file.read() if arguments.limit is None else file.read(arguments.limit)
        text = raw.decode("utf-8", "ignore").replace(SEPARATOR, "")
        n_characters = arguments.held_out or len(raw) // 20
        n_characters = n_characters * len(text) // max(1, len(raw))
        cut = text.rfind("\n", 0, max(0, len(text) - n_characters)) + 1
        training.append(text[:cut])
        held_out.append(text[cut:])
    return Texts("".join(training), "".join(held_out))


def make_contender(kind: str, texts: Texts, arguments: argparse.Namespace) -> Contender:
    """Return a vocabulary trained on the training text, and both texts in its tokens."""
    source = [texts.training]
    tokenizer: Any
    if kind == "combinatorial":
        tokenizer = numbpe.CombinatorialTokenizer.train(
            source, arguments.vocab, split_camel=arguments.split_camel, progress=False
        )
    else:
        plain = train_standard(source, arguments.vocab, kind, progress=False)  # type: ignore[arg-type]
        tokenizer = make_standard_tokenizer(plain)
    return Contender(
        kind, tokenizer, tokenizer.encode(texts.training), tokenizer.encode(texts.held_out)
    )


def count_steps(
    contenders: Sequence[Contender],
    texts: Texts,
    settings: ModelSettings,
    arguments: argparse.Namespace,
) -> dict[str, int]:
    """Return how many steps each contender gets: as much work, or text, as the first."""
    costs = {}
    for contender in contenders:
        if arguments.equal == "text":
            costs[contender.name] = len(texts.training.encode()) / len(contender.training)
        else:
            is_chained = contender.is_chained
            costs[contender.name] = count_macs(settings, arguments.vocab, is_chained=is_chained)
    budget = arguments.steps * costs[contenders[0].name]
    return {name: max(1, round(budget / cost)) for name, cost in costs.items()}


def train_contender(
    contender: Contender,
    texts: Texts,
    settings: ModelSettings,
    n_steps: int,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return what became of a model that was trained on a contender's tokens."""
    torch.manual_seed(arguments.seed)
    model = LanguageModel(contender.vocabulary, settings)
    plan = TrainingSettings(n_steps, arguments.batch, arguments.lr, arguments.seed)
    started = time.perf_counter()

    def report(step: int, loss: float) -> None:
        if (step + 1) % max(1, n_steps // 10) == 0:
            seconds = time.perf_counter() - started
            print(
                f"{contender.name}: step {step + 1} of {n_steps}, {loss:.3f} nats for each token, "
                f"{seconds:.0f} s",
                file=sys.stderr,
            )

    n_seen = train_model(model, contender.training, plan, report)
    seconds = time.perf_counter() - started
    n_training_bytes = len(texts.training.encode())
    n_bytes = len(texts.held_out.encode())
    evaluation = evaluate_model(model, contender.held_out, n_bytes)
    macs = count_macs(settings, arguments.vocab, is_chained=contender.is_chained)
    if arguments.sample:
        print_sample(model, contender, arguments)
    return {
        "vocabulary": contender.name,
        "sizes": dict(contender.vocabulary) if contender.is_chained else contender.vocabulary,
        "n_parameters": sum(each.numel() for each in model.parameters()),
        "macs_per_token": macs,
        "n_steps": n_steps,
        "n_tokens_seen": n_seen,
        "total_macs": MACS_A_STEP * n_seen * macs,
        "n_bytes_seen": round(n_seen * n_training_bytes / len(contender.training)),
        "bytes_per_token": n_bytes / len(contender.held_out),
        "seconds": round(seconds, 1),
        "nats_per_token": evaluation.nats_per_token,
        "bits_per_byte": evaluation.bits_per_byte,
        "factor_bits_per_byte": evaluation.factor_bits_per_byte,
    }


def print_sample(model: LanguageModel, contender: Contender, arguments: argparse.Namespace) -> None:
    """Print how a model goes on after the first tokens of the text that was held out."""
    prompt = torch.from_numpy(contender.held_out[:16].astype("int64"))[None]
    legal = contender.tokenizer.legal_variations if contender.is_chained else None
    generator = torch.Generator().manual_seed(arguments.seed)
    tokens = model.generate(prompt, arguments.sample, legal, temperature=0.8, generator=generator)[
        0
    ].numpy()
    dtype = contender.held_out.dtype
    given, made = (
        contender.tokenizer.decode(part.astype(dtype)) for part in (tokens[:16], tokens[16:])
    )
    print(f"{contender.name}: {given!r} goes on {made!r}")


def print_table(results: Sequence[dict[str, Any]]) -> None:
    """Print the figures of all models, and what each factor of a tuple costs."""
    print(
        f"{'vocabulary':14} {'parameters':>10} {'MACs/token':>10} {'steps':>6} {'text, MB':>8} "
        f"{'bytes/token':>11} {'seconds':>7} {'bits/byte':>9}"
    )
    for result in results:
        print(
            f"{result['vocabulary']:14} {result['n_parameters']:10,} "
            f"{result['macs_per_token']:10,} {result['n_steps']:6} "
            f"{result['n_bytes_seen'] / 1e6:8.1f} {result['bytes_per_token']:11.3f} "
            f"{result['seconds']:7.0f} {result['bits_per_byte']:9.4f}"
        )
    for result in results:
        if len(result["factor_bits_per_byte"]) > 1:
            parts = zip(FACTORS, result["factor_bits_per_byte"], strict=True)
            print("of which " + ", ".join(f"{name} {bits:.4f}" for name, bits in parts))


if __name__ == "__main__":
    sys.exit(main())
