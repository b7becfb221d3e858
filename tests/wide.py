"""Wide random networks, simulated for the tests of the theory: what the mean-field limit is the limit of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from steinglm.init import INITIALIZERS
from steinglm.mlp import build, hidden_layers
from tests.reference import MODULES

__all__ = ["Layer", "simulate"]

ROWS = 40


@dataclass(frozen=True)
class Layer:
    """Of each network (K,): mean squares of the pre-activations, their variance over the data, that of f of them."""

    length: Tensor
    preactivation_variance: Tensor
    activation_variance: Tensor


@cache
def simulate(
    method: str, activation: str, alpha: float = 1.0, width: int = 400, depth: int = 20, networks: int = 20
) -> Sequence[Layer]:
    """The layers of so many networks on inputs ~ N(0, I), each network on inputs of its own.

    A layer is the initializer's own; the networks share it, each with its inputs shuffled and signed at random, which
    leaves the layer's distribution what it is and makes the networks independent but for the spectrum of W. For
    "steinglm" the layers are alpha times orthogonal ones, and the bias removes the mean over the data.

    The variance over the data is that between two different inputs, by n - 1; SteinGLM's is that of the data, by n.
    """
    g = torch.Generator().manual_seed(0)
    model = build(width, width, depth, "identity", torch.float64)
    INITIALIZERS["orthogonal" if method == "steinglm" else method](model, generator=g)
    h = torch.randn(networks, ROWS, width, generator=g, dtype=torch.float64)
    f, layers = MODULES[activation](), []
    unbiased = 0 if method == "steinglm" else 1
    with torch.no_grad():
        for linear, _ in hidden_layers(model):
            order = torch.stack([torch.randperm(width, generator=g) for _ in range(networks)])
            sign = 2 * torch.randint(2, (networks, 1, width), generator=g) - 1
            a = torch.take_along_dim(h, order[:, None], dim=2) * sign @ linear.weight.T  # (K, n, k)
            if method == "steinglm":
                a = alpha * (a - a.mean(1, keepdim=True))
            h = f(a)
            variances = [values.var(1, correction=unbiased).mean(1) for values in (a, h)]
            layers.append(Layer(a.square().mean((1, 2)), *variances))
    return layers
