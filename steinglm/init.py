"""Initializers that work in place on any torch model, in the manner of `torch.nn.init`.

`stein_glm_` is the paper's Algorithm 1: each hidden layer's weights are alpha times the leading eigenvectors of the
cross-moment of its input with the response, its bias centers the pre-activation, layer after layer; the output layer
is a generalized linear model. Layers are Linear ones and convolutions, in the order in which a forward pass meets
them. `glorot_normal_`, `he_normal_` and `orthogonal_` are the paper's baselines. All of them draw from the generator
they are given, never from torch's global one, change either the whole model or nothing, and report what they did.
`INITIALIZERS` has them by name, and the rivals of `rivals`, which learn from the data otherwise.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from steinglm import rivals
from steinglm.checks import check_alpha, check_choice, check_flag, check_whole
from steinglm.layerwise import check_model, glm_output_, inputs_of, learn_, left_alone, plan, usable
from steinglm.reports import InitReport, LayerReport
from steinglm.samples import Layer, draw_fans
from steinglm.sources import Data, source, validation_source
from steinglm.stein import SCORES, random_frame
from steinglm.steps import Rule, stein_, stein_output_
from steinglm.tracing import all_or_nothing, layers_of, undisturbed

__all__ = [
    "FITTED", "INITIALIZERS", "OPTIONS", "STEIN_OUTPUT", "fits_output", "glorot_normal_", "he_normal_", "options_of",
    "orthogonal_", "stein_glm_",
]  # fmt: skip

# The sd of a standard normal truncated at two sd; dividing by it restores the stated variance (as Keras does).
TRUNCATED_SD = 0.87962566103423978


def stein_glm_(
    model: nn.Module,
    X: Any,
    y: Any = None,
    *,
    task: str,
    alpha: float | str | None = None,
    score: str = "standardized",
    calibrate: bool = True,
    output: str = "glm",
    output_layer: str | None = None,
    max_patches: int | None = None,
    validation: Data | None = None,
    generator: torch.Generator | None = None,
) -> InitReport:
    """Initialize a model in place by SteinGLM (the paper's Algorithm 1) and report what was done.

    Every Linear, Conv1d, Conv2d and Conv3d layer that the forward pass calls is initialized; what else has parameters
    is left alone, and named in the report. Dropout is off meanwhile; batch normalization works as in the mode that the
    model is in. Afterwards the modes, running statistics, hooks and global random streams are as they were.

    Parameters
    ----------
    model : any module that maps a batch of X to one row of outputs a sample
    X, y : tensors, arrays or data frames of shapes (n, ...) and (n,), or (n, C) for C responses of a regression
        Or a `DataLoader` of such pairs in the place of X: it is passed over once a layer, and memory does not grow
        with n, but for the last hidden layer and y. Standardize a table's columns first.
    task : "regression", "binary" (y is 0 or 1, one output unit: the logit) or "multiclass" (y is 0 .. C-1, C units)
    alpha : the scaling factor of the hidden layers
        A positive number; None for 1 / f'(0), the paper's choice (tanh 1, sigmoid 4), and "auto" where the activation
        that follows is not differentiable at 0 or not known; "auto" for the factor that gives each layer a mean
        pre-activation variance of 1.
    score : "identity" (the paper's formula), "centered", "standardized", "gaussian", "residual", "mixed", "mixture" or
        "matched"; see `stein.cross_moment`. Under the last four each layer passes over the data two to four times.
    calibrate : whether biases center the pre-activations; if not, those of the same layers are zero
    output : "glm" fits the output layer (`glm.fit_output`), "stein" gives it the leading directions too
    output_layer : the output layer's name in `model.named_modules()`; the last Linear that is called if None
    max_patches : the most patches of an image, or positions of a sequence, that a layer learns from, drawn anew for
        each sample; all of them if None
    validation : rows (X, y), or a DataLoader, that choose the strength of the GLM's penalty
        By default a fifth of the rows, drawn with the generator; the GLM is then fitted again on all rows.
    generator : the source of randomness; a generator seeded with 0 if None

    Raises
    ------
    InvalidInputError
        Data, options or a model that cannot be used. The model is then as it was.

    Warns
    -----
    SharedLayerWarning
        A layer is called more than once; it is initialized at its first call.

    >>> X = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(20, 2)
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)).double()
    >>> report = stein_glm_(model, X, X[:, 0] ** 2, task="regression")
    >>> [(layer.name, layer.rule, layer.alpha) for layer in report.layers]
    [('0', 'stein', 1.0), ('2', 'glm', None)]
    >>> W = model[0].weight.detach()
    >>> torch.allclose(W @ W.T, torch.eye(2, dtype=torch.float64))
    True
    """
    check_choice("score", score, tuple(SCORES))
    check_flag("calibrate", calibrate, "False leaves the biases at zero")
    check_choice("output", output, ("glm", "stein"))
    check_alpha(alpha)
    check_whole("max_patches", max_patches, 1, 10**9, "None takes every patch", optional=True)
    return learn_(
        model, X, y, stein_, None if output == "glm" else stein_output_,
        Rule(alpha, score, max_patches, generator or torch.Generator().manual_seed(0), calibrate),
        task=task, output_layer=output_layer, validation=validation,
    )  # fmt: skip


def glorot_normal_(model: nn.Module, X: Any = None, y: Any = None, **options: Any) -> InitReport:
    """Glorot normal: truncated normal weights of variance 2 / (n_in + n_out), biases zero (Glorot and Bengio, 2010).

    The normal is truncated at two sd and then rescaled, so that the variance is as stated; of a convolution, n_in and
    n_out count the kernel's positions. Options, as for every baseline: `output` is "random" (default: the output layer
    is drawn like the others) or "glm", which needs X, y and `task` as in `stein_glm_`, and takes `output_layer` and
    `validation`; `generator`.

    >>> model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    >>> report = glorot_normal_(model)
    >>> float(model[0].weight.detach().abs().max()) <= 2 * (2 / 5) ** 0.5 / TRUNCATED_SD
    True
    """
    return _baseline_("glorot_normal", model, X, y, **options)


def he_normal_(model: nn.Module, X: Any = None, y: Any = None, **options: Any) -> InitReport:
    """He normal: truncated normal weights of variance 2 / n_in, biases zero (He et al., 2015); see `glorot_normal_`."""
    return _baseline_("he_normal", model, X, y, **options)


def orthogonal_(model: nn.Module, X: Any = None, y: Any = None, **options: Any) -> InitReport:
    """Random orthogonal weights of gain 1, biases zero (Saxe et al., 2013); see `glorot_normal_` for the options."""
    return _baseline_("orthogonal", model, X, y, **options)


INITIALIZERS: dict[str, Callable[..., InitReport]] = {
    "steinglm": stein_glm_,
    "glorot_normal": glorot_normal_,
    "he_normal": he_normal_,
    "orthogonal": orthogonal_,
    "lsuv": rivals.lsuv_,
    "swim": rivals.swim_,
    "pca": rivals.pca_,
    "steinglm_lsuv": rivals.steinglm_lsuv_,
}
# What each takes of an experiment's settings; those that are not here take none, and need no data.
OPTIONS: dict[str, tuple[str, ...]] = {
    "steinglm": ("alpha", "score", "calibrate", "max_patches"),
    "lsuv": ("max_patches",),
    "swim": ("max_patches",),
    "pca": ("alpha", "max_patches"),
    "steinglm_lsuv": ("score", "max_patches"),
}
FITTED = (
    "steinglm",
    "swim",
    "pca",
    "steinglm_lsuv",
)  # have a fitted output layer as published or by construction
STEIN_OUTPUT = (
    "steinglm",
    "steinglm_lsuv",
)  # without the GLM they give the output layer the leading directions


def fits_output(method: str, output: str) -> bool:
    """Whether a method's output layer is a GLM, where `output` is "paper" (as published), "glm" or "own"."""
    return output == "glm" or (output == "paper" and method in FITTED)


