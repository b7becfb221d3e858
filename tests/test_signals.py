"""Gradients against autograd, the probe against scikit-learn, ranks and correlations where they are known."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score, roc_auc_score
from torch import Tensor

from steinglm import signals
from steinglm.init import he_normal_, orthogonal_
from steinglm.mlp import ACTIVATIONS, Stack, build, stack
from steinglm.train import Rows

N, FEATURES, WIDTH, DEPTH = 30, 4, 5, 3


def networks(activation: str, outputs: int = 1, count: int = 2) -> Stack:
    models = [build(FEATURES, WIDTH, DEPTH, activation, torch.float64, outputs) for _ in range(count)]
    for seed, model in enumerate(models):
        he_normal_(model, generator=torch.Generator().manual_seed(seed))
    return stack(models, torch.float64)


def table(task: str, outputs: int = 1, seed: int = 0, n: int = N) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(2, n, FEATURES, generator=g, dtype=torch.float64)
    known = torch.Generator().manual_seed(7)  # one response for all tables
    score = X @ torch.randn(FEATURES, outputs, generator=known, dtype=torch.float64)
    if task == "regression":
        return X, score
    if task == "binary":
        return X, (score > 0).double()
    return X, torch.nn.functional.one_hot(score.argmax(-1), outputs).double()


LOSSES = {
    "regression": lambda z, y: (z - y).square().mean(),
    "binary": torch.nn.functional.binary_cross_entropy_with_logits,
    "multiclass": lambda z, y: torch.nn.functional.cross_entropy(z, y),
}


@pytest.mark.parametrize(
    ("task", "outputs"), [("regression", 1), ("regression", 2), ("binary", 1), ("multiclass", 3)]
)
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_gradients_are_those_of_autograd(activation: str, task: str, outputs: int) -> None:
    nets, (x, y) = networks(activation, outputs), table(task, outputs)
    found = list(signals.gradients(nets, x, y, task))
    for k in range(2):
        weights = [W[k].clone().requires_grad_() for W in nets.weights]
        f, h, seen = ACTIVATIONS[activation].module(), x[k], []
        for W, b in zip(weights[:-1], nets.biases[:-1], strict=True):
            a = h @ W + b[k]
            a.retain_grad()
            seen.append(a)
            h = f(a)
        LOSSES[task](h @ weights[-1] + nets.biases[-1][k], y[k]).backward()
        for (by_row, by_weight), a, W in zip(found, seen, weights, strict=False):
            torch.testing.assert_close(by_row[k], N * a.grad, rtol=1e-5, atol=1e-9)
            torch.testing.assert_close(by_weight[k], W.grad, rtol=1e-5, atol=1e-9)


def test_a_planted_fault_in_the_gradients_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    nets, (x, y) = networks("tanh"), table("regression")
    right = [by_weight for _, by_weight in signals.gradients(nets, x, y, "regression")]
    monkeypatch.setitem(signals.LOSSES, "regression", signals.LOSSES["binary"])
    wrong = [by_weight for _, by_weight in signals.gradients(nets, x, y, "regression")]
    assert all(not torch.allclose(a, b, rtol=1e-3) for a, b in zip(right, wrong, strict=True))


@pytest.mark.parametrize(
    ("task", "outputs"), [("regression", 1), ("regression", 2), ("binary", 1), ("multiclass", 3)]
)
def test_the_probe_is_a_linear_fit_judged_on_other_rows(task: str, outputs: int) -> None:
    (h, y), (h_new, y_new) = table(task, outputs), table(task, outputs, seed=1, n=50)
    if task == "regression":
        y = y + 0.5 * torch.randn(y.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    found = signals.probe(h, y, h_new, y_new, task)
    for k in range(2):
        fitted = LinearRegression().fit(h[k].numpy(), y[k].numpy()).predict(h_new[k].numpy())
        judge = r2_score if task == "regression" else roc_auc_score
        each = [judge(y_new[k, :, c].numpy(), fitted[:, c]) for c in range(outputs)]
        assert float(found[k]) == pytest.approx(np.mean(each), abs=1e-9)


def test_the_probe_of_a_signal_that_has_all_but_vanished_is_the_same() -> None:
    (h, y), (h_new, y_new) = table("regression"), table("regression", seed=1)
    strong = signals.probe(h, y, h_new, y_new, "regression")
    faint = signals.probe(1 + 1e-9 * h, y, 1 + 1e-9 * h_new, y_new, "regression")
    torch.testing.assert_close(strong, faint, rtol=1e-5, atol=0)
    constant = torch.ones_like(h)
    assert signals.probe(constant, y, constant, y_new, "regression").tolist() == [0.0, 0.0]
    half = signals.probe(constant, (y > 0).double(), constant, (y_new > 0).double(), "binary")
    assert half.tolist() == [0.5, 0.5]


def test_effective_rank_counts_directions_of_equal_variance() -> None:
    whole = torch.eye(8, dtype=torch.float64).repeat(1, 5, 1)
    assert float(signals.effective_rank(whole)) == pytest.approx(7)  # seven about their mean
    one = torch.linspace(-1, 1, 9, dtype=torch.float64)[None, :, None] * torch.ones(1, 1, 4)
    assert float(signals.effective_rank(1e-8 * one)) == pytest.approx(1)
    assert float(signals.effective_rank(torch.ones(1, 9, 4, dtype=torch.float64))) == 1


def test_input_correlation_is_one_where_all_inputs_look_alike() -> None:
    h = torch.randn(1, 20_000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert float(signals.input_correlation(h)) < 1e-3
    assert float(signals.input_correlation(torch.ones(1, 5, 3))) == 1
    pairs = h[0, :50] @ h[0, :50].T
    expected = float(pairs.mean() / pairs.diagonal().mean())
    assert float(signals.input_correlation(h[:, :50])) == pytest.approx(expected)


def test_rows_of_every_layer_and_network() -> None:
    model = build(FEATURES, FEATURES, DEPTH, "identity", torch.float64)
    orthogonal_(model)
    nets = stack([model] * 4, torch.float64)
    (X, y), (X_new, y_new) = table("regression"), table("regression", seed=1)
    names = [(method, repeat) for method in ("one", "two") for repeat in range(2)]
    rows = signals.signal_rows(nets, Rows(X, y), Rows(X_new, y_new), names, "regression")
    assert set(rows["quantity"]) == {*signals.QUANTITIES, "gradient_variance_q10", "gradient_variance_q90"}
    assert set(rows["layer"]) == {1, 2, 3}
    assert rows.groupby(["method", "repeat", "layer", "quantity"]).size().eq(1).all()
    # a linear orthogonal network knows in its last layer what it knew in its first, and loses no gradient
    by_layer = rows.pivot_table("value", ["method", "repeat", "quantity"], "layer")
    for quantity in ("probe", "effective_rank", "input_correlation"):
        own = by_layer.xs(quantity, level="quantity").to_numpy()
        np.testing.assert_allclose(own, own[:, :1] * np.ones((1, 3)), rtol=1e-9)
    assert by_layer.xs("probe", level="quantity").to_numpy() == pytest.approx(1)  # the response is linear
