"""Initializers: golden numbers, the algebra of SteinGLM's weights, the baselines' distributions, the output layer."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from steinglm.datasets import design, load, multi_index
from steinglm.glm import fit_output
from steinglm.init import INITIALIZERS, stein_glm_
from steinglm.mlp import ACTIVATIONS, build, hidden_layers
from steinglm.stein import SCORES, cross_moment, directions
from tests import reference

GOLDEN = json.loads((Path(__file__).parent / "golden" / "stein.json").read_text())["entries"]
DOUBLE = torch.float64


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def whole_table(name: str) -> tuple[Tensor, Tensor, str]:
    """A data set without a split: every column standardized over all rows, as the golden numbers want it."""
    data = load(name)
    X, y = (torch.tensor(part.to_numpy()) for part in design(data))
    return (X - X.mean(0)) / X.std(0, correction=0), y, data.task


def sample(
    n: int = 80, d: int = 4, task: str = "regression", dtype: torch.dtype = DOUBLE
) -> tuple[Tensor, Tensor]:
    g = generator(1)
    X = torch.randn(n, d, generator=g, dtype=DOUBLE) @ (torch.eye(d) + 0.3).double() + 0.5
    y = X[:, 0] ** 2 - X[:, 1] + torch.randn(n, generator=g, dtype=DOUBLE)
    return X.to(dtype), (y > y.median()).double() if task == "binary" else y


def layers(model: nn.Sequential, X: Tensor) -> list[tuple[nn.Linear, Tensor, Tensor, Tensor]]:
    """(linear, input, pre-activation, activation) of every hidden layer."""
    found, h = [], X
    with torch.no_grad():
        for linear, f in hidden_layers(model):
            a = linear(h)
            found.append((linear, h, a, f(a)))
            h = f(a)
    return found


def initialized(method: str, model: nn.Sequential, *data: Any, **options: Any) -> nn.Sequential:
    INITIALIZERS[method](model, *data, **options)
    return model


def variance(values: Tensor) -> float:
    return float(values.var(0, correction=0).mean())


def state(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def equal(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda e: f"{e['dataset']}-{e['activation']}")
def test_golden_numbers(entry: dict[str, Any]) -> None:
    X, y, task = whole_table(entry["dataset"])
    assert X.shape == (entry["n"], entry["d"])
    model = build(entry["d"], entry["width"], len(entry["layers"]), entry["activation"], DOUBLE)
    stein_glm_(model, X, y, task=task, alpha=entry["alpha"], score="identity", output="stein")
    found = layers(model, X)
    for golden, (linear, h, a, _) in zip(entry["layers"], found, strict=True):
        _, eigenvalues = directions(cross_moment(h, y, "identity"), entry["width"])
        np.testing.assert_allclose(eigenvalues, golden["eigenvalues"], rtol=0, atol=1e-8)
        assert variance(a) == pytest.approx(golden["preactivation_variance"], rel=0, abs=1e-8)
        assert float(linear.bias.detach().abs().sum()) == pytest.approx(
            golden["bias_abs_sum"], rel=0, abs=1e-8
        )
    assert variance(found[-1][3]) == pytest.approx(entry["last_hidden_variance"], rel=0, abs=1e-8)


def test_planted_fault_golden_numbers_see_a_sample_variance() -> None:
    """Standardizing with n - 1 for n moves the eigenvalues by more than the tolerance above."""
    X, y, _ = whole_table("abalone")
    moment = cross_moment(X * math.sqrt((len(X) - 1) / len(X)), y, "identity")
    worst = np.abs(directions(moment, 10)[1].numpy() - GOLDEN[0]["layers"][0]["eigenvalues"]).max()
    assert worst > 1e-5


@pytest.mark.parametrize(
    ("name", "widths", "activation", "alpha", "score"),
    [
        ("power_plant", [4, 4, 4], "tanh", 1.0, "identity"),
        ("mammographic", [5] * 8, "tanh", 1.6, "identity"),
        ("electrical_grid", [6, 6], "sigmoid", 4.0, "identity"),
        ("spambase", [20, 20], "tanh", 1.0, "identity"),
        ("diabetes", [8, 5, 2], "gelu", 2.0, "standardized"),
        ("breast_cancer", [10, 10], "elu", None, "standardized"),
        ("mammographic", [5, 3], "relu", None, "gaussian"),
        ("diabetes", [10, 10], "selu", 0.7, "gaussian"),
    ],
)
def test_layers_equal_the_slow_twin(
    name: str, widths: list[int], activation: str, alpha: float | None, score: str
) -> None:
    X, y, task = whole_table(name)
    sizes = [X.shape[1], *widths]
    pairs = [
        (nn.Linear(d, k, dtype=DOUBLE), reference.MODULES[activation]())
        for d, k in zip(sizes, widths, strict=False)
    ]
    model = nn.Sequential(*[m for pair in pairs for m in pair], nn.Linear(widths[-1], 1, dtype=DOUBLE))
    stein_glm_(model, X, y, task=task, alpha="auto" if alpha is None else alpha, score=score, output="stein")
    twin = reference.stein_layers(X.numpy(), y.numpy(), widths, activation, alpha, score)
    for layer, (linear, h, a, after) in zip(twin, layers(model, X), strict=True):
        _, eigenvalues = directions(cross_moment(h, y, score), linear.out_features)
        np.testing.assert_allclose(eigenvalues, layer.eigenvalues, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(linear.weight.detach().T, layer.W, rtol=0, atol=1e-6)
        np.testing.assert_allclose(linear.bias.detach(), layer.b, rtol=0, atol=1e-6)
        assert variance(a) == pytest.approx(layer.preactivation_variance, abs=1e-8)
        assert variance(after) == pytest.approx(layer.activation_variance, abs=1e-8)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("alpha", [None, 0.3, 4, "auto"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_algebra_of_the_weights(activation: str, alpha: float | str | None, score: str) -> None:
    """W^T W = alpha^2 I, a mean pre-activation of zero, variance 1 under "auto", and nothing random."""
    X, y = sample()
    model = build(4, 3, 4, activation, DOUBLE)
    with reference.random_streams_untouched():
        stein_glm_(model, X, y, task="regression", alpha=alpha, score=score, output="stein")
    slope = ACTIVATIONS[activation].slope
    factor = alpha if alpha is not None else "auto" if slope is None else 1 / slope
    for linear, _, a, _ in layers(model, X):
        W = linear.weight.detach().T  # (d, k)
        if factor == "auto":
            assert variance(a) == pytest.approx(1, abs=1e-9)
            own = float(W[:, 0].norm()) ** 2
        else:
            own = float(factor) ** 2
        torch.testing.assert_close(W.T @ W, own * torch.eye(3, dtype=DOUBLE), rtol=1e-9, atol=1e-9)
        assert a.mean(0).abs().max() < 1e-6


@pytest.mark.parametrize("name", ["abalone", "mammographic", "spambase"])
@pytest.mark.parametrize("depth", [1, 40])
def test_mean_preactivation_on_real_data_in_both_precisions(name: str, depth: int) -> None:
    X, y, task = whole_table(name)
    width = min(X.shape[1], 20)
    for dtype in (torch.float32, DOUBLE):
        model = build(X.shape[1], width, depth, "tanh", dtype)
        stein_glm_(model, X.to(dtype), y, task=task, output="stein", generator=generator())
        means = [a.mean(0, dtype=DOUBLE).abs().max() for _, _, a, _ in layers(model, X.to(dtype))]
        assert max(means) < 1e-6


@pytest.mark.parametrize(
    ("activation", "alpha"),
    [
        ("tanh", 1),
        ("sigmoid", 4),
        ("gelu", 2),
        ("silu", 2),
        ("elu", 1),
        ("identity", 1),
        ("relu", "auto"),
        ("selu", "auto"),
    ],
)
def test_default_alpha(activation: str, alpha: float | str) -> None:
    X, y = sample()
    default, stated = (build(4, 4, 3, activation, DOUBLE) for _ in range(2))
    stein_glm_(default, X, y, task="regression")
    stein_glm_(stated, X, y, task="regression", alpha=alpha)
    assert equal(state(default), state(stated))


def test_without_calibration_the_biases_are_zero_and_the_first_weights_the_same() -> None:
    X, y = sample()
    calibrated, free = (
        initialized(
            "steinglm", build(4, 4, 3, "sigmoid", DOUBLE), X, y, task="regression", calibrate=calibrate
        )
        for calibrate in (True, False)
    )
    biases = [linear.bias for linear, *_ in layers(free, X)]
    assert all(not bias.any() for bias in biases) and free[-1].bias.any()  # the output layer is a GLM's
    assert torch.equal(free[0].weight, calibrated[0].weight) and calibrated[0].bias.any()
    first, *_, last = (a for _, _, a, _ in layers(free, X))
    assert last.var(0).mean() < first.var(0).mean() / 10  # the mean is passed on: the signal vanishes


def test_default_score_is_standardized() -> None:
    X, y = sample()
    default, stated = (build(4, 2, 3, "tanh", DOUBLE) for _ in range(2))
    stein_glm_(default, X, y, task="regression")
    stein_glm_(stated, X, y, task="regression", score="standardized")
    assert equal(state(default), state(stated))


def test_layers_wider_than_their_input() -> None:
    X, y = sample()
    model = build(4, 7, 3, "tanh", DOUBLE)
    stein_glm_(model, X, y, task="regression", alpha=0.5, generator=generator())
    (first, h, a, _), *deeper = layers(model, X)
    V, _ = directions(cross_moment(h, y), 4)
    torch.testing.assert_close(first.weight.detach().T[:, :4], 0.5 * V)
    W = first.weight.detach().T[:, 4:]
    torch.testing.assert_close(W.T @ W, 0.25 * torch.eye(3, dtype=DOUBLE))
    assert max(float(values.mean(0).abs().max()) for values in (a, *(layer[2] for layer in deeper))) < 1e-6
    other = build(4, 7, 3, "tanh", DOUBLE)
    stein_glm_(other, X, y, task="regression", alpha=0.5, generator=generator(1))
    assert not equal(state(model), state(other))


@pytest.mark.parametrize("method", INITIALIZERS)
@pytest.mark.parametrize("task", ["regression", "binary"])
def test_two_runs_are_equal_bit_for_bit_and_no_global_stream_is_touched(method: str, task: str) -> None:
    X, y = sample(task=task)
    first, again, other = (build(4, 6, 3, "tanh") for _ in range(3))
    with reference.random_streams_untouched():
        for model, seed in ((first, 3), (again, 3), (other, 4)):
            INITIALIZERS[method](model, X, y, task=task, output="glm", generator=generator(seed))
    assert equal(state(first), state(again))
    assert not equal(state(first), state(other))


@pytest.mark.parametrize("method", INITIALIZERS)
def test_without_a_generator_the_result_is_still_determined(method: str) -> None:
    X, y = sample()
    first, again = (build(4, 6, 3, "tanh") for _ in range(2))
    with reference.random_streams_untouched():
        for model in (first, again):
            INITIALIZERS[method](model, X, y, task="regression")
    assert equal(state(first), state(again))


def test_permuting_rows_changes_nothing() -> None:
    X, y = sample(n=300)
    order = torch.randperm(300, generator=generator())
    straight, shuffled = (build(4, 4, 3, "tanh", DOUBLE) for _ in range(2))
    stein_glm_(straight, X, y, task="regression", output="stein")
    stein_glm_(shuffled, X[order], y[order], task="regression", output="stein")
    for a, b in zip(state(straight).values(), state(shuffled).values(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_tensors_arrays_frames_and_lists_are_the_same_data() -> None:
    X, y = sample()
    forms = [(X, y), (X.numpy(), y.numpy()), (pd.DataFrame(X), pd.Series(y)), (X.tolist(), y.tolist())]
    states = []
    for form in forms:
        model = build(4, 4, 2, "tanh", DOUBLE)
        stein_glm_(model, *form, task="regression")
        states.append(state(model))
    for other in states[1:]:  # a frame's columns lie in another order in memory: another rounding
        for name, value in states[0].items():
            torch.testing.assert_close(other[name], value, rtol=0, atol=1e-9)


def test_data_and_gradients_are_left_alone() -> None:
    X, y = sample()
    before = X.clone(), y.clone()
    model = initialized("steinglm", build(4, 4, 2, "tanh", DOUBLE), X, y, task="regression")
    assert torch.equal(X, before[0])
    assert torch.equal(y, before[1])
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules())


# -- the baselines -------------------------------------------------------------------------------------------------

STATED: dict[str, Callable[[int, int], float]] = {  # the paper's variance, given inputs and outputs
    "glorot_normal": lambda n_in, n_out: 2 / (n_in + n_out),
    "he_normal": lambda n_in, n_out: 2 / n_in,
}


def drawn(method: str, n_in: int = 300, n_out: int = 120, seed: int = 0) -> np.ndarray:
    model = nn.Sequential(nn.Linear(n_in, n_out), nn.Tanh(), nn.Linear(n_out, 1))
    return state(initialized(method, model, generator=generator(seed)))["0.weight"].double().numpy().ravel()


def p_value(w: np.ndarray, variance: float) -> float:
    """Kolmogorov-Smirnov against a normal truncated at two sd whose variance after truncation is as stated."""
    sd = math.sqrt(variance / float(stats.truncnorm.var(-2, 2)))
    return float(stats.kstest(w, stats.truncnorm(-2, 2, scale=sd).cdf).pvalue)


@pytest.mark.parametrize("method", STATED)
def test_baselines_are_truncated_normals_of_the_stated_variance(method: str) -> None:
    w, variance = drawn(method), STATED[method](300, 120)
    assert p_value(w, variance) > 1e-4
    assert w.mean() == pytest.approx(0, abs=5 * math.sqrt(variance / len(w)))
    assert w.var() == pytest.approx(variance, rel=0.03)
    edge = 2 * math.sqrt(variance) / 0.87962566103423978
    assert 0.99 * edge < abs(w).max() <= edge * (1 + 1e-6)


@pytest.mark.parametrize("method", STATED)
def test_planted_fault_the_distribution_checker_sees_the_usual_mistakes(method: str) -> None:
    """Neither an untruncated normal, nor one without the correction, nor the other method's variance passes."""
    w, variance = drawn(method), STATED[method](300, 120)
    untruncated = np.random.default_rng(0).normal(0, math.sqrt(variance), len(w))
    assert p_value(untruncated, variance) < 1e-4
    assert p_value(w * 0.87962566103423978, variance) < 1e-4
    other = next(name for name in STATED if name != method)
    assert p_value(w, STATED[other](300, 120)) < 1e-4


