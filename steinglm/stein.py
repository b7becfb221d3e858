"""Stein's second-order identity as an estimator of directions: the cross-moment of a layer's input with the response.

For h with a density p the second-order score is S2(h) = (grad^2 p)(h) / p(h), and E[y S2(h)] = B C B^T holds for a
multi-index model E(y | h) = g(B^T h) (the paper's equation for E[y S2(x)]): the eigenvectors of the cross-moment
span the directions that the response depends on. `cross_moment` estimates it under one of the `SCORES`, from rows that
may come in chunks; `directions` gives its leading eigenvectors, ordered and signed so that a result does not depend on
the LAPACK build.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor

from steinglm.exceptions import InvalidInputError

__all__ = ["SCORES", "cross_moment", "directions", "moment_and_mean", "random_frame"]

CHUNK_ELEMENTS = 1 << 17  # 1 MB of float64: stays in the cache, and bounds the memory
Chunks = Iterable[tuple[Tensor, Tensor]]


@dataclass
class _Sums:
    """Sums over rows of u = h - h0 and v = y - y0, about a shift that keeps them well conditioned."""

    h0: Tensor  # (..., d)
    y0: Tensor  # (...)
    n: int
    u: Tensor  # (..., d)
    v: Tensor  # (...)
    vu: Tensor  # (..., d)
    uu: Tensor  # (..., d, d), or only its diagonal (..., d)
    vuu: Tensor  # (..., d, d)


def _accumulate(chunks: Chunks, h0: Tensor, y0: Tensor, *, second: bool) -> _Sums:
    """Pass over the rows once. `second` asks for the whole of sum u u^T, else only its diagonal is summed."""
    *lead, d = h0.shape
    square = h0.new_zeros(*lead, d, d)
    uu = torch.zeros_like(square if second else h0)
    sums = _Sums(h0, y0, 0, torch.zeros_like(h0), torch.zeros_like(y0), torch.zeros_like(h0), uu, square)
    for h, y in chunks:
        # Units before rows: narrow GEMMs run along contiguous memory, in less than half of the time.
        u = torch.empty(*lead, d, h.shape[-2], dtype=torch.float64).copy_(h.mT).sub_(h0[..., None])
        v = (y.double() - y0[..., None])[..., None, :]  # (..., 1, c)
        sums.n += h.shape[-2]
        sums.u += u.sum(-1)
        sums.v += v.sum((-2, -1))
        sums.vu += (u @ v.mT).squeeze(-1)
        sums.vuu += (u * v) @ u.mT  # (..., d, d)
        sums.uu += u @ u.mT if second else u.square_().sum(-1)  # the last use of u
    return sums


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a[..., :, None] * b[..., None, :]


def _each(scalar: Tensor) -> Tensor:
    """A number for each table, to be multiplied with a matrix for each."""
    return scalar[..., None, None]


def _centered(sums: _Sums) -> tuple[Tensor, Tensor]:
    """C = (1/n) sum (y - ybar)(h - hbar)(h - hbar)^T and R = (1/n) sum (h - hbar)(h - hbar)^T, from shifted sums."""
    n = sums.n
    u, v = sums.u / n, sums.v / n
    second = sums.uu / n if sums.uu.dim() == sums.vuu.dim() else torch.diag_embed(sums.uu / n)
    cross = sums.vu / n - v[..., None] * u  # (1/n) sum (y - ybar)(h - h0)
    C = sums.vuu / n - _each(v) * second - _outer(cross, u) - _outer(u, cross)
    return C, second - _outer(u, u)


def _identity(sums: _Sums) -> Tensor:
    """M = (1/n) sum y_i (h_i h_i^T - I), the paper's empirical cross-moment with S2(h) = h h^T - I."""
    return sums.vuu / sums.n - _each(sums.v / sums.n) * torch.eye(sums.u.shape[-1], dtype=torch.float64)


def _variances(R: Tensor) -> Tensor:
    """The diagonal (..., d), with 1 for a constant unit."""
    diagonal = R.diagonal(dim1=-2, dim2=-1)
    return torch.where(diagonal > 0, diagonal, 1.0)


def _standardized(sums: _Sums) -> Tensor:
    """M = (1/n) sum (y_i - ybar) z_i z_i^T with z the standardized h: the paper's assumption h ~ N(0, I), met."""
    C, R = _centered(sums)
    scale = _variances(R).rsqrt()  # a constant unit has z = 0 and C = 0
    return scale[..., :, None] * C * scale[..., None, :]


