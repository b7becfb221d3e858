"""Stein's second-order identity as an estimator of directions: the cross-moment of a layer's input with the response.

For h with a density p the second-order score is S2(h) = (grad^2 p)(h) / p(h), and E[y S2(h)] = B C B^T holds for a
multi-index model E(y | h) = g(B^T h) (the paper's equation for E[y S2(x)]): the eigenvectors of the cross-moment
span the directions that the response depends on. `cross_moment` estimates it under one of the `SCORES`, from rows that
may come in chunks; `directions` gives its leading eigenvectors, ordered and signed so that a result does not depend on
the LAPACK build. Many responses y_1 .. y_C have the moments M_1 .. M_C, and the leading left singular vectors of
[M_1 .. M_C] as their directions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor

from steinglm.exceptions import InvalidInputError
from steinglm.passes import Rows
from steinglm.scores import REPEATED, SCORES, SUMMED
from steinglm.sums import Chunks, Sums, centered, sums_of

__all__ = ["SCORES", "Moments", "cross_moment", "directions", "moments", "random_frame"]


@dataclass(frozen=True, eq=False)
class Moments:
    """What the rows give: float64, on the device of the rows.

    cross : (..., d, d), the cross-moment; (..., C, d, d) for C responses
    mean : (..., d), the mean of h
    covariance : (..., d, d), the population covariance of h; None unless it was asked for
    """

    cross: Tensor
    mean: Tensor
    covariance: Tensor | None = None


def cross_moment(
    h: Tensor | np.ndarray | Iterable[Tensor],
    y: Tensor | np.ndarray | Iterable[Tensor],
    score: str = "standardized",
) -> Tensor:
    """The empirical cross-moment (1/n) sum_i y_i S2(h_i) between the second-order score and the response.

    Parameters
    ----------
    h : tensor or array of shape (n, d), or an iterable of chunks of rows (c, d)
        Chunks are passed over one by one and never held together, so that n is not bounded by memory; the last four
        scores pass over them two to four times, and need a list, or what else starts anew. A tensor may have
        leading axes (..., n, d): so many tables, each with a moment of its own, in a fraction of the time.
    y : tensor or array of shape (n,) or (n, 1), or (n, C) for C responses, or an iterable of chunks with those of `h`
        With leading axes like those of h: (..., n) or (..., n, C).
    score : one of `SCORES`
        "identity" is the paper's formula verbatim (y h h^T - y I), "centered" the same with y centered;
        "standardized" meets the assumption h ~ N(0, I) by standardizing h and centering y; "gaussian" uses the score
        of a normal density with h's own covariance. "residual" is "standardized" with y less its linear fit on h;
        "mixed" the mean outer product of gradients of the first and second order, which sees odd links too; "mixture"
        uses the score of a Gaussian mixture, and "matched" that of a density learned by score matching.

    Returns
    -------
    A symmetric float64 tensor of shape (..., d, d), accumulated in float64 whatever the input's dtype; for C
    responses (..., C, d, d), one moment each.

    Raises
    ------
    InvalidInputError
        An unknown score, shapes that do not match, no rows, or values that are not finite; chunks that cannot be
        passed over again, under a score that has to.

    >>> h = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    >>> cross_moment(h, torch.tensor([1.0, 0.0]), "identity")
    tensor([[ 0.0000,  0.0000],
            [ 0.0000, -0.5000]], dtype=torch.float64)
    """
    if isinstance(h, np.ndarray | Tensor):
        return moments([(_tensor(h), _tensor(y))], score).cross
    return moments(_Paired(h, y), score).cross


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
        A score of `scores.REPEATED` passes over them again, and needs the same rows each time.
        h may be `Windows`, which stand for many rows a sample; y is then one a sample.
    y_mean : the mean of y over all chunks, () or (C,), if it is known: one GEMM a chunk, else two
    covariance : whether to give it; another GEMM
    """
    if score not in SCORES:
        raise InvalidInputError("score", f"one of {', '.join(SCORES)}", score, "choose one of these")
    second = covariance or score == "gaussian" or score in REPEATED
    sums = sums_of(chunks, score, second=second, y_mean=y_mean)
    _check_finite(sums.vuu)
    cross = SUMMED[score](sums) if score in SUMMED else _again(chunks, sums, score)
    _check_finite(cross)
    mean = sums.h0 + sums.u / sums.n
    R = centered(sums)[1] if covariance else None
    if mean.shape[:-1] != cross.shape[:-2]:  # the axis of length 1 that stands where y has its responses
        mean, R = mean.squeeze(-2), None if R is None else R.squeeze(-3)
    return Moments((cross + cross.mT) / 2, mean, R)  # exactly symmetric


def _again(chunks: Chunks, sums: Sums, score: str) -> Tensor:
    return REPEATED[score](Rows.of(chunks, sums)).reshape(sums.vuu.shape)


def _check_finite(moment: Tensor) -> None:
    if not torch.isfinite(moment).all():
        raise InvalidInputError(
            "h and y", "finite numbers", "nan or inf", "drop or impute missing values first"
        )


@dataclass(frozen=True, eq=False)
class _Paired:
    """Chunks of h and of y, side by side; where both start anew, so does this."""

    h: Iterable[Tensor]
    y: Iterable[Tensor]

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return _paired(self.h, self.y)


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
