"""Tuples into a model and out of it: sums of tables, a chain of softmaxes, tied."""

import copy
import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from numbpe.errors import ArgumentError, DataError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'numbpe[torch]'")

from numbpe.torch import ChainedHead, FactoredEmbedding

SIZES = (3, 2, 5, 2)
WIDTH = 8
ALL_ROWS = np.array(list(itertools.product(*map(range, SIZES))))
LEGAL = np.array([[1, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 0], [1, 1, 0]], dtype=bool)
"""Which variations the five cores have; the fourth has none, as a row that is never used."""

Array = NDArray[np.float64]


def make_head(sizes=SIZES, order=(1, 2, 0, 3), scale: float = 40.0):
    """Return a head in double precision whose choices are far from even."""
    torch.manual_seed(7)
    head = ChainedHead(FactoredEmbedding(sizes, WIDTH), order).double()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.mul_(scale) if parameter.dim() == 2 else parameter.add_(0.1)
    return head


def make_states(*shape: int):
    return torch.randn(
        *shape, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(3)
    )


def normalize(values: Array, weight: Array, bias: Array) -> Array:
    centred = values - values.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight + bias


def score_in_numpy(head, states: Array, rows: NDArray[np.int64]) -> Array:
    """Return the nats of each factor: the chain of the published model, written out."""
    parameters = {name: value.detach().numpy() for name, value in head.named_parameters()}
    nats = np.zeros(rows.shape)
    state = states
    for place, factor in enumerate(head.order):
        scored = state
        if place:
            before = head.order[place - 1]
            vector = parameters[f"embedding.tables.{before}.weight"][rows[:, before]]
            link = [parameters[f"links.{place - 1}.{name}"] for name in ("0.weight", "0.bias")]
            hidden = normalize(np.concatenate([state, vector], axis=1), *link)
            hidden = hidden @ parameters[f"links.{place - 1}.1.weight"].T
            hidden *= 0.5 * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
            state = state + hidden @ parameters[f"links.{place - 1}.3.weight"].T
            norm = [parameters[f"norms.{place - 1}.{name}"] for name in ("weight", "bias")]
            scored = normalize(state, *norm)
        logits = scored @ parameters[f"embedding.tables.{factor}.weight"].T
        chosen = np.take_along_axis(logits, rows[:, factor, None], axis=1)[:, 0]
        nats[:, factor] = np.log(np.exp(logits).sum(-1)) - chosen
    return nats


def compute_probabilities(head, state, legal: NDArray[np.bool_] | None = None) -> Array:
    """Return the probability of every tuple after one state."""
    rows = torch.from_numpy(ALL_ROWS)
    nats = head(state.expand(len(rows), WIDTH), rows, legal)
    return torch.exp(-nats.sum(-1)).detach().numpy()


def test_embedding__is_the_sum_of_four_tables() -> None:
    """Truth: NumPy."""
    embedding = FactoredEmbedding(SIZES, WIDTH)
    rows = ALL_ROWS.reshape(6, 10, 4).astype(np.int32)
    expected = sum(
        table.weight.detach().numpy()[rows[..., factor]]
        for factor, table in enumerate(embedding.tables)
    )
    vectors = embedding(torch.from_numpy(rows))
    assert vectors.shape == (6, 10, WIDTH)
    np.testing.assert_allclose(vectors.detach().numpy(), expected, rtol=1e-6)


def test_embedding__takes_sizes_by_name_in_any_order() -> None:
    """Truth: the names of the columns."""
    sizes = {"suffix": 2, "core": 5, "variation": 3, "prefix": 4}
    assert FactoredEmbedding(sizes, WIDTH).sizes == (3, 4, 5, 2)


@pytest.mark.parametrize("order", [(1, 2, 0, 3), (2, 1, 0, 3), (0, 3, 1, 2)])
def test_head__costs_what_numpy_computes(order: tuple[int, ...]) -> None:
    """Truth: the formulas of the published model in NumPy, by columns."""
    head, states = make_head(order=order), make_states(len(ALL_ROWS))
    expected = score_in_numpy(head, states.numpy(), ALL_ROWS)
    nats = head(states, torch.from_numpy(ALL_ROWS)).detach().numpy()
    assert nats.shape == ALL_ROWS.shape
    np.testing.assert_allclose(nats, expected, rtol=1e-9, atol=1e-9)
    in_parts = head(states.view(6, 10, WIDTH), torch.from_numpy(ALL_ROWS).view(6, 10, 4))
    np.testing.assert_allclose(in_parts.detach().numpy().reshape(-1, 4), expected, atol=1e-9)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_head__probabilities_of_all_tuples_sum_to_one(order: tuple[int, ...]) -> None:
    """Truth: the chain rule; a distribution over tuples, whatever the order."""
    head = make_head(order=order)
    for state in make_states(3):
        assert compute_probabilities(head, state).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("order", [(1, 2, 0, 3), (0, 1, 2, 3), (3, 0, 1, 2)])
def test_head__with_legal_variations_gives_other_tuples_nothing(order: tuple[int, ...]) -> None:
    """Truth: the table of what is legal; the rest must sum to one, variation first or last."""
    head, state = make_head(order=order), make_states()
    probabilities = compute_probabilities(head, state, LEGAL)
    is_legal = LEGAL[ALL_ROWS[:, 2], ALL_ROWS[:, 0]]
    assert probabilities[is_legal].sum() == pytest.approx(1, abs=1e-9)
    assert (probabilities[~is_legal] == 0).all()