def _gaussian(sums: _Sums) -> Tensor:
    """M = P C P, P the inverse of the shrunk covariance: S2(h) = P (h - mu)(h - mu)^T P - P of a normal density.

    The covariance is shrunk towards its diagonal by d / (n + d), which leaves a well-sampled one as it is and keeps
    P finite when units are copies of one another.
    """
    C, R = _centered(sums)
    d = R.shape[-1]
    shrinkage = d / (sums.n + d)
    P = torch.linalg.pinv((1 - shrinkage) * R + shrinkage * torch.diag_embed(_variances(R)), hermitian=True)
    return P @ C @ P


SCORES: dict[str, Callable[[_Sums], Tensor]] = {
    "identity": _identity,
    "standardized": _standardized,
    "gaussian": _gaussian,
}


def cross_moment(
    h: Tensor | np.ndarray | Iterable[Tensor],
    y: Tensor | np.ndarray | Iterable[Tensor],
    score: str = "standardized",
) -> Tensor:
    """The empirical cross-moment (1/n) sum_i y_i S2(h_i) between the second-order score and the response.

    Parameters
    ----------
    h : tensor or array of shape (n, d), or an iterable of chunks of rows (c, d)
        Chunks are passed over once and never held together, so that n is not bounded by memory. A tensor may have
        leading axes (..., n, d): so many tables, each with a moment of its own, in a fraction of the time.
    y : tensor or array of shape (n,), or (..., n) like h, or an iterable of chunks (c,) that go with those of `h`
    score : one of `SCORES`
        "identity" is the paper's formula verbatim (y h h^T - y I); "standardized" meets the assumption h ~ N(0, I)
        by standardizing h and centering y; "gaussian" uses the score of a normal density with h's own covariance.

    Returns
    -------
    A symmetric float64 tensor of shape (..., d, d), accumulated in float64 whatever the input's dtype.

    Raises
    ------
    InvalidInputError
        An unknown score, shapes that do not match, no rows, or values that are not finite.

    >>> h = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> cross_moment(h, torch.tensor([1.0, 0.0]), "identity")
    tensor([[ 0.0000,  0.0000],
            [ 0.0000, -0.5000]], dtype=torch.float64)
    """
    return moment_and_mean(h, y, score)[0]


def moment_and_mean(
    h: Tensor | np.ndarray | Iterable[Tensor], y: Tensor | np.ndarray | Iterable[Tensor], score: str
) -> tuple[Tensor, Tensor]:
    """The cross-moment (see `cross_moment`) and the mean of h (..., d), which falls out of the same pass."""
    if score not in SCORES:
        raise InvalidInputError("score", f"one of {', '.join(SCORES)}", score, "choose one of these")
    if isinstance(h, np.ndarray | Tensor):
        sums = _sums_of_table(_tensor(h), _tensor(y), score)
    else:
        sums = _sums_of_chunks(h, y, score)
    M = SCORES[score](sums)
    if not torch.isfinite(M).all():
        raise InvalidInputError(
            "h and y", "finite numbers", "nan or inf", "drop or impute missing values first"
        )
    return (M + M.mT) / 2, sums.h0 + sums.u / sums.n  # exactly symmetric


