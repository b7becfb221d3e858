"""Axes from texts, cells that are experiments or say why not, and batches that hold each of them once."""

import pytest

from steinglm.exceptions import InvalidInputError
from steinglm.settings import Experiment
from steinglm.sweep import Axis, Batch, Sweep, batches

BASE = Experiment(dataset="diabetes")
DEPTHS, ALPHAS = Axis("depth", (1, 2, 3)), Axis("alpha", (0.5, 1.0, None, "auto"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("alpha=0.5,1,default,auto", (0.5, 1.0, None, "auto")),
        ("alpha=0.5:8:4", (0.5, 3.0, 5.5, 8.0)),
        ("alpha=8:0.5:2", (8.0, 0.5)),
        ("learning_rate=1e-4:1e-2:3:log", (1e-4, 1e-3, 1e-2)),
        ("depth=1:100:3:log", (1, 10, 100)),
        ("depth=1:4:10", (1, 2, 3, 4)),
        ("width=5,default", (5, None)),
        ("rows= 20 , 50 ", (20, 50)),
        ("score=identity,centered", ("identity", "centered")),
    ],
)
def test_an_axis_is_read_from_its_text(text: str, values: tuple[object, ...]) -> None:
    axis = Axis.parse(text)
    assert axis.values == values
    assert Axis.parse(f"{axis.name}={','.join(axis.labels)}") == axis


@pytest.mark.parametrize(
    "text",
    [
        "depth", "depth=", "depth=two", "depth=1.5", "depth=default", "alpha=1:2", "alpha=0:8:4:log",
        "alpha=1:2:3:cubic", "alpha=1:2:3:log:4", "alpha=1:inf:4", "seed=1,2", "alpha=1:2:999", "alpha=1:2:1",
        "depth=1e400:2:3", "",
    ],
)  # fmt: skip
def test_a_text_that_is_no_axis_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="axis"):
        Axis.parse(text)


def test_cells_are_experiments_row_by_row() -> None:
    sweep = Sweep(BASE, ALPHAS, DEPTHS, colour="test_metric")
    assert len(sweep.cells) == 12
    cell = sweep.cells[5]
    assert (cell.x, cell.y) == (1.0, 2)
    assert cell.experiment == Experiment(dataset="diabetes", alpha=1.0, depth=2, methods=("steinglm",))


def test_a_setting_that_cannot_be_is_a_cell_that_says_why() -> None:
    sweep = Sweep(BASE, Axis("alpha", (1.0, -1.0)), Axis("depth", (2, 0)))
    assert [cell.experiment is None for cell in sweep.cells] == [False, True, True, True]
    assert "depth must be 1..200" in sweep.cells[2].error
    assert [len(batch.cells) for batch in batches(sweep)] == [1]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"y": ALPHAS}, "another setting"),
        ({"method": "orthogonal"}, "a setting of the method"),
        ({"method": "none"}, "method"),
        ({"colour": "beauty"}, "colour"),
        ({"colour": "epochs_to_target"}, "target_loss"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(changed: dict[str, object], what: str) -> None:
    with pytest.raises(InvalidInputError, match=what):
        Sweep(**({"base": BASE, "x": ALPHAS, "y": DEPTHS} | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize("colour", ["chi_1", "test_metric"])
@pytest.mark.parametrize("x", [ALPHAS, Axis("learning_rate", (0.1, 0.2)), Axis("width", (2, 3, 4))])
def test_batches_hold_every_experiment_once(colour: str, x: Axis) -> None:
    sweep = Sweep(BASE, x, DEPTHS, colour=colour)
    held = [cell for batch in batches(sweep) for cell in batch.cells]
    assert len(held) == len(set(held))
    assert set(held) == {cell.experiment for cell in sweep.cells}
    assert all(batch.trained == sweep.trained for batch in batches(sweep))


def test_depths_share_a_batch_before_training_and_a_stack_has_one_shape() -> None:
    depths = Axis("depth", tuple(range(1, 10)))
    untrained = batches(Sweep(BASE, ALPHAS, depths))
    assert [len({cell.alpha for cell in batch.cells}) for batch in untrained] == [3, 1]
    trained = batches(Sweep(BASE, ALPHAS, DEPTHS, colour="final_loss"))
    assert [{cell.depth for cell in batch.cells} for batch in trained] == [{1}, {2}, {3}]


def test_what_follows_the_start_does_not_compute_it_again() -> None:
    rates = Sweep(BASE, Axis("learning_rate", (0.1, 0.2)), DEPTHS)
    assert sum(len(batch.cells) for batch in batches(rates)) == 3
    other = Sweep(Experiment(dataset="diabetes", epochs=7), ALPHAS, DEPTHS, colour="initial_loss")
    assert batches(other) == batches(Sweep(BASE, ALPHAS, DEPTHS))


def test_a_batch_comes_back_from_its_plain_values() -> None:
    for batch in batches(Sweep(BASE, ALPHAS, DEPTHS, colour="final_loss")):
        assert Batch.from_dict(batch.as_dict()) == batch
        assert Batch.from_dict(batch.as_dict()).key == batch.key
