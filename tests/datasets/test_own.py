"""Own tables: loadable while somebody holds them, and no longer."""

import gc

import pandas as pd
import pytest

from steinglm import datasets
from steinglm.datasets import Dataset, own
from steinglm.exceptions import DataUnavailableError, InvalidInputError
from steinglm.experiment import Experiment, initialize, split

NAME = "own:0123456789abcdef"


def table(name: str = NAME) -> Dataset:
    X = pd.DataFrame({"a": range(60), "b": [i * i % 7 for i in range(60)]})
    return Dataset(
        name, X.astype(float), pd.Series(range(60), dtype=float) ** 2, "regression", "mine", "Mine"
    )


def test_a_table_can_be_loaded_while_it_is_held() -> None:
    held = datasets.hold(table())
    assert datasets.canonical(NAME) == NAME
    assert datasets.load(NAME).X.equals(table().X)
    assert datasets.hold(table()) is held
    rows = initialize(Experiment(dataset=NAME, depth=2))
    assert (rows["quantity"] == "training_loss").any()
    del held
    gc.collect()
    for ask in (datasets.load, own.find, lambda name: split(name, 0, 0)):
        with pytest.raises(DataUnavailableError, match="open the file again"):
            ask(NAME)


def test_splits_are_prepared_once_and_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    held = datasets.hold(table())
    assert held.split(1) is held.split(1)
    monkeypatch.setattr(own, "MOST_BYTES", 2 * 60 * 2 * 8)
    first = held.split(1)
    held.split(2), held.split(3)
    assert held.split(1) is not first
    assert held.split(1).X_train.equal(first.X_train)


@pytest.mark.parametrize("name", ["own:", "own:0123456789ABCDEF", "abalone", "own:0123456789abcdef0"])
def test_a_name_that_is_no_digest_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="16 hexadecimal digits"):
        datasets.hold(table(name))
