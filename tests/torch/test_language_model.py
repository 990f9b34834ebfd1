"""The small GPT: its shape, that it cannot see ahead, training, bits for each byte."""

import math

import numpy as np
import pytest

from numbpe.errors import ArgumentError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'numbpe[torch]'")

from numbpe.torch import (
    LanguageModel,
    ModelSettings,
    TrainingSettings,
    convert_to_bits_per_byte,
    count_macs,
    evaluate_model,
    train_model,
)
from numbpe.torch.optimizers import make_optimizers, orthogonalize
from numbpe.torch.training import find_lr

SIZES = (3, 4, 11, 2)
SETTINGS = ModelSettings(width=32, n_layers=2, n_heads=2, context=16)
PUBLISHED = ModelSettings(width=512, n_layers=8, n_heads=8, context=512)


def make_model(vocabulary=SIZES):
    torch.manual_seed(5)
    return LanguageModel(vocabulary, SETTINGS)


def make_tokens(n_tokens: int, *, factored: bool = True):
    """Return a text that says the same seven tokens over and over."""
    random = np.random.default_rng(1)
    phrase = random.integers(0, SIZES, size=(7, 4), dtype=np.int32)
    tokens = np.resize(phrase, (n_tokens, 4))
    return tokens if factored else tokens[:, 2].astype(np.uint32)


@pytest.mark.parametrize("vocabulary", [SIZES, 11], ids=["tuples", "ids"])
def test_model__has_the_shapes_of_its_vocabulary(vocabulary) -> None:
    """Truth: four factors of a tuple, one of an id."""
    model, factored = make_model(vocabulary), vocabulary == SIZES
    tokens = torch.from_numpy(make_tokens(34, factored=factored).astype(np.int64))
    tokens = tokens.view(2, 17, 4) if factored else tokens.view(2, 17)
    assert model(tokens[:, :-1]).shape == (2, 16, SETTINGS.width)
    assert model.measure(tokens).shape == (2, 16, 4 if factored else 1)
    model.loss(tokens).backward()
    assert all(each.grad is not None for each in model.parameters())


@pytest.mark.parametrize(
    "vocabulary, n_millions", [(32_768, 42.1), ((4, 777, 31_427, 560), 44.5)], ids=["ids", "tuples"]
)
def test_model__has_the_parameters_of_the_published_one(vocabulary, n_millions: float) -> None:
    """Truth: the published counts of the modern recipe, in millions."""
    with torch.device("meta"):
        model = LanguageModel(vocabulary, PUBLISHED)
    assert sum(each.numel() for each in model.parameters()) / 1e6 == pytest.approx(
        n_millions, abs=0.1
    )


def test_model__does_not_see_ahead() -> None:
    """Truth: what causal means: later tokens change nothing before."""
    model = make_model()
    tokens = torch.from_numpy(make_tokens(16))[None]
    states = model(tokens)
    other = tokens.clone()
    other[:, 9:, 2] = (other[:, 9:, 2] + 1) % SIZES[2]
    changed = model(other)
    torch.testing.assert_close(changed[:, :9], states[:, :9])
    assert (changed[:, 9:] - states[:, 9:]).abs().max() > 1e-3


def test_model__knows_the_order_of_tokens() -> None:
    """Truth: what positions are for; without them the last state would be the same."""
    model = make_model()
    tokens = torch.from_numpy(make_tokens(7))[None]
    swapped = tokens[:, [1, 0, 2, 3, 4, 5, 6]]
    assert (model(tokens)[:, -1] - model(swapped)[:, -1]).abs().max() > 1e-4


def test_model__refuses_more_than_its_context_and_heads_that_do_not_fit() -> None:
    """Truth: the settings."""
    with pytest.raises(ArgumentError, match="cannot read 17 tokens"):
        make_model()(torch.zeros(1, 17, 4, dtype=torch.int64))
    with pytest.raises(ArgumentError, match="a multiple of 6"):
        ModelSettings(width=32, n_heads=3)
    with pytest.raises(ArgumentError, match="positive"):
        ModelSettings(n_layers=0)


@pytest.mark.parametrize("vocabulary", [SIZES, 11], ids=["tuples", "ids"])
def test_training__learns_a_text_that_repeats_itself(vocabulary) -> None:
    """Truth: the text; what comes next is certain, so the cost must fall from the entropy of a
    random choice to nearly nothing."""
    tokens = make_tokens(600, factored=vocabulary == SIZES)
    sizes = SIZES if vocabulary == SIZES else (vocabulary,)
    model, losses = make_model(vocabulary), []
    settings = TrainingSettings(n_steps=50, batch=4, lr=2e-2)
    n_seen = train_model(model, tokens, settings, lambda _, loss: losses.append(loss))
    assert n_seen == 50 * 4 * SETTINGS.context
    assert losses[0] == pytest.approx(sum(math.log(size) for size in sizes), rel=0.1)
    assert losses[-1] < 0.2
    evaluation = evaluate_model(model, tokens, n_bytes=3_000)
    assert evaluation.nats_per_token < 0.3
    prompt = torch.from_numpy(tokens[:7].astype(np.int64))[None]
    assert torch.equal(
        model.generate(prompt, 14, temperature=0)[0],
        torch.from_numpy(tokens[:21].astype(np.int64)),
    )