def options_of(method: str, output: str, **settings: Any) -> dict[str, Any]:
    """What a method takes of an experiment's settings, and its output layer by `fits_output`, as keyword arguments.

    >>> options_of("pca", "own", alpha=2.0, score="identity")
    {'alpha': 2.0, 'output': 'random'}
    """
    own = "stein" if method in STEIN_OUTPUT else "random"
    taken = {name: value for name, value in settings.items() if name in OPTIONS.get(method, ())}
    return taken | {"output": "glm" if fits_output(method, output) else own}


def _glorot(layer: Layer, generator: torch.Generator) -> Tensor:
    n_in, n_out = draw_fans(layer)
    return _truncated_normal(layer, (2 / (n_in + n_out)) ** 0.5, generator)


def _he(layer: Layer, generator: torch.Generator) -> Tensor:
    return _truncated_normal(layer, (2 / draw_fans(layer)[0]) ** 0.5, generator)


def _orthogonal(layer: Layer, generator: torch.Generator) -> Tensor:
    n_out, n_in = layer.weight.flatten(1).shape
    return random_frame(n_in, n_out, generator=generator).T


DRAWS = {"glorot_normal": _glorot, "he_normal": _he, "orthogonal": _orthogonal}


def _truncated_normal(layer: Layer, sd: float, generator: torch.Generator) -> Tensor:
    std = sd / TRUNCATED_SD
    # Drawn in float64 whatever the model's dtype, so that one seed gives one network.
    drawn = torch.empty(layer.weight.shape, dtype=torch.float64)
    return nn.init.trunc_normal_(drawn, std=std, a=-2 * std, b=2 * std, generator=generator)


def _baseline_(
    method: str,
    model: nn.Module,
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    output: str = "random",
    output_layer: str | None = None,
    validation: Data | None = None,
    generator: torch.Generator | None = None,
) -> InitReport:
    check_choice("output", output, ("random", "glm"))
    check_model(model)
    generator = generator or torch.Generator().manual_seed(0)
    layers = {name: layer for name, layer in layers_of(model).items() if usable(layer)}
    with all_or_nothing(model), undisturbed(model):
        if output == "glm":
            data = source(model, X, y, task)
            held = validation_source(model, validation, data)
            last = plan(model, data, output_layer).last
        reports = [_drawn_(method, name, layer, generator) for name, layer in layers.items()]
        if output == "glm":
            met = list(inputs_of(model, last, data))
            fitted = glm_output_(model, last, met, data, held, generator)
            reports = [*(report for report in reports if report.name != last.name), fitted]
    return InitReport(tuple(reports), left_alone(model, set(layers), {}))


def _drawn_(method: str, name: str, layer: Layer, generator: torch.Generator) -> LayerReport:
    start = time.perf_counter()
    layer.weight.copy_(DRAWS[method](layer, generator).reshape(layer.weight.shape))
    if layer.bias is not None:
        layer.bias.zero_()
    return LayerReport(name, tuple(layer.weight.shape), method, seconds=time.perf_counter() - start)
