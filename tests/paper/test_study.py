"""The study is the paper's: every network once, in experiments that also open on the page."""

import numpy as np
import pandas as pd
import pytest
import torch

from steinglm.exceptions import InvalidInputError
from steinglm.experiment import Result
from steinglm.paper import study
from steinglm.settings import Experiment


def networks(experiments: list[Experiment]) -> list[tuple[str, int, str, str, int]]:
    return [
        (e.dataset, e.depth, *study.label(e, method), repeat)
        for e in experiments
        for method in e.methods
        for repeat in range(e.repeats)
    ]


def test_the_whole_study_is_4000_different_networks() -> None:
    experiments = study.experiments()
    every = networks(experiments)
    assert len(every) == len(set(every)) == 4000
    assert {name for name, *_ in every} == {name for group in study.DATASETS.values() for name in group}
    assert {e.epochs for e in experiments} == {200}
    assert {e.activation for e in experiments} == {"tanh"}


def test_the_first_tables_need_no_ablation() -> None:
    part = study.experiments([2], ["abalone", "power_plant"], [10, 40], 3)
    assert {(method, output) for _, _, method, output, _ in networks(part)} == {
        ("steinglm", "glm"), ("steinglm_standardized", "glm"),
        ("glorot_normal", "own"), ("he_normal", "own"), ("orthogonal", "own"),
    }  # fmt: skip
    assert len(networks(part)) == 2 * 2 * 5 * 3
    assert len(networks(study.experiments([4], ["abalone"], [10], 3))) == 10 * 3


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"tables": [6]}, "tables"),
        ({"names": ["iris"]}, "datasets"),
        ({"depths": [15]}, "depths"),
        ({"tables": [2], "names": ["adult"]}, "two classes"),
    ],
)
def test_what_the_paper_has_not(options: dict[str, list[object]], word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        study.experiments(**options)  # type: ignore[arg-type]


def result(experiment: Experiment, epochs: int) -> Result:
    """A result whose numbers are made up and tell where they come from."""
    names = [(m, r) for m in experiment.methods for r in range(experiment.repeats)]
    history = pd.DataFrame(
        [
            (m, r, epoch, quantity, 1 / (1 + epoch) + r)
            for m, r in names
            for epoch in range(epochs + 1)
            for quantity in ("training_loss", "validation_loss")
        ],
        columns=["method", "repeat", "epoch", "quantity", "value"],
    )
    summary = pd.DataFrame(names, columns=["method", "repeat"])
    summary["test_metric"] = 0.1 + summary["repeat"] / 100
    summary["best_epoch"], summary["best_validation_loss"] = epochs, 0.5
    summary["initialization_seconds"], summary["training_seconds"] = np.random.default_rng().random(), 1.0
    return Result(experiment, history, summary, {"w": torch.zeros(1)})


def test_rows_hold_results_and_thinned_curves_and_no_times() -> None:
    experiment = Experiment(methods=("steinglm", "orthogonal"), score="standardized", repeats=2, epochs=200)
    rows = study.rows(result(experiment, 200))
    assert list(rows.columns) == list(study.COLUMNS)
    curve = rows[
        (rows["method"] == "orthogonal") & (rows["repeat"] == 1) & (rows["quantity"] == "training_loss")
    ]
    assert curve["epoch"].tolist() == [*range(21), *range(25, 201, 5)]
    assert set(rows["quantity"]) == {
        "test_metric", "best_epoch", "best_validation_loss", "training_loss", "validation_loss",
    }  # fmt: skip
    ends = rows[rows["quantity"] == "test_metric"]
    assert sorted(zip(ends["method"], ends["output"], ends["repeat"], strict=True)) == [
        ("orthogonal", "own", 0), ("orthogonal", "own", 1),
        ("steinglm_standardized", "glm", 0), ("steinglm_standardized", "glm", 1),
    ]  # fmt: skip
    assert ends["value"].tolist() == pytest.approx([0.1, 0.11, 0.1, 0.11])