def test_generate__keeps_to_legal_variations() -> None:
    """Truth: the table of what is legal."""
    model = make_model()
    legal = np.zeros((SIZES[2], SIZES[0]), dtype=bool)
    legal[np.arange(SIZES[2]), np.arange(SIZES[2]) % SIZES[0]] = True
    prompt = torch.zeros(3, 1, 4, dtype=torch.int32)
    generator = torch.Generator().manual_seed(2)
    rows = model.generate(prompt, 30, legal, generator=generator)
    assert rows.shape == (3, 31, 4)
    assert rows.dtype == torch.int32
    drawn = rows[:, 1:].reshape(-1, 4).numpy()
    assert (drawn[:, 0] == drawn[:, 2] % SIZES[0]).all()
    assert len(np.unique(drawn[:, 2])) > 5


def test_evaluation__is_the_cost_of_windows_for_the_bytes_they_cover() -> None:
    """Truth: windows at 0, 16 and 32 of 50 tokens, measured one by one; 48 of 49 targets."""
    model, tokens = make_model(), make_tokens(50)
    evaluation = evaluate_model(model, tokens, n_bytes=490, batch=2)
    windows = [torch.from_numpy(tokens[start : start + 17])[None] for start in (0, 16, 32)]
    nats = sum(model.measure(window).sum((0, 1)) for window in windows).detach().numpy()
    np.testing.assert_allclose(evaluation.nats, nats, rtol=1e-5)
    assert evaluation.n_targets == 48
    assert evaluation.bits_per_byte == pytest.approx(nats.sum() / math.log(2) / 480, rel=1e-5)
    assert len(evaluation.factor_bits_per_byte) == 4
    with pytest.raises(ArgumentError, match="windows of 17"):
        evaluate_model(model, tokens[:16], n_bytes=100)


def test_bits_per_byte__counts_the_bytes_of_predicted_tokens() -> None:
    """Truth: by hand: 10 targets of 4 bytes each, 10 bits."""
    assert convert_to_bits_per_byte(10 * math.log(2), 10, 21, 80) == pytest.approx(0.25)
    with pytest.raises(ArgumentError, match="longer text"):
        convert_to_bits_per_byte(1.0, 1, 1, 10)


def test_macs__of_the_chain_are_a_twentieth() -> None:
    """Truth: the published figure, 5.1 % more for each token."""
    flat = count_macs(PUBLISHED, 32_768, is_chained=False)
    assert flat == 12 * 512**2 * 8 + 2 * 8 * 512 * 512 + 32_768 * 512
    chained = count_macs(PUBLISHED, 32_768, is_chained=True)
    assert chained / flat == pytest.approx(1.051, abs=5e-4)


@pytest.mark.parametrize("shape", [(12, 30), (30, 12), (16, 16)])
def test_orthogonalize__keeps_singular_vectors(shape: tuple[int, int]) -> None:
    """Truth: NumPy's singular value decomposition; values end near one, as Muon's authors say."""
    matrix = np.random.default_rng(4).normal(size=shape)
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    result = orthogonalize(torch.from_numpy(matrix)).numpy()
    inner = left.T @ result @ right.T
    np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-9)
    assert (np.abs(np.diag(inner) - 0.95) < 0.35).all()


def test_optimizers__leave_tables_to_adam() -> None:
    """Truth: the recipe: Muon for hidden matrices, those of the chain too, AdamW for the rest."""
    model = make_model()
    muon, adam = make_optimizers(model, 1e-3)
    given = [
        {id(each) for group in optimizer.param_groups for each in group["params"]}
        for optimizer in (muon, adam)
    ]
    tables = {id(table.weight) for table in model.embedding.tables}
    assert tables <= given[1]
    assert {id(link[1].weight) for link in model.head.links} <= given[0]
    assert given[0] | given[1] == {id(each) for each in model.parameters()}
    assert not given[0] & given[1]


def test_lr__rises_and_falls_to_a_tenth() -> None:
    """Truth: the schedule as published: linear, then a cosine."""
    settings = TrainingSettings(n_steps=1000, lr=1.0)
    rates = [find_lr(step, settings) for step in range(1000)]
    assert rates[:2] == [0.02, 0.04]
    assert max(rates) == rates[49] == 1.0
    assert rates[50 + 475] == pytest.approx(0.55)
    assert rates[-1] == pytest.approx(0.1, abs=1e-4)
