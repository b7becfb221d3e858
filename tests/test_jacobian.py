"""The measured Jacobian against automatic differentiation, in cases known exactly, and against theory."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from steinglm.curves import predict
from steinglm.init import INITIALIZERS, orthogonal_
from steinglm.jacobian import singular_values
from steinglm.mlp import ACTIVATIONS, Stack, build, hidden_layers, stack, unstack
from steinglm.theory import paper_alpha, variance_preserving_alpha


def networks(method: str, activation: str, sizes: tuple[int, int, int], count: int) -> tuple[Stack, Tensor]:
    """So many networks of (inputs, width, depth), initialized on normal data, and the rows of each.

    "centered" is SteinGLM with directions drawn at random in the place of its own.
    """
    d, width, depth = sizes
    g = torch.Generator().manual_seed(0)
    X = torch.randn(count, 400, d, generator=g, dtype=torch.float64)
    models = [build(d, width, depth, activation, torch.float64) for _ in range(count)]
    for model, x in zip(models, X, strict=True):
        if method == "centered":
            center_(model, x, activation, g)
        else:
            own = {"output": "stein"} if method == "steinglm" else {}
            INITIALIZERS[method](model, x, x[:, 0] ** 2, task="regression", generator=g, **own)
    return stack(models, torch.float64), X


@torch.no_grad()
def center_(model: nn.Sequential, x: Tensor, activation: str, generator: torch.Generator) -> None:
    orthogonal_(model, generator=generator)
    for linear, f in hidden_layers(model):
        linear.weight.mul_(paper_alpha(activation) or variance_preserving_alpha(activation))
        linear.bias.sub_(linear(x).mean(0))
        x = f(linear(x))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(4, 6, 3), (6, 4, 3), (5, 5, 1)])
def test_it_is_what_autograd_finds(activation: str, sizes: tuple[int, int, int]) -> None:
    nets, X = networks("steinglm", activation, sizes, 2)
    found = singular_values(nets, X[:, :3])
    assert found.shape == (2, 3, min(sizes[:2])) and found.dtype == torch.float64
    for model, x, values in zip(unstack(nets), X, found, strict=True):
        for row, own in zip(x[:3], values, strict=True):
            J = torch.func.jacrev(model[:-1])(row)
            torch.testing.assert_close(own, torch.linalg.svdvals(J), rtol=1e-5, atol=1e-8)


def test_a_planted_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ACTIVATIONS["tanh"].derivative
    monkeypatch.setattr("steinglm.mlp.Activation.derivative", lambda self, a, after=None: honest(a).sqrt())
    with pytest.raises(AssertionError):
        test_it_is_what_autograd_finds("tanh", (5, 5, 1))


@pytest.mark.parametrize("method", ["orthogonal", "steinglm"])
def test_a_linear_network_of_orthonormal_layers_is_an_isometry(method: str) -> None:
    nets, X = networks(method, "identity", (8, 8, 20), 2)
    found = singular_values(nets, X[:, :5])
    torch.testing.assert_close(found, torch.ones(2, 5, 8, dtype=torch.float64), rtol=0, atol=1e-12)


def test_a_linear_network_of_random_layers_is_none() -> None:
    nets, X = networks("glorot_normal", "identity", (8, 8, 20), 2)
    found = singular_values(nets, X[:, :1])
    assert float((found[..., 0] / found[..., -1]).min()) > 100


def test_the_stack_may_be_single_and_stays_as_it_was() -> None:
    nets, X = networks("he_normal", "relu", (4, 4, 2), 2)
    single = stack(unstack(nets), torch.float32)
    before = single.flat.clone()
    found = singular_values(single, X[:, :2].float())
    torch.testing.assert_close(found, singular_values(nets, X[:, :2]), rtol=1e-4, atol=1e-6)
    assert torch.equal(single.flat, before)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu", "gelu"])
@pytest.mark.parametrize("method", ["glorot_normal", "he_normal", "orthogonal", "centered"])
def test_the_mean_square_is_that_of_theory(method: str, activation: str) -> None:
    """Six networks of 60 inputs and units, five layers."""
    nets, X = networks(method, activation, (60, 60, 5), 6)
    measured = float(singular_values(nets, X[:, :5]).square().mean())
    row = predict(
        "steinglm" if method == "centered" else method,
        activation,
        [60] * 6,
        alpha=paper_alpha(activation) or variance_preserving_alpha(activation),
    )[-1]
    assert measured == pytest.approx(row.jacobian_mean_square, rel=0.1)


def test_the_mean_square_counts_the_singular_values_of_a_narrow_layer() -> None:
    for d, width in ((60, 30), (30, 60)):
        nets, X = networks("glorot_normal", "tanh", (d, width, 3), 6)
        measured = float(singular_values(nets, X[:, :5]).square().mean())
        predicted = predict("glorot_normal", "tanh", [d, *[width] * 3])[-1].jacobian_mean_square
        assert measured == pytest.approx(predicted, rel=0.1)


def test_the_mean_square_falls_by_the_same_factor_at_the_fixed_point() -> None:
    """chi_1^L: from some layer on, each layer multiplies by chi at q*."""
    rows = predict("orthogonal", "sigmoid", [20] * 31)
    squares = np.array([row.jacobian_mean_square for row in rows])
    np.testing.assert_allclose(squares[21:] / squares[20:-1], 0.0557207, rtol=1e-4)
