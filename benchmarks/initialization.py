"""What SteinGLM's initialization costs: against an epoch, against other initializations, against the bare GEMM; growth.

python benchmarks/initialization.py
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from steinglm import datasets
from steinglm.init import INITIALIZERS, stein_glm_
from steinglm.mlp import build, stack
from steinglm.reports import InitReport
from steinglm.stein import cross_moment
from steinglm.sums import CHUNK_ELEMENTS
from steinglm.train import Rows, fit

ROUNDS = 5
GENERATOR = torch.Generator().manual_seed(0)
BATCH = 500
N, D = 1_000_000, 100  # of the cross-moment


def seconds(*sides: Callable[[], object]) -> list[float]:
    """The median seconds of each side, taken in turns; the first turn warms up."""
    times: list[list[float]] = [[] for _ in sides]
    for turn in range(ROUNDS + 1):
        for side, own in zip(sides, times, strict=True):
            start = time.perf_counter()
            side()
            if turn:
                own.append(time.perf_counter() - start)
    return [statistics.median(own) for own in times]


def against_an_epoch() -> None:
    """40 layers of width 20 on bank marketing: every initialization, and one epoch of training the same network.

    An epoch by plain torch, which trains one network, and by the lock-step trainer with one network.
    """
    data = datasets.prepare(datasets.load("bank_marketing"), 0)
    features = data.X_train.shape[1]

    def initialize(method: str) -> nn.Sequential:
        model = build(features, 20, 40, "tanh")
        options = {"validation": (data.X_validation, data.y_validation)} if method == "steinglm" else {}
        INITIALIZERS[method](model, data.X_train, data.y_train, task=data.task, **options)
        return model

    def orthogonal() -> None:
        for module in build(features, 20, 40, "tanh"):
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, generator=GENERATOR)

    rows = Rows(data.X_train[None].float(), data.y_train[None, :, None].float())
    epochs = fit(
        stack([initialize("glorot_normal")]),
        rows,
        Rows(rows.X[:, :1], rows.y[:, :1]),
        task=data.task,
        epochs=ROUNDS + 2,
        batch_size=BATCH,
        learning_rate=1e-3,
        generators=[torch.Generator().manual_seed(0)],
    )
    next(epochs)  # epoch 0 is before training
    plain = initialize("glorot_normal").float()
    adam, bce = torch.optim.Adam(plain.parameters(), lr=1e-3), nn.BCEWithLogitsLoss()

    def plain_epoch() -> None:
        for X, y in zip(rows.X[0].split(BATCH), rows.y[0].split(BATCH), strict=True):
            adam.zero_grad()
            bce(plain(X), y).backward()
            adam.step()

    sides = {method: lambda method=method: initialize(method) for method in INITIALIZERS}
    names = [*sides, "torch.nn.init.orthogonal_", "epoch of plain torch", "epoch in lock-step"]
    times = seconds(*sides.values(), orthogonal, plain_epoch, lambda: next(epochs))
    print(f"\nbank marketing, {len(data.y_train)} rows, 40 layers of width 20, batches of {BATCH}")
    print(f"{'':>28} {'seconds':>10} {'plain epochs':>14} {'lock-step epochs':>18}")
    for name, own in zip(names, times, strict=True):
        print(f"{name:>28} {own:>10.3f} {own / times[-2]:>14.2f} {own / times[-1]:>18.2f}")


def against_the_gemm() -> None:
    """The cross-moment of a million rows in float32, and the GEMM in float64 that it cannot do without."""
    h, y = torch.randn(N, D, generator=GENERATOR), torch.randn(N, generator=GENERATOR)
    doubled = h.double()
    flops = 2 * N * D * D
    gemm, *own = seconds(
        lambda: doubled.T @ doubled,
        *(lambda score=score: cross_moment(h, y, score) for score in ("identity", "standardized")),
    )
    print(
        f"\ncross-moment of {N:,} rows of {D} float32, chunks of {CHUNK_ELEMENTS // D} rows; GFLOP/s, share of the GEMM"
    )
    print(f"{'GEMM, float64':>28} {flops / gemm / 1e9:>10.1f}")
    for name, took in zip(("identity", "standardized"), own, strict=True):
        print(f"{name:>28} {flops / took / 1e9:>10.1f} {gemm / took:>8.0%}")


def _initialize(X: torch.Tensor, y: torch.Tensor, depth: int) -> InitReport:
    width = X.shape[1]
    return stein_glm_(build(width, width, depth, "tanh", torch.float64), X, y, task="regression")


def growth() -> None:
    """Seconds of one initialization by rows, width and depth."""
    print("\ngrowth of the initialization; milliseconds (ratio to the line before)")
    for title, shapes in {
        "rows": [(n, 20, 10) for n in (5_000, 10_000, 20_000, 40_000)],
        "width": [(10_000, width, 10) for width in (10, 20, 40, 80)],
        "depth": [(10_000, 20, depth) for depth in (5, 10, 20, 40)],
    }.items():
        before = None
        for n, width, depth in shapes:
            X = torch.randn(n, width, generator=GENERATOR, dtype=torch.float64)
            y = X[:, 0] ** 2 + X[:, 1]
            (took,) = seconds(partial(_initialize, X, y, depth))
            ratio = "" if before is None else f"({took / before:.2f})"
            print(f"{title:>8} {n:>8} x {width:>3} x {depth:>3} {took * 1e3:>10.1f} {ratio}")
            before = took


def main() -> None:
    """Print the three tables."""
    against_an_epoch()
    against_the_gemm()
    growth()


if __name__ == "__main__":
    main()
