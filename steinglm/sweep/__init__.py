"""Sweeps: experiments along two axes, each cell one of them, computed together where that saves work.

>>> from steinglm.experiment import Experiment
>>> sweep = Sweep(Experiment(dataset="diabetes"), Axis("alpha", (0.5, 1.0)), Axis("depth", (2, 4)))
>>> compute(sweep)[["alpha", "depth", "done"]].values.tolist()
[[0.5, 2, True], [1.0, 2, True], [0.5, 4, True], [1.0, 4, True]]
"""

from steinglm.sweep.batch import train
from steinglm.sweep.settings import AXES, INITIAL, QUANTITIES, TRAINED, Axis, Batch, Cell, Sweep, batches
from steinglm.sweep.tables import compute, pivot, table

__all__ = [
    "AXES", "INITIAL", "QUANTITIES", "TRAINED", "Axis", "Batch", "Cell", "Sweep", "batches", "compute", "pivot",
    "table", "train",
]  # fmt: skip
