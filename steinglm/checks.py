"""What the initializers accept: data as tensors, and options, each refused with what to do about it."""

import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from steinglm.exceptions import InvalidInputError
from steinglm.tracing import linear_layers

__all__ = ["as_table", "check_alpha", "check_choice", "check_data", "check_values"]

MIN_ROWS = 10


def check_alpha(alpha: float | str | None) -> None:
    """Refuse a scaling factor that is no positive number, 'auto' or None."""
    number = (
        isinstance(alpha, int | float) and not isinstance(alpha, bool) and 0 < alpha <= sys.float_info.max
    )
    if not (number or alpha is None or alpha == "auto"):
        raise InvalidInputError(
            "alpha", "a positive number, 'auto' or None", alpha, "1 suits tanh, 4 sigmoid"
        )


def check_choice(argument: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise InvalidInputError(argument, f"one of {', '.join(choices)}", value, "choose one of these")


def as_table(model: nn.Module, X: Any, y: Any) -> tuple[Tensor, Tensor]:
    """X (n, d) in the model's dtype and y (n,) in float64, from tensors, arrays or data frames."""
    dtype = next(model.parameters()).dtype
    try:
        X = torch.as_tensor(X if isinstance(X, Tensor) else np.require(X, np.float64, "W")).to(dtype)
        y = torch.as_tensor(y if isinstance(y, Tensor) else np.require(y, np.float64, "W")).double()
    except (TypeError, ValueError) as err:
        raise InvalidInputError("X and y", "numbers", str(err), "encode categories first") from err
    if X.dim() != 2 or 0 in X.shape:
        raise InvalidInputError(
            "X", "a table (n, d)", tuple(X.shape), "one row a sample, one column a feature"
        )
    if y.shape != X.shape[:1]:
        raise InvalidInputError("y", f"of shape ({X.shape[0]},)", tuple(y.shape), "one response a row of X")
    return X, y


def check_data(model: nn.Module, X: Any, y: Any, task: str | None) -> tuple[Tensor, Tensor]:
    """X and y as tensors that a model can be initialized from."""
    linear_layers(model)
    check_choice("task", str(task), ("regression", "binary"))
    if X is None or y is None:
        raise InvalidInputError(
            "X and y", "given", None, "the output layer and Stein's method learn from data"
        )
    X, y = as_table(model, X, y)
    if len(X) < MIN_ROWS:
        raise InvalidInputError(
            "X", f"a table of {MIN_ROWS} rows or more", f"{len(X)} rows", "bring more data"
        )
    check_values(X, y, str(task))
    if y.min() == y.max():
        what = "both classes" if task == "binary" else "a response that varies"
        raise InvalidInputError(
            "y", what, f"{float(y[0]):g} in every row", "there is nothing to learn from it"
        )
    return X, y


def check_values(X: Tensor, y: Tensor, task: str, part: str = "") -> None:
    """Refuse what is not finite, and other classes than 0 and 1."""
    for name, values in (("X", X), ("y", y)):
        # A sum is finite if its terms are (but for overflow), in a fraction of the time of looking at each.
        if not torch.isfinite(values.sum()) and (bad := int((~torch.isfinite(values)).sum())):
            raise InvalidInputError(
                part + name, "finite", f"{bad} values nan or inf", "drop or impute these rows"
            )
    if task == "binary" and not ((y == 0) | (y == 1)).all():
        got = y.unique()[:5].tolist()
        raise InvalidInputError(f"{part}y", "0 or 1 in a binary task", got, "encode the classes")
