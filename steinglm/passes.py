"""Rows that are passed over again and again, for scores which learn something from the data before the moment is taken.

A first pass has collected the `Sums`; every later one meets the rows standardized, however they come: as tables, in
chunks, as windows. Tables stand on one axis T and their responses on another, C, in whatever shape they came.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from steinglm.exceptions import InvalidInputError
from steinglm.sums import CHUNK_ELEMENTS, Chunks, Sums, centered, checked, variances
from steinglm.windows import Windows

__all__ = ["Rows", "moment_of", "shrunk"]

NARROW = 20  # units; where a layer has fewer, what a score makes of a row takes more memory than the row


@dataclass(frozen=True, eq=False)
class Rows:
    """T tables of n rows z (T, n, d) of mean 0 and variance 1 (0 for a constant unit) and C responses (T, C, n)."""

    chunks: Chunks
    n: int
    mean: Tensor  # (T, 1, d) of h
    scale: Tensor  # (T, 1, d), so that z = (h - mean) scale; 0 for a constant unit
    y_mean: Tensor  # (T, C, 1)
    R: Tensor  # (T, d, d), the correlation of h
    cross: Tensor  # (T, C, d), (1/n) sum (y - ybar) z

    @classmethod
    def of(cls, chunks: Chunks, sums: Sums) -> "Rows":
        """The rows of chunks over which one pass has given these sums."""
        n, d = sums.n, sums.u.shape[-1]
        T = math.prod(sums.u.shape[:-1])
        u, v = sums.u / n, sums.v / n
        R = centered(sums)[1].reshape(T, d, d)
        alive = R.diagonal(dim1=-2, dim2=-1) > 0
        scale = (variances(R).rsqrt() * alive)[:, None]  # (T, 1, d)
        cross = (sums.vu / n - v[..., None] * u).reshape(T, -1, d) * scale
        mean, y_mean = (sums.h0 + u).reshape(T, 1, d), (sums.y0 + v).reshape(T, -1, 1)
        return cls(chunks, n, mean, scale, y_mean, scale.mT * R * scale, cross)

    def average(self, term: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """(1/n) times the sum of term(z (T, c, d), v (T, C, c)) over all parts of the rows, v = y - ybar."""
        total: Tensor | float = 0.0
        for z, v in self._parts():
            total = total + term(z, v)
        assert isinstance(total, Tensor)
        return total / self.n

    def sample(self, most: int) -> Tensor:
        """The rows z (T, m, d), or `most` of them, drawn by a seed of their own: the same in chunks of any size."""
        chosen = np.arange(self.n)
        if self.n > most:
            chosen = np.sort(np.random.default_rng(0).choice(self.n, most, replace=False, shuffle=False))
        found, start = [], 0
        for z, _ in self._parts():
            first, last = np.searchsorted(chosen, (start, start + z.shape[1]))
            found.append(z[:, torch.as_tensor(chosen[first:last] - start, device=z.device)])
            start += z.shape[1]
        return torch.cat(found, 1)

    def raw(self, M: Tensor) -> Tensor:
        """A moment (T, C, d, d) of grad_z^2, as that of grad_h^2: zero for a constant unit."""
        scale = self.scale[:, None]  # (T, 1, 1, d)
        return scale.mT * M * scale

    def _parts(self) -> Iterator[tuple[Tensor, Tensor]]:
        met, (T, _, d) = 0, self.mean.shape
        for h, y in checked(self.chunks):
            if isinstance(h, Windows):
                y = y.repeat_interleave(h.rows // y.shape[-1], -1)
                h = h.written_out()
            h, y = h.reshape(T, -1, d), y.reshape(T, -1, y.shape[-1])
            size = max(1, CHUNK_ELEMENTS // (T * max(d, NARROW)))
            for part, own in zip(h.split(size, 1), y.split(size, 2), strict=True):
                met += part.shape[1]
                yield (part.double() - self.mean) * self.scale, own.double() - self.y_mean
        if met != self.n:
            cure = "this score passes over the rows more than once: give a list of chunks, not an iterator"
            raise InvalidInputError("h and y", f"the same {self.n} rows on every pass", met, cure)


def moment_of(z: Tensor, v: Tensor) -> Tensor:
    """The sum of v z z^T over rows (T, C, d, d): z (T, c, d), v (T, C, c)."""
    return (z.mT[:, None] * v[:, :, None]) @ z[:, None]


def shrunk(R: Tensor, n: float | Tensor) -> Tensor:
    """A covariance (..., d, d) of standardized units from n (...) rows, shrunk towards I by d / (n + d)."""
    d = R.shape[-1]
    shrinkage = torch.as_tensor(d / (n + d), dtype=R.dtype, device=R.device)[..., None, None]
    return (1 - shrinkage) * R + shrinkage * torch.eye(d, dtype=R.dtype, device=R.device)
