"""Tables whose columns are windows of one another, as the patches of a convolution are, and their second moments.

Along the last axis of an image the k columns of a filter see the same line of values, each a little further on. A sum
of products of two such columns depends on the distance between them alone, but for what enters and leaves the line at
its ends: k matrix products and a few narrow ones do the work of k^2, and the patches are never written out.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Windows"]


@dataclass(frozen=True, eq=False)
class Windows:
    """Rows of d = e k columns, given by lines: column (j, i) of a row at position p is line j at p + i step.

    lines : (..., e, n, m, l), n samples of m lines of l values each, for each of e features
    k, step : windows, and how far each is from the one before it (the dilation)
    """

    lines: Tensor
    k: int
    step: int

    @property
    def width(self) -> int:
        """The positions of a line, each of which is a row."""
        return self.lines.shape[-1] - self.step * (self.k - 1)

    @property
    def rows(self) -> int:
        """The rows of all samples."""
        n, m, _ = self.lines.shape[-3:]
        return n * m * self.width

    @property
    def columns(self) -> int:
        """The columns of a row, d."""
        return self.lines.shape[-4] * self.k

    def written_out(self) -> Tensor:
        """The rows (..., c, d) themselves, sample by sample."""
        span = self.step * (self.k - 1) + 1
        columns = self.lines.unfold(-1, span, 1)[..., :: self.step]  # (..., e, n, m, width, k)
        return columns.movedim(-1, -4).flatten(-3).flatten(-3, -2).mT

    def mean(self) -> Tensor:
        """Of each feature's lines (..., e), for its k columns (..., d): near the columns' own means."""
        return self.lines.mean((-3, -2, -1), dtype=torch.float64).repeat_interleave(self.k, -1)

    def sums(self, shift: Tensor, v: Tensor, *, second: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sums over rows of u, v u, u u^T (its diagonal unless `second`) and v u u^T, with u = row - shift.

        Parameters
        ----------
        shift : (..., d), equal for the k columns of a feature
        v : (..., n), one number a sample, in float64; its leading axes broadcast with those of the lines
        """
        u = self.lines.double() - shift[..., :: self.k, None, None, None]
        weighted = u * v[..., None, :, None, None]
        uu = self._outer(u, u) if second else self._windowed(u.square())
        return self._windowed(u), self._windowed(weighted), uu, self._outer(weighted, u)

    def _windowed(self, values: Tensor) -> Tensor:
        """The sum of each column (..., d)."""
        along = values.sum((-3, -2))  # (..., e, l)
        return along.unfold(-1, self.width, 1)[..., :: self.step, :].sum(-1).flatten(-2)

    def _outer(self, a: Tensor, b: Tensor) -> Tensor:
        """sum over rows of a_row b_row^T (..., d, d), which is symmetric: a is b times a number a sample."""
        e, k, w = a.shape[-4], self.k, self.width
        found = a.new_empty(*a.shape[:-4], e, k, e, k)
        first, ends = _flat(a, 0, w), (self._ends(a), self._ends(b))
        for apart in range(k):
            product = first @ _flat(b, apart * self.step, w).mT  # (..., e, e), windows 0 and `apart`
            for i in range(k - apart):
                if i:
                    product = product + self._moved(*ends, i, apart)
                found[..., :, i, :, i + apart] = product
                found[..., :, i + apart, :, i] = product.mT
        return found.flatten(-4, -3).flatten(-2, -1)

    def _ends(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The lines' starts before the last window, and ends behind the first: (..., (k - 1) step, e, n m)."""
        parts = values[..., : values.shape[-1] - self.width], values[..., self.width :]
        start, end = (part.movedim(-1, -4).flatten(-2) for part in parts)
        return start, end

    def _moved(self, a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor], i: int, apart: int) -> Tensor:
        """What enters at the end of the line, less what leaves at its start, when both windows move on to the i-th."""
        here = slice((i - 1) * self.step, i * self.step)
        there = slice((i - 1 + apart) * self.step, (i + apart) * self.step)
        leaving, entering = (
            (own[..., here, :, :] @ other[..., there, :, :].mT).sum(-3)
            for own, other in zip(a, b, strict=True)
        )
        return entering - leaving


def _flat(values: Tensor, start: int, length: int) -> Tensor:
    """A part of the lines as columns (..., e, n m length)."""
    return values[..., start : start + length].flatten(-3)
