"""Stein's second-order identity as an estimator of directions: the cross-moment of a layer's input with the response.

For h with a density p the second-order score is S2(h) = (grad^2 p)(h) / p(h), and E[y S2(h)] = B C B^T holds for a
multi-index model E(y | h) = g(B^T h) (the paper's equation for E[y S2(x)]): the eigenvectors of the cross-moment
span the directions that the response depends on. `cross_moment` estimates it under one of the `SCORES`, from rows that
may come in chunks; `directions` gives its leading eigenvectors, ordered and signed so that a result does not depend on
the LAPACK build. Many responses y_1 .. y_C have the moments M_1 .. M_C, and the leading left singular vectors of
[M_1 .. M_C] as their directions.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor

from steinglm.exceptions import InvalidInputError
from steinglm.windows import Windows

__all__ = ["SCORES", "Moments", "cross_moment", "directions", "moments", "random_frame"]

CHUNK_ELEMENTS = 1 << 17  # 1 MB of float64: stays in the cache, and bounds the memory
Chunks = Iterable[tuple[Tensor | Windows, Tensor]]


@dataclass(frozen=True, eq=False)
class Moments:
    """What one pass over the rows gives: float64, on the device of the rows.

    cross : (..., d, d), the cross-moment; (..., C, d, d) for C responses
    mean : (..., d), the mean of h
    covariance : (..., d, d), the population covariance of h; None unless it was asked for
    """

    cross: Tensor
    mean: Tensor
    covariance: Tensor | None = None


@dataclass
class _Sums:
    """Sums over rows of u = h - h0 and v = y - y0, about a shift that keeps them well conditioned.

    Tables of h and responses y broadcast against one another: for C responses, h has an axis of length 1 where
    y has C.
    """

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
    both = torch.broadcast_shapes(lead, y0.shape)
    uu = h0.new_zeros(*lead, d, d) if second else torch.zeros_like(h0)
    zeros = torch.zeros_like(h0), torch.zeros_like(y0), h0.new_zeros(*both, d)
    sums = _Sums(h0, y0, 0, *zeros, uu, h0.new_zeros(*both, d, d))
    for h, y in chunks:
        v = y.double() - y0[..., None]  # (..., c), or a number a sample for windows
        rows = h.rows if isinstance(h, Windows) else h.shape[-2]
        sums.n += rows
        sums.v += v.sum(-1) * (rows // v.shape[-1])
        own = h.sums(h0, v, second=second) if isinstance(h, Windows) else _sums_of_rows(h, h0, v, second)
        for total, part in zip((sums.u, sums.vu, sums.uu, sums.vuu), own, strict=True):
            total += part
    return sums


def _sums_of_rows(h: Tensor, h0: Tensor, v: Tensor, second: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums of u, v u, u u^T (its diagonal unless `second`) and v u u^T over the rows h (..., c, d), u = h - h0."""
    # Units before rows: narrow GEMMs run along contiguous memory, in less than half of the time.
    u = h0.new_empty(*h0.shape, h.shape[-2]).copy_(h.mT).sub_(h0[..., None])  # (..., d, c)
    vu = (u @ v[..., None]).squeeze(-1)
    vuu = (u * v[..., None, :]) @ u.mT  # (..., d, d)
    total = u.sum(-1)
    return total, vu, u @ u.mT if second else u.square_().sum(-1), vuu  # the last use of u


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a[..., :, None] * b[..., None, :]


def _each(scalar: Tensor) -> Tensor:
    """A number for each table, to be multiplied with a matrix for each."""
    return scalar[..., None, None]


def _second(sums: _Sums) -> Tensor:
    """(1/n) sum u u^T, or its diagonal where only that was summed."""
    return (sums.uu if sums.uu.dim() == sums.vuu.dim() else torch.diag_embed(sums.uu)) / sums.n


