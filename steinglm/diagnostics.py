"""What an initialization does to the signal: one function a quantity, measured layer by layer, as tidy rows.

Each takes K networks in a `Stack` at once and gives values with the networks first; `layer_rows` walks through the
layers and puts everything into one table (method, repeat, layer, quantity, rank, value). Variances are population
variances over the data; a quantity of a layer is the mean over its units, with the 10 and 90 percent quantiles across
units beside it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from steinglm.mlp import ACTIVATIONS, Stack
from steinglm.stein import cross_moment
from steinglm.train import Rows

__all__ = [
    "COLUMNS",
    "Measured",
    "Name",
    "across_units",
    "direction_recovery",
    "layer_rows",
    "layers",
    "moment_eigenvalues",
    "over_rows",
    "saturated_share",
    "tidy",
    "weight_singular_values",
]

COLUMNS = ("method", "repeat", "layer", "quantity", "rank", "value")
SATURATED = 0.05  # of the activation's steepest slope
Name = tuple[str, int]  # (method, repeat)
Measured = tuple[int, str, Tensor, bool]  # layer, quantity, values (K, m), whether these are ranked


def layers(networks: Stack, x: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """The hidden layers of K networks in order: input h (K, n, d), pre-activation a (K, n, k), activation f(a)."""
    f, h = ACTIVATIONS[networks.activation], x
    for W, b in zip(networks.weights[:-1], networks.biases[:-1], strict=True):
        a = torch.baddbmm(b, h, W)  # (K, n, k)
        after = f.function(a, out=torch.empty_like(a))
        yield h, a, after
        h = after


def over_rows(values: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the population variance (K, k) of each unit over the rows of values (K, n, k).

    Sums over rows are matrix products, many times faster than torch's reductions of a middle axis.
    """
    K, n, _ = values.shape
    weights = values.new_full((K, 1, n), 1 / n)
    mean = torch.bmm(weights, values)  # (K, 1, k)
    variance = torch.bmm(weights, (values - mean).square_())
    return mean.squeeze(1), variance.squeeze(1)


def across_units(quantity: str, values: Tensor) -> dict[str, Tensor]:
    """The mean over units of values (K, k), and the 10 and 90 percent quantiles across them, by quantity name."""
    low, high = torch.quantile(values, torch.tensor([0.1, 0.9], dtype=values.dtype), dim=1)
    return {quantity: values.mean(1), f"{quantity}_q10": low, f"{quantity}_q90": high}


def saturated_share(a: Tensor, activation: str, after: Tensor | None = None) -> Tensor:
    """The share (K,) of units whose mean slope |f'(a)| over the data is below 5 percent of the steepest slope of f.

    For tanh these units sit on the flat parts, for relu they are dead (or nearly so). `after` is f(a) if it is there.
    """
    f = ACTIVATIONS[activation]
    slope, _ = over_rows(f.derivative(a, after).abs_())  # (K, k)
    return (slope < SATURATED * f.steepest).to(a.dtype).mean(1)


