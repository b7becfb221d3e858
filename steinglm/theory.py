"""What the signal of a wide random network should do, layer by layer: mean-field theory, with no network drawn.

A layer is z = W h + b with independent W_ij of variance sigma_w^2 / fan_in and b_i of variance sigma_b^2, h = f(z) of
the layer before (Poole et al., 2016; Schoenholz et al., 2017). Only the variance of W_ij matters, so that a truncated
normal counts as a normal, and orthogonal weights as weights of the same variance. For one input, the length
q = E z_i^2 follows from that of the layer before; for two, so does their covariance q_ab. What one measures as the
variance of a unit over the data is the gap s = q - q_ab, not q. SteinGLM removes each unit's mean, and its theory is
that of the variance v alone.
"""

import math

from torch import Tensor, empty_like

from steinglm.checks import check_between, check_choice
from steinglm.expectations import normal, normal_pair
from steinglm.mlp import ACTIVATIONS

__all__ = [
    "CLOSE",
    "LARGEST",
    "chi",
    "covariance_map",
    "gap_map",
    "length_map",
    "length_slope",
    "pair_slope",
    "paper_alpha",
    "variance_map",
    "variance_preserving_alpha",
]

LARGEST = 1e150  # of lengths and variances: what a map makes of them is still a float64
CLOSE = 1e-14  # of s / q: below it f(u) - f(v) has no digits left, and is f'(u) (u - v) to all that matter
SMALL = 1e-16  # of v: below it f(sqrt(v) z) - f(0) has lost half of its digits, and is f'(0) sqrt(v) z to the others
FLAT, STEEP = 1e-30, 1e30  # the q at which f' is taken for q = 0, where f may have a kink, and for q = inf


def _f(activation: str, a: Tensor) -> Tensor:
    return ACTIVATIONS[activation].function(a, out=empty_like(a))


def _check(activation: str, *, sigma_w2: float = 1.0, sigma_b2: float = 0.0, **lengths: float) -> None:
    check_choice("activation", activation, tuple(ACTIVATIONS))
    check_between("sigma_w2", sigma_w2, 0, LARGEST, "2 is He's, an orthogonal layer's is its squared gain")
    check_between("sigma_b2", sigma_b2, 0, LARGEST, "0 is a layer without random biases")
    for name, value in lengths.items():
        check_between(name, value, 0, LARGEST, "that of standardized inputs is 1")


def length_map(activation: str, q: float, *, sigma_w2: float, sigma_b2: float = 0.0) -> float:
    """The length of the next layer: q' = sigma_w^2 E[f(sqrt(q) z)^2] + sigma_b^2, z ~ N(0, 1).

    Poole et al. (2016), equation 3; He et al. (2015) for relu, where q' = sigma_w^2 q / 2.

    >>> round(length_map("sigmoid", 1.0, sigma_w2=1.0), 3)
    0.293
    """
    _check(activation, q=q, sigma_w2=sigma_w2, sigma_b2=sigma_b2)
    z, w = normal()
    return sigma_w2 * float(w @ _f(activation, math.sqrt(q) * z) ** 2) + sigma_b2


def covariance_map(
    activation: str, q: float, q_ab: float, *, sigma_w2: float, sigma_b2: float = 0.0
) -> float:
    """The covariance of two inputs of equal length in the next layer: sigma_w^2 E[f(u) f(v)] + sigma_b^2.

    u and v are normal of variance q and covariance q_ab (Poole et al., 2016, equation 5).

    >>> round(covariance_map("relu", 1.0, 0.5, sigma_w2=2.0), 4)  # Cho and Saul (2009): (sin t + (pi - t) cos t) / pi
    0.609
    """
    _check(activation, q=q, sigma_w2=sigma_w2, sigma_b2=sigma_b2)
    check_between("q_ab", q_ab, -q, q, "a covariance is no larger than the length q")
    if q_ab == q:
        return length_map(activation, q, sigma_w2=sigma_w2, sigma_b2=sigma_b2)
    u, v, w = normal_pair(q, q - q_ab)
    return sigma_w2 * float(w @ (_f(activation, u) * _f(activation, v))) + sigma_b2


def gap_map(activation: str, q: float, s: float, *, sigma_w2: float) -> float:
    """The gap s = q - q_ab in the next layer: s' = sigma_w^2 E[(f(u) - f(v))^2] / 2, which is q' - q_ab'.

    It is the variance over the data that a unit has on average. Without the difference of two large numbers it keeps
    its digits down to the smallest s; there s' = chi s.

    >>> round(gap_map("sigmoid", 1.0, 1.0, sigma_w2=1.0), 4)
    0.0434
    """
    _check(activation, q=q, sigma_w2=sigma_w2)
    check_between("s", s, 0, 2 * q, "the gap of opposite inputs is twice their length")
    if s <= CLOSE * q:
        return chi(activation, q, sigma_w2=sigma_w2) * s
    u, v, w = normal_pair(q, s)
    return sigma_w2 * float(w @ (_f(activation, u) - _f(activation, v)) ** 2) / 2


