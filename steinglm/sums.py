"""One pass over the rows of a table: sums of products of h and y, about shifts that keep them well conditioned.

Rows may come in chunks, as many tables at once, with many responses, and as `Windows`, which stand for many rows a
sample. Every score of Stein's method that is a second moment is a function of these sums.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import torch
from torch import Tensor

from steinglm.exceptions import InvalidInputError
from steinglm.kernels import matmul
from steinglm.windows import Windows

__all__ = [
    "CHUNK_ELEMENTS",
    "Chunks",
    "Sums",
    "centered",
    "checked",
    "each",
    "outer",
    "second_moment",
    "sums_of",
    "variances",
]

CHUNK_ELEMENTS = 1 << 17  # 1 MB of float64: stays in the cache, and bounds the memory
Chunks = Iterable[tuple[Tensor | Windows, Tensor]]
UNSHIFTED = ("identity", "centered")  # take the rows of h as they are, their mean included


@dataclass
class Sums:
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


def sums_of(chunks: Chunks, score: str, *, second: bool, y_mean: Tensor | None = None) -> Sums:
    """The sums over all chunks; a list of one pair is a table held in memory, whose means come first."""
    if isinstance(chunks, list) and len(chunks) == 1:
        h, y = chunks[0]
        return _sums_of_table(h, y, score, second)
    return _sums_of_chunks(chunks, score, second, y_mean)


def _accumulate(chunks: Chunks, h0: Tensor, y0: Tensor, *, second: bool) -> Sums:
    """Pass over the rows once. `second` asks for the whole of sum u u^T, else only its diagonal is summed."""
    *lead, d = h0.shape
    both = torch.broadcast_shapes(lead, y0.shape)
    uu = h0.new_zeros(*lead, d, d) if second else torch.zeros_like(h0)
    zeros = torch.zeros_like(h0), torch.zeros_like(y0), h0.new_zeros(*both, d)
    sums = Sums(h0, y0, 0, *zeros, uu, h0.new_zeros(*both, d, d))
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
    vuu = matmul(u * v[..., None, :], u.mT)  # (..., d, d)
    total = u.sum(-1)
    return total, vu, matmul(u, u.mT) if second else u.square_().sum(-1), vuu  # the last use of u


def outer(a: Tensor, b: Tensor) -> Tensor:
    """a b^T (..., d, d)."""
    return a[..., :, None] * b[..., None, :]


def each(scalar: Tensor) -> Tensor:
    """A number for each table, to be multiplied with a matrix for each."""
    return scalar[..., None, None]


def second_moment(sums: Sums) -> Tensor:
    """(1/n) sum u u^T, or its diagonal where only that was summed."""
    return (sums.uu if sums.uu.dim() == sums.vuu.dim() else torch.diag_embed(sums.uu)) / sums.n


def variances(R: Tensor) -> Tensor:
    """The diagonal (..., d) of a covariance, with 1 for a constant unit."""
    diagonal = R.diagonal(dim1=-2, dim2=-1)
    return torch.where(diagonal > 0, diagonal, 1.0)


def centered(sums: Sums) -> tuple[Tensor, Tensor]:
    """C = (1/n) sum (y - ybar)(h - hbar)(h - hbar)^T and R = (1/n) sum (h - hbar)(h - hbar)^T, from shifted sums."""
    n, second = sums.n, second_moment(sums)
    u, v = sums.u / n, sums.v / n
    cross = sums.vu / n - v[..., None] * u  # (1/n) sum (y - ybar)(h - h0)
    C = sums.vuu / n - each(v) * second - outer(cross, u) - outer(u, cross)
    return C, second - outer(u, u)


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


def _sums_of_table(h: Tensor, y: Tensor, score: str, second: bool) -> Sums:
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


def _sums_of_chunks(chunks: Chunks, score: str, second: bool, y_mean: Tensor | None) -> Sums:
    """The sums about the first chunk's means; `_centered` corrects for the difference.

    Where y's mean differs from the shift, the correction takes the whole of sum u u^T.
    """
    pairs = checked(chunks)
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


def checked(chunks: Chunks) -> Iterator[tuple[Tensor | Windows, Tensor]]:
    """The chunks with y (..., c), h having an axis of length 1 where y has its responses."""
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
