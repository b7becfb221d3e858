"""The table at the end of a run."""

from collections.abc import Sequence

import pytest

from steinglm.dashboard.table import tidy
from steinglm.experiment import Experiment, Result, train


def columns(methods: Sequence[str], repeats: int = 1) -> list[str]:
    *_, result = train(
        Experiment(dataset="diabetes", depth=1, epochs=1, methods=tuple(methods), repeats=repeats)
    )
    assert isinstance(result, Result)
    return list(tidy(result))


@pytest.mark.parametrize(
    ("methods", "has"),
    [(["steinglm"], False), (["steinglm", "steinglm_lsuv"], False), (["steinglm", "orthogonal"], True)],
)
def test_epochs_to_the_best_baseline_need_a_baseline(methods: list[str], has: bool) -> None:
    assert ("Epochs to best baseline" in columns(methods)) == has


def test_deviations_need_repeats() -> None:
    assert "sd" not in columns(["orthogonal"]) and "sd" in columns(["orthogonal"], repeats=2)