def variance_map(activation: str, v: float, *, alpha: float) -> float:
    """The variance of a unit in the next layer of SteinGLM: v' = alpha^2 Var f(sqrt(v) z).

    Its weights are alpha times orthonormal columns V, and its bias removes the mean over the data, so that the mean
    over units of v' is alpha^2 tr(V^T C V) / k, C the covariance of the layer's input. In a square layer that is
    alpha^2 tr(C) / k whatever the directions, with no limit of large widths; theory is only that units are normal.

    >>> round(variance_map("sigmoid", 16.0, alpha=4.0), 3)
    2.541
    """
    _check(activation, v=v)
    check_between("alpha", alpha, 0, math.sqrt(LARGEST), "1 suits tanh, 4 sigmoid")
    return alpha**2 * _variance(activation, v)


def _variance(activation: str, v: float) -> float:
    """Var f(sqrt(v) z)."""
    slope = ACTIVATIONS[activation].slope
    if v < SMALL and slope is not None:
        return slope**2 * v
    z, w = normal()
    h = _f(activation, math.sqrt(v) * z)
    return float(w @ (h - w @ h) ** 2)


def chi(activation: str, q: float, *, sigma_w2: float) -> float:
    """chi_1 = sigma_w^2 E[f'(sqrt(q) z)^2]: by how much a layer multiplies small differences and mean square gradients.

    Schoenholz et al. (2017), equation 5, where q is the fixed point q*. The limits are taken for q = 0 and q = inf.

    >>> round(chi("relu", 0.0, sigma_w2=2.0), 12)
    1.0
    """
    _check(activation, sigma_w2=sigma_w2)
    check_between("q", q, 0, math.inf, "that of standardized inputs is 1")
    z, w = normal()
    slope = ACTIVATIONS[activation].derivative(math.sqrt(min(max(q, FLAT), STEEP)) * z)
    return sigma_w2 * float(w @ slope**2)


def length_slope(activation: str, q: float, *, sigma_w2: float) -> float:
    """The slope of the length map, dq'/dq = sigma_w^2 E[f(sqrt(q) z) f'(sqrt(q) z) z] / sqrt(q).

    By partial integration it is sigma_w^2 E[f'^2 + f f''] (Schoenholz et al., 2017, equation 9); this form needs no
    f'', which at a kink is not a function.

    >>> round(length_slope("relu", 1.0, sigma_w2=1.0), 12)
    0.5
    """
    _check(activation, q=q, sigma_w2=sigma_w2)
    z, w = normal()
    root = math.sqrt(max(q, FLAT))
    f, slope = _f(activation, root * z), ACTIVATIONS[activation].derivative(root * z)
    return sigma_w2 * float(w @ (f * slope * z)) / root


def pair_slope(activation: str, q: float, s: float, *, sigma_w2: float) -> float:
    """The slope of the covariance map, dq_ab'/dq_ab = sigma_w^2 E[f'(u) f'(v)], at the gap s > 0; chi is that at s = 0.

    >>> round(pair_slope("relu", 1.0, 1.0, sigma_w2=2.0), 12)  # both are positive in one case of four
    0.5
    """
    _check(activation, q=q, sigma_w2=sigma_w2)
    check_between("s", s, 0, 2 * q, "the gap of opposite inputs is twice their length")
    u, v, w = normal_pair(q, s)
    f = ACTIVATIONS[activation]
    return sigma_w2 * float(w @ (f.derivative(u) * f.derivative(v)))


def paper_alpha(activation: str) -> float | None:
    """SteinGLM's scaling factor of the paper, 1 / f'(0), from f(a) = f(0) + f'(0) a + ...; None where f has a kink.

    >>> paper_alpha("sigmoid"), paper_alpha("relu")
    (4.0, None)
    """
    check_choice("activation", activation, tuple(ACTIVATIONS))
    slope = ACTIVATIONS[activation].slope
    return None if slope is None else 1 / slope


def variance_preserving_alpha(activation: str, v: float = 1.0) -> float:
    """The alpha for which the layer after one of variance v has variance 1: Var(f(sqrt(v) z))^(-1/2).

    With v = 1 it holds the variance at 1 in every layer; for large and small signals alike, unlike 1 / f'(0).

    >>> round(variance_preserving_alpha("tanh"), 4), round(variance_preserving_alpha("selu"), 4)
    (1.5925, 1.0)
    """
    _check(activation, v=v)
    return _variance(activation, v) ** -0.5