def moment_eigenvalues(h: Tensor, y: Tensor, score: str) -> Tensor:
    """The signed eigenvalues (K, d), largest magnitude first, of the cross-moment of h (K, n, d) with y (R, n, C).

    For several responses they are the singular values of their moments side by side. Network k belongs to repeat
    k mod R.
    """
    moments = cross_moment(h, y.repeat(len(h) // len(y), 1, 1), score)
    if moments.dim() == 4:  # (K, C, d, d)
        return torch.linalg.svdvals(moments.movedim(1, 2).flatten(2))
    eigenvalues = torch.linalg.eigvalsh(moments)
    order = eigenvalues.abs().argsort(dim=1, descending=True, stable=True)
    return eigenvalues.gather(1, order)


def weight_singular_values(W: Tensor) -> Tensor:
    """The singular values (K, min(d, k)) of weights (K, d, k), largest first."""
    return torch.linalg.svdvals(W)


def direction_recovery(a: Tensor, u: Tensor) -> Tensor:
    """How much of the true indices u = B^T x (K, n, m) the pre-activations a (K, n, k) of a layer still tell: (K, m).

    The R^2 of the least-squares fit of each index on all units: in the first layer 1 where the direction lies in the
    span of the layer's weights, and the squared cosine of the angle to that span where the inputs are uncorrelated.
    """
    n, k = a.shape[1:]
    z = a - a.mean(1, keepdim=True)
    largest = z.abs().amax(1, keepdim=True)
    z /= torch.where(largest > 0, largest, 1.0)  # a signal that has all but vanished tells what it tells
    v = u - u.mean(1, keepdim=True)
    along = z.mT @ v / n  # (K, k, m)
    inverse = torch.linalg.pinv(z.mT @ z / n, rtol=k * torch.finfo(a.dtype).eps, hermitian=True)
    explained = (along * (inverse @ along)).sum(1)  # (K, m)
    return (explained / v.square().mean(1)).clamp(0, 1)


def layer_rows(
    networks: Stack, rows: Rows, names: Sequence[Name], score: str, indices: Tensor | None = None
) -> pd.DataFrame:
    """Every quantity of every layer of K networks over the rows of their repeats, as a tidy table.

    The hidden layers are numbered from 1; the output layer comes after them, with its weights and its input's moment.
    `indices` (R, n, m) are the true B^T x of a synthetic model: with them comes the recovery of its directions.
    """
    R = len(rows.X)
    u = None if indices is None else indices.repeat(len(names) // R, 1, 1)  # (K, n, m)
    x = rows.X.repeat(len(names) // R, 1, 1)  # (K, n, d)
    depth = len(networks.weights) - 1
    found: list[Measured] = []
    after = x
    for number, (h, a, after) in enumerate(layers(networks, x), start=1):
        scalars: dict[str, Tensor] = {"saturated_share": saturated_share(a, networks.activation, after)}
        for place, values in (("preactivation", a), ("activation", after)):
            mean, variance = over_rows(values)  # (K, k)
            scalars |= across_units(f"{place}_mean", mean) | across_units(f"{place}_variance", variance)
        if u is not None:
            scalars |= across_units("direction_recovery", direction_recovery(a, u))
        found += [(number, quantity, values[:, None], False) for quantity, values in scalars.items()]
        found += _spectra(number, h, rows.y, networks.weights[number - 1], score)
    found += _spectra(depth + 1, after, rows.y, networks.weights[-1], score)
    return tidy(names, found)


def _spectra(layer: int, h: Tensor, y: Tensor, W: Tensor, score: str) -> list[Measured]:
    return [
        (layer, "moment_eigenvalue", moment_eigenvalues(h, y, score), True),
        (layer, "weight_singular_value", weight_singular_values(W), True),
    ]


def tidy(names: Sequence[Name], found: Sequence[Measured]) -> pd.DataFrame:
    """A table of what was found: one row a network and value, rank 1..m, or 0 for a scalar.

    Made in one piece, which is many times faster.
    """
    K, sizes = len(names), [values.shape[1] for _, _, values, _ in found]
    methods, repeats = zip(*names, strict=True)
    each = [K * m for m in sizes]
    return pd.DataFrame(
        {
            "method": np.concatenate([np.repeat(methods, m) for m in sizes]),
            "repeat": np.concatenate([np.repeat(repeats, m) for m in sizes]),
            "layer": np.repeat([layer for layer, *_ in found], each),
            "quantity": np.repeat([quantity for _, quantity, *_ in found], each),
            "rank": np.concatenate(
                [
                    np.tile(np.arange(1, m + 1), K) * ranked
                    for m, (*_, ranked) in zip(sizes, found, strict=True)
                ]
            ),
            "value": torch.cat([values.reshape(-1).double() for _, _, values, _ in found]).numpy(),
        }
    )
