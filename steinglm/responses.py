"""What a network has to predict: the tasks, and their responses as the columns that its output units stand for."""

import torch
from torch import Tensor

__all__ = ["TASKS", "responses"]

TASKS = ("regression", "binary", "multiclass")


def responses(y: Tensor, task: str, classes: int = 0) -> Tensor:
    """The responses (n, C) of y: itself as a column, its own columns, or the indicators of the classes.

    y is (n,), or (n, C) for several responses of a regression. Two classes are 0 and 1 and have one output unit; more
    are the codes 0 .. classes-1 and have a unit each.

    >>> responses(torch.tensor([0, 2]), "multiclass", 3)
    tensor([[1., 0., 0.],
            [0., 0., 1.]], dtype=torch.float64)
    """
    if task == "multiclass":
        return torch.nn.functional.one_hot(y.long(), classes).double()
    return y if y.dim() == 2 else y[:, None]