@pytest.mark.parametrize(("n_in", "n_out"), [(8, 8), (8, 3), (3, 8), (1, 5)])
def test_orthogonal_layers_are_orthonormal(n_in: int, n_out: int) -> None:
    model = nn.Sequential(nn.Linear(n_in, n_out), nn.Tanh(), nn.Linear(n_out, 1)).double()
    W = state(initialized("orthogonal", model, generator=generator()))["0.weight"]
    small = W @ W.T if n_out <= n_in else W.T @ W
    torch.testing.assert_close(small, torch.eye(min(n_in, n_out), dtype=DOUBLE))


@pytest.mark.parametrize("method", ["glorot_normal", "he_normal", "orthogonal"])
def test_baselines_draw_every_layer_and_zero_the_biases(method: str) -> None:
    model = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 4, bias=False), nn.ReLU(), nn.Linear(4, 1))
    INITIALIZERS[method](model, generator=generator())
    values = state(model)
    assert all((value == 0).all() for name, value in values.items() if name.endswith("bias"))
    assert all((value != 0).all() for name, value in values.items() if name.endswith("weight"))
    assert len({float(value.flatten()[0]) for name, value in values.items() if name.endswith("weight")}) == 3


@pytest.mark.parametrize("method", ["glorot_normal", "he_normal", "orthogonal"])
def test_one_seed_gives_one_network_in_any_precision(method: str) -> None:
    single, double = build(4, 4, 2, "tanh"), build(4, 4, 2, "tanh", DOUBLE)
    for model in (single, double):
        INITIALIZERS[method](model, generator=generator(7))
    for a, b in zip(state(single).values(), state(double).values(), strict=True):
        torch.testing.assert_close(a, b.float(), rtol=0, atol=0)