@pytest.mark.parametrize("legal", [None, LEGAL], ids=["all", "legal"])
@pytest.mark.parametrize("order", [(1, 2, 0, 3), (0, 3, 2, 1)])
def test_sample__draws_as_often_as_the_probabilities_say(
    order: tuple[int, ...], legal: NDArray[np.bool_] | None
) -> None:
    """Truth: the probabilities that the head itself gives to whole tuples."""
    head, state, n_draws = make_head(order=order, scale=25.0), make_states(), 40_000
    generator = torch.Generator().manual_seed(11)
    rows = head.sample(state.expand(2, n_draws // 2, WIDTH), legal, generator=generator)
    assert rows.shape == (2, n_draws // 2, 4)
    drawn = np.ravel_multi_index(tuple(rows.view(-1, 4).numpy().T), SIZES)
    expected = n_draws * compute_probabilities(head, state, legal)
    counts = np.bincount(drawn, minlength=len(ALL_ROWS))
    assert (counts[expected == 0] == 0).all()
    # 60 cells; six standard deviations, and one draw for cells that hold next to nothing.
    assert (np.abs(counts - expected) <= 6 * np.sqrt(expected) + 1).all()
    assert (expected > 100).sum() > 5


def test_sample__at_temperature_zero_takes_the_likeliest_of_each_factor() -> None:
    """Truth: the least cost at each place of the chain, given the places before."""
    head, states = make_head(), make_states(20)
    rows = head.sample(states, temperature=0)
    for factor, size in enumerate(SIZES):
        others = rows.repeat(size, 1, 1)
        others[..., factor] = torch.arange(size)[:, None]
        costs = head(states.expand(size, 20, WIDTH), others)[..., factor]
        assert torch.equal(costs.argmin(0), rows[:, factor])


def test_head__shares_its_tables_with_the_embedding() -> None:
    """Truth: what tying means: one set of weights, whose gradient is the sum from both sides."""
    head = make_head()
    embedding = head.embedding
    rows = torch.from_numpy(ALL_ROWS)
    head(embedding(rows), rows.flip(0)).sum().backward()
    tied = [table.weight.grad.clone() for table in embedding.tables]

    untied, source = copy.deepcopy(head), copy.deepcopy(embedding)
    untied.zero_grad()
    source.zero_grad()
    untied(source(rows), rows.flip(0)).sum().backward()
    for factor, gradient in enumerate(tied):
        read, scored = source.tables[factor], untied.embedding.tables[factor]
        assert read.weight.grad.abs().max() > 0
        assert scored.weight.grad.abs().max() > 0
        torch.testing.assert_close(gradient, read.weight.grad + scored.weight.grad)


def test_head__gradients_are_the_slopes_of_the_cost() -> None:
    """Truth: finite differences."""
    head = make_head(scale=10.0)
    rows = torch.from_numpy(ALL_ROWS[::7])
    states = make_states(len(rows)).requires_grad_()
    assert torch.autograd.gradcheck(lambda given: head(given, rows).sum(-1), states)
    head(states, rows).sum().backward()
    assert all(each.grad is not None and each.grad.abs().max() > 0 for each in head.parameters())


def test_head__has_the_parameters_of_the_published_one() -> None:
    """Truth: the published count, 3 x (2,048 + 524,288 + 262,144 + 1,024) at width 512."""
    with torch.device("meta"):
        embedding = FactoredEmbedding((4, 777, 31_427, 560), 512)
        head = ChainedHead(embedding)
    n_tables = sum(each.numel() for each in embedding.parameters())
    assert n_tables == 32_768 * 512
    assert sum(each.numel() for each in head.parameters()) - n_tables == 2_368_512


@pytest.mark.parametrize("sizes", [(1, 2, 3), (3, 0, 5, 2), {"core": 3}, 7])
def test_embedding__refuses_sizes_that_are_not_four(sizes: object) -> None:
    """Truth: the rule of the README for errors: what was found, what to give."""
    with pytest.raises(ArgumentError, match=r"tokenizer\.sizes"):
        FactoredEmbedding(sizes, WIDTH)


def test_rows__that_no_table_has_are_named() -> None:
    """Truth: the row and the factor that were made wrong."""
    embedding = FactoredEmbedding(SIZES, WIDTH)
    rows = torch.zeros(3, 4, dtype=torch.int64)
    rows[2, 2] = 5
    with pytest.raises(DataError, match="row 2: its core is 5, and there are 5"):
        embedding(rows)
    with pytest.raises(DataError, match=r"\(3, 3\)"):
        embedding(rows[:, :3])
    with pytest.raises(DataError, match=r"float32"):
        embedding(rows.float())


def test_sample__refuses_tables_and_temperatures_that_mean_nothing() -> None:
    """Truth: the shape (n_core, n_var) of these tables."""
    head, states = make_head(), make_states(1)
    with pytest.raises(ArgumentError, match=r"\(5, 3\)"):
        head.sample(states, LEGAL.T)
    with pytest.raises(ArgumentError, match="of bool"):
        head.sample(states, LEGAL.astype(np.int64))
    with pytest.raises(ArgumentError, match="no core has any"):
        head.sample(states, np.zeros_like(LEGAL))
    with pytest.raises(ArgumentError, match="temperature -1"):
        head.sample(states, temperature=-1)
    with pytest.raises(ArgumentError, match="each once"):
        make_head(order=(0, 1, 2, 2))
