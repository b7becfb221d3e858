"""Activations against their formulas, and a stack against the networks it holds."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn

from steinglm.exceptions import InvalidInputError
from steinglm.init import glorot_normal_
from steinglm.mlp import ACTIVATIONS, activation_of, build, forward, hidden_layers, stack, unstack
from tests import reference

GRID = np.concatenate([np.linspace(-6, 6, 240), [-30.0, 30.0]])  # without 0, where some have a kink


def models(K: int, activation: str = "tanh", depth: int = 3) -> list[nn.Sequential]:
    made = []
    for seed in range(K):
        model = build(4, 5, depth, activation, torch.float64)
        glorot_normal_(model, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            for number, parameter in enumerate(model.parameters()):
                parameter.add_(0.1 * (number + seed))
        made.append(model)
    return made


def inputs(K: int) -> torch.Tensor:
    return torch.randn(K, 7, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_their_formulas(name: str) -> None:
    f, a = ACTIVATIONS[name], torch.from_numpy(GRID.copy())
    expected = reference.apply(name, GRID)
    np.testing.assert_allclose(f.function(a, out=torch.empty_like(a)), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(f.module()(a), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(f.derivative(a), reference.slope(name, GRID), atol=1e-8)
    np.testing.assert_array_equal(a, GRID)


@pytest.mark.parametrize("name", [name for name, f in ACTIVATIONS.items() if f.from_output])
def test_activations_may_overwrite_their_input(name: str) -> None:
    f, a = ACTIVATIONS[name], torch.from_numpy(GRID.copy())
    expected = f.function(a, out=torch.empty_like(a))
    assert torch.equal(f.function(a, out=a), expected)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slope_at_zero_and_steepest_slope(name: str) -> None:
    f = ACTIVATIONS[name]
    left, right = (
        (reference.apply(name, np.array([step])) - reference.apply(name, np.zeros(1))) / step
        for step in (-1e-7, 1e-7)
    )
    differentiable = abs(float(left[0] - right[0])) < 1e-6
    assert differentiable == (f.slope is not None)
    if f.slope is not None:
        assert f.slope == pytest.approx(float(left[0]), abs=1e-6)
    fine = np.linspace(-8, 8, 16001) + 1e-5
    assert f.steepest == pytest.approx(float(np.abs(reference.slope(name, fine, 1e-6)).max()), abs=2e-3)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_modules_are_known_by_name(name: str) -> None:
    assert activation_of(reference.MODULES[name]()) == name


@pytest.mark.parametrize("module", [nn.Dropout(), nn.Linear(1, 1, device="meta"), nn.Softplus()])
def test_other_modules_are_not(module: nn.Module) -> None:
    assert activation_of(module) is None


def test_build_makes_the_network_of_the_paper() -> None:
    with reference.random_streams_untouched():
        model = build(6, 4, 3, "gelu", torch.float64)
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    assert shapes == {
        "hidden1.weight": (4, 6), "hidden1.bias": (4,), "hidden2.weight": (4, 4), "hidden2.bias": (4,),
        "hidden3.weight": (4, 4), "hidden3.bias": (4,), "output.weight": (1, 4), "output.bias": (1,),
    }  # fmt: skip
    assert all((value == 0).all() and value.dtype == torch.float64 for value in model.state_dict().values())
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert [type(f) for _, f in hidden_layers(model)] == [nn.GELU] * 3
    assert [linear.out_features for linear, _ in hidden_layers(model)] == [4] * 3


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"activation must be one of tanh, .*, got softsign; choose"):
        build(2, 2, 1, "softsign")


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_stack_computes_what_its_networks_compute(name: str, depth: int) -> None:
    alone, x = models(3, name, depth), inputs(3)
    together = forward(stack(alone, torch.float64), x)
    for k, model in enumerate(alone):
        with torch.no_grad():
            torch.testing.assert_close(together[k], model(x[k]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_stack_and_unstack_are_inverses(name: str) -> None:
    alone = models(3, name)
    back = unstack(stack(alone, torch.float64))
    for before, after in zip(alone, back, strict=True):
        assert repr(before) == repr(after)
        assert all(
            torch.equal(after.state_dict()[name], value) for name, value in before.state_dict().items()
        )


def parameters_of(models: Sequence[nn.Module]) -> list[torch.Tensor]:
    return [parameter.detach().clone() for model in models for parameter in model.parameters()]


def test_a_stack_holds_copies_in_one_flat_tensor() -> None:
    alone = models(2)
    before = parameters_of(alone)
    networks = stack(alone, torch.float64)
    assert networks.flat.numel() == sum(value.numel() for value in before)
    networks.flat.zero_()
    assert all((view == 0).all() for view in (*networks.weights, *networks.biases))
    assert all(torch.equal(a, b) for a, b in zip(parameters_of(alone), before, strict=True))
    copies = unstack(networks)
    networks.flat.fill_(1.0)
    assert all((value == 0).all() for value in parameters_of(copies))


def test_like_gives_the_same_views_of_another_tensor() -> None:
    networks = stack(models(2), torch.float64)
    other = networks.like(torch.arange(networks.flat.numel(), dtype=torch.float64))
    assert torch.equal(torch.cat([own.flatten() for own in other.layers]), other.flat)
    for W, b, own in zip(other.weights, other.biases, other.layers, strict=True):
        assert torch.equal(torch.cat([W, b], dim=1), own)
    assert [W.shape for W in other.weights] == [W.shape for W in networks.weights]
    assert other.activation == networks.activation


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_writes_where_there_are_gaps(activation: str, dtype: torch.dtype) -> None:
    f = ACTIVATIONS[activation]
    a = torch.randn(3, 5, 40, dtype=dtype, generator=torch.Generator().manual_seed(0))
    held = torch.ones(3, 6, 40, dtype=dtype)
    f.function(a, out=held[:, :-1])
    torch.testing.assert_close(held[:, :-1], f.module()(a))
    assert (held[:, -1] == 1).all()
    saved = held[:, :-1] if f.from_output else a
    g = f.gradient(torch.ones_like(a), saved, grad_input=torch.empty_like(a))
    torch.testing.assert_close(g, f.derivative(a))
