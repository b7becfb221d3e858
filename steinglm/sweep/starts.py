"""Networks before training, one of each depth: the shallower ones are read off the deepest.

Neither SteinGLM nor a random draw of a hidden layer depends on the layers after it, so that networks which differ in
their depth alone have their hidden layers in common; each has an output layer of its own, which starts as a network
of one layer on the last hidden layer would.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from steinglm.datasets import Split
from steinglm.experiment import Experiment, network_of, split
from steinglm.init import fits_output, stein_glm_
from steinglm.mlp import ACTIVATIONS, Linear, hidden_layers
from steinglm.responses import responses
from steinglm.train import LOSSES

__all__ = ["Start", "starts"]

NESTED = ("steinglm", "glorot_normal", "he_normal", "orthogonal")


@dataclass(frozen=True, eq=False)
class Start:
    """A network in float64, and what is measured of it over the training rows.

    last_variance : the variance of a unit's pre-activation, the mean over the units of the last hidden layer
    chi_1 : (1/k) sum_j |w_j|^2 E f'(a_j)^2 in that layer, the factor by which it multiplies small differences in mean
        square; with weights of variance sigma_w^2 / fan_in, the chi_1 of `theory.chi`
    initial_loss : the training loss
    """

    network: nn.Sequential
    last_variance: float
    chi_1: float
    initial_loss: float


@torch.no_grad()
def starts(experiment: Experiment, depths: Collection[int], repeat: int) -> dict[int, Start]:
    """The networks of an experiment of one method, of these depths in the place of its own."""
    (method,) = experiment.methods
    data = split(experiment.dataset, experiment.seed, repeat, experiment.rows)
    found: dict[int, Start] = {}
    nested = method in NESTED
    for deepest in [max(depths)] if nested else depths:
        network = network_of(replace(experiment, depth=deepest), method, repeat, data)
        for depth, linear, a, h, held in _layers(network, data):
            if depth == deepest or (nested and depth in depths):
                output = (
                    network[-1] if depth == deepest else _output(experiment, depth, repeat, data, h, held)
                )
                own = nn.Sequential(*list(network)[: 2 * depth], output)
                found[depth] = Start(own, *_measured(experiment, data, linear, a, h, output(h)))
    return found


def _layers(network: nn.Sequential, data: Split) -> Iterator[tuple[int, nn.Linear, Tensor, Tensor, Tensor]]:
    """Of each hidden layer its number, its weights, a and h (n, k) of the training rows, h of the validation rows."""
    h, held = data.X_train, data.X_validation
    for depth, (linear, f) in enumerate(hidden_layers(network), start=1):
        a = linear(h)
        h, held = f(a), f(linear(held))
        yield depth, linear, a, h, held


def _output(
    experiment: Experiment, depth: int, repeat: int, data: Split, h: Tensor, held: Tensor
) -> nn.Module:
    """The output layer of the network of this depth."""
    (method,) = experiment.methods
    glm = fits_output(method, experiment.output)
    if not glm and (method != "steinglm" or data.outputs > h.shape[1]):
        # drawn, with the generator as the hidden layers of this depth left it
        return network_of(replace(experiment, depth=depth), method, repeat, data)[-1]
    head = nn.Sequential(Linear(h.shape[1], data.outputs, dtype=h.dtype))
    stein_glm_(
        head,
        h,
        data.y_train,
        task=data.task,
        score=experiment.score,
        output="glm" if glm else "stein",
        validation=(held, data.y_validation),
    )
    return head[0]


def _measured(
    experiment: Experiment, data: Split, linear: nn.Linear, a: Tensor, h: Tensor, z: Tensor
) -> tuple[float, float, float]:
    """Variance, chi_1 and loss, given the last hidden layer and the linear predictors z (n, C)."""
    slope = ACTIVATIONS[experiment.activation].derivative(a, h)  # (n, k)
    chi = linear.weight.square().sum(1) * slope.square().mean(0)  # (k,)
    y = responses(data.y_train, data.task, data.outputs)  # (n, C)
    loss = LOSSES[data.task].mean(z.T[None], y.T[None])  # (1,)
    return float(a.var(0, correction=0).mean()), float(chi.mean()), float(loss)