def _sums_of_table(h: Tensor, y: Tensor, score: str) -> _Sums:
    """The sums about the exact means, so that a centered moment costs one GEMM and no correction."""
    _check_rows(h, y)
    *lead, n, d = h.shape  # tables, samples, units
    size = max(1, CHUNK_ELEMENTS // (d * math.prod(lead)))
    if score == "identity":
        h0, y0 = torch.zeros(*lead, d, dtype=torch.float64), torch.zeros(lead, dtype=torch.float64)
    else:
        h0 = torch.stack([part.sum(-2, dtype=torch.float64) for part in h.split(size, -2)]).sum(0) / n
        y0 = y.mean(-1, dtype=torch.float64)
    chunks = zip(h.split(size, -2), y.split(size, -1), strict=True)
    return _accumulate(chunks, h0, y0, second=score == "gaussian")


def _sums_of_chunks(h: Iterable[Tensor], y: Iterable[Tensor], score: str) -> _Sums:
    """The sums about the first chunk's means; `_centered` corrects for the difference, for which it needs u u^T."""
    chunks = _checked(zip_longest(h, y))
    first = next(chunks, None)
    if first is None:
        raise InvalidInputError("h", "at least one chunk of rows", "none", "pass a non-empty iterable")
    h0, y0 = first[0].double().mean(0), first[1].double().mean()
    if score == "identity":
        h0, y0 = torch.zeros_like(h0), torch.zeros_like(y0)

    def rows() -> Iterator[tuple[Tensor, Tensor]]:
        yield first
        yield from chunks

    return _accumulate(rows(), h0, y0, second=score != "identity")


def _checked(chunks: Iterable[tuple[Tensor | None, Tensor | None]]) -> Iterator[tuple[Tensor, Tensor]]:
    d: int | None = None
    for h, y in chunks:
        if h is None or y is None:
            got = "more of y" if h is None else "more of h"
            raise InvalidInputError(
                "h and y", "as many chunks of one as of the other", got, "pair the chunks"
            )
        h, y = _tensor(h), _tensor(y)
        _check_rows(h, y)
        if d is not None and h.shape[1] != d:
            raise InvalidInputError(
                "h", f"chunks of {d} columns", h.shape[1], "give every chunk the same columns"
            )
        d = h.shape[1]
        yield h, y


def _tensor(values: Any) -> Tensor:
    # torch warns of arrays that it could not write to, such as a data frame's
    return torch.as_tensor(values if isinstance(values, Tensor) else np.require(values, requirements="W"))


def _check_rows(h: Tensor, y: Tensor) -> None:
    if h.dim() < 2 or 0 in h.shape:
        raise InvalidInputError("h", "a table (n, d) with n, d >= 1", tuple(h.shape), "one row a sample")
    if y.shape != h.shape[:-1]:
        raise InvalidInputError(
            "y", f"of shape {tuple(h.shape[:-1])}", tuple(y.shape), "one response a row of h"
        )


def directions(moment: Tensor, k: int, *, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """The top k eigenvectors of a cross-moment: the estimator of B in the paper's E[y S2(x)] = B C B^T.

    Eigenvalues are ordered by absolute value, largest first (a c_j may be negative); each eigenvector's entry of
    largest magnitude is positive. Where k > d, the d eigenvectors are followed by columns of random orthogonal
    frames: copies would stay tied for ever.

    Parameters
    ----------
    moment : tensor (d, d), symmetric
    k : the number of directions, 1 or more
    generator : where the random columns come from; needed only if k > d

    Returns
    -------
    (vectors (d, k), eigenvalues (d,)), both float64; the first min(d, k) vectors are orthonormal.

    >>> vectors, eigenvalues = directions(torch.diag(torch.tensor([1.0, -3.0])), 1)
    >>> vectors.flatten().tolist(), eigenvalues.tolist()
    ([0.0, 1.0], [-3.0, 1.0])
    """
    if moment.dim() != 2 or moment.shape[0] != moment.shape[1]:
        raise InvalidInputError("moment", "a square matrix (d, d)", tuple(moment.shape), "see cross_moment")
    if k < 1:
        raise InvalidInputError("k", "1 or more", k, "a layer has at least one unit")
    if not torch.isfinite(moment).all():
        raise InvalidInputError("moment", "finite", "nan or inf", "see cross_moment")
    eigenvalues, V = torch.linalg.eigh(moment.double())  # (d,), (d, d)
    order = eigenvalues.abs().argsort(descending=True, stable=True)
    eigenvalues, V = eigenvalues[order], V[:, order]
    pivot = V.abs().argmax(0, keepdim=True)
    V = V * V.gather(0, pivot).sign()
    d = V.shape[0]
    if k > d:
        if generator is None:
            raise InvalidInputError(
                "generator", f"a torch.Generator when k > d ({k} > {d})", None, "pass generator="
            )
        frames = [random_frame(d, d, generator=generator) for _ in range(-(-(k - d) // d))]
        V = torch.cat([V, *frames], dim=1)
    return V[:, :k], eigenvalues


def random_frame(d: int, k: int, *, generator: torch.Generator) -> Tensor:
    """A float64 (d, k) matrix with orthonormal columns (rows, if k > d), uniform over such matrices.

    QR of a Gaussian matrix with the sign of diag(R) taken out (Mezzadri, 2007), as in Saxe et al. (2013).
    """
    gaussian = torch.randn(max(d, k), min(d, k), generator=generator, dtype=torch.float64)
    Q, R = torch.linalg.qr(gaussian)
    Q = Q * R.diagonal().sign()
    return Q if d >= k else Q.T
