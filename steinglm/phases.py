"""Order and chaos: where the signal of a deep random network goes, and how many layers it takes to get there.

The length map has a fixed point q*. There chi_1 says whether two close inputs approach each other (ordered phase,
chi_1 < 1: gradients vanish) or part (chaotic phase, chi_1 > 1: gradients explode); between the two lies the critical
line in the plane of (sigma_w^2, sigma_b^2). Poole et al. (2016) and Schoenholz et al. (2017).
"""

import math
from dataclasses import dataclass

from scipy.optimize import brentq

from steinglm.theory import CLOSE, chi, gap_map, length_map, length_slope, pair_slope

__all__ = ["CriticalPoint", "Phase", "critical_line", "fixed_point", "phase"]

START = 1.0  # the length of a standardized input, from which the fixed point is sought
NOWHERE, FAR = 1e-14, 1e30  # q* below the one is 0, beyond the other inf
UNCHANGED = 1e-12  # of q' / q - 1: what is left is rounding
CRITICAL = 1e-6  # of chi_1 - 1
STEP = 1.25  # of q, from one to the next, in search of a change of sign
LENGTHS = tuple(10 ** (k / 20) for k in range(-80, 51))  # 1e-4 .. 300


@dataclass(frozen=True)
class Phase:
    """Where the signal of a network goes.

    q_star : the fixed point of the length map to which a signal of length 1 is led; inf if it grows without bound
    chi : chi_1 at q_star
    phase : "ordered" (chi < 1), "critical" or "chaotic" (chi > 1)
    xi_q : the layers in which the distance of q from q_star falls by the factor e
    xi_c : the same for the correlation of two inputs: -1 / log chi in the ordered phase, where it goes to 1, and
        inf on the critical line; in the chaotic phase it goes to a correlation below 1, whose slope takes chi's place
    """

    q_star: float
    chi: float
    phase: str
    xi_q: float
    xi_c: float


@dataclass(frozen=True)
class CriticalPoint:
    """A point of the critical line, and the fixed point q of the length map there."""

    q: float
    sigma_w2: float
    sigma_b2: float


def fixed_point(activation: str, sigma_w2: float, sigma_b2: float) -> float:
    """The q* = sigma_w^2 E[f(sqrt(q*) z)^2] + sigma_b^2 to which a signal of length 1 is led, layer after layer.

    The map increases with q, so that the signal goes one way until the first fixed point. It is 1 where every q is
    fixed (relu with He's weights), and inf where the signal grows for ever.

    >>> fixed_point("relu", 2.0, 0.0), fixed_point("relu", 1.0, 0.0), fixed_point("relu", 2.5, 0.0)
    (1.0, 0.0, inf)
    >>> round(fixed_point("sigmoid", 1.0, 0.0), 3)
    0.265
    """

    def growth(q: float) -> float:
        return length_map(activation, q, sigma_w2=sigma_w2, sigma_b2=sigma_b2) / q - 1

    first = growth(START)
    if abs(first) < UNCHANGED:
        return START
    step, near = (STEP if first > 0 else 1 / STEP), START
    while NOWHERE < near < FAR:
        far = near * step
        there = growth(far)
        if abs(there) < UNCHANGED:
            break
        if there * first < 0:
            return float(brentq(growth, min(near, far), max(near, far), xtol=1e-22, rtol=1e-13))
        near = far
    return math.inf if first > 0 else 0.0


def phase(activation: str, sigma_w2: float, sigma_b2: float = 0.0) -> Phase:
    """The phase of weights of variance sigma_w^2 / fan_in and biases of variance sigma_b^2, and its depth scales.

    Where lengths grow without bound, chi is its limit for large q, and there is nothing to come close to: both scales
    are inf.

    >>> phase("tanh", 1.0).phase, phase("relu", 2.0).phase, phase("sigmoid", 1.0).phase
    ('critical', 'critical', 'ordered')
    >>> round(phase("tanh", 2.0).chi, 3)
    1.106
    """
    q = fixed_point(activation, sigma_w2, sigma_b2)
    x = chi(activation, q, sigma_w2=sigma_w2)
    name = "critical" if abs(x - 1) < CRITICAL else "ordered" if x < 1 else "chaotic"
    if q == math.inf:
        return Phase(q, x, name, math.inf, math.inf)
    slope = length_slope(activation, q, sigma_w2=sigma_w2)
    approach = _parting(activation, q, sigma_w2) if name == "chaotic" else x
    return Phase(q, x, name, _scale(slope), _scale(approach))


def _scale(slope: float) -> float:
    """-1 / log slope: the layers in which a deviation falls by e. It does not fall for a slope of 1 or more."""
    if slope >= 1 - CRITICAL:
        return math.inf
    return 0.0 if slope <= 0 else -1 / math.log(slope)


def _parting(activation: str, q: float, sigma_w2: float) -> float:
    """sigma_w^2 E[f'(u) f'(v)] at the gap s* > 0 that two inputs reach in the chaotic phase."""

    def growth(log_share: float) -> float:
        s = q * math.exp(log_share)
        return gap_map(activation, q, s, sigma_w2=sigma_w2) / s - 1

    # From where s' = chi s, to just beyond a correlation of 0, which an odd f without biases keeps.
    share = math.exp(brentq(growth, math.log(CLOSE / 10), math.log(1.001), xtol=1e-12))
    return pair_slope(activation, q, share * q, sigma_w2=sigma_w2)


def critical_line(activation: str) -> tuple[CriticalPoint, ...]:
    """The line chi_1 = 1 between order and chaos, for a phase diagram, by q from `LENGTHS`.

    At each q, sigma_w^2 = 1 / E[f'(sqrt(q) z)^2] and sigma_b^2 = q - sigma_w^2 E[f(sqrt(q) z)^2], where that is not
    negative. For tanh it starts in (1, 0); for relu it is the point (2, 0), whatever q. Whether a signal is led to q
    is another question: for gelu and silu it is led away from lengths below 3 and 12.

    >>> {(round(p.sigma_w2, 9), round(p.sigma_b2, 9)) for p in critical_line("relu")}
    {(2.0, 0.0)}
    """
    points = []
    for q in LENGTHS:
        sigma_w2 = 1 / chi(activation, q, sigma_w2=1.0)
        sigma_b2 = q - length_map(activation, q, sigma_w2=sigma_w2)
        if sigma_b2 >= -UNCHANGED * q:
            points.append(CriticalPoint(q, sigma_w2, max(0.0, sigma_b2)))
    return tuple(points)
