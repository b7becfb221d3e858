"""Score matching (Hyvarinen, 2005): the score of a density of no given form, learned by one linear solve.

The log-density is that of a normal, plus a sum of random features (Rahimi and Recht, 2007) of unknown weights:

    log p(z) = -z^T P z / 2 + sum_j theta_j cos(omega_j^T z + b_j) + const.

With s_j, c_j the sine and the cosine of omega_j^T z + b_j, its derivatives are

    g = grad log p = -P z - sum_j theta_j s_j omega_j,   H = grad^2 log p = -P - sum_j theta_j c_j omega_j omega_j^T,

and S2 = (grad^2 p) / p = H + g g^T. Hyvarinen's objective E[g^T S g / 2 + tr(S H)], in the metric S = P^-1, needs no
normalizing constant and is quadratic in theta:

    J(theta) = theta^T A theta / 2 + a^T theta + const,
    A_jk = (omega_j^T S omega_k) E[s_j s_k],   a_j = E[(omega_j^T z) s_j] - (omega_j^T S omega_j) E[c_j].
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from steinglm.passes import Rows, moment_of, shrunk

__all__ = ["Matched", "matched_moment"]

FEATURES = 200
SAMPLE = 5000  # rows that theta is learned from
FASTEST = 2.5  # of the frequencies, in standard deviations of what a feature sees
RIDGES = 10.0 ** np.arange(-3, 3)  # of the mean of A's diagonal


@dataclass(frozen=True, eq=False)
class Matched:
    """A density of d units by m features: float64."""

    precision: Tensor  # P (d, d)
    frequencies: Tensor  # omega (m, d)
    phases: Tensor  # b (m,)
    theta: Tensor  # (m,)

    def moment(self, z: Tensor, v: Tensor) -> Tensor:
        """The sum of v S2(z) = v (H + g g^T) over rows (C, d, d): z (c, d), v (C, c)."""
        omega = self.frequencies
        angles = z @ omega.T + self.phases  # (c, m)
        g = -z @ self.precision - (angles.sin() * self.theta) @ omega  # (c, d)
        (gg,) = moment_of(g[None], v[None])  # (C, d, d)
        c = (v @ angles.cos()) * self.theta  # (C, m)
        return gg - v.sum(1)[:, None, None] * self.precision - (omega.T * c[:, None]) @ omega


def matched_moment(rows: Rows) -> Tensor:
    """M = (1/n) sum y_i S2(z_i) of a density learned by score matching."""
    fits = [match(z, shrunk(R, rows.n)) for z, R in zip(rows.sample(SAMPLE), rows.R, strict=True)]
    return rows.raw(rows.average(lambda z, v: torch.stack(list(map(Matched.moment, fits, z, v)))))


def match(z: Tensor, S: Tensor) -> Matched:
    """The density of rows z (m, d) of covariance S."""
    omega, phases = _features(S)
    along = z @ omega.T  # (n, m)
    s, c = (along + phases).sin(), (along + phases).cos()
    metric = omega @ S @ omega.T  # (m, m)
    A = metric * (s.T @ s) / len(z)
    each = along * s - metric.diagonal() * c  # (n, m), a = the mean of rows
    return Matched(torch.linalg.inv(S), omega, phases, _solved(A, each))


def _features(S: Tensor) -> tuple[Tensor, Tensor]:
    """Half of the features see one unit each, for the shape of each margin, the others a random direction."""
    rng, d = np.random.default_rng(0), len(S)
    directions = rng.standard_normal((FEATURES, d))
    half = FEATURES // 2
    directions[:half] = np.eye(d)[np.arange(half) % d]
    omega = torch.as_tensor(directions).to(S)
    sd = ((omega @ S) * omega).sum(1, keepdim=True).sqrt()
    speed = torch.as_tensor(rng.uniform(0, FASTEST, (FEATURES, 1))).to(S)
    return omega / sd * speed, torch.as_tensor(rng.uniform(0, 2 * np.pi, FEATURES)).to(S)


def _solved(A: Tensor, each: Tensor) -> Tensor:
    """theta = -(A + lambda I)^-1 a, the ridge lambda being that of the lowest J expected on other rows.

    In the eigenvectors of A: J(theta) on these rows, and tr((A + lambda I)^-1 V) / n for having seen them, V the
    covariance of the terms of a (an information criterion for score matching: Matsuda, Uehara and Hyvarinen, 2021).
    If none is below J(0) = 0, theta is 0, and p normal.
    """
    n = len(each)
    values, U = torch.linalg.eigh(A)
    values = values.clamp(min=0)
    terms = each @ U  # (n, m)
    a, V = terms.mean(0), terms.var(0, correction=0)
    best, lowest = torch.zeros_like(a), 0.0
    for ridge in RIDGES * float(values.mean()):
        theta = -a / (values + ridge)
        expected = (values * theta**2 / 2 + a * theta + V / (values + ridge) / n).sum()
        if expected < lowest:
            best, lowest = theta, float(expected)
    return U @ best
