"""Expectations under the normal distribution by Gauss-Hermite quadrature, split at zero, where activations have kinks.

A rule on the whole line takes f' of relu, elu or selu for a polynomial across its jump and converges like 1 / nodes.
On each half-line every activation of `mlp.ACTIVATIONS` is smooth, and `NODES` nodes of the Gauss rule with the Hermite
weight exp(-z^2 / 2) there give 12 digits. Two correlated normals are taken in polar coordinates: the kinks of f(u) and
f(v) are then rays, and the sectors between them are again smooth.
"""

import math
from functools import cache

import numpy as np
import torch
from torch import Tensor

__all__ = ["half_line", "normal", "normal_pair"]

NODES = 64  # on each half-line
ANGLES = 40  # in each sector
REACH = 24.0  # the largest of 64 nodes is below 20, and the weight at 24 is 1e-125


@cache
def half_line(nodes: int) -> tuple[Tensor, Tensor]:
    """Nodes r and weights w of the Gauss rule of |z|, z ~ N(0, 1): sum w g(r) = E g(|z|), exact to degree 2 nodes - 1.

    By the eigenvalues of the Jacobi matrix (Golub and Welsch, 1969), which Lanczos' recursion finds on a fine
    Gauss-Legendre grid (Gautschi, 2004, section 2.2.3): the moments themselves would lose all digits.

    >>> r, w = half_line(8)
    >>> round(float(w @ r), 12) == round((2 / math.pi) ** 0.5, 12)
    True
    """
    panels, (x, w) = 2 * nodes, np.polynomial.legendre.leggauss(20)
    x = ((np.arange(panels)[:, None] + (x + 1) / 2) * (REACH / panels)).reshape(-1)
    v = np.sqrt(np.tile(w, panels) * np.exp(-(x**2) / 2))
    v, before, beside = v / np.linalg.norm(v), np.zeros_like(v), 0.0
    jacobi = np.zeros((nodes, nodes))
    for k in range(nodes):
        jacobi[k, k] = v @ (x * v)
        rest = x * v - jacobi[k, k] * v - beside * before
        beside = float(np.linalg.norm(rest))
        if k + 1 < nodes:
            jacobi[k + 1, k] = beside
        before, v = v, rest / beside
    r, vectors = np.linalg.eigh(jacobi)
    return torch.from_numpy(r), torch.from_numpy(vectors[0] ** 2)


@cache
def _interval(nodes: int) -> tuple[Tensor, Tensor]:
    """The Gauss-Legendre rule on (-1, 1)."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return torch.from_numpy(x), torch.from_numpy(w)


def normal() -> tuple[Tensor, Tensor]:
    """Nodes z and weights w with sum w g(z) = E g(z), z ~ N(0, 1), for g smooth on each side of zero.

    >>> z, w = normal()
    >>> round(float(w @ z.clamp(min=0) ** 2), 12)
    0.5
    """
    r, w = half_line(NODES)
    return torch.cat([-r, r]), torch.cat([w, w]) / 2


def normal_pair(q: float, s: float) -> tuple[Tensor, Tensor, Tensor]:
    """Nodes u, v and weights w of two normals of variance q > 0 and covariance q - s, 0 < s <= 2 q.

    sum w g(u, v) = E g(u, v) for g symmetric in u and v, and smooth where neither changes its sign:
    u = sqrt(q) r cos(t + h), v = sqrt(q) r cos(t - h), sin(h)^2 = s / (2 q), t in (0, pi), r of density r exp(-r^2/2).
    By s and not by the covariance, u - v keeps its digits where two inputs all but agree.

    >>> u, v, w = normal_pair(2.0, 0.5)
    >>> round(float(w @ (u * v)), 12), round(float(w @ (u - v) ** 2) / 2, 12)
    (1.5, 0.5)
    """
    h = math.asin(min(1.0, math.sqrt(s / (2 * q))))
    x, weight = _interval(ANGLES)
    edges = torch.tensor([0.0, math.pi / 2 - h, math.pi / 2 + h, math.pi], dtype=torch.float64)
    half = edges.diff()[:, None] / 2  # (sectors, 1)
    t = (edges[:-1, None] + half * (x + 1)).reshape(-1, 1)
    r, w = half_line(NODES)
    radius = (
        math.sqrt(math.pi / 2) * r * w
    )  # the weight of |z|, sqrt(2/pi) exp(-r^2/2), made that of a radius
    weights = (half * weight).reshape(-1, 1) / math.pi * radius  # (angles, nodes)
    scale = math.sqrt(q)
    u, v = scale * r * torch.cos(t + h), scale * r * torch.cos(t - h)
    return u.reshape(-1), v.reshape(-1), weights.reshape(-1)
