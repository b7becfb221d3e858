"""Initializers on models and data of every kind: what is accepted and refused, and that refusing changes nothing."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from steinglm import kernels
from steinglm.exceptions import InvalidInputError
from steinglm.init import INITIALIZERS, glorot_normal_, stein_glm_
from tests import reference
from tests.test_init import equal, generator, sample, state

BASELINES = ("glorot_normal", "he_normal", "orthogonal")


class Crossed(nn.Module):
    """Registers its layers in another order than it calls them."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(3, 1)
        self.squash = nn.Tanh()
        self.second = nn.Linear(4, 3)
        self.first = nn.Linear(4, 4)
        self.double()

    def forward(self, x: Tensor) -> Tensor:
        h = self.squash(self.first(x))
        out: Tensor = self.last(self.squash(self.second(h)))
        return out


class Nested(nn.Module):
    """A chain in a chain, with a reshape in between."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Sequential(nn.Linear(4, 3), nn.Tanh()))
        self.head = nn.Linear(3, 1)
        self.double()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.body(x)).squeeze(1)
        return out


def chain(*extra: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(4, 4), nn.Tanh(), *extra, nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1)
    ).double()


def linears(model: nn.Module, X: Tensor) -> list[Tensor]:
    """Weights and biases in the order of the forward pass."""
    called: list[nn.Module] = []
    hooks = [
        m.register_forward_hook(lambda m, *_: called.append(m))
        for m in model.modules()
        if isinstance(m, nn.Linear)
    ]
    with torch.no_grad():
        model(X)
    for hook in hooks:
        hook.remove()
    return [value.detach().clone() for m in called for value in m.parameters()]


@pytest.mark.parametrize("output", ["glm", "stein"])
@pytest.mark.parametrize("kind", [Crossed, Nested])
def test_a_module_that_calls_its_layers_is_a_chain(kind: type[nn.Module], output: str) -> None:
    X, y = sample()
    straight, other = chain(), kind()
    for model in (straight, other):
        stein_glm_(model, X, y, task="regression", output=output)
    expected, found = linears(straight, X), linears(other, X)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("method", BASELINES)
def test_the_glm_goes_to_the_layer_that_is_called_last(method: str) -> None:
    X, y = sample()
    model = Crossed()
    INITIALIZERS[method](model, X, y, task="regression", output="glm")
    residual = y - model(X).squeeze(1)
    assert (
        float(residual.detach().mean().abs()) < 1e-6
    )  # a GLM's mean residual is zero; a random layer's is not
    assert (model.first.bias == 0).all()
    assert (model.second.bias == 0).all()


def test_layers_without_bias_stay_so() -> None:
    X, y = sample()
    model = nn.Sequential(nn.Linear(4, 3, bias=False), nn.Tanh(), nn.Linear(3, 1)).double()
    stein_glm_(model, X, y, task="regression")
    W = state(model)["0.weight"]
    torch.testing.assert_close(W @ W.T, torch.eye(3, dtype=torch.float64))
    assert set(state(model)) == {"0.weight", "2.weight", "2.bias"}


@pytest.mark.parametrize("extra", [nn.Dropout(0.5), nn.BatchNorm1d(4)])
def test_training_mode_neither_draws_nor_counts(extra: nn.Module) -> None:
    """Dropout would draw from torch's global stream, batch normalization would count the rows it sees."""
    X, y = sample()
    first, again = chain(extra), chain(extra)
    buffers = {name: value.clone() for name, value in first.named_buffers()}
    with reference.random_streams_untouched():
        stein_glm_(first, X, y, task="regression", generator=generator())
        stein_glm_(again, X, y, task="regression", generator=generator())
    assert equal(state(first), state(again))
    assert equal({name: value.clone() for name, value in first.named_buffers()}, buffers)
    assert all(module.training for module in first.modules())


