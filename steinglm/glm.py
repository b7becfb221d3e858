"""The output layer as a generalized linear model of the last hidden layer (the paper's step 2).

Ridge regression for a regression, of one response or several; l2-penalized logistic regression for two classes,
multinomial for more. The strength of the penalty is the one of `STRENGTHS` with the lowest loss on the validation rows.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from steinglm.exceptions import ConvergenceWarning, InvalidInputError

__all__ = ["STRENGTHS", "OutputFit", "fit_output"]

Fit = tuple[np.ndarray, np.ndarray, bool]  # coefficients (d,) or (d, C), intercepts () or (C,), converged
MOST_NEWTON = 500  # coefficients whose Hessian is worth its memory and time
STRENGTHS = tuple(10.0**exponent for exponent in range(-4, 3))


@dataclass(frozen=True, eq=False)
class OutputFit:
    """The fitted output layer and how its penalty was chosen.

    coefficients (d,) and intercept () are on the scale of the linear predictor (the logit for two classes); with C
    responses or classes they are (d, C) and (C,). losses[i] is the validation loss (mean squared error or
    cross-entropy) at strengths[i].
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    strength: float
    strengths: tuple[float, ...]
    losses: tuple[float, ...]
    converged: bool


def fit_output(
    h: np.ndarray,
    y: np.ndarray,
    *,
    task: str,
    h_validation: np.ndarray,
    y_validation: np.ndarray,
    strengths: tuple[float, ...] = STRENGTHS,
) -> OutputFit:
    """Fit the output layer on (h, y) for every strength and keep the one with the lowest validation loss.

    Parameters
    ----------
    h, h_validation : arrays (n, d) and (m, d), the last hidden layer on training and on validation rows
    y, y_validation : arrays (n,) and (m,), or (n, C) and (m, C) for several responses of a regression
        0 or 1 for two classes; 0 .. C-1, each of which is met in y, for more ("multiclass").
    task : "regression" minimizes sum (y - yhat)^2 + strength |w|^2, "binary" and "multiclass" the cross-entropy
        + strength |w|^2 / 2
    strengths : the grid, positive numbers

    Warns
    -----
    ConvergenceWarning
        The chosen fit had not converged; its coefficients are returned all the same.

    >>> h = np.arange(20.0).reshape(10, 2)
    >>> fit = fit_output(h, h[:, 0], task="regression", h_validation=h, y_validation=h[:, 0])
    >>> fit.strength, fit.converged
    (0.0001, True)
    """
    if task not in _FITS:
        raise InvalidInputError("task", f"one of {', '.join(_FITS)}", task, "choose one of these")
    fits = _FITS[task](h, y, strengths)
    losses = [_LOSSES[task](y_validation, h_validation @ w + b) for w, b, _ in fits]
    best = int(np.argmin(losses))
    coefficients, intercept, converged = fits[best]
    if not converged:
        warnings.warn(
            f"the output layer's fit had not converged at strength {strengths[best]:g}; its coefficients are "
            "used as they are. Standardize the inputs, or choose a smaller alpha.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return OutputFit(
        coefficients, intercept, strengths[best], tuple(strengths), tuple(map(float, losses)), converged
    )


def _ridge(h: np.ndarray, y: np.ndarray, strengths: tuple[float, ...]) -> list[Fit]:
    """The normal equations, (C + strength I) w = h^T y about the means, for all strengths by one eigh of C = h^T h."""
    h_mean, y_mean = h.mean(0), y.mean(0)
    centered = h - h_mean  # (n, d)
    eigenvalues, V = np.linalg.eigh(centered.T @ centered)  # (d,), (d, d)
    along = (V.T @ (centered.T @ (y - y_mean))).T  # (d,) or (C, d)
    coefficients = [V @ (along / (eigenvalues.clip(0) + strength)).T for strength in strengths]
    return [(w, y_mean - h_mean @ w, True) for w in coefficients]


def _logistic(h: np.ndarray, y: np.ndarray, strengths: tuple[float, ...]) -> list[Fit]:
    """The strongest penalty first: each fit starts from the one before it and takes a few steps.

    Newton's method, with a Hessian that is square in the coefficients, and L-BFGS where these are many.
    """
    from sklearn.exceptions import (
        ConvergenceWarning,
    )  # to import them takes a second, which a regression saves
    from sklearn.linear_model import LogisticRegression

    coefficients = h.shape[1] * len(np.unique(y))
    solver = "newton-cholesky" if coefficients <= MOST_NEWTON else "lbfgs"
    # The tolerance is of the gradient's largest entry.
    model = LogisticRegression(solver=solver, tol=1e-6, max_iter=100, warm_start=True)
    fits: dict[float, Fit] = {}
    for strength in sorted(strengths, reverse=True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.set_params(C=1 / strength).fit(h, y)
        stalled = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        fits[strength] = model.coef_.T.copy(), model.intercept_.copy(), not stalled
    return [fits[strength] for strength in strengths]


def _binary(h: np.ndarray, y: np.ndarray, strengths: tuple[float, ...]) -> list[Fit]:
    return [(W[:, 0], b[0], converged) for W, b, converged in _logistic(h, y, strengths)]


def _multiclass(h: np.ndarray, y: np.ndarray, strengths: tuple[float, ...]) -> list[Fit]:
    """A logit for each class; of two classes each has half of the one logit, with either sign."""
    fits = _logistic(h, y, strengths)
    if fits[0][0].shape[1] > 1:
        return fits
    halves = np.array([-0.5, 0.5])
    return [(W * halves, b * halves, converged) for W, b, converged in fits]


def _squared_error(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean((y - predicted) ** 2))


def _cross_entropy(y: np.ndarray, logit: np.ndarray) -> float:
    return float(np.mean(np.logaddexp(0, logit) - y * logit))


def _multinomial_cross_entropy(y: np.ndarray, logits: np.ndarray) -> float:
    """y (n,) codes, logits (n, C)."""
    own = np.take_along_axis(logits, y.astype(np.intp)[:, None], axis=1)[:, 0]
    return float(np.mean(logsumexp(logits, axis=1) - own))


_FITS = {"regression": _ridge, "binary": _binary, "multiclass": _multiclass}
_LOSSES = {
    "regression": _squared_error,
    "binary": _cross_entropy,
    "multiclass": _multinomial_cross_entropy,
}
