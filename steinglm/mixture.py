"""The second-order score of a Gaussian mixture, in closed form, with a mixture that is fitted to the rows.

p(z) = sum_k w_k N(z; mu_k, S_k) has, with P_k = S_k^-1, u_k = z - mu_k and the responsibilities
r_k(z) = w_k N(z; mu_k, S_k) / p(z),

    S2(z) = (grad^2 p)(z) / p(z) = sum_k r_k [P_k u_k u_k^T P_k - P_k].

One component is a normal density of any covariance: the score "gaussian".
"""

import math
import warnings
from dataclasses import dataclass

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from steinglm.passes import Rows, moment_of, shrunk

__all__ = ["Mixture", "fit_mixtures", "mixture_moment"]

MOST = 4  # components
SAMPLE = 3000  # rows that these are searched in
ROWS_OF_UNIT = 10  # rows of the sample for each component and unit, at least
FLOOR = 1e-3  # of the variance in each direction of a component that is searched for


@dataclass(frozen=True, eq=False)
class Mixture:
    """A Gaussian mixture of K components in d units: float64."""

    weights: Tensor  # (K,)
    means: Tensor  # (K, d)
    precisions: Tensor  # (K, d, d)

    def responsibilities(self, z: Tensor) -> Tensor:
        """The probability (K, c) of each component, given the row z (c, d)."""
        u = z - self.means[:, None]  # (K, c, d)
        distance = ((u @ self.precisions) * u).sum(-1)  # (K, c)
        scale = self.weights.log() + torch.linalg.slogdet(self.precisions).logabsdet / 2
        return (scale[:, None] - distance / 2).softmax(0)

    def moment(self, z: Tensor, v: Tensor) -> Tensor:
        """The sum of v S2(z) over rows (C, d, d): z (c, d), v (C, c)."""
        total = z.new_zeros(len(v), z.shape[1], z.shape[1])
        for r, mean, P in zip(self.responsibilities(z), self.means, self.precisions, strict=True):
            (uu,) = moment_of((z - mean)[None], (v * r)[None])  # (C, d, d)
            total += P @ uu @ P - (v @ r)[:, None, None] * P
        return total


def mixture_moment(rows: Rows) -> Tensor:
    """M = (1/n) sum y_i S2(z_i) of a mixture with the number of components that the rows ask for."""
    mixtures = fit_mixtures(rows)
    return rows.raw(rows.average(lambda z, v: torch.stack(list(map(Mixture.moment, mixtures, z, v)))))


def fit_mixtures(rows: Rows) -> list[Mixture]:
    """A mixture for each table: found in a sample of rows, then one step of EM over all of them."""
    found = [_search(z) for z in rows.sample(SAMPLE)]
    K = max(len(mixture.weights) for mixture in found)

    def second_moments(z: Tensor, _: Tensor) -> Tensor:
        """sum r_k (1, z)(1, z)^T (T, K, d + 1, d + 1)."""
        r = z.new_zeros(len(z), K, z.shape[1])
        for own, mixture, part in zip(r, found, z, strict=True):
            own[: len(mixture.weights)] = mixture.responsibilities(part)
        return moment_of(torch.nn.functional.pad(z, (1, 0), value=1.0), r)

    moments = rows.average(second_moments)
    return [
        _maximized(own[: len(mixture.weights)], rows.n) for own, mixture in zip(moments, found, strict=True)
    ]


def _maximized(moments: Tensor, n: int) -> Mixture:
    """The M-step, from (1/n) sum r_k (1, z)(1, z)^T (K, d + 1, d + 1).

    A covariance is shrunk towards that of all rows, I in these units: a component cannot collapse, and a single one
    has the covariance of "gaussian".
    """
    weights = moments[:, 0, 0]  # (K,)
    means = moments[:, 0, 1:] / weights[:, None]  # (K, d)
    second = moments[:, 1:, 1:] / weights[:, None, None]
    covariances = second - means[:, :, None] * means[:, None, :]
    return Mixture(weights, means, torch.linalg.inv(shrunk(covariances, n * weights)))


def _search(z: Tensor) -> Mixture:
    """The mixture of the lowest BIC: components are added to a sample z (m, d) as long as each makes it lower."""
    from sklearn.exceptions import (
        ConvergenceWarning,
    )  # to import them takes a second, which other scores save
    from sklearn.mixture import GaussianMixture

    m, d = z.shape
    affordable = min(MOST, m // (ROWS_OF_UNIT * d))
    if affordable < 2:
        return Mixture(z.new_ones(1), z.new_zeros(1, d), torch.eye(d).to(z)[None])
    sample, best, lowest = z.cpu().numpy(), None, math.inf
    for components in range(1, affordable + 1):
        model = GaussianMixture(components, reg_covar=FLOOR, random_state=0)
        # Where EM has not converged, its step over all rows goes on from there. Its products are too small for
        # threads, which on a busy machine wait for one another many times as long as they work.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", ConvergenceWarning)
            bic = model.fit(sample).bic(sample)
        if bic >= lowest:
            break
        best, lowest = model, bic
    assert best is not None
    weights, means, precisions = (
        torch.as_tensor(values).to(z) for values in (best.weights_, best.means_, best.precisions_)
    )
    return Mixture(weights, means, precisions)
