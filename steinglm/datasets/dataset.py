"""What the package hands over: a `Dataset`, which is a table as its authors published it, and a `Split`,
which is that table as the networks see it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch

from steinglm.exceptions import InvalidInputError
from steinglm.responses import TASKS

__all__ = ["Dataset", "Split", "Task"]

Task = Literal["regression", "binary", "multiclass"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of inputs and one response, before any preparation.

    Parameters
    ----------
    name : the key by which it is loaded.
    X : (n, d) inputs; numbers, booleans and categories; missing values allowed.
    y : (n,) response on the index of X; numbers for a regression, 0 and 1 (the positive class) for two
        classes, 0, 1, 2, ... for more. A regression of several responses has a table (n, C).
    task : "regression", "binary" or "multiclass".
    description : one line with the source and the licence.
    title : the name to show.
    code : the paper's number, "D1" to "D10", or "".
    directions : (d, k) true directions of a synthetic model, in the coordinates of X; None where nobody
        knows them.

    >>> X = pd.DataFrame({"x": [1.0, 2.0]})
    >>> Dataset("mine", X, pd.Series([0.1, 0.2]), "ranking", "my own", "Mine")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    steinglm.exceptions.InvalidInputError: task must be one of regression, binary, multiclass, got ranking; choose...
    """

    name: str
    X: pd.DataFrame
    y: pd.Series | pd.DataFrame
    task: Task
    description: str
    title: str
    code: str = ""
    directions: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise InvalidInputError("task", f"one of {', '.join(TASKS)}", self.task, "choose one of these")
        if not self.X.index.equals(self.y.index):
            got = f"{len(self.X)} rows and {len(self.y)} responses"
            raise InvalidInputError("y", "on the index of X", got, "take X and y from one table")
        if self.X.shape[1] == 0 or not self.X.columns.map(str).is_unique:
            expected, cure = "a table of one or more columns of different names", "rename them"
            raise InvalidInputError("X", expected, list(self.X.columns), cure)
        if self.directions is not None and self.directions.shape[:1] != (self.X.shape[1],):
            expected, cure = f"of shape ({self.X.shape[1]}, k)", "give one row a column of X"
            raise InvalidInputError("directions", expected, self.directions.shape, cure)


@dataclass(frozen=True, eq=False)
class Split:
    """A prepared data set in three parts; float64 tensors, inputs (n, d) and responses (n,), or (n, C) for several.

    `outputs` counts the output units: one, or one a response, or one a class. `features` names the d inputs;
    `directions` is (d, k) with orthonormal columns, in the coordinates of the prepared inputs, or None.
    """

    X_train: torch.Tensor
    y_train: torch.Tensor
    X_validation: torch.Tensor
    y_validation: torch.Tensor
    X_test: torch.Tensor
    y_test: torch.Tensor
    features: tuple[str, ...]
    task: Task
    outputs: int = 1
    directions: torch.Tensor | None = None
