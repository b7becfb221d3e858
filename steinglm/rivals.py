"""Initializers that learn from data otherwise than SteinGLM does, on any torch model and called like it.

`lsuv_` takes the scale of each layer from the data, `pca_init_` its directions without the response, `swim_` draws
each unit from a pair of data points, and `steinglm_lsuv_` has SteinGLM's directions and a variance of 1 in every unit.
Data, tasks, warnings and errors are as in `init.stein_glm_`: layer after layer each learns from its own input, rows of
a convolution are its patches, the whole model is changed or nothing, and what was done is reported. Options of all:

output : "glm" fits the output layer (`glm.fit_output`); otherwise "random" (random orthonormal, of `lsuv_` also scaled)
    or, of `steinglm_lsuv_`, "stein" (the leading directions)
output_layer, max_patches, validation, generator : as in `init.stein_glm_`
"""

from typing import Any

import torch
from torch import nn

from steinglm import steps
from steinglm.checks import check_alpha, check_choice, check_whole
from steinglm.layerwise import learn_
from steinglm.reports import InitReport
from steinglm.scores import SCORES
from steinglm.sources import Data
from steinglm.steps import Rule, Step
from steinglm.swim import swim_layer_

__all__ = ["lsuv_", "pca_", "steinglm_lsuv_", "swim_"]


def lsuv_(model: nn.Module, X: Any, y: Any = None, *, output: str = "random", **options: Any) -> InitReport:
    """Layer-sequential unit variance (Mishkin and Matas, "All you need is a good init", ICLR 2016).

    Orthonormal weights, divided by the root of the variance of the layer's output over the data and its units; biases
    zero. A layer whose variance is within 0.1 of 1 is left orthonormal, as in the paper; the others have it at 1
    after one division, as a linear layer's variance is quadratic in its weights. The output layer is treated alike.

    >>> X = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(20, 2)
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)).double()
    >>> report = lsuv_(model, X, X[:, 0] ** 2, task="regression")
    >>> [layer.rule for layer in report.layers], round(float(model(X).detach().var(correction=0)), 6)
    (['lsuv', 'lsuv'], 1.0)
    """
    return _learned_(model, X, y, steps.lsuv_, steps.lsuv_, output, "random", **options)


def swim_(model: nn.Module, X: Any, y: Any = None, *, output: str = "glm", **options: Any) -> InitReport:
    """SWIM: a unit is a pair of data points (Bolager, Burak, Datar, Sun and Dietrich, NeurIPS 2023); see `swim`.

    w = s1 (x2 - x1) / |x2 - x1|^2, b = -w x1 - s2, pairs drawn where the response is steep, layer after layer from the
    pairs' points as the layers before have moved them. Layers need a bias. The paper fits the output layer by least
    squares, for which the GLM stands here.

    >>> X = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(20, 2)
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)).double()
    >>> [layer.rule for layer in swim_(model, X, X[:, 0] ** 2, task="regression").layers]
    ['swim', 'glm']
    """
    return _learned_(model, X, y, swim_layer_, steps.orthogonal_layer_, output, "random", **options)


def pca_(
    model: nn.Module,
    X: Any,
    y: Any = None,
    *,
    alpha: float | str | None = None,
    output: str = "glm",
    **options: Any,
) -> InitReport:
    """SteinGLM's construction with the covariance in the place of the cross-moment: principal directions.

    W = alpha V, V the leading eigenvectors of the covariance of the layer's input, and b = -W^T mean(h). What it does
    not know is the response. A layer of more units than the covariance has a rank r, or than inputs, has r principal
    directions; its other units are columns of random orthonormal frames. `alpha` is as in `init.stein_glm_`.

    >>> X = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]] * 5, dtype=torch.float64)
    >>> model = nn.Sequential(nn.Linear(2, 1), nn.Tanh(), nn.Linear(1, 1)).double()
    >>> report = pca_(model, X, X[:, 1], task="regression")
    >>> model[0].weight.tolist(), report.layers[0].eigenvalues.tolist()
    ([[1.0, 0.0]], [4.0, 1.0])
    """
    check_alpha(alpha)
    return _learned_(
        model, X, y, steps.pca_, steps.orthogonal_layer_, output, "random", alpha=alpha, **options
    )


def steinglm_lsuv_(
    model: nn.Module,
    X: Any,
    y: Any = None,
    *,
    score: str = "standardized",
    output: str = "glm",
    **options: Any,
) -> InitReport:
    """SteinGLM's directions, each scaled so that its unit's pre-activation has a variance of 1, and a mean of 0.

    Unit by unit, where LSUV scales a layer: a factor of the layer as a whole would be `init.stein_glm_` with alpha
    "auto". A unit that is constant over the data keeps a direction of length 1. `score` is as in `init.stein_glm_`.

    >>> X = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(20, 2) ** 2
    >>> model = nn.Sequential(nn.Linear(2, 1), nn.Tanh(), nn.Linear(1, 1)).double()
    >>> report = steinglm_lsuv_(model, X, X[:, 0] ** 2, task="regression")
    >>> round(report.layers[0].variance, 6)
    1.0
    """
    check_choice("score", score, tuple(SCORES))
    return _learned_(
        model, X, y, steps.stein_rescaled_, steps.stein_output_, output, "stein", score=score, **options
    )


def _learned_(
    model: nn.Module,
    X: Any,
    y: Any,
    step: Step,
    last: Step,
    output: str,
    own: str,
    *,
    task: str,
    alpha: float | str | None = None,
    score: str = "standardized",
    output_layer: str | None = None,
    max_patches: int | None = None,
    validation: Data | None = None,
    generator: torch.Generator | None = None,
) -> InitReport:
    """The output layer by `last` where `output` is this method's `own`."""
    check_choice("output", output, (own, "glm"))
    check_whole("max_patches", max_patches, 1, 10**9, "None takes every patch", optional=True)
    return learn_(
        model, X, y, step, None if output == "glm" else last,
        Rule(alpha, score, max_patches, generator or torch.Generator().manual_seed(0)),
        task=task, output_layer=output_layer, validation=validation,
    )  # fmt: skip
