"""What the package hands over: a `Dataset`, which is a table as its authors published it, and a `Split`,
which is that table as the networks see it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch

from steinglm.exceptions import InvalidInputError

__all__ = ["TASKS", "Dataset", "Split", "Task"]

Task = Literal["regression", "binary"]
TASKS: tuple[Task, ...] = ("regression", "binary")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of inputs and one response, before any preparation.

    Parameters
    ----------
    name : the key by which it is loaded.
    X : (n, d) inputs; numbers, booleans and categories; missing values allowed.
    y : (n,) response on the index of X; numbers for a regression, 0 and 1 (the positive class) for two
        classes.
    task : "regression" or "binary".
    description : one line with the source and the licence.
    title : the name to show.
    code : the paper's number, "D1" to "D10", or "".
    directions : (d, k) true directions of a synthetic model, in the coordinates of X; None where nobody
        knows them.

    >>> X = pd.DataFrame({"x": [1.0, 2.0]})
    >>> Dataset("mine", X, pd.Series([0.1, 0.2]), "ranking", "my own", "Mine")
    Traceback (most recent call last):
    ...
    steinglm.exceptions.InvalidInputError: task must be regression or binary, got ranking; choose one of these
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    task: Task
    description: str
    title: str
    code: str = ""
    directions: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise InvalidInputError("task", " or ".join(TASKS), self.task, "choose one of these")
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
    """A prepared data set in three parts; float64 tensors, inputs (n, d) and responses (n,).

    `features` names the d inputs; `directions` is (d, k) with orthonormal columns, in the coordinates of the
    prepared inputs, or None.
    """

    X_train: torch.Tensor
    y_train: torch.Tensor
    X_validation: torch.Tensor
    y_validation: torch.Tensor
    X_test: torch.Tensor
    y_test: torch.Tensor
    features: tuple[str, ...]
    task: Task
    directions: torch.Tensor | None = None
