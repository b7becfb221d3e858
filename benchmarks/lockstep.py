"""The lock-step trainer against one-by-one torch: milliseconds a network and step, both sides in one run.

One-by-one is what a user would write: an `nn.Sequential`, a torch loss, `backward()` and `torch.optim.Adam`. Both
train on the same rows, in alternation, and the medians of the rounds are compared.

    python benchmarks/lockstep.py
"""

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from steinglm.init import glorot_normal_
from steinglm.mlp import build, stack
from steinglm.train import Rows, fit

K, BATCH, STEPS, ROUNDS = 40, 500, 10, 5
SHAPES = ((8, 10), (20, 10), (20, 40))  # width, depth


def _networks(width: int, depth: int, count: int) -> list[nn.Sequential]:
    generator = torch.Generator().manual_seed(0)
    return [glorot_normal_(build(width, width, depth, "tanh"), generator=generator) for _ in range(count)]  # type: ignore[misc]


def lockstep(rows: Rows, width: int, depth: int) -> float:
    """Seconds a network and step; the evaluations before and after the epoch are on a single batch's rows."""
    few = Rows(rows.X[:, :1], rows.y[:, :1])
    epochs = fit(
        stack(_networks(width, depth, K)),
        rows,
        few,
        task="regression",
        epochs=1,
        batch_size=BATCH,
        learning_rate=1e-3,
        generators=[torch.Generator().manual_seed(0)],
    )
    next(epochs)
    start = time.perf_counter()
    next(epochs)
    return (time.perf_counter() - start) / STEPS / K


def one_by_one(rows: Rows, width: int, depth: int) -> float:
    """Seconds a network and step of plain torch, over two networks (the others would repeat them)."""
    models = _networks(width, depth, 2)
    optimizers = [torch.optim.Adam(model.parameters(), lr=1e-3) for model in models]
    loss = nn.MSELoss()
    start = time.perf_counter()
    for model, optimizer in zip(models, optimizers, strict=True):
        for X, y in zip(rows.X[0].split(BATCH), rows.y[0].split(BATCH), strict=True):
            optimizer.zero_grad()
            loss(model(X).squeeze(1), y).backward()
            optimizer.step()
    return (time.perf_counter() - start) / STEPS / len(models)


def main() -> None:
    """Print one line a shape: both sides and their ratio."""
    print(
        f"K = {K}, batch {BATCH}, {torch.get_num_threads()} threads, medians of {ROUNDS}; ms a network and step"
    )
    print(f"{'width x depth':>14} {'one by one':>12} {'lock-step':>12} {'ratio':>8}")
    for width, depth in SHAPES:
        generator = torch.Generator().manual_seed(1)
        n = BATCH * STEPS
        rows = Rows(torch.randn(1, n, width, generator=generator), torch.rand(1, n, generator=generator))
        sides: tuple[Callable[..., float], ...] = (one_by_one, lockstep)
        times = [[side(rows, width, depth) for side in sides] for _ in range(ROUNDS + 1)][
            1:
        ]  # the first warms up
        single, stacked = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
        print(
            f"{f'{width} x {depth}':>14} {single:>12.3f} {stacked:>12.3f} {single / stacked:>7.1f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
