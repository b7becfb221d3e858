"""The data that an initializer learns from: a table or images in memory, or a `DataLoader`, in batches.

Whatever comes is looked at once, before anything is changed: shapes, numbers that are not finite, classes. The batches
can then be passed over again and again, so that memory does not grow with the number of rows.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from steinglm.exceptions import InvalidInputError
from steinglm.responses import TASKS, responses
from steinglm.samples import Layer
from steinglm.tracing import in_double_precision

__all__ = ["Data", "Source", "source", "validation_source"]

MIN_ROWS = 10
WHOLE_ELEMENTS = 1 << 23  # numbers of images (32 MB) that are passed through a model in one piece
PART_ELEMENTS = 1 << 18  # and in each of several, where they are more
MAX_CLASSES = 100_000
EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)  # they take whole numbers as these are
Batch = tuple[Tensor, Tensor]
Data = tuple[Any, Any] | DataLoader[Any]  # (X, y): tensors, arrays or data frames


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in batches: x (b, ...) in the model's dtype on its device, y (b,) or (b, C) in float64.

    batches : starts a pass over them
    whole : whether all rows come in one batch
    n, shape, y_sum : the rows, the shape of one, and the sum of y; of a classification, counts of the classes 0, 1, ...
    """

    batches: Callable[[], Iterable[Batch]]
    whole: bool
    task: str
    n: int
    shape: torch.Size
    y_sum: Tensor

    def first_rows(self) -> Tensor:
        """Two rows, which are enough to trace a model with."""
        return next(iter(self.batches()))[0][:2]

    def check_outputs(self, name: str, layer: Layer) -> None:
        """Refuse an output layer whose units are not the responses, and classes that are not met."""
        units, columns = len(layer.weight), len(self.y_sum)
        if self.task == "regression" and units != columns:
            cure = f"give it {columns} units, one a response"
        elif self.task == "binary" and units != 1:
            cure = "give it one unit, the logit of class 1, or call the task multiclass"
        elif self.task == "multiclass" and units < columns:
            cure = f"y has the class {columns - 1}: give the output layer a unit for each class 0 .. {columns - 1}"
        else:
            missing = [c for c in range(units) if c >= columns or self.y_sum[c] == 0]
            if self.task == "multiclass" and missing:
                got = f"none of {', '.join(map(str, missing[:5]))}"
                cure = "bring rows of them, or give the output layer fewer units"
                raise InvalidInputError("y", f"of each of the {units} classes", got, cure)
            return
        raise InvalidInputError(
            f"the output layer {name!r}", f"fit for a {self.task} task", f"{units} units", cure
        )

    def responses(self, y: Tensor) -> Tensor:
        """The responses (b, C), one column an output unit."""
        return responses(y, self.task, len(self.y_sum))

    @property
    def response_mean(self) -> Tensor:
        """The mean (C,) of the responses."""
        return (self.y_sum[1:] if self.task == "binary" else self.y_sum) / self.n


