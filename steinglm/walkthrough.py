"""The paper's Algorithm 1 once more, step by step and slowly, so that every piece can be looked at.

`walk` does for an experiment's SteinGLM network what `init.stein_glm_` does, with the same functions but no model, and
keeps what comes up on the way. `functions` names those that do each step there, and `code_of` gives their lines.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from steinglm import glm, samples, stein, steps
from steinglm.exceptions import InvalidInputError
from steinglm.experiment import Experiment, split
from steinglm.glm import OutputFit, fit_output
from steinglm.mlp import ACTIVATIONS
from steinglm.stein import SCORES, cross_moment, directions
from steinglm.theory import paper_alpha

__all__ = ["STEPS", "LayerStep", "Walk", "code_of", "functions", "walk"]

Function = Callable[..., Any]
STEPS = ("score", "directions", "weights", "bias", "output")


@dataclass(frozen=True, eq=False)
class LayerStep:
    """What comes up in a hidden layer of d inputs and k units, in float64.

    moment (d, d), eigenvalues (d,), V (d, k) : the cross-moment, and what is taken of its eigenvectors
    alpha, W (d, k), b (k,) : the scaling factor, the weights and the biases
    before, after (k,) : the mean of each unit's pre-activation without its bias, and with it
    """

    moment: Tensor
    eigenvalues: Tensor
    V: Tensor
    alpha: float
    W: Tensor
    b: Tensor
    before: Tensor
    after: Tensor


@dataclass(frozen=True, eq=False)
class Walk:
    """The steps of every hidden layer, and the fit of the output layer; `features` names the inputs of the first."""

    features: tuple[str, ...]
    layers: tuple[LayerStep, ...]
    output: OutputFit


def walk(experiment: Experiment) -> Walk:
    """Algorithm 1 for the first repeat of an experiment, on its training rows.

    Raises
    ------
    InvalidInputError : more units than inputs, which eigenvectors alone cannot fill; several responses or classes,
        which have a moment each

    >>> steps = walk(Experiment(dataset="diabetes", depth=2, width=3))
    >>> [tuple(layer.W.shape) for layer in steps.layers]
    [(10, 3), (3, 3)]
    """
    data = split(experiment.dataset, experiment.seed, 0, experiment.rows)
    units = experiment.units(data.X_train.shape[1])
    if units > data.X_train.shape[1]:
        raise InvalidInputError("width", f"at most the {data.X_train.shape[1]} inputs", units, "take fewer")
    if data.outputs > 1:
        raise InvalidInputError("data set", "of one response", experiment.dataset, "choose another one")
    f = ACTIVATIONS[experiment.activation].module()
    h, held, layers = data.X_train, data.X_validation, []
    for _ in range(experiment.depth):
        step = _layer(h, data.y_train, units, experiment)
        layers.append(step)
        h, held = (f(rows @ step.W + step.b) for rows in (h, held))  # (n, k), (m, k)
    fit = fit_output(
        h.numpy(), data.y_train.numpy(), task=data.task,
        h_validation=held.numpy(), y_validation=data.y_validation.numpy(),
    )  # fmt: skip
    return Walk(data.features, tuple(layers), fit)


def _layer(h: Tensor, y: Tensor, units: int, experiment: Experiment) -> LayerStep:
    """W = alpha V, the leading eigenvectors of M; b = -(1/n) sum W^T h_i."""
    M = cross_moment(h, y, experiment.score)  # (d, d)
    V, eigenvalues = directions(M, units)  # (d, k), (d,)
    alpha = paper_alpha(experiment.activation) or "auto" if experiment.alpha is None else experiment.alpha
    if alpha == "auto":
        alpha = float((h @ V).var(0, correction=0).mean()) ** -0.5
    W = float(alpha) * V
    before = (h @ W).mean(0)  # (k,)
    b = -before if experiment.calibrate else torch.zeros_like(before)
    return LayerStep(M, eigenvalues, V, float(alpha), W, b, before, (h @ W + b).mean(0))


def functions(step: str, score: str, task: str) -> tuple[Function, ...]:
    """The functions of the library that do a step of `STEPS`, under a score and for a task."""
    fit: Function = glm._ridge if task == "regression" else glm._logistic
    known: dict[str, tuple[Function, ...]] = {
        "score": (SCORES[score],),
        "directions": (stein._eigen, directions),
        "weights": (steps._alpha, steps.stein_, steps._scaled_),
        "bias": (samples.write_,),
        "output": (fit, fit_output),
    }
    return known[step]


def code_of(function: Function) -> str:
    """The lines of a function as they stand in the library, without its docstring.

    >>> print(code_of(samples.unit_axis))
    def unit_axis(layer: Layer) -> int:
        return -1 if isinstance(layer, nn.Linear) else 1
    """
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    body = ast.parse("\n".join(lines)).body[0]
    assert isinstance(body, ast.FunctionDef)
    if ast.get_docstring(body) is not None:
        told = body.body[0]
        del lines[told.lineno - 1 : told.end_lineno]
    return "\n".join(lines)
