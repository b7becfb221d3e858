"""The league is every entry once in every cell, in stacks that fit into memory, and each can be opened."""

import math

import pytest

from steinglm.datasets import load, prepare
from steinglm.exceptions import InvalidInputError
from steinglm.league import study
from steinglm.settings import Experiment
from steinglm.stein import SCORES
from tests.paper.test_study import result


def networks(experiments: list[Experiment]) -> list[tuple[str, int, str, str, int]]:
    return [
        (e.dataset, e.depth, e.activation, study.entry(e, method), repeat)
        for e in experiments
        for method in e.methods
        for repeat in range(e.repeats)
    ]


def test_the_league_is_every_entry_in_every_cell_once() -> None:
    experiments = study.experiments()
    every = networks(experiments)
    assert len(every) == len(set(every)) == 10 * 2 * 3 * len(study.ENTRIES) * 5
    assert {name for *_, name, _ in every} == set(study.ENTRIES)
    assert {f"steinglm_{score}" for score in SCORES} < set(study.ENTRIES)
    assert max(len(e.methods) * e.repeats for e in experiments) <= 40
    assert {(e.dataset, e.epochs, e.alpha) for e in experiments} == {
        (name, epochs, None) for name, epochs in study.EPOCHS.items()
    }


@pytest.mark.parametrize("name", [name for name in study.NAMES if name != "parkinsons"])  # not embedded
def test_a_data_set_is_trained_for_a_thousand_steps_or_a_hundred_epochs(name: str) -> None:
    rows = len(prepare(load(name), 0).y_train)
    steps = math.ceil(rows / Experiment().batch_rows(rows))
    assert study.EPOCHS[name] == min(100, round(1000 / steps))


def test_a_part_of_it() -> None:
    part = study.experiments(["magic"], [40], ["relu"], 2, 7)
    assert {(e.dataset, e.depth, e.activation, e.repeats, e.epochs) for e in part} == {
        ("magic", 40, "relu", 2, 7)
    }


@pytest.mark.parametrize(
    "options",
    [{"names": ["iris"]}, {"depths": [20]}, {"activations": ["gelu"]}, {"repeats": 0}, {"epochs": 0}],
)
def test_what_the_league_has_not(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        study.experiments(**options)  # type: ignore[arg-type]


def test_titles_tell_entries_apart() -> None:
    assert len({own.title for own in study.ENTRIES.values()}) == len(study.ENTRIES)


@pytest.mark.parametrize("name", study.ENTRIES)
def test_an_entry_opens_beside_steinglm_and_the_baselines(name: str) -> None:
    experiment = study.opened(name, "magic", 40, "relu")
    assert study.entry(experiment, study.ENTRIES[name].method) == name
    assert (experiment.dataset, experiment.depth, experiment.activation) == ("magic", 40, "relu")
    assert {"steinglm", "glorot_normal", "he_normal", "orthogonal"} <= set(experiment.methods)
    assert (experiment.epochs, experiment.repeats) == (study.EPOCHS["magic"], 1)


def test_rows_hold_the_ends() -> None:
    experiment = study.experiments(["abalone"], [10], ["tanh"], repeats=1)[0]
    rows = study.rows(result(experiment, 3))
    assert list(rows.columns) == list(study.COLUMNS)
    assert set(rows["quantity"]) == {"test_metric", "best_epoch", "best_validation_loss"}
    assert set(rows["entry"]) == {
        "steinglm_standardized", "orthogonal_glm", "lsuv_glm", "swim_glm", "pca_glm", "steinglm_lsuv",
    }  # fmt: skip
    assert (rows.loc[rows["quantity"] == "test_metric", "value"] == rows["value"].iloc[0]).all()
