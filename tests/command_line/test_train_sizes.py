"""Several sizes from one run, recipes, and going on where a tokenizer ends, on the command line."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import numbpe
from numbpe.train_options import _read_vocab_sizes

Train: TypeAlias = Callable[..., int]
ListFiles: TypeAlias = Callable[[Path], list[str]]
ReadBytes: TypeAlias = Callable[[Path], dict[str, bytes]]


@pytest.mark.parametrize("recipe", ["cs336", "tiktoken", "hf"])
def test_sizes__each_equals_a_run_of_its_own(
    recipe: str, corpus: Path, output: Path, tmp_path: Path, train: Train, read_bytes: ReadBytes
) -> None:
    """Truth: the runs to each size, byte for byte; "the" is a special token that a merge makes."""
    options = ["--input", corpus, "--recipe", recipe, "--special", "<s>", "--special", "the"]
    assert train(*options, "--vocab", "290,260,270", "--output", output, "--check") == 0
    for size in (260, 270, 290):
        alone = tmp_path / f"alone-{size}"
        assert train(*options, "--vocab", size, "--output", alone, "--name", f"corpus-{size}") == 0
        for name, content in read_bytes(alone).items():
            assert (output / name).read_bytes() == content


def test_sizes__beyond_what_the_text_gives(
    corpus: Path,
    output: Path,
    train: Train,
    list_files: ListFiles,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Truth: by definition; those that are too great are what the text gives, and it is said."""
    assert train("--input", corpus, "--vocab", "260,5000,6000", "--output", output, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["stopped_early"]
    small, *large = figures["vocab_sizes"]
    assert (small, figures["asked_vocab_size"]) == (260, 6000)
    assert large == [figures["vocab_size"]] * 2
    assert figures["files"]["corpus-5000 json"].endswith("corpus-5000.json")
    assert len(list_files(output)) == 9
    assert (output / "corpus-5000.json").read_bytes() == (output / "corpus-6000.json").read_bytes()


@pytest.mark.parametrize("text", ["", "a", "300,", "1.5", "300,300"])
def test_sizes__that_cannot_be_read(text: str, train: Train, corpus: Path) -> None:
    """Truth: the habit that an error of the command line has the exit code 2."""
    assert train("--input", corpus, "--vocab", text) == 2
    assert _read_vocab_sizes("30, 20") == (20, 30)


def test_extend__keeps_ids_and_shows_what_tokens_were_worth(
    corpus: Path, output: Path, tmp_path: Path, train: Train, run: Train, list_files: ListFiles,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Truth: Tokenizer.extended, from the text and from its counts."""
    counts = tmp_path / "more.counts.parquet"
    more = tmp_path / "more.txt"
    more.write_text("zebra zebras zebra " * 9, encoding="utf-8")
    assert train("--input", corpus, "--vocab", 270, "--output", output, "--recipe", "tiktoken") == 0
    base = output / "corpus.json"
    extend = ["--extend", base, "--output", output, "--vocab"]
    assert train("--input", more, *extend, "272,275", "--counts", counts, "--check") == 0
    expected = numbpe.load(base).extended(more, 275, progress=False)
    actual = numbpe.load(output / "more-275.json")
    assert actual.vocab == expected.vocab
    assert actual.merges == expected.merges
    assert actual.vocabulary.recipe_name == "tiktoken"
    assert pickle.loads((output / "more-272_vocab.pkl").read_bytes()) == {
        token_id: content for token_id, content in expected.vocab.items() if token_id < 272
    }
    assert train("--counts", counts, *extend, 275, "--name", "again") == 0
    assert (output / "again.json").read_bytes() == (output / "more-275.json").read_bytes()
    capsys.readouterr()
    assert run("inspect", output / "again.json", "--text", "zebra") == 0
    shown = capsys.readouterr().out
    assert f"{expected.merge_counts[0]:,} times in the corpus at the first merge" in shown
    assert any(line.split() == ["273", "27", "zebra"] for line in shown.splitlines()), shown
