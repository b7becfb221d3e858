"""Tables of windows against the same rows written out."""

import pytest
import torch
from torch import Tensor

from steinglm.stein import SCORES, moments
from steinglm.windows import Windows

DOUBLE = torch.float64


def lines(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=DOUBLE) + 0.7


def written_out(windows: Windows) -> Tensor:
    """The rows (..., n m width, e k), one window at a time."""
    columns = [
        windows.lines[..., i * windows.step : i * windows.step + windows.width].flatten(-3)
        for i in range(windows.k)
    ]  # each (..., e, rows)
    return torch.stack(columns, dim=-2).flatten(-3, -2).mT


CASES = [
    Windows(lines(3, 5, 2, 9), k=3, step=1),
    Windows(lines(2, 4, 1, 12), k=4, step=2),
    Windows(lines(1, 6, 3, 4), k=2, step=3),
    Windows(lines(4, 3, 2, 5), k=5, step=1),  # one position a line: every window ends where the line does
    Windows(lines(2, 3, 5, 2, 7), k=3, step=1),  # two tables
    Windows(lines(3, 5, 2, 6).float(), k=3, step=1),
]


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("windows", CASES, ids=range(len(CASES)))
def test_sums_are_those_of_the_rows(windows: Windows, second: bool) -> None:
    rows = written_out(windows).double()
    n, m = windows.lines.shape[-3:-1]
    assert rows.shape[-2:] == (windows.rows, windows.columns)
    torch.testing.assert_close(windows.mean()[..., :: windows.k], windows.lines.double().mean((-3, -2, -1)))
    v = lines(n)
    u = rows - windows.mean()[..., None, :]
    repeated = v.repeat_interleave(m * windows.width)[:, None]
    square = u.mT @ u
    expected = (
        u.sum(-2),
        (repeated * u).sum(-2),
        square if second else square.diagonal(dim1=-2, dim2=-1),
        (repeated * u).mT @ u,
    )
    for found, twin in zip(windows.sums(windows.mean(), v, second=second), expected, strict=True):
        torch.testing.assert_close(found, twin, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("windows", CASES, ids=range(len(CASES)))
def test_the_rows_written_out(windows: Windows) -> None:
    assert torch.equal(windows.written_out(), written_out(windows))


@pytest.mark.parametrize("covariance", [False, True])
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_moments_of_windows_are_those_of_their_rows(score: str, many: bool, covariance: bool) -> None:
    windows = Windows(lines(3, 8, 2, 9), k=3, step=2)
    y = lines(8, 3 if many else 1)
    parts = [(Windows(windows.lines[:, i : i + 3], 3, 2), y[i : i + 3]) for i in range(0, 8, 3)]
    found = moments(parts, score, y_mean=y.mean(0), covariance=covariance)
    repeated = y.repeat_interleave(2 * windows.width, 0)
    whole = moments([(written_out(windows), repeated)], score, covariance=covariance)
    torch.testing.assert_close(found.cross, whole.cross, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(found.mean, whole.mean)
    if covariance:
        torch.testing.assert_close(found.covariance, whole.covariance)
