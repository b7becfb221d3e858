"""Multi-index models y = f(A^T x) + noise with A^T A = I known and x ~ N(0, I): the model of Stein's
identity itself, so that the directions which the method finds can be compared with the truth. Every link f
is even in every index, and its indices weigh 1, 1/2, 1/4, ...: E[y (x x^T - I)] = A diag(c) A^T with
|c_1| > |c_2| > ... > 0, which tells the directions apart (an odd link would have c = 0: the second-order
moment does not see it)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from steinglm.datasets.dataset import Dataset
from steinglm.exceptions import InvalidInputError

__all__ = ["LINKS", "MODELS", "Model", "frame", "load", "multi_index"]


def _weights(u: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 ** np.arange(u.shape[1]))  # (k,)


def _quadratic(u: np.ndarray) -> np.ndarray:
    """sum_j 2^-j u_j^2, so c_j = 2 * 2^-j."""
    return np.asarray(u**2 @ _weights(u))


def _saddle(u: np.ndarray) -> np.ndarray:
    """sum_j (-2)^-j u_j^2: eigenvalues of both signs."""
    return np.asarray(u**2 @ (_weights(u) * (-1.0) ** np.arange(u.shape[1])))


def _bump(u: np.ndarray) -> np.ndarray:
    """exp(-sum_j w_j u_j^2 / 2), w_j = 2^-j: bounded; c_j = -w_j / (1 + w_j) * prod_i (1 + w_i)^(-1/2)."""
    return np.exp(-_quadratic(u) / 2)


def _logit(u: np.ndarray) -> np.ndarray:
    """2 sum_j 2^-j (u_j^2 - 1), the log odds of the positive class."""
    return np.asarray(2 * (u**2 - 1) @ _weights(u))


def _separate(u: np.ndarray) -> np.ndarray:
    """y_j = 2^-j u_j^2, a response for each index: one response alone has one direction."""
    return np.asarray(u**2 * _weights(u))


LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # (n, k) -> (n,), or (n, k) for "separate"
    "quadratic": _quadratic,
    "saddle": _saddle,
    "bump": _bump,
    "logit": _logit,
    "separate": _separate,
}


def frame(d: int, k: int, generator: np.random.Generator) -> np.ndarray:
    """A (d, k) matrix with orthonormal columns, uniform over such matrices and the same from every LAPACK."""
    Q, R = np.linalg.qr(generator.standard_normal((d, k)))
    return np.asarray(Q * np.sign(np.diag(R)))


def multi_index(
    n: int, d: int, k: int, *, link: str, noise: float, generator: np.random.Generator
) -> Dataset:
    """Draw n rows of x ~ N(0, I_d) and y = f(A^T x) + noise * N(0, 1), A (d, k) with orthonormal columns.

    Parameters
    ----------
    n, d, k : rows, inputs, directions; k is at most d.
    link : a key of `LINKS`. With "logit" y is 0 or 1, and the noise is added to the log odds; with "separate" there
        are k responses.
    noise : standard deviation of the noise, 0 or more, in units of f.
    generator : the only source of randomness.

    Raises
    ------
    InvalidInputError : for sizes, a link or a noise out of range.

    >>> data = multi_index(100, 5, 2, link="quadratic", noise=0.1, generator=np.random.default_rng(0))
    >>> data.X.shape, data.directions.shape
    ((100, 5), (5, 2))
    """
    _check(n, d, k, link, noise)
    A = frame(d, k, generator)
    x = generator.standard_normal((n, d))
    y = LINKS[link](x @ A)
    y = y + noise * generator.standard_normal(y.shape)
    if link == "logit":
        y = (generator.uniform(size=n) < expit(y)).astype(np.int8)
    A.setflags(write=False)
    return Dataset(
        name="multi_index",
        X=pd.DataFrame(x, columns=[f"x{j + 1}" for j in range(d)]),
        y=pd.Series(y, name="y") if y.ndim == 1 else pd.DataFrame(y, columns=[f"y{j + 1}" for j in range(k)]),
        task="binary" if link == "logit" else "regression",
        description=f"Synthetic {link} model of {k} known directions in {d} inputs, noise {noise:g}; "
        "made by steinglm, MIT",
        title=f"Synthetic {link}",
        directions=A,
    )


def _check(n: int, d: int, k: int, link: str, noise: float) -> None:
    if n < 1:
        raise InvalidInputError("n", "1 or more", n, "ask for more rows")
    if d < 1:
        raise InvalidInputError("d", "1 or more", d, "a model needs an input")
    if not 1 <= k <= d:
        raise InvalidInputError("k", f"1..{d}", k, "there are at most d orthonormal directions")
    if link not in LINKS:
        raise InvalidInputError("link", f"one of {', '.join(LINKS)}", link, "choose one of these")
    if not 0 <= noise < np.inf:
        raise InvalidInputError("noise", "a finite number, 0 or more", noise, "it is a standard deviation")


@dataclass(frozen=True)
class Model:
    """A registered model: the arguments of `multi_index`, with the seed that makes it one fixed table."""

    title: str
    n: int
    d: int
    k: int
    link: str
    noise: float
    seed: int


MODELS = {
    "synthetic_quadratic": Model("Synthetic Quadratic", 5000, 10, 2, "quadratic", 0.1, seed=1),
    "synthetic_saddle": Model("Synthetic Saddle", 5000, 10, 2, "saddle", 0.1, seed=2),
    "synthetic_bump": Model("Synthetic Bump", 5000, 20, 3, "bump", 0.02, seed=3),
    "synthetic_binary": Model("Synthetic Binary", 5000, 10, 2, "logit", 0.0, seed=4),
    "synthetic_responses": Model("Synthetic Responses", 5000, 10, 3, "separate", 0.1, seed=5),
}


def load(name: str) -> Dataset:
    """Draw a registered model: the same table on every call.

    >>> load("synthetic_binary").task
    'binary'
    """
    m = MODELS[name]
    data = multi_index(m.n, m.d, m.k, link=m.link, noise=m.noise, generator=np.random.default_rng(m.seed))
    return Dataset(name, data.X, data.y, data.task, data.description, m.title, "", data.directions)
