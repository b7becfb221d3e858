"""How the signal travels through networks before training: gradients on their way back, what a layer still knows.

For each hidden layer: the gradients of the loss, by autograd's rule written out; how well a linear fit on the layer's
output predicts the response of other rows (a linear probe, Alain and Bengio, 2016); how many directions its output
spans (the effective rank of Roy and Vetterli, 2007); and how alike it makes different inputs. The tables are those of
`diagnostics`, from which the variances come.
"""

from collections.abc import Iterator, Sequence

import pandas as pd
import torch
from torch import Tensor

from steinglm.diagnostics import Measured, Name, across_units, layers, over_rows, tidy
from steinglm.mlp import ACTIVATIONS, Stack
from steinglm.train import LOSSES, Rows

__all__ = ["QUANTITIES", "effective_rank", "gradients", "input_correlation", "probe", "signal_rows"]

QUANTITIES = (
    "gradient_variance", "gradient_norm", "probe", "effective_rank", "input_correlation", "preactivation_length",
)  # fmt: skip


def gradients(networks: Stack, x: Tensor, y: Tensor, task: str) -> Iterator[tuple[Tensor, Tensor]]:
    """The gradients of the hidden layers of K networks, first layer first, at x (K, n, d) and responses y (K, n, C).

    For each layer dL_i/da (K, n, k), L_i the loss of row i, and dL/dW (K, d, k), L the mean loss.
    """
    walk = list(layers(networks, x))
    f, n = ACTIVATIONS[networks.activation], x.shape[1]
    z = torch.baddbmm(networks.biases[-1], walk[-1][2], networks.weights[-1])  # (K, n, C)
    g = LOSSES[task].gradient(z.mT, y.mT, torch.empty_like(z.mT)).mT
    found = []
    for (h, a, after), W in zip(reversed(walk), reversed(networks.weights[1:]), strict=True):
        g = g @ W.mT * f.derivative(a, after)  # (K, n, k)
        found.append((n * g, h.mT @ g))
    return reversed(found)


def probe(h: Tensor, y: Tensor, h_new: Tensor, y_new: Tensor, task: str) -> Tensor:
    """What a layer knows about the response: (K,), of the least-squares fit of y (K, n, C) on its output h (K, n, k).

    Measured on other rows: R^2, at least 0, or for classes the AUC, averaged over the responses.
    """
    n, k = h.shape[1:]
    mean, level = h.mean(1, keepdim=True), y.mean(1, keepdim=True)
    scale = (h - mean).abs().amax(1, keepdim=True)
    scale = torch.where(scale > 0, scale, 1.0)  # a signal that has all but vanished tells what it tells
    u = (h - mean) / scale
    inverse = torch.linalg.pinv(u.mT @ u / n, rtol=k * torch.finfo(h.dtype).eps, hermitian=True)
    fitted = level + (h_new - mean) / scale @ (inverse @ (u.mT @ (y - level) / n))  # (K, m, C)
    if task == "regression":
        total = (y_new - y_new.mean(1, keepdim=True)).square().mean(1)
        return (1 - (y_new - fitted).square().mean(1) / total).mean(1).clamp(min=0)
    return _area(fitted, y_new).mean(1)


def _area(scores: Tensor, y: Tensor) -> Tensor:
    """The area under the ROC curve (K, C) of scores (K, n, C) for 0/1 responses, from the ranks (Mann and Whitney)."""
    from scipy.stats import rankdata  # to import it takes a second, which a regression saves

    ranks = torch.from_numpy(rankdata(scores.numpy(), axis=1))
    positives, n = y.sum(1), y.shape[1]
    return ((ranks * y).sum(1) - positives * (positives + 1) / 2) / (positives * (n - positives))


def effective_rank(h: Tensor) -> Tensor:
    """The exponential of the entropy of the spectrum of the covariance of h (K, n, k), as shares: (K,), from 1 to k.

    k where all directions carry the same variance; 1 where one carries all, or h is constant.
    """
    centered = h - h.mean(1, keepdim=True)
    largest = centered.abs().amax((1, 2), keepdim=True)
    values = torch.linalg.svdvals(centered / torch.where(largest > 0, largest, 1.0)).square()
    total = values.sum(1, keepdim=True)
    shares = values / torch.where(total > 0, total, 1.0)
    return torch.special.entr(shares).sum(1).exp()


def input_correlation(h: Tensor) -> Tensor:
    """How alike two inputs look to a layer, (K,): the mean of h_a . h_b over all pairs, over the mean of |h_a|^2.

    1 where all inputs give the same h (K, n, k); theory's q_ab / q.
    """
    length = h.square().sum(2).mean(1)
    return h.mean(1).square().sum(1) / torch.where(length > 0, length, 1.0)


def signal_rows(
    networks: Stack, training: Rows, validation: Rows, names: Sequence[Name], task: str
) -> pd.DataFrame:
    """Every quantity of `QUANTITIES` for each hidden layer of K networks, in the columns of `diagnostics.layer_rows`.

    gradient_variance is that of dL_i/da over the rows, averaged over units, with quantiles across units beside it;
    gradient_norm the Frobenius norm of dL/dW; preactivation_length theory's q, the mean of a^2. The probe is fitted on
    training rows and measured on validation rows.
    """
    each = len(names) // len(training.X)
    x, y = training.X.repeat(each, 1, 1), training.y.repeat(each, 1, 1)
    x_new, y_new = validation.X.repeat(each, 1, 1), validation.y.repeat(each, 1, 1)
    found: list[Measured] = []
    steps = zip(layers(networks, x), layers(networks, x_new), gradients(networks, x, y, task), strict=True)
    for number, ((_, a, h), (_, _, h_new), (backward, by_weight)) in enumerate(steps, start=1):
        scalars = across_units("gradient_variance", over_rows(backward)[1])
        scalars["gradient_norm"] = by_weight.flatten(1).norm(dim=1)
        scalars["probe"] = probe(h, y, h_new, y_new, task)
        scalars["effective_rank"] = effective_rank(h)
        scalars["input_correlation"] = input_correlation(h)
        scalars["preactivation_length"] = a.square().mean((1, 2))
        found += [(number, quantity, values[:, None], False) for quantity, values in scalars.items()]
    return tidy(names, found)
