"""Each cell equals its own experiment run alone, whatever it is computed with; and what goes wrong is a cell's own."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from steinglm.experiment import Experiment, initialize, networks_of, split, train
from steinglm.phases import phase
from steinglm.results import Epoch, Result
from steinglm.sweep import Axis, Batch, Sweep, compute, pivot, table
from steinglm.sweep import train as train_batch
from steinglm.sweep.starts import starts

BASE = Experiment(dataset="diabetes", epochs=3, repeats=2)
DEPTHS = Axis("depth", (1, 3, 6))
TARGET = 0.0286


def alone(experiment: Experiment) -> dict[str, float]:
    """A cell before training, by what the page Compare calls."""
    rows = initialize(experiment)
    own = rows[(rows["layer"] == experiment.depth) & (rows["quantity"] == "preactivation_variance")]
    loss = rows[rows["quantity"] == "training_loss"]
    return {"last_variance": own["value"].median(), "initial_loss": loss["value"].median()}


@pytest.mark.parametrize(
    ("method", "changed", "x"),
    [
        ("steinglm", {}, Axis("alpha", (0.5, 2.0, "auto"))),
        ("steinglm", {"output": "own", "width": 12}, Axis("score", ("identity", "standardized"))),
        ("steinglm", {"dataset": "wine", "output": "own", "width": 2}, Axis("activation", ("relu",))),
        ("steinglm", {"dataset": "mammographic"}, Axis("rows", (50, 200))),
        ("glorot_normal", {}, Axis("activation", ("sigmoid", "gelu"))),
        ("orthogonal", {"output": "glm"}, Axis("width", (4, 15))),
    ],
)
def test_before_training_each_cell_equals_its_own_experiment(
    method: str, changed: dict[str, object], x: Axis
) -> None:
    sweep = Sweep(replace(BASE, **changed), x, DEPTHS, method)  # type: ignore[arg-type]
    rows = compute(sweep)
    assert rows["done"].all() and (rows["error"] == "").all()
    for cell, row in zip(sweep.cells, rows.to_dict("records"), strict=True):
        assert cell.experiment is not None
        for name, value in alone(cell.experiment).items():
            assert row[name] == pytest.approx(value, rel=1e-10, abs=1e-14), (cell, name)


def test_the_networks_are_those_of_their_own_experiments() -> None:
    experiment = replace(BASE, methods=("he_normal",), seed=5)
    for depth, start in starts(experiment, [2, 4], 1).items():
        models, _, _ = networks_of(replace(experiment, depth=depth))
        for own, twin in zip(start.network.parameters(), models[1].parameters(), strict=True):
            assert own.equal(twin)


def test_chi_is_that_of_theory_in_wide_layers() -> None:
    for activation in ("tanh", "sigmoid"):
        experiment = replace(BASE, activation=activation, width=300, methods=("he_normal",))
        start = starts(experiment, [12], 0)[12]
        assert start.chi_1 == pytest.approx(phase(activation, 2.0).chi, rel=0.05)


@pytest.mark.parametrize(
    ("x", "repeats"), [(Axis("alpha", (0.5, 1.0)), 2), (Axis("learning_rate", (0.003, 0.03)), 1)]
)
def test_trained_cells_equal_their_own_experiments(x: Axis, repeats: int) -> None:
    sweep = Sweep(
        replace(BASE, target_loss=TARGET, repeats=repeats), x, Axis("depth", (2, 4)), colour="final_loss"
    )
    rows = compute(sweep)
    for cell, row in zip(sweep.cells, rows.to_dict("records"), strict=True):
        assert cell.experiment is not None
        *_, result = train(cell.experiment)
        assert isinstance(result, Result)
        history = result.history
        losses = history[history["quantity"] == "training_loss"].groupby("repeat")["value"].last()
        assert row["final_loss"] == pytest.approx(losses.median(), rel=1e-4)
        assert row["test_metric"] == pytest.approx(result.summary["test_metric"].median(), rel=1e-4)
        low = history[(history["quantity"] == "validation_loss") & (history["value"] <= TARGET)]
        reached = [low.loc[low["repeat"] == repeat, "epoch"].min() for repeat in range(repeats)]
        assert row["epochs_to_target"] == pytest.approx(np.median(np.nan_to_num(reached, nan=np.inf)))
    assert rows["final_loss"].nunique() == 4
    assert repeats == 2 or set(rows["epochs_to_target"]) == {1.0, np.inf}
    assert rows[["last_variance", "initial_loss"]].notna().all(axis=None)


def test_a_start_that_fails_is_a_cell_that_says_why_and_the_others_go_on() -> None:
    huge = Sweep(
        replace(BASE, activation="relu", output="glm"), Axis("alpha", (1.0, 1e6)), Axis("depth", (1, 80))
    )
    rows = compute(huge)
    assert rows["done"].all()
    assert [bool(error) for error in rows["error"]] == [False, False, False, True]
    assert rows["initial_loss"].notna().tolist() == [True, True, True, False]
    assert "finite" in rows["error"][3]


def test_a_batch_of_which_nothing_can_be_started_has_a_result() -> None:
    cell = replace(BASE, activation="relu", alpha=1e6, depth=100, methods=("steinglm",))
    *_, result = train_batch(Batch((cell,), True))
    assert isinstance(result, Result)
    assert result.summary["error"][0]
    assert len(result.history) == 1


def test_epochs_are_cells_before_training_and_losses_after_it() -> None:
    cells = tuple(replace(BASE, depth=depth, methods=("steinglm",)) for depth in (2, 1))
    *untrained, result = train_batch(Batch(cells))
    assert [step.epoch for step in untrained if isinstance(step, Epoch)] == [1, 2]
    assert isinstance(result, Result) and result.history["value"].notna().all()
    *trained, _ = train_batch(Batch(cells[:1], True))
    assert [step.epoch for step in trained if isinstance(step, Epoch)] == [0, 1, 2, 3]


def test_a_table_knows_what_is_not_done_and_a_pivot_has_x_across() -> None:
    sweep = Sweep(BASE, Axis("alpha", (0.5, 1.0)), DEPTHS)
    rows = table(sweep, {})
    assert not rows["done"].any() and rows["last_variance"].isna().all()
    wide = pivot(sweep, rows.assign(last_variance=range(6)))
    assert wide.loc["3"].tolist() == [2, 3]
    assert list(wide.columns) == ["0.5", "1"]


def test_rows_are_the_first_of_each_split_everywhere() -> None:
    """Standardized by themselves; the validation and test rows are the same ones."""
    few, many, every = (split("diabetes", 0, 0, rows) for rows in (30, 60, None))
    assert len(few.y_train) == 30 and len(many.y_train) == 60
    assert few.y_train.equal(many.y_train[:30])
    assert few.y_validation.equal(every.y_validation) and few.y_test.equal(every.y_test)
    assert few.X_train.mean(0).abs().max() < 1e-12
    assert split("diabetes", 0, 0, 10**6).X_train.equal(every.X_train)
    losses = [
        alone(replace(BASE, rows=rows, methods=("steinglm",)))["initial_loss"] for rows in (20, 60, None)
    ]
    assert all(first < second for first, second in pairwise(losses))  # fewer rows are easier to fit
    *_, result = train(replace(BASE, rows=20, depth=2, methods=("steinglm",)))
    assert isinstance(result, Result)
    assert isinstance(result.summary, pd.DataFrame)
