"""A Dataset that hangs together, or an error."""

import numpy as np
import pandas as pd
import pytest

from steinglm.datasets import Dataset
from steinglm.exceptions import InvalidInputError

X, Y = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), pd.Series([0.0, 1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "ranking"}, "task must be one of regression, binary, multiclass, got ranking"),
        ({"y": Y[:1]}, "got 2 rows and 1 responses"),
        ({"y": Y.set_axis([5, 6])}, "y must be on the index of X"),
        ({"X": X[[]]}, "one or more columns"),
        ({"X": X.set_axis(["a", "a"], axis=1)}, "different names"),
        ({"directions": np.ones((3, 1))}, r"of shape \(2, k\)"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    parts: dict[str, object] = {"X": X, "y": Y, "task": "regression"}
    with pytest.raises(InvalidInputError, match=message):
        Dataset(name="mine", description="", title="Mine", **(parts | change))  # type: ignore[arg-type]
