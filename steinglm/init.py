"""Initializers that work in place on a torch model, in the manner of `torch.nn.init`.

`stein_glm_` is the paper's Algorithm 1: each hidden layer's weights are alpha times the leading eigenvectors of the
cross-moment of its input with the response, its bias centers the pre-activation, layer after layer; the output layer
is a generalized linear model. `glorot_normal_`, `he_normal_` and `orthogonal_` are the paper's baselines. All of them
draw from the generator they are given, never from torch's global one, and change either the whole model or nothing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from steinglm.checks import as_table, check_alpha, check_choice, check_data, check_values
from steinglm.exceptions import InvalidInputError
from steinglm.glm import OutputFit, fit_output
from steinglm.mlp import ACTIVATIONS
from steinglm.stein import SCORES, directions, moment_and_mean, random_frame
from steinglm.tracing import Link, all_or_nothing, execution_order, inputs_of, linear_layers, visit

__all__ = ["INITIALIZERS", "glorot_normal_", "he_normal_", "orthogonal_", "stein_glm_"]

# The sd of a standard normal truncated at two sd; dividing by it restores the stated variance (as Keras does).
TRUNCATED_SD = 0.87962566103423978
Data = tuple[Any, Any]  # (X, y): tensors, arrays or data frames


def stein_glm_(
    model: nn.Module,
    X: Any,
    y: Any,
    *,
    task: str,
    alpha: float | str | None = None,
    score: str = "standardized",
    output: str = "glm",
    validation: Data | None = None,
    generator: torch.Generator | None = None,
) -> nn.Module:
    """Initialize a model in place by SteinGLM (the paper's Algorithm 1) and return it.

    Parameters
    ----------
    model : a chain of `nn.Linear` layers and activations: an `nn.Sequential`, or a module that calls them in order
        The last Linear that is called is the output layer; it has one unit (the logit, for two classes).
    X, y : tensors, arrays or data frames of shapes (n, d) and (n,); standardize the columns of X first
    task : "regression" or "binary" (y is 0 or 1)
    alpha : the scaling factor of the hidden layers
        A positive number; None for 1 / f'(0), the paper's choice (tanh 1, sigmoid 4), and "auto" where f is not
        differentiable at 0; "auto" for the factor that gives each layer a mean pre-activation variance of 1.
    score : "identity" (the paper's formula verbatim), "standardized" or "gaussian"; see `stein.cross_moment`
    output : "glm" fits the output layer (`glm.fit_output`), "stein" gives it the leading eigenvector too
    validation : rows (X, y) that choose the strength of the GLM's penalty
        By default a fifth of the rows, drawn with the generator; the GLM is then fitted again on all rows.
    generator : the source of randomness; a generator seeded with 0 if None

    Raises
    ------
    InvalidInputError
        Data or options that cannot be used, or a model without a Linear layer. The model is then as it was.

    >>> X = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(20, 2)
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)).double()
    >>> W = stein_glm_(model, X, X[:, 0] ** 2, task="regression")[0].weight.detach()
    >>> torch.allclose(W @ W.T, torch.eye(2, dtype=torch.float64))
    True
    """
    check_choice("score", score, tuple(SCORES))
    check_choice("output", output, ("glm", "stein"))
    check_alpha(alpha)
    X, y = check_data(model, X, y, task)
    generator = generator or torch.Generator().manual_seed(0)
    held = _check_validation(model, validation, X, task)
    *hidden, last = execution_order(model, X)
    deepest: list[Tensor] = []  # the last hidden layer

    def initialize_(link: Link, h: Tensor) -> None:
        if link is not last:
            factor = _default_alpha(link) if alpha is None else alpha
            _stein_layer_(link.linear, h, y, factor, score, generator)
        elif output == "stein":
            # The linear predictor is not passed through an activation here, so that its factor is 1.
            _stein_layer_(link.linear, h, y, 1.0, score, generator)
        else:
            deepest.append(h)

    with all_or_nothing(model):
        visit(model, X, [*hidden, last], initialize_)
        for h in deepest:
            _glm_output_(model, last, h, y, task, held, generator)
    return model


def glorot_normal_(model: nn.Module, X: Any = None, y: Any = None, **options: Any) -> nn.Module:
    """Glorot normal: truncated normal weights of variance 2 / (n_in + n_out), biases zero (Glorot and Bengio, 2010).

    The normal is truncated at two sd and then rescaled, so that the variance is as stated. Options, as for every
    baseline: `output` is "random" (default: the output layer is drawn like the others) or "glm", which needs X, y and
    `task` as in `stein_glm_`, and takes `validation`; `generator`.

    >>> model = glorot_normal_(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)))
    >>> float(model[0].weight.detach().abs().max()) <= 2 * (2 / 5) ** 0.5 / TRUNCATED_SD
    True
    """
    return _baseline_(model, X, y, _glorot, **options)


def he_normal_(model: nn.Module, X: Any = None, y: Any = None, **options: Any) -> nn.Module:
    """He normal: truncated normal weights of variance 2 / n_in, biases zero (He et al., 2015); see `glorot_normal_`."""
    return _baseline_(model, X, y, _he, **options)


def orthogonal_(model: nn.Module, X: Any = None, y: Any = None, **options: Any) -> nn.Module:
    """Random orthogonal weights of gain 1, biases zero (Saxe et al., 2013); see `glorot_normal_` for the options."""
    return _baseline_(model, X, y, _orthogonal, **options)


INITIALIZERS: dict[str, Callable[..., nn.Module]] = {
    "steinglm": stein_glm_,
    "glorot_normal": glorot_normal_,
    "he_normal": he_normal_,
    "orthogonal": orthogonal_,
}


def _glorot(weight: Tensor, generator: torch.Generator) -> Tensor:
    n_out, n_in = weight.shape
    return _truncated_normal(weight, (2 / (n_in + n_out)) ** 0.5, generator)


def _he(weight: Tensor, generator: torch.Generator) -> Tensor:
    return _truncated_normal(weight, (2 / weight.shape[1]) ** 0.5, generator)


def _orthogonal(weight: Tensor, generator: torch.Generator) -> Tensor:
    n_out, n_in = weight.shape
    return random_frame(n_in, n_out, generator=generator).T


def _truncated_normal(weight: Tensor, sd: float, generator: torch.Generator) -> Tensor:
    std = sd / TRUNCATED_SD
    # Drawn in float64 whatever the model's dtype, so that one seed gives one network.
    drawn = torch.empty(weight.shape, dtype=torch.float64)
    return nn.init.trunc_normal_(drawn, std=std, a=-2 * std, b=2 * std, generator=generator)


@torch.no_grad()
def _baseline_(
    model: nn.Module,
    X: Any,
    y: Any,
    draw: Callable[[Tensor, torch.Generator], Tensor],
    *,
    task: str | None = None,
    output: str = "random",
    validation: Data | None = None,
    generator: torch.Generator | None = None,
) -> nn.Module:
    check_choice("output", output, ("random", "glm"))
    generator = generator or torch.Generator().manual_seed(0)
    if output == "glm":
        X, y = check_data(model, X, y, task)
        held = _check_validation(model, validation, X, str(task))
        last = execution_order(model, X)[-1]
    with all_or_nothing(model):
        for linear in linear_layers(model):
            linear.weight.copy_(draw(linear.weight, generator))
            if linear.bias is not None:
                linear.bias.zero_()
        if output == "glm":
            _glm_output_(model, last, inputs_of(model, last, X), y, str(task), held, generator)
    return model


@torch.no_grad()
def _stein_layer_(
    linear: nn.Linear, h: Tensor, y: Tensor, alpha: float | str, score: str, generator: torch.Generator
) -> None:
    """W = alpha V (the paper's equation for W_1), b = -(1/n) sum W^T h_i (its equation for b_1)."""
    M, mean = moment_and_mean(h, y, score)
    V, _ = directions(M, linear.out_features, generator=generator)  # (d, k)
    if alpha == "auto":
        variance = float((h.double() @ V).var(0, correction=0).mean())
        alpha = variance**-0.5 if variance > 0 else 1.0  # a constant input has no variance to restore
    W = float(alpha) * V
    linear.weight.copy_(W.T)
    if linear.bias is not None:
        # from the weights as stored, so that the mean is zero to the precision of the model's dtype
        linear.bias.copy_(-(linear.weight.double() @ mean))


@torch.no_grad()
def _glm_output_(
    model: nn.Module,
    last: Link,
    deepest: Tensor,
    y: Tensor,
    task: str,
    validation: tuple[Tensor, Tensor] | None,
    generator: torch.Generator,
) -> OutputFit:
    """Fit the output layer on the last hidden layer (the paper's step 2)."""
    h, target = deepest.double().numpy(), y.numpy()
    if validation is None:
        order = torch.randperm(len(h), generator=generator).numpy()
        held, kept = np.array_split(order, [len(h) // 5])
        if np.ptp(target[kept]) == 0:
            kept = order  # the only row of a class would be held out
        choice = fit_output(h[kept], target[kept], task=task, h_validation=h[held], y_validation=target[held])
        fit = fit_output(
            h,
            target,
            task=task,
            h_validation=h[held],
            y_validation=target[held],
            strengths=(choice.strength,),
        )
    else:
        X_validation, y_validation = validation
        h_validation = inputs_of(model, last, X_validation).double().numpy()
        fit = fit_output(h, target, task=task, h_validation=h_validation, y_validation=y_validation.numpy())
    weight = last.linear.weight
    weight.copy_(torch.as_tensor(fit.coefficients, dtype=weight.dtype)[None])
    if last.linear.bias is not None:
        last.linear.bias.fill_(fit.intercept)
    return fit


def _check_validation(
    model: nn.Module, validation: Data | None, X: Tensor, task: str
) -> tuple[Tensor, Tensor] | None:
    if validation is None:
        return None
    X_validation, y_validation = as_table(model, *validation)
    if X_validation.shape[1:] != X.shape[1:]:
        got = tuple(X_validation.shape)
        raise InvalidInputError("validation X", f"of {X.shape[1]} columns", got, "prepare it like X")
    check_values(X_validation, y_validation, task, "validation ")
    return X_validation, y_validation


def _default_alpha(link: Link) -> float | str:
    """1 / f'(0), from the first-order expansion of f (the paper's section 2.2); "auto" where there is no f'(0)."""
    if link.activation is None:
        raise InvalidInputError(
            "alpha",
            f"a number or 'auto', since the activation after layer {link.name!r} is not known",
            None,
            f"pass alpha=, or use one of the modules of {', '.join(ACTIVATIONS)}",
        )
    slope = ACTIVATIONS[link.activation].slope
    return "auto" if slope is None else 1 / slope
