"""What a sweep takes: its cells together against one by one, in the same process, and through the engine.

python benchmarks/sweep.py
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from steinglm.engine import Engine, Settings
from steinglm.experiment import Experiment, train
from steinglm.grid import Grid
from steinglm.sweep import Axis, Sweep, compute
from steinglm.sweep.starts import starts

UNTRAINED = Sweep(Experiment(), Axis.parse("alpha=0.5:8:10"), Axis.parse("depth=1:40:10"))
TRAINED = Sweep(
    Experiment(epochs=20),
    Axis.parse("learning_rate=1e-4:1e-2:4:log"),
    Axis.parse("alpha=0.5:2:4"),
    colour="final_loss",
)
LOOK = 0.02  # seconds


def seconds(act: Callable[[], object]) -> float:
    """How long it takes, once."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def one_by_one(sweep: Sweep) -> None:
    """Every cell by itself."""
    for cell in sweep.cells:
        assert cell.experiment is not None
        for repeat in range(cell.experiment.repeats):
            starts(cell.experiment, [cell.experiment.depth], repeat)
        if sweep.trained:
            for _ in train(cell.experiment):
                pass


def through(engine: Engine, sweep: Sweep) -> float:
    """Seconds until every cell is there, with workers that have computed before."""

    def follow() -> None:
        grid = Grid(sweep, engine)
        while not grid.over:
            grid.look()
            time.sleep(LOOK)

    return seconds(follow)


def main() -> None:
    """Print the seconds of both sweeps, each way."""
    torch.set_num_threads(1)
    compute(replace(UNTRAINED, y=Axis("depth", (1,))))  # loads what everything needs
    with tempfile.TemporaryDirectory() as folder, Engine(Settings(workers=2, store=Path(folder))) as engine:
        warm = [Axis("alpha", (0.1 + 0.01 * k,)) for k in range(8)]
        for axis in warm:
            through(engine, replace(UNTRAINED, x=axis))
        for title, sweep in {
            "10 x 10 alpha and depth, not trained": UNTRAINED,
            "4 x 4, 20 epochs": TRAINED,
        }.items():
            together, alone = (
                seconds(partial(compute, sweep)),
                seconds(partial(one_by_one, sweep)),
            )
            print(f"abalone, {title}: together {together:.2f} s, one by one {alone:.2f} s ({alone / together:.1f}), "
                  f"through an engine of two workers {through(engine, sweep):.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