def _centered(sums: _Sums) -> tuple[Tensor, Tensor]:
    """C = (1/n) sum (y - ybar)(h - hbar)(h - hbar)^T and R = (1/n) sum (h - hbar)(h - hbar)^T, from shifted sums."""
    n, second = sums.n, _second(sums)
    u, v = sums.u / n, sums.v / n
    cross = sums.vu / n - v[..., None] * u  # (1/n) sum (y - ybar)(h - h0)
    C = sums.vuu / n - _each(v) * second - _outer(cross, u) - _outer(u, cross)
    return C, second - _outer(u, u)


def _identity(sums: _Sums) -> Tensor:
    """M = (1/n) sum y_i (h_i h_i^T - I), the paper's empirical cross-moment with S2(h) = h h^T - I."""
    identity = torch.eye(sums.u.shape[-1], dtype=torch.float64, device=sums.u.device)
    return sums.vuu / sums.n - _each(sums.v / sums.n) * identity


def _centered_response(sums: _Sums) -> Tensor:
    """M = (1/n) sum (y_i - ybar)(h_i h_i^T - I), the paper's formula with the mean of the response taken out first."""
    return sums.vuu / sums.n - _each(sums.v / sums.n) * _second(sums)


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
    "centered": _centered_response,
    "standardized": _standardized,
    "gaussian": _gaussian,
}
UNSHIFTED = ("identity", "centered")  # take the rows of h as they are, their mean included


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
    y : tensor or array of shape (n,) or (n, 1), or (n, C) for C responses, or an iterable of chunks with those of `h`
        With leading axes like those of h: (..., n) or (..., n, C).
    score : one of `SCORES`
        "identity" is the paper's formula verbatim (y h h^T - y I), "centered" the same with y centered;
        "standardized" meets the assumption h ~ N(0, I) by standardizing h and centering y; "gaussian" uses the score
        of a normal density with h's own covariance.

    Returns
    -------
    A symmetric float64 tensor of shape (..., d, d), accumulated in float64 whatever the input's dtype; for C
    responses (..., C, d, d), one moment each.

    Raises
    ------
    InvalidInputError
        An unknown score, shapes that do not match, no rows, or values that are not finite.

    >>> h = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> cross_moment(h, torch.tensor([1.0, 0.0]), "identity")
    tensor([[ 0.0000,  0.0000],
            [ 0.0000, -0.5000]], dtype=torch.float64)
    """
    if isinstance(h, np.ndarray | Tensor):
        return moments([(_tensor(h), _tensor(y))], score).cross
    return moments(_paired(h, y), score).cross


def moments(
    chunks: Chunks,
    score: str,
    *,
    y_mean: Tensor | None = None,
    covariance: bool = False,
) -> Moments:
    """The cross-moment (see `cross_moment`), and the mean and covariance of h, which fall out of the same pass.

    Parameters
    ----------
    chunks : pairs h (..., c, d) and y (..., c) or (..., c, C); a list of one pair is a table held in memory
        h may be `Windows`, which stand for many rows a sample; y is then one a sample.
    y_mean : the mean of y over all chunks, () or (C,), if it is known: one GEMM a chunk, else two
    covariance : whether to give it; another GEMM
    """
    if score not in SCORES:
        raise InvalidInputError("score", f"one of {', '.join(SCORES)}", score, "choose one of these")
    second = covariance or score == "gaussian"
    if isinstance(chunks, list) and len(chunks) == 1:
        h, y = chunks[0]
        sums = _sums_of_table(h, y, score, second)
    else:
        sums = _sums_of_chunks(chunks, score, second, y_mean)
    cross, mean = SCORES[score](sums), sums.h0 + sums.u / sums.n
    if not torch.isfinite(cross).all():
        raise InvalidInputError(
            "h and y", "finite numbers", "nan or inf", "drop or impute missing values first"
        )
    R = _centered(sums)[1] if covariance else None
    if mean.shape[:-1] != cross.shape[:-2]:  # the axis of length 1 that stands where y has its responses
        mean, R = mean.squeeze(-2), None if R is None else R.squeeze(-3)
    return Moments((cross + cross.mT) / 2, mean, R)  # exactly symmetric


def _aligned_windows(h: Windows, y: Tensor) -> tuple[Windows, Tensor]:
    """As `_aligned`; y (..., n, C), the leading axes being those of the lines."""
    if y.shape[-1] == 1:
        return h, y.squeeze(-1)
    return replace(h, lines=h.lines.unsqueeze(-5)), y.mT


def _aligned(h: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """h (..., n, d) and y (..., n) as they are; for y (..., n, C), h (..., 1, n, d) and y (..., C, n)."""
    _check_rows(h, y)
    if y.dim() < h.dim():
        return h, y
    return (h, y.squeeze(-1)) if y.shape[-1] == 1 else (h.unsqueeze(-3), y.mT)


def _sums_of_table(h: Tensor, y: Tensor, score: str, second: bool) -> _Sums:
    """The sums about the exact means, so that a centered moment costs one GEMM and no correction."""
    h, y = _aligned(h, y)
    *lead, n, d = h.shape  # tables, samples, units
    size = max(1, CHUNK_ELEMENTS // (d * math.prod(lead)))
    h0, y0 = h.new_zeros(*lead, d, dtype=torch.float64), y.mean(-1, dtype=torch.float64)
    if score == "identity":
        y0 = torch.zeros_like(y0)
    elif score not in UNSHIFTED:
        h0 = torch.stack([part.sum(-2, dtype=torch.float64) for part in h.split(size, -2)]).sum(0) / n
    chunks = zip(h.split(size, -2), y.split(size, -1), strict=True)
    return _accumulate(chunks, h0, y0, second=second)


def _sums_of_chunks(chunks: Chunks, score: str, second: bool, y_mean: Tensor | None) -> _Sums:
    """The sums about the first chunk's means; `_centered` corrects for the difference.

    Where y's mean differs from the shift, the correction takes the whole of sum u u^T.
    """
    pairs = _checked(chunks)
    first = next(pairs, None)
    if first is None:
        raise InvalidInputError("h", "at least one chunk of rows", "none", "pass a non-empty iterable")
    h, y = first
    h0 = h.mean() if isinstance(h, Windows) else h.mean(-2, dtype=torch.float64)
    y0 = y.mean(-1, dtype=torch.float64)
    if y_mean is not None:
        y0 = torch.zeros_like(y0) + (y_mean if y_mean.numel() > 1 else y_mean.reshape(()))
    if score in UNSHIFTED:
        h0 = torch.zeros_like(h0)
    if score == "identity":
        y0 = torch.zeros_like(y0)
    exact = score == "identity" or y_mean is not None
    return _accumulate(chain([first], pairs), h0, y0, second=second or not exact)


def _checked(chunks: Chunks) -> Iterator[tuple[Tensor | Windows, Tensor]]:
    d: int | None = None
    for h, y in chunks:
        if isinstance(h, Windows):
            yield _aligned_windows(h, y)
            continue
        h, y = _aligned(h, y)
        if d is not None and h.shape[-1] != d:
            raise InvalidInputError(
                "h", f"chunks of {d} columns", h.shape[-1], "give every chunk the same columns"
            )
        d = h.shape[-1]
        yield h, y


def _paired(h: Iterable[Tensor], y: Iterable[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    for chunk, responses in zip_longest(h, y):
        if chunk is None or responses is None:
            got = "more of y" if chunk is None else "more of h"
            raise InvalidInputError(
                "h and y", "as many chunks of one as of the other", got, "pair the chunks"
            )
        yield _tensor(chunk), _tensor(responses)


def _tensor(values: Any) -> Tensor:
    # torch warns of arrays that it could not write to, such as a data frame's
    return torch.as_tensor(values if isinstance(values, Tensor) else np.require(values, requirements="W"))


def _check_rows(h: Tensor, y: Tensor) -> None:
    if h.dim() < 2 or 0 in h.shape:
        raise InvalidInputError("h", "a table (n, d) with n, d >= 1", tuple(h.shape), "one row a sample")
    if y.shape[: h.dim() - 1] != h.shape[:-1] or y.dim() > h.dim() or 0 in y.shape:
        raise InvalidInputError(
            "y",
            f"of shape {tuple(h.shape[:-1])}, and an axis more for many responses",
            tuple(y.shape),
            "one response, or one row of responses, a row of h",
        )


def directions(moment: Tensor, k: int, *, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """The top k eigenvectors of a cross-moment: the estimator of B in the paper's E[y S2(x)] = B C B^T.

    Eigenvalues are ordered by absolute value, largest first (a c_j may be negative); each eigenvector's entry of
    largest magnitude is positive. For C moments these are the left singular vectors and the singular values of
    [M_1 .. M_C]. Where k > d, the d vectors are followed by columns of random orthogonal frames: copies would stay
    tied for ever.

    Parameters
    ----------
    moment : tensor (d, d), symmetric, or (C, d, d)
    k : the number of directions, 1 or more
    generator : where the random columns come from; needed only if k > d

    Returns
    -------
    (vectors (d, k), eigenvalues (d,)), both float64; the first min(d, k) vectors are orthonormal.

    >>> vectors, eigenvalues = directions(torch.diag(torch.tensor([1.0, -3.0])), 1)
    >>> vectors.flatten().tolist(), eigenvalues.tolist()
    ([0.0, 1.0], [-3.0, 1.0])
    """
    if moment.dim() not in (2, 3) or moment.shape[-2] != moment.shape[-1]:
        raise InvalidInputError(
            "moment", "a square matrix (d, d), or (C, d, d)", tuple(moment.shape), "see cross_moment"
        )
    if k < 1:
        raise InvalidInputError("k", "1 or more", k, "a layer has at least one unit")
    if not torch.isfinite(moment).all():
        raise InvalidInputError("moment", "finite", "nan or inf", "see cross_moment")
    V, eigenvalues = _singular(moment.double()) if len(moment) > 1 and moment.dim() == 3 else _eigen(moment)
    pivot = V.abs().argmax(0, keepdim=True)
    V = V * V.gather(0, pivot).sign()
    d = V.shape[0]
    if k > d:
        if generator is None:
            raise InvalidInputError(
                "generator", f"a torch.Generator when k > d ({k} > {d})", None, "pass generator="
            )
        frames = [random_frame(d, d, generator=generator) for _ in range(-(-(k - d) // d))]
        V = torch.cat([V, *(frame.to(V.device) for frame in frames)], dim=1)
    return V[:, :k], eigenvalues


def _eigen(moment: Tensor) -> tuple[Tensor, Tensor]:
    eigenvalues, V = torch.linalg.eigh(moment.reshape(moment.shape[-2:]).double())  # (d,), (d, d)
    order = eigenvalues.abs().argsort(descending=True, stable=True)
    return V[:, order], eigenvalues[order]


def _singular(moments: Tensor) -> tuple[Tensor, Tensor]:
    stacked = torch.cat(list(moments), dim=1)  # (d, C d)
    U, singular, _ = torch.linalg.svd(stacked, full_matrices=False)
    return U, singular


def random_frame(d: int, k: int, *, generator: torch.Generator) -> Tensor:
    """A float64 (d, k) matrix with orthonormal columns (rows, if k > d), uniform over such matrices.

    QR of a Gaussian matrix with the sign of diag(R) taken out (Mezzadri, 2007), as in Saxe et al. (2013).
    """
    gaussian = torch.randn(max(d, k), min(d, k), generator=generator, dtype=torch.float64)
    Q, R = torch.linalg.qr(gaussian)
    Q = Q * R.diagonal().sign()
    return Q if d >= k else Q.T
