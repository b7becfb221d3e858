"""How well each score finds known directions, on normal inputs and others: the mean error over seeds, and the seconds.

The error is the squared sine of the largest angle between the span of the true directions B and that of the
estimates, 1 - the smallest squared cosine: 0 where all are found, 1 where one is missed altogether.

python benchmarks/directions.py
"""

import time
from collections.abc import Callable

import numpy as np

from steinglm.datasets.synthetic import frame
from steinglm.datasets.workshop import DISTRIBUTIONS
from steinglm.stein import SCORES, cross_moment, directions

ROWS, INPUTS = 5000, 10
SEEDS = range(3)
NOISE = 0.1  # standard deviation, of the noiseless response's

LINKS: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {  # the directions, u (n, k) -> y (n,)
    "u1^2 + u2^2 / 2": (2, lambda u: u[:, 0] ** 2 + u[:, 1] ** 2 / 2),
    "... + 5 u1 + 3 u2": (2, lambda u: u[:, 0] ** 2 + u[:, 1] ** 2 / 2 + 5 * u[:, 0] + 3 * u[:, 1]),
    "u1^2 + 5 u1": (1, lambda u: u[:, 0] ** 2 + 5 * u[:, 0]),
    "cos 2u1 + |u2|/2": (2, lambda u: np.cos(2 * u[:, 0]) + np.abs(u[:, 1]) / 2),
    "tanh 2 u1": (1, lambda u: np.tanh(2 * u[:, 0])),
}


def subspace_error(V: np.ndarray, B: np.ndarray) -> float:
    """The squared sine of the largest angle between the spans of V and B, both with orthonormal columns."""
    cosines = np.linalg.svd(V.T @ B, compute_uv=False)
    return float(1 - min(1.0, cosines.min()) ** 2)


def trial(inputs: str, link: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The error and the seconds of each score on one table."""
    generator = np.random.default_rng(seed)
    k, function = LINKS[link]
    B = frame(INPUTS, k, generator)
    x = DISTRIBUTIONS[inputs](ROWS, INPUTS, generator)
    signal = function(x @ B)
    y = signal + NOISE * signal.std() * generator.standard_normal(ROWS)
    errors, seconds = [], []
    for score in SCORES:
        start = time.perf_counter()
        V, _ = directions(cross_moment(x, y, score), k)
        seconds.append(time.perf_counter() - start)
        errors.append(subspace_error(V.numpy(), B))
    return np.array(errors), np.array(seconds)


def main() -> None:
    """Print the table."""
    print(f"{ROWS:,} rows of {INPUTS} inputs, noise {NOISE:g}, seeds {SEEDS.start} to {SEEDS.stop - 1}")
    print(f"{'inputs':>12} {'response':>17} " + " ".join(f"{score:>12}" for score in SCORES))
    spent = []
    for inputs in DISTRIBUTIONS:
        for link in LINKS:
            errors, seconds = zip(*(trial(inputs, link, seed) for seed in SEEDS), strict=True)
            spent.append(np.mean(seconds, axis=0))
            shown = " ".join(f"{error:>12.3f}" for error in np.mean(errors, axis=0))
            print(f"{inputs:>12} {link:>17} {shown}", flush=True)
    print(f"{'seconds':>30} " + " ".join(f"{took:>12.3f}" for took in np.mean(spent, axis=0)))


if __name__ == "__main__":
    main()