# -- the output layer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["regression", "binary"])
@pytest.mark.parametrize("method", INITIALIZERS)
def test_glm_output_is_the_fit_on_the_last_hidden_layer(method: str, task: str) -> None:
    X, y = sample(task=task)
    X_validation, y_validation = X[:30] + 0.1, y[:30]
    model = build(4, 4, 2, "tanh", DOUBLE)
    INITIALIZERS[method](
        model, X, y, task=task, output="glm", validation=(X_validation, y_validation), generator=generator()
    )
    h, h_validation = (layers(model, part)[-1][3].numpy() for part in (X, X_validation))
    fit = fit_output(h, y.numpy(), task=task, h_validation=h_validation, y_validation=y_validation.numpy())
    np.testing.assert_allclose(state(model)["output.weight"][0], fit.coefficients, rtol=1e-6, atol=1e-8)
    assert float(state(model)["output.bias"]) == pytest.approx(fit.intercept, rel=1e-6)


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_without_validation_a_fifth_chooses_and_all_rows_fit(task: str) -> None:
    """The coefficients are those of all rows at one of the strengths: no other rows were left out of the last fit."""
    X, y = sample(task=task)
    model = initialized("steinglm", build(4, 4, 2, "tanh", DOUBLE), X, y, task=task, generator=generator())
    h = layers(model, X)[-1][3].numpy()
    candidates = [
        fit_output(
            h, y.numpy(), task=task, h_validation=h, y_validation=y.numpy(), strengths=(10.0**e,)
        ).coefficients
        for e in range(-4, 3)
    ]
    assert min(float(np.abs(w - state(model)["output.weight"].numpy()).max()) for w in candidates) < 1e-6


