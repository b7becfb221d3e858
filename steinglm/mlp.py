"""Multi-layer perceptrons of one shape: their activations, one network, and K networks in one stack.

A hidden layer is a = W^T h + b, h' = f(a), the output layer is linear (the paper's equations for a_l, h_l and yhat, on
the scale of the linear predictor). A `Stack` holds the parameters of K such networks in one flat tensor whose views
have the networks on the leading axis, so that one batched GEMM serves all of them.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from steinglm import kernels
from steinglm.exceptions import InvalidInputError

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Stack",
    "activation_of",
    "build",
    "forward",
    "hidden_layers",
    "perceptron",
    "stack",
    "unstack",
]

aten = torch.ops.aten


@dataclass(frozen=True)
class Activation:
    """An elementwise f: its torch module, its derivative, and what the scaling factor alpha needs to know of it.

    function(a, out=) writes f(a); gradient(g, saved, grad_input=) writes g f'(a), where `saved` is f(a) if
    `from_output`, so that f may then be applied in place, else a. `slope` is f'(0), None where f is not
    differentiable at 0; `steepest` is the largest |f'|.
    """

    module: Callable[[], nn.Module]
    function: Callable[..., Tensor]
    gradient: Callable[..., Tensor]
    from_output: bool
    slope: float | None
    steepest: float = 1.0

    def derivative(self, a: Tensor, after: Tensor | None = None) -> Tensor:
        """f'(a), elementwise; `after` is f(a) if it is there already."""
        saved = a
        if self.from_output:
            saved = self.function(a, out=torch.empty_like(a)) if after is None else after
        return self.gradient(torch.ones_like(a), saved, grad_input=torch.empty_like(a))


def _copy(source: Tensor, *, out: Tensor) -> Tensor:
    return out if out is source else out.copy_(source)


def _elu(a: Tensor, *, out: Tensor) -> Tensor:
    return aten.elu.out(a, out=out)


def _elu_gradient(g: Tensor, h: Tensor, *, grad_input: Tensor) -> Tensor:
    return aten.elu_backward.grad_input(g, 1.0, 1.0, 1.0, True, h, grad_input=grad_input)


# Klambauer et al. (2017); torch computes selu by elu with these constants.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _selu(a: Tensor, *, out: Tensor) -> Tensor:
    return aten.elu.out(a, SELU_ALPHA, SELU_SCALE, 1.0, out=out)


def _selu_gradient(g: Tensor, h: Tensor, *, grad_input: Tensor) -> Tensor:
    return aten.elu_backward.grad_input(g, SELU_ALPHA, SELU_SCALE, 1.0, True, h, grad_input=grad_input)


def _gelu(a: Tensor, *, out: Tensor) -> Tensor:
    if out.is_contiguous():
        return aten.gelu.out(a, out=out)
    return out.copy_(aten.gelu(a))  # torch's, in float32, writes as if `out` had no gaps


def _relu(a: Tensor, *, out: Tensor) -> Tensor:
    return torch.clamp(a, min=0, out=out)


def _relu_gradient(g: Tensor, h: Tensor, *, grad_input: Tensor) -> Tensor:
    return aten.threshold_backward.grad_input(g, h, 0, grad_input=grad_input)


ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(nn.Tanh, kernels.tanh, aten.tanh_backward.grad_input, True, 1.0),
    "sigmoid": Activation(nn.Sigmoid, torch.sigmoid, aten.sigmoid_backward.grad_input, True, 0.25, 0.25),
    "relu": Activation(nn.ReLU, _relu, _relu_gradient, True, None),
    "gelu": Activation(nn.GELU, _gelu, aten.gelu_backward.grad_input, False, 0.5, 1.1289),
    "silu": Activation(nn.SiLU, aten.silu.out, aten.silu_backward.grad_input, False, 0.5, 1.0998),
    "elu": Activation(nn.ELU, _elu, _elu_gradient, True, 1.0),
    "selu": Activation(nn.SELU, _selu, _selu_gradient, True, None, SELU_ALPHA * SELU_SCALE),
    "identity": Activation(
        nn.Identity, _copy, lambda g, h, *, grad_input: _copy(g, out=grad_input), True, 1.0
    ),
}


def activation_of(module: nn.Module) -> str | None:
    """The name in `ACTIVATIONS` of a torch module, or None if it is not one of them.

    >>> activation_of(nn.Tanh()), activation_of(nn.Dropout())
    ('tanh', None)
    """
    if isinstance(module, nn.ELU) and module.alpha != 1:
        return None  # not differentiable at 0, unlike ours
    return next((name for name, f in ACTIVATIONS.items() if type(module) is f.module), None)


