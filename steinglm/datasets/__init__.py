"""Tables to try the method on, and their preparation.

>>> split = prepare(load("power_plant"), seed=0)
>>> split.features
('AT', 'V', 'AP', 'RH')
"""

from steinglm.datasets.dataset import Dataset, Split
from steinglm.datasets.own import hold
from steinglm.datasets.preparation import design, prepare
from steinglm.datasets.registry import available, canonical, load, names
from steinglm.datasets.synthetic import multi_index
from steinglm.datasets.workshop import Recipe

__all__ = [
    "Dataset",
    "Recipe",
    "Split",
    "available",
    "canonical",
    "design",
    "hold",
    "load",
    "multi_index",
    "names",
    "prepare",
]
