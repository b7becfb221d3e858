"""Score functions by name: the cross-moment (1/n) sum y_i S2(h_i) under each of them.

The paper takes h ~ N(0, I), for which S2(h) = h h^T - I. Four scores are functions of one pass's sums: this one
("identity"), the same with y centered ("centered"), with h standardized too ("standardized", the default), and that of
a normal density of any covariance ("gaussian"). The others learn something from the rows first and pass over them
again. "residual" takes the linear part out of the response, as principal Hessian directions do (Li, 1992); "mixed"
brings it back as the direction of Stein's identity of the first order, which sees odd links where the second does not
(Babichev and Bach, 2018, use both orders). "mixture" and "matched" learn a density that is not normal, and take its S2.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from steinglm.matching import matched_moment
from steinglm.mixture import mixture_moment
from steinglm.passes import Rows, moment_of, shrunk
from steinglm.sums import Sums, centered, each, outer, second_moment, variances

__all__ = ["REPEATED", "SCORES", "SUMMED"]

RANK = 1e-12  # of the largest eigenvalue: below it a correlation has no inverse but the rounding's


def _identity(sums: Sums) -> Tensor:
    """M = (1/n) sum y_i (h_i h_i^T - I), the paper's empirical cross-moment with S2(h) = h h^T - I."""
    identity = torch.eye(sums.u.shape[-1], dtype=torch.float64, device=sums.u.device)
    return sums.vuu / sums.n - each(sums.v / sums.n) * identity


def _centered_response(sums: Sums) -> Tensor:
    """M = (1/n) sum (y_i - ybar)(h_i h_i^T - I), the paper's formula with the mean of the response taken out first."""
    return sums.vuu / sums.n - each(sums.v / sums.n) * second_moment(sums)


def _standardized(sums: Sums) -> Tensor:
    """M = (1/n) sum (y_i - ybar) z_i z_i^T with z the standardized h: the paper's assumption h ~ N(0, I), met."""
    C, R = centered(sums)
    scale = variances(R).rsqrt()  # a constant unit has z = 0 and C = 0
    return scale[..., :, None] * C * scale[..., None, :]


def _gaussian(sums: Sums) -> Tensor:
    """M = P C P, P the inverse of the shrunk covariance: S2(h) = P (h - mu)(h - mu)^T P - P of a normal density.

    The covariance is shrunk towards its diagonal by d / (n + d), which leaves a well-sampled one as it is and keeps
    P finite when units are copies of one another.
    """
    C, R = centered(sums)
    d = R.shape[-1]
    shrinkage = d / (sums.n + d)
    P = torch.linalg.pinv((1 - shrinkage) * R + shrinkage * torch.diag_embed(variances(R)), hermitian=True)
    return P @ C @ P


def _residual(rows: Rows) -> Tensor:
    """M = (1/n) sum e_i z_i z_i^T, e of the least-squares fit y = ybar + beta^T z + e (Li, 1992).

    E[grad^2] of a linear function is 0, and so is its moment if z is normal. If z is skewed it is not:
    E[z_j z z^T] has the third moments of z, and these leave with the linear part.
    """
    beta = rows.cross @ torch.linalg.pinv(rows.R, rtol=RANK, hermitian=True)  # (T, C, d)
    return rows.average(lambda z, v: moment_of(z, v - beta @ z.mT))


def _mixed(rows: Rows) -> Tensor:
    """M = m1 m1^T + M2 S M2: E[grad f grad f^T] of the quadratic f(h) = m1^T u + u^T M2 u / 2, u = h - mu.

    m1 = (1/n) sum y_i S1(h_i), S1(h) = P u, is the moment of the first order, and M2 = P C P that of the second, of
    the residual, both of a normal density of the shrunk covariance S = P^-1. By Stein's identity f has the mean
    gradient and the mean Hessian of g. So neither order swamps the other: each direction weighs as much as the slope
    of y along it, in one unit. Being a sum of squares it has no place for a sign, and nothing cancels (m1 = b against
    M2 = -b b^T, say).
    """
    S = shrunk(rows.R, rows.n)[:, None]  # (T, 1, d, d)
    P = torch.linalg.inv(S)
    m1 = (P @ rows.cross[..., None]).squeeze(-1)  # (T, C, d)
    M2 = P @ _residual(rows) @ P
    return rows.raw(outer(m1, m1) + M2 @ S @ M2)


SUMMED: dict[str, Callable[[Sums], Tensor]] = {  # in one pass over the rows
    "identity": _identity,
    "centered": _centered_response,
    "standardized": _standardized,
    "gaussian": _gaussian,
}
REPEATED: dict[str, Callable[[Rows], Tensor]] = {  # in two and more
    "residual": _residual,
    "mixed": _mixed,
    "mixture": mixture_moment,
    "matched": matched_moment,
}
SCORES: dict[str, Callable[..., Tensor]] = {**SUMMED, **REPEATED}