def test_an_unknown_activation_has_pre_activations_of_variance_one_unless_alpha_is_given() -> None:
    X, y = sample()
    model = nn.Sequential(nn.Linear(4, 4), nn.Softplus(), nn.Linear(4, 1)).double()
    report = stein_glm_(model, X, y, task="regression")
    assert float(model[0](X).detach().var(0, correction=0).mean()) == pytest.approx(1)
    assert report.layers[0].variance == pytest.approx(1)
    assert report.layers[0].alpha == pytest.approx(float(model[0].weight[0].norm().detach()))
    stein_glm_(model, X, y, task="regression", alpha=2)
    W = state(model)["0.weight"]
    torch.testing.assert_close(W @ W.T, 4 * torch.eye(4, dtype=torch.float64))


X, Y = sample()
CLASSES = (Y > 0).double()
HOLED = X.clone()
HOLED[3, 1] = math.nan
INFINITE = Y.clone()
INFINITE[5] = -math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": HOLED}, "X must be finite, got 1 values nan or inf; drop"),
        ({"y": INFINITE}, "y must be finite, got 1 values nan or inf; drop"),
        ({"X": X[:, 0]}, r"X must be a table \(n, d\), or n samples .*, got \(80,\); one row a sample"),
        ({"X": X[:, :3]}, r"X must be data that the model accepts, got of shape \(n, 3\); the model says"),
        ({"X": X[:0], "y": Y[:0]}, r"X must be a table \(n, d\), .*, got \(0, 4\)"),
        ({"X": [["a"] * 4] * 80}, "X and y must be numbers, got could not convert"),
        ({"X": [[1.0], [1.0, 2.0]]}, "X and y must be numbers"),
        (
            {"y": Y[:20]},
            r"y must be of shape \(80,\), or \(80, C\) for C responses, got \(20,\); one response",
        ),
        ({"y": Y[None]}, r"y must be of shape \(80,\), .*, got \(1, 80\)"),
        (
            {"y": X[:, :2]},
            "the output layer '4' must be fit for a regression task, got 1 units; give it 2 units",
        ),
        (
            {"y": X[:, :2] > 0, "task": "binary"},
            r"y must be one class a row in a classification, got \(80, 2\)",
        ),
        ({"X": X[:9], "y": Y[:9]}, "X must be 10 rows or more, got 9 rows; bring"),
        (
            {"y": torch.full((80,), 2.5)},
            "y must be a response that varies, got 2.5 in every row; there is nothing",
        ),
        ({"y": torch.ones(80), "task": "binary"}, "y must be of two classes or more, got 1 in every row"),
        ({"task": "binary"}, "y must be 0 or 1 in a binary task, got .*; encode the classes"),
        ({"y": CLASSES * 2, "task": "binary"}, "y must be 0 or 1 in a binary task"),
        ({"task": "ranking"}, "task must be one of regression, binary, multiclass, got ranking"),
        ({"task": None}, "task must be one of regression, binary, multiclass, got None"),
        ({"X": None}, "X and y must be given, got None"),
        ({"validation": (X[:, :2], Y)}, "validation"),
        ({"validation": (HOLED, Y)}, "validation"),
        ({"validation": (X, INFINITE)}, "validation"),
        ({"validation": (X, Y[:7])}, "y must be of shape"),
        ({"validation": (X, Y), "y": CLASSES, "task": "binary"}, "0 or 1"),
    ],
)
@pytest.mark.parametrize("method", ["steinglm", "he_normal"])
def test_data_that_cannot_be_used_is_refused_and_the_model_is_as_it_was(
    method: str, change: dict[str, Any], message: str
) -> None:
    model = chain()
    before = state(model)
    options: dict[str, Any] = {"X": X, "y": Y, "task": "regression"} | change
    with reference.random_streams_untouched(), pytest.raises(InvalidInputError, match=message):
        INITIALIZERS[method](model, **options, output="glm")
    assert equal(state(model), before)
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules())


