"""The paper's complexity of a layer, O(n N^2) for n rows and N units, checked by a fit to measured times."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from steinglm.stein import cross_moment, directions

__all__ = ["Fit", "fit", "measure"]

ROWS, UNITS = (5_000, 10_000, 20_000, 40_000), (64, 128, 256, 512)
ROUNDS = 3


@dataclass(frozen=True)
class Fit:
    """seconds = constant n^rows N^units, by least squares of logarithms; r2: the share of their variance explained."""

    rows: float
    units: float
    r2: float


def measure(rows: Iterable[int] = ROWS, units: Iterable[int] = UNITS) -> list[dict[str, float]]:
    """Seconds of one layer, its cross-moment and eigenvectors, for each n and N: keys rows, units, seconds.

    The fastest of a few rounds on one thread: what else the processor does, disturbs the least.
    """
    generator, threads = torch.Generator().manual_seed(0), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [
            {"rows": n, "units": N, "seconds": _seconds(n, N, generator)} for N in tuple(units) for n in rows
        ]
    finally:
        torch.set_num_threads(threads)


def _seconds(n: int, N: int, generator: torch.Generator) -> float:
    h, y = torch.randn(n, N, generator=generator), torch.randn(n, generator=generator)
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        directions(cross_moment(h, y), N)
        times.append(time.perf_counter() - start)
    return round(min(times), 6)


def fit(measured: Iterable[Mapping[str, float]]) -> Fit:
    """Fit the exponents of n and N.

    >>> times = [{"rows": n, "units": N, "seconds": 1e-9 * n * N**2} for n in (10, 20) for N in (2, 4)]
    >>> found = fit(times)
    >>> round(found.rows, 6), round(found.units, 6), round(found.r2, 6)
    (1.0, 2.0, 1.0)
    """
    logs = np.log([[each["rows"], each["units"], each["seconds"]] for each in measured])
    columns = np.column_stack([np.ones(len(logs)), logs[:, :2]])
    coefficients, *_ = np.linalg.lstsq(columns, logs[:, 2])
    residuals = logs[:, 2] - columns @ coefficients
    return Fit(float(coefficients[1]), float(coefficients[2]), float(1 - residuals.var() / logs[:, 2].var()))
