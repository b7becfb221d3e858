"""What defines each rival holds: scales, pairs, principal directions, SteinGLM's directions; all of it or nothing."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from steinglm.exceptions import InvalidInputError
from steinglm.experiment import Experiment, Result, initialize, train
from steinglm.init import INITIALIZERS, stein_glm_
from steinglm.mlp import build
from steinglm.rivals import lsuv_, pca_, steinglm_lsuv_, swim_
from steinglm.swim import ENDS, draw_pairs
from tests import models
from tests.test_init import DOUBLE, equal, generator, layers, sample, state

RIVALS = ("lsuv", "swim", "pca", "steinglm_lsuv")


def images(n: int = 40) -> tuple[Tensor, Tensor]:
    X = torch.randn(n, 2, 6, 6, generator=generator(2), dtype=DOUBLE)
    return X, X[:, 0, 2:4, 2:4].sum((1, 2)).square()


def convolutional(groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.Tanh(), nn.Conv2d(4, 4, 2, stride=2, groups=groups), nn.Tanh(),
        nn.Flatten(), nn.Linear(36, 1),
    ).double()  # fmt: skip


def outputs(model: nn.Sequential, X: Tensor) -> list[tuple[nn.Module, Tensor]]:
    """The output of every convolution and Linear layer, units last."""
    found, h = [], X
    with torch.no_grad():
        for module in model:
            h = module(h)
            if isinstance(module, nn.Linear | nn.Conv2d):
                found.append((module, h.movedim(1, -1)))
    return found


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_lsuv_gives_every_layer_unit_variance_and_orthogonal_rows(activation: str) -> None:
    X, y = sample(d=6)
    model = build(6, 6, 5, activation, DOUBLE)
    lsuv_(model, X * 3, y, task="regression", generator=generator())
    for layer, a in outputs(model, X * 3):
        variance = float(a.var(correction=0))
        W = layer.weight.detach()
        gram = W @ W.T
        assert abs(variance - 1) < 0.1
        torch.testing.assert_close(gram, gram[0, 0] * torch.eye(len(W), dtype=DOUBLE))
        assert variance == pytest.approx(1) or float(gram[0, 0]) == pytest.approx(
            1
        )  # within 0.1, left as it is
        assert (layer.bias == 0).all()


@pytest.mark.parametrize("groups", [1, 2])
def test_lsuv_of_convolutions(groups: int) -> None:
    X, y = images()
    model = convolutional(groups)
    report = lsuv_(model, X, y, task="regression")
    assert [layer.rule for layer in report.layers] == ["lsuv"] * 3
    assert all(abs(float(a.var(correction=0)) - 1) < 0.1 for _, a in outputs(model, X))


@pytest.mark.parametrize(("activation", "ends"), [*ENDS.items(), ("relu", (0, 1)), ("gelu", (0, 1))])
def test_swim_puts_each_unit_on_a_pair_of_points(activation: str, ends: tuple[float, float]) -> None:
    X, y = sample(n=40)
    model = build(4, 7, 2, activation, DOUBLE)
    swim_(model, X, y, task="regression")
    for linear, h, a, _ in layers(model, X):
        for unit, w in enumerate(linear.weight.detach()):
            at_first = (a[:, unit] - ends[0]).abs() < 1e-9
            gap = w * (ends[1] - ends[0]) / w.square().sum()  # x2 - x1
            second = [(h - h[i] - gap).norm(dim=1) < 1e-9 for i in at_first.nonzero()]
            assert any(found.any() for found in second)


def test_swim_ends_are_those_of_the_paper() -> None:
    assert torch.tanh(torch.tensor(ENDS["tanh"])).tolist() == pytest.approx([-0.5, 0.5])
    assert torch.sigmoid(torch.tensor(ENDS["sigmoid"])).tolist() == pytest.approx([0.25, 0.75])


def test_swim_draws_pairs_by_their_steepness() -> None:
    """A step: pairs across it, the closer the likelier, and never two points of one side."""
    h = torch.linspace(-1, 1, 201, dtype=DOUBLE)[:, None]
    y = (h > 0).double()
    pairs = draw_pairs(h, y, 20_000, generator=generator())
    assert pairs is not None
    first, second = pairs
    assert (y[first] != y[second]).all()
    distance = (h[first] - h[second]).abs().flatten()
    # Across the step a distance r has density r for r < 1 and 2 - r above, drawn by 1 / max(r, epsilon).
    r = torch.linspace(0, 2, 2001, dtype=DOUBLE)
    weight = torch.minimum(r, 2 - r) / r.clamp(min=0.5 * 2 / 3)
    assert float(distance.mean()) == pytest.approx(float((r * weight).sum() / weight.sum()), abs=0.02)


def test_swim_without_a_pair_that_differs_is_orthogonal() -> None:
    same = torch.ones(20, 3, dtype=DOUBLE)
    assert draw_pairs(same, torch.arange(20.0)[:, None], 3, generator=generator()) is None
    X, y = sample(n=20)
    model = nn.Sequential(
        nn.Linear(4, 4), nn.Dropout(0.0), nn.Threshold(1e9, 0.0), nn.Linear(4, 3), nn.Tanh()
    )
    model.append(nn.Linear(3, 1)).double()
    rules = [layer.rule for layer in swim_(model, X, y, task="regression").layers]
    assert rules == ["swim", "orthogonal", "glm"]


def test_swim_of_convolutions_from_a_sample_of_their_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = images()
    monkeypatch.setattr("steinglm.swim.FEWEST_ROWS", 50)
    monkeypatch.setattr("steinglm.swim.MOST_ELEMENTS", 900)
    for groups in (1, 2):
        model = convolutional(groups)
        assert [layer.rule for layer in swim_(model, X, y, task="regression").layers] == [
            "swim",
            "swim",
            "glm",
        ]
        _, a = outputs(model, X)[0]
        reached = (a.reshape(-1, 4) - ENDS["tanh"][0]).abs().amin(0)
        assert float(reached.max()) < 1e-9  # some patch is the first end of each filter


def test_swim_wants_a_bias() -> None:
    X, y = sample()
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Tanh(), nn.Linear(4, 1)).double()
    with pytest.raises(InvalidInputError, match=r"layer '0' must be with a bias"):
        swim_(model, X, y, task="regression")


@pytest.mark.parametrize(("alpha", "factor"), [(None, 1.0), (0.5, 0.5)])
def test_pca_rows_are_the_leading_principal_directions(alpha: float | None, factor: float) -> None:
    X, y = sample(d=5)
    model = build(5, 3, 3, "tanh", DOUBLE)
    report = pca_(model, X, y, task="regression", alpha=alpha)
    for (linear, h, a, _), layer in zip(layers(model, X), report.layers, strict=False):
        _, singular, Vh = torch.linalg.svd(h - h.mean(0), full_matrices=False)
        W = linear.weight.detach()
        torch.testing.assert_close(
            (W @ Vh[:3].T).abs(), factor * torch.eye(3, dtype=DOUBLE), atol=1e-6, rtol=0
        )
        torch.testing.assert_close(torch.tensor(layer.eigenvalues[:3]), singular[:3] ** 2 / len(h))
        assert float(a.mean(0).abs().max()) < 1e-9


def test_pca_of_more_units_than_the_rank_fills_up_with_random_frames() -> None:
    X, y = sample(d=3)
    doubled = torch.cat([X, X], 1)  # rank 3 of 6 columns
    model = build(6, 5, 1, "tanh", DOUBLE)
    pca_(model, doubled, y, task="regression")
    a = layers(model, doubled)[0][2]
    assert (a.var(0) > 1e-6).all()  # a direction without variance would be a dead unit


def test_steinglm_lsuv_has_steinglms_directions_unit_variances_and_zero_means() -> None:
    X, y = sample(d=6)
    model, plain = build(6, 4, 3, "tanh", DOUBLE), build(6, 4, 3, "tanh", DOUBLE)
    steinglm_lsuv_(model, X, y, task="regression", score="identity")
    stein_glm_(plain, X, y, task="regression", score="identity")
    for _, _, a, _ in layers(model, X):
        torch.testing.assert_close(a.var(0, correction=0), torch.ones(4, dtype=DOUBLE))
        assert float(a.mean(0).abs().max()) < 1e-9
    W, V = state(model)["hidden1.weight"], state(plain)["hidden1.weight"]
    torch.testing.assert_close(nn.functional.normalize(W), V)


def test_steinglm_lsuv_leaves_a_constant_unit_its_length() -> None:
    X, y = sample(d=3)
    model = build(4, 4, 1, "tanh", DOUBLE)
    steinglm_lsuv_(model, torch.cat([X, X[:, :1]], 1), y, task="regression")
    variance = layers(model, torch.cat([X, X[:, :1]], 1))[0][2].var(0, correction=0)
    assert sorted(variance.round(decimals=6).tolist()) == [0, 1, 1, 1]
    assert float(state(model)["hidden1.weight"].norm(dim=1).min()) > 0.1


@pytest.mark.parametrize("method", RIVALS)
def test_one_seed_gives_one_network_in_any_precision(method: str) -> None:
    X, y = sample()
    found = []
    for dtype in (torch.float32, DOUBLE):
        model = build(4, 6, 2, "tanh", dtype)
        INITIALIZERS[method](model, X.to(dtype), y, task="regression", generator=generator(7), output="glm")
        found.append(state(model))
    for name, single in found[0].items():
        torch.testing.assert_close(single.double(), found[1][name], rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("method", RIVALS)
def test_in_batches_it_is_as_in_one_piece(method: str) -> None:
    X, y = sample(n=120)
    rows = torch.utils.data.TensorDataset(X, y)
    whole, parts = build(4, 4, 2, "tanh", DOUBLE), build(4, 4, 2, "tanh", DOUBLE)
    INITIALIZERS[method](whole, X, y, task="regression", output="glm", generator=generator(1))
    loader = torch.utils.data.DataLoader(rows, batch_size=50)
    INITIALIZERS[method](parts, loader, task="regression", output="glm", generator=generator(1))
    if method == "swim":  # its draws come in another order
        assert all(torch.isfinite(value).all() for value in state(parts).values())
    else:
        for name, value in state(whole).items():
            torch.testing.assert_close(state(parts)[name], value, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("method", RIVALS)
@pytest.mark.parametrize("options", [{"output": "third"}, {"max_patches": 0}, {"output_layer": "none"}])
def test_what_cannot_be_done_changes_nothing(method: str, options: dict[str, Any]) -> None:
    X, y = sample()
    model = build(4, 4, 2, "tanh", DOUBLE)
    lsuv_(model, X, y, task="regression")
    before = state(model)
    with pytest.raises(InvalidInputError):
        INITIALIZERS[method](model, X, y, task="regression", **options)
    assert equal(state(model), before)


def test_a_failure_in_a_later_layer_undoes_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample()
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4, bias=False), nn.Tanh(), nn.Linear(4, 1))
    before = state(model.double())
    with pytest.raises(InvalidInputError, match="'2'"):
        swim_(model, X, y, task="regression")
    assert equal(state(model), before)


@pytest.mark.parametrize("method", ["lsuv", "pca", "steinglm_lsuv"])  # its convolutions have no biases
def test_a_model_that_is_not_a_chain_will_do(method: str) -> None:
    model = models.PaperCnn()
    X = torch.randn(12, 1, 28, 28, generator=generator(3))
    report = INITIALIZERS[method](model, X, (X.mean((1, 2, 3)) > 0).double(), task="binary", max_patches=8)
    assert len(report.layers) == 11
    assert all(torch.isfinite(value).all() for value in state(model).values())


def test_they_train_side_by_side_with_the_others() -> None:
    experiment = Experiment(dataset="diabetes", depth=3, methods=tuple(INITIALIZERS), repeats=2, epochs=2)
    *_, result = train(experiment)
    assert isinstance(result, Result)
    assert result.summary["test_metric"].map(math.isfinite).all()
    rows = initialize(experiment)
    own = rows[(rows["quantity"] == "preactivation_variance") & (rows["method"] == "steinglm_lsuv")]
    assert own["value"].to_numpy() == pytest.approx(1, abs=1e-6)
    glm = rows[rows["quantity"] == "training_loss"].groupby("method")["value"].mean()
    assert glm[["steinglm", "swim", "pca", "steinglm_lsuv"]].max() < glm[["lsuv", "orthogonal"]].min()