@pytest.mark.parametrize(
    "alpha", [0, -1, 0.0, math.nan, math.inf, "large", "", True, [1], pytest.param(10**400, id="huge")]
)
def test_a_bad_alpha_is_refused(alpha: Any) -> None:
    model = chain()
    before = state(model)
    with pytest.raises(
        InvalidInputError, match=r"alpha must be a positive number, 'auto' or None, got .*; 1 suits tanh"
    ):
        stein_glm_(model, X, Y, task="regression", alpha=alpha)
    assert equal(state(model), before)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            "steinglm",
            {"score": "third"},
            "score must be one of identity, centered, standardized, gaussian, .*, got third",
        ),
        ("steinglm", {"output": "random"}, "output must be one of glm, stein, got random"),
        ("glorot_normal", {"output": "stein"}, "output must be one of random, glm, got stein"),
    ],
)
def test_a_bad_choice_is_refused(method: str, options: dict[str, str], message: str) -> None:
    model = chain()
    before = state(model)
    with pytest.raises(InvalidInputError, match=message):
        INITIALIZERS[method](model, X, Y, task="regression", **options)
    assert equal(state(model), before)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            nn.Sequential(nn.Tanh()),
            "model must be a model with at least one nn.Linear, got Sequential; add one",
        ),
        (nn.Sequential(), "model must be a model with at least one nn.Linear, got Sequential; add one"),
        (
            nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 4, 1)).double(),
            "output_layer must be a Linear layer that the forward pass calls, got none",
        ),
        (
            nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)).double(),
            "the output layer '2' must be fit for a regression task, got 2 units; give it 1 units, one a response",
        ),
    ],
)
@pytest.mark.parametrize("method", INITIALIZERS)
def test_a_model_that_cannot_be_used_is_refused(method: str, model: nn.Module, message: str) -> None:
    before = state(model)
    with pytest.raises(InvalidInputError, match=message):
        INITIALIZERS[method](model, X, Y, task="regression", output="glm")
    assert equal(state(model), before)


@pytest.mark.parametrize("seed", range(8))
def test_one_row_of_a_class_is_enough(seed: int) -> None:
    """Whether or not the only positive row is among those that choose the penalty."""
    y = torch.zeros(10)
    y[0] = 1
    model = chain()
    stein_glm_(model, X[:10], y, task="binary", generator=generator(seed))
    assert all(value.isfinite().all() for value in state(model).values())


def test_a_constant_input_is_no_obstacle() -> None:
    model = chain()
    stein_glm_(model, torch.ones(20, 4), Y[:20], task="regression", alpha="auto")
    assert all(value.isfinite().all() for value in state(model).values())


def test_an_interruption_leaves_the_model_as_it_was() -> None:
    class Failing(nn.Tanh):
        calls = 0

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            if self.calls == 2:  # the first call is the one that looks for the layers
                raise KeyboardInterrupt
            return super().forward(x)

    model = chain(Failing())
    before = state(model)
    with pytest.raises(KeyboardInterrupt):
        stein_glm_(model, X, Y, task="regression", alpha=1)
    assert equal(state(model), before)


def test_baselines_need_no_data() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2))
    glorot_normal_(model)
    assert bool((state(model)["0.weight"] != 0).all())


@pytest.mark.parametrize(
    "spelling", [torch.tanh, Tensor.tanh, nn.functional.tanh], ids=["torch", "method", "F"]
)
def test_however_tanh_is_spelled_it_is_the_faster_one_while_initializing_and_torchs_own_afterwards(
    spelling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.last(spelling(self.first(x)))
            return out

    taken = []
    faster = kernels.tanh
    monkeypatch.setattr(kernels, "tanh", lambda a, out: taken.append(a.numel()) or faster(a, out=out))
    X, y = sample()
    model = Net()
    stein_glm_(model, X.float(), y.float(), task="regression")
    assert 4 * len(X) in taken
    met = len(taken)
    model(X.float()).sum().backward()  # with gradients, and by torch
    assert len(taken) == met


def test_a_model_that_takes_gradients_in_its_forward_pass_has_torchs_tanh() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            with torch.enable_grad():
                h = self.first(x)
                (slope,) = torch.autograd.grad(h.tanh().sum(), h)
            out: Tensor = self.last(slope)
            return out

    X, y = sample()
    report = stein_glm_(Net(), X.float(), y.float(), task="regression")
    assert [layer.rule for layer in report.layers] == ["stein", "glm"]


def test_a_model_that_maps_over_its_rows_has_torchs_tanh() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.last(torch.func.vmap(torch.tanh)(self.first(x)))
            return out

    X, y = sample()
    report = stein_glm_(Net(), X.float(), y.float(), task="regression")
    assert [layer.rule for layer in report.layers] == ["stein", "glm"]