def build(
    features: int,
    width: int,
    depth: int,
    activation: str,
    dtype: torch.dtype = torch.float32,
    outputs: int = 1,
) -> nn.Sequential:
    """A multi-layer perceptron of one width with linear output units and all parameters zero; draws no random numbers.

    >>> build(3, 2, 1, "tanh")
    Sequential(
      (hidden1): Linear(in_features=3, out_features=2, bias=True)
      (tanh1): Tanh()
      (output): Linear(in_features=2, out_features=1, bias=True)
    )
    """
    return perceptron([features, *[width] * depth, outputs], activation, dtype)


def perceptron(sizes: Sequence[int], activation: str, dtype: torch.dtype = torch.float32) -> nn.Sequential:
    """As `build`, with the units of each layer: inputs, hidden layers, outputs."""
    if activation not in ACTIVATIONS:
        raise InvalidInputError(
            "activation", f"one of {', '.join(ACTIVATIONS)}", activation, "choose one of these"
        )
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, (d, k) in enumerate(pairwise(sizes[:-1]), start=1):
        layers[f"hidden{number}"] = Linear(d, k, dtype=dtype)
        layers[f"{activation}{number}"] = ACTIVATIONS[activation].module()
    layers["output"] = Linear(sizes[-2], sizes[-1], dtype=dtype)
    return nn.Sequential(layers)


class Linear(nn.Linear):
    """torch's, but zero: its draws would touch the global random state, and take longer than everything else."""

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)


def hidden_layers(model: nn.Sequential) -> list[tuple[nn.Linear, nn.Module]]:
    """The pairs (linear, activation) of a network made by `build`, in order, without its output layer."""
    modules = list(model)
    return [(modules[i], modules[i + 1]) for i in range(0, len(modules) - 1, 2)]  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class Stack:
    """The parameters of K networks of one shape: views into `flat`, one a layer, the output layer last.

    layers[l] is (K, d + 1, k): the weights in the paper's orientation (a = h W + b), and the bias as one more row.
    """

    flat: Tensor
    layers: tuple[Tensor, ...]
    activation: str

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """Of each layer (K, d, k)."""
        return tuple(own[:, :-1] for own in self.layers)

    @property
    def biases(self) -> tuple[Tensor, ...]:
        """Of each layer (K, 1, k)."""
        return tuple(own[:, -1:] for own in self.layers)

    def like(self, flat: Tensor) -> "Stack":
        """The same views into another flat tensor of the same size (gradients, a copy)."""
        parts = flat.split([own.numel() for own in self.layers])
        views = (part.view(own.shape) for part, own in zip(parts, self.layers, strict=True))
        return Stack(flat, tuple(views), self.activation)


def stack(models: Sequence[nn.Sequential], dtype: torch.dtype = torch.float32) -> Stack:
    """One stack that holds a copy of the parameters of K networks of the same shape, made by `build`."""
    linears = [[m for m in model if isinstance(m, nn.Linear)] for model in models]
    activation = activation_of(models[0][1]) if len(models[0]) > 1 else "identity"
    layers = tuple(
        torch.stack([torch.vstack([m.weight.detach().T, m.bias.detach()]) for m in same]).to(dtype)
        for same in zip(*linears, strict=True)
    )
    flat = torch.cat([own.flatten() for own in layers])
    return Stack(flat, layers, activation or "identity").like(flat)


def unstack(networks: Stack) -> list[nn.Sequential]:
    """The K networks of a stack, each with a copy of its parameters."""
    K = len(networks.weights[0])
    sizes = [W.shape[1] for W in networks.weights] + [networks.weights[-1].shape[2]]
    models = [perceptron(sizes, networks.activation, networks.flat.dtype) for _ in range(K)]
    with torch.no_grad():
        for k, model in enumerate(models):
            linears = [m for m in model if isinstance(m, nn.Linear)]
            for linear, W, b in zip(linears, networks.weights, networks.biases, strict=True):
                linear.weight.copy_(W[k].T)
                linear.bias.copy_(b[k, 0])
    return models


def forward(networks: Stack, x: Tensor) -> Tensor:
    """The linear predictors (K, n, C) of K networks on their inputs x (K, n, d)."""
    f = ACTIVATIONS[networks.activation]
    *hidden, (W_out, b_out) = zip(networks.weights, networks.biases, strict=True)
    h = x
    for W, b in hidden:
        a = torch.baddbmm(b, h, W)  # (K, n, k)
        h = f.function(a, out=a if f.from_output else torch.empty_like(a))
    return torch.baddbmm(b_out, h, W_out)
