"""The layers along training: against autograd, at the epochs that are promised, in the store and the export."""

import pandas as pd
import pytest
import torch

from steinglm import mlp
from steinglm.experiment import Experiment, Result, networks_of, rows_of, train
from steinglm.train import Rows
from steinglm.travel import TRAVELLED, travel_rows


@pytest.fixture(scope="module")
def result() -> Result:
    experiment = Experiment(
        dataset="diabetes", depth=3, epochs=12, patience=3, methods=("steinglm", "orthogonal")
    )
    *_, last = train(experiment)
    assert isinstance(last, Result)
    return last


def test_epochs_are_1_2_5_and_their_decades_and_the_last_until_a_network_stops(result: Result) -> None:
    last = result.history.groupby("method")["epoch"].max()
    assert last["steinglm"] < last["orthogonal"] == 12
    for method, end in last.items():
        own = result.travel[result.travel["method"] == method]
        assert sorted(own["epoch"].unique()) == [e for e in (0, 1, 2, 5, 10, 12) if e <= end]
    assert set(TRAVELLED) < set(result.travel["quantity"])


def test_weights_move_from_their_start_and_the_output_layer_too(result: Result) -> None:
    moved = result.travel[result.travel["quantity"] == "weight_movement"]
    table = moved.pivot_table(index=["method", "layer"], columns="epoch", values="value")
    assert (table[0] == 0).all() and (table[1] > 0).all()
    assert set(moved["layer"]) == {1, 2, 3, 4}
    models, _, _ = networks_of(result.experiment)
    first = {m: model[0].weight.detach() for m, model in zip(("steinglm", "orthogonal"), models, strict=True)}
    # orthogonal is at its best in the last epoch: the parameters that are kept are those that were looked at
    assert int(result.summary.set_index("method").loc["orthogonal", "best_epoch"]) == 12
    W = result.state["orthogonal.0.hidden1.weight"].double()
    share = float((W - first["orthogonal"]).norm() / first["orthogonal"].norm())
    assert share == pytest.approx(table.loc[("orthogonal", 1), 12], rel=1e-4)


def test_gradients_are_autograds() -> None:
    experiment = Experiment(dataset="diabetes", depth=2, methods=("steinglm", "he_normal"))
    models, names, _ = networks_of(experiment)
    networks = mlp.stack(models, torch.float64)
    some = rows_of(experiment, "train", torch.float64, 50)
    found = travel_rows(networks, networks, Rows(some.X, some.y), names, "regression")
    norms = found[found["quantity"] == "gradient_norm"].set_index(["method", "layer"])["value"]
    for (method, _), model in zip(names, models, strict=True):
        torch.nn.functional.mse_loss(model(some.X[0]), some.y[0]).backward()
        linears = [m for m in model if isinstance(m, torch.nn.Linear)]
        for layer, linear in enumerate(linears[:-1], start=1):
            assert linear.weight.grad is not None
            assert norms[method, layer] == pytest.approx(float(linear.weight.grad.norm()), rel=1e-8)


def test_what_is_no_number_is_left_out() -> None:
    *_, result = train(
        Experiment(dataset="diabetes", depth=2, epochs=6, learning_rate=10.0, activation="relu")
    )
    assert isinstance(result, Result)
    assert pd.api.types.is_float_dtype(result.travel["value"])
    assert result.travel["value"].abs().max() < float("inf")
