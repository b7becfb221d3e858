"""From a table to tensors. Rows with missing values are dropped; every level of a category becomes one 0/1
column; constant columns are dropped; the inputs are standardized with the mean and the population standard
deviation of the training part; the response of a regression is scaled to [0, 1]. Four fifths of the rows are
for training, of which one fifth is kept for validation."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from pandas.api import types

from steinglm.datasets.dataset import Dataset, Split, Task
from steinglm.exceptions import InvalidInputError

__all__ = ["design", "prepare"]

FEWEST_ROWS = 10
MOST_LEVELS = 1000  # a "category" of more is a name or a text, and its one-hot table would fill the memory
CODING = "code the positive class as 1 and the other as 0"
MOST_CLASSES = 1000
CODES = "code the classes as 0, 1, 2, ..."
HELD_OUT = 0.2  # share of the rows for the test, and of the rest for validation


def design(dataset: Dataset) -> tuple[pd.DataFrame, pd.Series | pd.DataFrame]:
    """The complete rows as numbers, before splitting and standardizing.

    Numbers and booleans, two-level ones too, stay one column; every level of anything else becomes a column
    "name=level". The levels are those of all complete rows, so that the columns do not depend on a split.
    The response of a regression is scaled by the minimum and the maximum of all complete rows, as in the
    paper ("linearly scaled within 0 and 1"), not of the training part: a loss means the same in every split.

    Returns
    -------
    X : (n, d) float64; no column is constant.
    y : (n,) float64 in [0, 1]; 0 and 1 only for two classes; 0, 1, ... for more; (n, C) for several responses.

    Raises
    ------
    InvalidInputError : fewer than 10 complete rows, a constant response, one class only, an infinite value,
        a column that is neither numbers nor categories.

    >>> from steinglm.datasets import load
    >>> X, y = design(load("abalone"))
    >>> list(X.columns)[:4], float(y.max())
    (['Sex=F', 'Sex=I', 'Sex=M', 'Length'], 1.0)
    """
    complete = dataset.X.notna().all(axis=1) & pd.DataFrame(dataset.y).notna().all(axis=1)
    if (n := int(complete.sum())) < FEWEST_ROWS:
        cure = "add rows, or fill in missing values"
        raise InvalidInputError("data set", f"{FEWEST_ROWS} or more rows without missing values", n, cure)
    X = _encode(dataset.X[complete])
    if isinstance(dataset.y, pd.Series):
        return X, _response(dataset.y[complete], dataset.task)
    columns = {name: _response(y, dataset.task) for name, y in dataset.y[complete].items()}
    return X, pd.DataFrame(columns)


def prepare(dataset: Dataset, seed: int, rows: int | None = None) -> Split:
    """Split by a permutation that the seed determines, and standardize with the training part's moments.

    Sizes are round(0.2 n) for the test, and round(0.2 m) of the remaining m for validation. A column that is
    constant in the training part (a level that only held-out rows have) is centered and not scaled, so that d is
    the same for every seed. With `rows` the training part is its first so many rows, or all if it has fewer; the
    validation and test parts are as without.

    Raises
    ------
    InvalidInputError : as `design`; also a seed that is no integer of 0 or more, or a training part in which
        the response or every input is constant.

    >>> from steinglm.datasets import load
    >>> split = prepare(load("abalone"), seed=0)
    >>> split.X_train.shape, split.X_validation.shape, split.X_test.shape
    (torch.Size([2674, 10]), torch.Size([668, 10]), torch.Size([835, 10]))
    """
    table, response = design(dataset)
    X, y = table.to_numpy(), response.to_numpy()  # (n, d), (n,) or (n, C)
    train, validation, test = _parts(len(y), seed)
    train = train[:rows]
    if np.ptp(y[train], axis=0).min() == 0:
        got = f"{y[train].flat[0]:g} in each of its {len(train)} rows"
        expected, cure = "of two or more values in the training part", "add rows or change the seed"
        raise InvalidInputError("y", expected, got, cure)
    outputs = math.prod(y.shape[1:])
    if dataset.task == "multiclass":
        outputs = int(y.max()) + 1
        if missing := set(range(outputs)) - set(y[train].astype(int)):
            expected, cure = "of every class in the training part", "add rows or change the seed"
            raise InvalidInputError("y", expected, f"none of class {min(missing)}", cure)
    fitted = X[train]
    mean, sd = fitted.mean(axis=0), fitted.std(axis=0)  # (d,) population sd
    varying = (np.ptp(fitted, axis=0) > 0) & (sd > 0)  # the sd of equal floats need not be exactly 0
    if not varying.any():
        expected = "of at least one column that varies in the training part"
        raise InvalidInputError("X", expected, "constants", "add rows or change the seed")
    features = tuple(table.columns)
    scale = np.where(varying, sd, 1.0)
    Z = np.ascontiguousarray((X - mean) / scale)
    return Split(
        X_train=torch.from_numpy(Z[train]),
        y_train=torch.from_numpy(y[train]),
        X_validation=torch.from_numpy(Z[validation]),
        y_validation=torch.from_numpy(y[validation]),
        X_test=torch.from_numpy(Z[test]),
        y_test=torch.from_numpy(y[test]),
        features=features,
        task=dataset.task,
        outputs=outputs,
        directions=_directions(dataset, features, scale),
    )


def _encode(X: pd.DataFrame) -> pd.DataFrame:
    pairs = [pair for name, column in X.items() for pair in _columns(str(name), column)]
    columns = {name: values for name, values in pairs if values.min() < values.max()}
    if not columns:
        raise InvalidInputError("X", "of at least one column that varies", "constants", "add such an input")
    if len({name for name, _ in pairs}) < len(pairs):
        expected = "of different column names after one-hot encoding"
        raise InvalidInputError("X", expected, list(X.columns), "rename a column")
    return pd.DataFrame(columns, index=X.index)


def _columns(name: str, column: pd.Series) -> Iterator[tuple[str, np.ndarray]]:
    if types.is_numeric_dtype(column):
        yield name, _finite(f"X[{name!r}]", column)
        return
    if not isinstance(column.dtype, pd.CategoricalDtype):
        if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
            got = str(column.dtype)
            raise InvalidInputError(f"X[{name!r}]", "numbers or categories", got, "convert or drop it")
        column = column.astype(str).astype("category")
    levels, codes = column.cat.categories, column.cat.codes.to_numpy()
    if len(levels) > MOST_LEVELS:
        expected, got = f"a category of at most {MOST_LEVELS} levels", f"{len(levels)} levels"
        raise InvalidInputError(f"X[{name!r}]", expected, got, "drop it or encode it as numbers")
    for code, level in enumerate(levels):
        yield f"{name}={level}", (codes == code).astype(np.float64)


def _response(y: pd.Series, task: Task) -> pd.Series:
    if not types.is_numeric_dtype(y):
        cure = {"binary": CODING, "multiclass": CODES}.get(task, "convert it to numbers")
        raise InvalidInputError("y", "numbers", str(y.dtype), cure)
    values = _finite("y", y)
    low, high = values.min(), values.max()
    if task == "binary" and not set(np.unique(values)) <= {0.0, 1.0}:
        got = f"{len(np.unique(values))} values from {low:g} to {high:g}"
        raise InvalidInputError("y", "0 or 1 for two classes", got, CODING)
    if task == "multiclass" and (low < 0 or (values % 1 != 0).any() or high >= MOST_CLASSES):
        got = f"{len(np.unique(values))} values from {low:g} to {high:g}"
        raise InvalidInputError("y", f"0, 1, 2, ... below {MOST_CLASSES} for classes", got, CODES)
    if low == high:
        expected = "of two or more values" if task == "regression" else "of two classes"
        cure = "nothing can be learned from a constant, choose another response"
        raise InvalidInputError("y", expected, f"{low:g} in every row", cure)
    scaled = values if task == "multiclass" else (values - low) / (high - low)
    return pd.Series(scaled, index=y.index, name=y.name)


def _finite(argument: str, column: pd.Series) -> np.ndarray:
    values = column.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        got = f"{int((~np.isfinite(values)).sum())} infinite values"
        raise InvalidInputError(argument, "finite", got, "replace them, or mark them as missing (nan)")
    return values


def _parts(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInputError("seed", "an integer, 0 or more", seed, "any such number will do")
    order = np.random.default_rng(seed).permutation(n)
    n_test = round(HELD_OUT * n)
    n_validation = round(HELD_OUT * (n - n_test))
    test, validation, train = np.split(order, [n_test, n_test + n_validation])
    return train, validation, test


def _directions(dataset: Dataset, features: tuple[str, ...], sd: np.ndarray) -> torch.Tensor | None:
    """A^T x = (diag(sd) A)^T z + constant: the columns of diag(sd) A, made orthonormal, span the subspace."""
    if dataset.directions is None:
        return None
    rows = {str(name): row for name, row in zip(dataset.X.columns, dataset.directions, strict=True)}
    if not set(features) <= set(rows):
        expected, cure = "given for numeric inputs only", "leave the directions out"
        raise InvalidInputError("directions", expected, "categories", cure)
    Q, R = np.linalg.qr(sd[:, None] * np.stack([rows[name] for name in features]))  # (d, k)
    return torch.from_numpy(Q * np.where(np.diag(R) < 0, -1.0, 1.0))
