"""On how many rows layers are measured."""

import pytest

from steinglm.dashboard.measure import BUDGET, FEWEST, measured
from steinglm.experiment import Experiment


def test_small_data_is_measured_whole() -> None:
    assert measured(Experiment(dataset="abalone", depth=40, repeats=3)) == (2674, 2674)


@pytest.mark.parametrize(("depth", "some"), [(10, 13210), (30, BUDGET // (8 * 30 * 4)), (100, FEWEST)])
def test_large_data_is_measured_in_part(depth: int, some: int) -> None:
    assert measured(Experiment(dataset="california_housing", depth=depth)) == (some, 13210)