@pytest.mark.parametrize("method", ["glorot_normal", "he_normal", "orthogonal"])
def test_glm_changes_the_output_layer_alone(method: str) -> None:
    X, y = sample()
    plain, with_glm = (build(4, 4, 2, "tanh", DOUBLE) for _ in range(2))
    INITIALIZERS[method](plain, generator=generator(2))
    INITIALIZERS[method](with_glm, X, y, task="regression", output="glm", generator=generator(2))
    for name, value in state(plain).items():
        assert torch.equal(value, state(with_glm)[name]) != name.startswith("output")


def test_stein_output_is_the_leading_direction_of_the_last_hidden_layer() -> None:
    X, y = sample()
    model = build(4, 4, 2, "tanh", DOUBLE)
    stein_glm_(model, X, y, task="regression", output="stein", alpha=3.0)
    h = layers(model, X)[-1][3]
    v, _ = directions(cross_moment(h, y), 1)
    torch.testing.assert_close(state(model)["output.weight"], v.T)
    assert float(model(X).detach().mean().abs()) < 1e-6


def test_a_network_without_hidden_layers_is_the_glm() -> None:
    X, _ = sample()
    coefficients = torch.tensor([1.0, -2.0, 0.0, 0.5], dtype=DOUBLE)
    model = nn.Sequential(nn.Linear(4, 1)).double()
    stein_glm_(model, X, X @ coefficients + 3, task="regression")
    np.testing.assert_allclose(state(model)["0.weight"][0], coefficients, atol=1e-4)
    assert float(state(model)["0.bias"]) == pytest.approx(3, abs=1e-4)


# -- the subspace --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["identity", "standardized"])
def test_the_first_layers_subspace_error_falls_like_one_over_root_n(score: str) -> None:
    """Synthetic multi-index data with known directions: the slope of log error on log n is near -1/2."""
    sizes, seeds = (500, 2000, 8000, 32000), range(5)
    errors = []
    for n in sizes:
        tables = [
            multi_index(n, 8, 2, link="quadratic", noise=0.1, generator=np.random.default_rng([n, s]))
            for s in seeds
        ]
        errors.append(np.mean([first_layer_error(data.X, data.y, data.directions, score) for data in tables]))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35
    assert errors[-1] < 0.05


def first_layer_error(X: pd.DataFrame, y: pd.Series, truth: np.ndarray | None, score: str) -> float:
    assert truth is not None
    model = initialized("steinglm", build(8, 2, 1, "tanh", DOUBLE), X, y, task="regression", score=score)
    return reference.subspace_error(state(model)["hidden1.weight"].T.numpy(), truth)