def source(model: nn.Module, X: Any, y: Any, task: str | None, part: str = "") -> Source:
    """Look at the data once: a pair X (n, ...), y (n,) or (n, C), or a `DataLoader` X of such pairs.

    Raises
    ------
    InvalidInputError
        What cannot be used: numbers that are not finite, other classes than 0, 1, ..., a constant response, fewer than
        10 rows, an empty loader. `part` ("validation ") names the data in the message; it needs one row.
    """
    if task not in TASKS:
        raise InvalidInputError("task", f"one of {', '.join(TASKS)}", task, "choose one of these")
    if isinstance(X, DataLoader):
        if y is not None:
            raise InvalidInputError(f"{part}y", "None beside a DataLoader", type(y), "the loader yields it")
        whole, loader = False, X

        def batches() -> Iterator[Batch]:
            return (_pair(model, batch, part) for batch in loader)
    else:
        if X is None or y is None:
            raise InvalidInputError(
                f"{part}X and y", "given", None, "the output layer and Stein's method learn from data"
            )
        x, responded = _tensors(model, X, y, part)
        whole = x.dim() == 2 or x.numel() <= WHOLE_ELEMENTS
        size = len(x) if whole else max(1, PART_ELEMENTS // x[0].numel())

        def batches() -> Iterator[Batch]:
            return zip(x.split(size), responded.split(size), strict=True)

    seen = _look(batches(), task, part)
    if not part and seen.n < MIN_ROWS:
        raise InvalidInputError("X", f"{MIN_ROWS} rows or more", f"{seen.n} rows", "bring more data")
    if not part and (seen.low == seen.high).all():
        what = "a response that varies" if task == "regression" else "of two classes or more"
        got = f"{float(seen.low.flatten()[0]):g} in every row"
        raise InvalidInputError("y", what, got, "there is nothing to learn from it")
    passes = batches if whole else lambda: _as_before(batches(), seen, task)
    return Source(passes, whole, task, seen.n, seen.shape, seen.y_sum)


def validation_source(model: nn.Module, validation: Data | None, data: Source) -> Source | None:
    """The rows that choose the GLM's penalty, which must be like those of `data`; None where none are given."""
    if validation is None:
        return None
    X, y = (validation, None) if isinstance(validation, DataLoader) else validation
    held = source(model, X, y, data.task, "validation ")
    if held.shape != data.shape:
        expected, got = f"of shape (m, {', '.join(map(str, data.shape))})", ("m", *held.shape)
        raise InvalidInputError("validation X", expected, got, "prepare it like X")
    return held


@dataclass
class _Seen:
    """What one pass met: the rows, the shape of one, the sum of y (the counts of its classes), its extremes."""

    n: int
    shape: torch.Size
    y_sum: Tensor  # (C,)
    low: Tensor  # () or (C,)
    high: Tensor


def _look(batches: Iterable[Batch], task: str, part: str = "") -> _Seen:
    seen: _Seen | None = None
    for x, y in batches:
        _check_values(x, y, task, part)
        own = _Seen(len(x), x.shape[1:], _sum(y, task), y.min(0).values, y.max(0).values)
        seen = own if seen is None else _together(seen, own, part)
    if seen is None:
        raise InvalidInputError(f"{part}X", "a loader of one batch or more", "none", "look at its data set")
    return seen


def _together(a: _Seen, b: _Seen, part: str) -> _Seen:
    if a.shape != b.shape or a.low.shape != b.low.shape:
        got = f"{tuple(a.shape)} and {tuple(b.shape)}"
        raise InvalidInputError(f"{part}X and y", "of one shape in every batch", got, "bring them to one")
    counts = max(len(a.y_sum), len(b.y_sum))
    y_sum = sum(torch.nn.functional.pad(s.y_sum, (0, counts - len(s.y_sum))) for s in (a, b))
    assert isinstance(y_sum, Tensor)
    return _Seen(a.n + b.n, a.shape, y_sum, a.low.minimum(b.low), a.high.maximum(b.high))


def _sum(y: Tensor, task: str) -> Tensor:
    if task == "regression":
        return y.sum(0).reshape(-1)
    return torch.bincount(y.long(), minlength=2).double()


def _as_before(batches: Iterable[Batch], seen: _Seen, task: str) -> Iterator[Batch]:
    """The batches of a later pass, which must be the same rows, in whatever order and with whatever noise on x."""
    n, y_sum = 0, torch.zeros_like(seen.y_sum)
    cure = "a loader is passed over once a layer: let it yield the same rows each time (drop_last=False)"
    for x, y in batches:
        if x.shape[1:] != seen.shape or y.shape[1:] != seen.low.shape:
            got = f"{tuple(x.shape[1:])} after {tuple(seen.shape)}"
            raise InvalidInputError("X and y", "of the same shapes on every pass", got, cure)
        n += len(x)
        own = _sum(y, task)
        if len(own) > len(y_sum):
            raise InvalidInputError("y", "of the same classes on every pass", len(own) - 1, cure)
        y_sum[: len(own)] += own
        yield x, y
    if n != seen.n or not torch.allclose(y_sum, seen.y_sum, rtol=1e-6, atol=1e-6 * seen.n):
        got = f"{n} rows after {seen.n}" if n != seen.n else "other responses"
        raise InvalidInputError("X and y", "the same rows on every pass", got, cure)


def _pair(model: nn.Module, batch: Any, part: str) -> Batch:
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise InvalidInputError(
            f"{part}X", "a loader of pairs (x, y)", type(batch), "give its data set inputs and responses"
        )
    x, y = batch
    return _tensors(model, x, y, part)


def _tensors(model: nn.Module, X: Any, y: Any, part: str) -> Batch:
    """X in the model's dtype on its device and y in float64, from tensors, arrays or data frames."""
    parameter = next(p for p in model.parameters() if p.is_floating_point())
    try:
        x, response = (
            torch.as_tensor(v if isinstance(v, Tensor) else np.require(v, np.float64, "W")) for v in (X, y)
        )
    except (TypeError, ValueError) as err:
        raise InvalidInputError("X and y", "numbers", str(err), "encode categories first") from err
    if x.dim() < 2 or 0 in x.shape:
        raise InvalidInputError(
            f"{part}X",
            "a table (n, d), or n samples of more axes",
            tuple(x.shape),
            "one row a sample, one column a feature",
        )
    if response.dim() == 2 and response.shape[1] == 1:
        response = response[:, 0]
    if response.shape[:1] != x.shape[:1] or response.dim() > 2 or 0 in response.shape:
        expected = f"of shape ({len(x)},), or ({len(x)}, C) for C responses"
        raise InvalidInputError(f"{part}y", expected, tuple(response.shape), "one response a row of X")
    embeds = not x.is_floating_point() and any(isinstance(m, EMBEDDINGS) for m in model.modules())
    x = x.to(parameter.device) if embeds else x.to(parameter)
    return x, in_double_precision(response.to(parameter.device)).double()


def _check_values(x: Tensor, y: Tensor, task: str, part: str) -> None:
    """Refuse what is not finite, and what is no class."""
    for name, values in (("X", x), ("y", y)):
        # A sum is finite if its terms are (but for overflow), in a fraction of the time of looking at each.
        if not torch.isfinite(values.sum()) and (bad := int((~torch.isfinite(values)).sum())):
            raise InvalidInputError(
                part + name, "finite", f"{bad} values nan or inf", "drop or impute these rows"
            )
    if task == "regression":
        return
    if y.dim() > 1:
        got = tuple(y.shape)
        raise InvalidInputError(
            f"{part}y", "one class a row in a classification", got, "pass codes 0, 1, ..."
        )
    if task == "binary" and not ((y == 0) | (y == 1)).all():
        got = y.unique()[:5].tolist()
        raise InvalidInputError(f"{part}y", "0 or 1 in a binary task", got, "encode the classes")
    if not ((y >= 0) & (y < MAX_CLASSES) & (y == y.round())).all():
        got = y.unique()[:5].tolist()
        raise InvalidInputError(f"{part}y", "classes 0, 1, 2, ...", got, "encode the classes")
