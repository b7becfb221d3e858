"""What is done to one layer, given its input's rows and their responses: Stein's step, and those of its rivals.

A step writes the layer's weights and bias in place and reports. With h the layer's input of mean m and covariance R
over the data, and a = W^T h + b:

Stein (the paper's equations for W_1 and b_1): W = alpha V, V the leading directions of the cross-moment, b = -W^T m
Stein, rescaled: the same directions, each of a length that gives its unit the variance w^T R w = 1
PCA: W = alpha V, V the leading eigenvectors of R, b = -W^T m
LSUV (Mishkin and Matas, 2016): W orthonormal, divided by the root of the variance of a over data and units, b = 0
Orthogonal: W orthonormal, b = 0
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from steinglm import samples
from steinglm.mlp import ACTIVATIONS
from steinglm.reports import LayerReport
from steinglm.sources import Source
from steinglm.stein import Moments, directions, moments, random_frame
from steinglm.sums import Chunks
from steinglm.tracing import Link

__all__ = ["Rule", "Step", "lsuv_", "orthogonal_layer_", "pca_", "stein_", "stein_output_", "stein_rescaled_"]

TOLERANCE = 0.1  # Tol_var of Mishkin and Matas (2016), their algorithm 1
FLAT = 1e-10  # of the largest variance of a unit: below it is what rounding leaves of a constant
RANK = 1e-12  # of the largest eigenvalue of a covariance


@dataclass(frozen=True)
class Rule:
    """How a layer is to be treated; see `init.stein_glm_`. A step takes of it what it knows."""

    alpha: float | str | None
    score: str
    max_patches: int | None
    generator: torch.Generator
    calibrate: bool = True


Step = Callable[[Link, Source, Rule, Chunks], LayerReport]


def stein_(link: Link, data: Source, rule: Rule, rows: Chunks) -> LayerReport:
    """W = alpha V (the paper's equation for W_1), b = -(1/n) sum W^T h_i (its equation for b_1), or 0."""
    start = time.perf_counter()
    alpha = _alpha(link, rule)
    m = moments(rows, rule.score, y_mean=data.response_mean, covariance=alpha == "auto")
    V, spectrum = _stein_directions(link, m, rule)
    if not rule.calibrate:
        m = replace(m, mean=torch.zeros_like(m.mean))
    return _scaled_(link, V, m, alpha, "stein", rule.score, spectrum, start)


def stein_output_(link: Link, data: Source, rule: Rule, rows: Chunks) -> LayerReport:
    """Stein's step for an output layer, whose linear predictor does not pass through an activation: alpha is 1."""
    return stein_(link, data, replace(rule, alpha=1.0), rows)


def stein_rescaled_(link: Link, data: Source, rule: Rule, rows: Chunks) -> LayerReport:
    """Stein's directions, each scaled to a pre-activation of variance 1; one that is constant keeps its length."""
    start = time.perf_counter()
    m = moments(rows, rule.score, y_mean=data.response_mean, covariance=True)
    V, spectrum = _stein_directions(link, m, rule)  # (groups, d, k)
    variance = _unit_variances(V, m)
    flat = variance <= FLAT * variance.max()
    W = V / torch.where(flat, 1.0, variance).sqrt()[:, None]
    samples.write_(link.layer, W, _means(link, m))
    return _report(link, "steinglm_lsuv", start, score=rule.score, eigenvalues=spectrum)


def pca_(link: Link, _: Source, rule: Rule, rows: Chunks) -> LayerReport:
    """W = alpha V, V the leading eigenvectors of the covariance, b = -W^T m; see `rivals.pca_init_`."""
    start = time.perf_counter()
    m = moments(rows, "standardized", covariance=True)
    groups, d, k = samples.matrix_shape(link.layer)
    V, eigenvalues = [], []
    for R in _covariances(link, m):
        vectors, spectrum = directions(R, min(d, k))
        rank = min(k, int((spectrum > RANK * spectrum[0]).sum()))
        V.append(torch.cat([vectors[:, :rank], _frames(d, k - rank, rule.generator).to(vectors)], 1))
        eigenvalues.append(spectrum)
    found = torch.stack(eigenvalues).cpu().numpy()
    spectrum_ = found if groups > 1 else found[0]
    return _scaled_(link, torch.stack(V), m, _alpha(link, rule), "pca", None, spectrum_, start)


def lsuv_(link: Link, _: Source, rule: Rule, rows: Chunks) -> LayerReport:
    """W orthonormal, divided by the root of the variance of a over data and units unless that is near 1; b = 0.

    A linear layer's variance is exactly 1 after one division, so that the paper's loop ends with the first.
    """
    start = time.perf_counter()
    m = moments(rows, "standardized", covariance=True)
    W = _orthonormal(link, rule)
    means = (_means(link, m)[:, None] @ W).flatten()  # of each unit
    variance = float(_unit_variances(W, m).mean() + means.var(correction=0))
    if abs(variance - 1) >= TOLERANCE and variance > 0:
        W = W * variance**-0.5
    _write_unbiased_(link, W)
    return _report(link, "lsuv", start)


def orthogonal_layer_(link: Link, _: Source, rule: Rule, __: Chunks) -> LayerReport:
    """W orthonormal, b = 0, whatever the data are."""
    start = time.perf_counter()
    _write_unbiased_(link, _orthonormal(link, rule))
    return _report(link, "orthogonal", start)


def _stein_directions(link: Link, m: Moments, rule: Rule) -> tuple[Tensor, np.ndarray]:
    """The directions of each group (groups, d, k), and the eigenvalues (d,) or (groups, d)."""
    groups, _, k = samples.matrix_shape(link.layer)
    each = [m.cross] if groups == 1 else list(m.cross)
    V, eigenvalues = zip(*(directions(cross, k, generator=rule.generator) for cross in each), strict=True)
    spectrum = torch.stack(eigenvalues).cpu().numpy()
    return torch.stack(V), spectrum[0] if groups == 1 else spectrum


def _scaled_(
    link: Link,
    V: Tensor,
    m: Moments,
    alpha: float | str,
    rule: str,
    score: str | None,
    eigenvalues: np.ndarray,
    start: float,
) -> LayerReport:
    """Write W = alpha V (groups, d, k) with the bias that centers; "auto" gives a mean variance of 1."""
    if alpha == "auto":
        variance = float(_unit_variances(V, m).mean())
        alpha = variance**-0.5 if variance > 0 else 1.0  # a constant input has no variance to restore
    samples.write_(link.layer, float(alpha) * V, _means(link, m))
    return _report(link, rule, start, alpha=float(alpha), score=score, eigenvalues=eigenvalues)


def _report(
    link: Link,
    rule: str,
    start: float,
    *,
    alpha: float | None = None,
    score: str | None = None,
    eigenvalues: np.ndarray | None = None,
) -> LayerReport:
    shape, seconds = tuple(link.layer.weight.shape), time.perf_counter() - start
    return LayerReport(link.name, shape, rule, alpha, score, eigenvalues, seconds=seconds)


def _alpha(link: Link, rule: Rule) -> float | str:
    """Where it is not given 1 / f'(0), from the first-order expansion of f (the paper's section 2.2).

    "auto" where f'(0) is not known.
    """
    if rule.alpha is not None:
        return rule.alpha
    slope = None if link.activation is None else ACTIVATIONS[link.activation].slope
    return "auto" if slope is None else 1 / slope


def _means(link: Link, m: Moments) -> Tensor:
    return m.mean.reshape(samples.matrix_shape(link.layer)[0], -1)  # (groups, d)


def _covariances(link: Link, m: Moments) -> Tensor:
    assert m.covariance is not None
    groups, d, _ = samples.matrix_shape(link.layer)
    return m.covariance.reshape(groups, d, d)


def _unit_variances(W: Tensor, m: Moments) -> Tensor:
    """w^T R w of each unit (groups, k)."""
    assert m.covariance is not None
    return (W * (m.covariance @ W)).sum(-2)


def _orthonormal(link: Link, rule: Rule) -> Tensor:
    groups, d, k = samples.matrix_shape(link.layer)
    frames = [random_frame(d, k, generator=rule.generator) for _ in range(groups)]
    return torch.stack(frames).to(link.layer.weight.device)


def _frames(d: int, k: int, generator: torch.Generator) -> Tensor:
    """Columns (d, k) of random orthonormal frames, of as many as it takes."""
    frames = [random_frame(d, d, generator=generator) for _ in range(-(-k // d))]
    return torch.cat([torch.empty(d, 0, dtype=torch.float64), *frames], 1)[:, :k]


@torch.no_grad()
def _write_unbiased_(link: Link, W: Tensor) -> None:
    link.layer.weight.copy_(W.mT.reshape(link.layer.weight.shape))
    if link.layer.bias is not None:
        link.layer.bias.zero_()
