"""What is said of networks before training is of the networks that are measured and trained."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from steinglm.analysis import alphas, jacobian, phase_table, signals, theory
from steinglm.diagnostics import COLUMNS
from steinglm.experiment import Experiment, initialize, networks_of, rows_of
from steinglm.init import INITIALIZERS

SMALL = Experiment(dataset="diabetes", depth=3, epochs=6, repeats=2, learning_rate=1e-2)


def test_signals_are_of_the_networks_that_initialize_measures() -> None:
    rows, own = initialize(SMALL), signals(SMALL)
    assert list(own.columns) == list(COLUMNS) and set(own["layer"]) == {1, 2, 3}
    keys = ["method", "repeat", "layer"]

    def of(table: pd.DataFrame, quantity: str) -> pd.Series:
        return table[table["quantity"] == quantity].set_index(keys)["value"]

    length = of(own, "preactivation_length")
    assert (length >= of(rows, "preactivation_variance") - 1e-12).all()
    first = own[(own["quantity"] == "probe") & (own["layer"] == 1) & (own["method"] == "steinglm")]
    assert (first["value"] > 0.3).all()  # an orthonormal layer of all directions knows what the inputs know


def test_theory_meets_what_is_measured_and_says_nothing_of_a_length_without_means() -> None:
    experiment = replace(SMALL, methods=tuple(INITIALIZERS), repeats=3)
    said = theory(experiment)
    assert list(said.columns) == list(COLUMNS)
    assert not ((said["method"] == "steinglm") & (said["quantity"] == "preactivation_length")).any()
    rows = initialize(experiment)
    measured = (
        rows[rows["quantity"] == "preactivation_variance"].groupby(["method", "layer"])["value"].median()
    )
    expected = said[said["quantity"] == "preactivation_variance"].set_index(["method", "layer"])["value"]
    ratio = (measured / expected).dropna()
    assert len(ratio) == 12 and ratio.between(0.5, 2).all()  # ten units are not a wide layer
    assert ratio["steinglm", 1] == pytest.approx(1)  # orthonormal, square: exact


def test_the_jacobian_is_autograds_at_the_same_rows() -> None:
    experiment = replace(SMALL, methods=("he_normal",), repeats=1)
    rows = jacobian(experiment)
    values = rows[rows["quantity"] == "jacobian_singular_value"].sort_values("rank")["value"].to_numpy()
    model = networks_of(experiment)[0][0][:-1]  # all but the output layer
    each = [
        torch.linalg.svdvals(torch.autograd.functional.jacobian(model, x))
        for x in rows_of(experiment, "train", torch.float64, 64).X[0]
    ]
    np.testing.assert_allclose(values, torch.stack(each).median(0).values, rtol=1e-9)
    whole = rows.loc[rows["quantity"] == "jacobian_root_mean_square", "value"].item()
    assert whole == pytest.approx(float(torch.stack(each).square().mean().sqrt()))


def test_theory_without_calibration_has_the_means_that_are_measured() -> None:
    experiment = replace(SMALL, activation="sigmoid", methods=("steinglm",), repeats=3, calibrate=False)
    said, rows = theory(experiment), pd.concat([initialize(experiment), signals(experiment)])
    said = pd.concat([said.assign(source="theory"), rows.assign(source="measured")])
    for quantity in ("preactivation_variance", "preactivation_length"):
        own = said[said["quantity"] == quantity].groupby(["source", "layer"])["value"].median()
        ratio = (own["measured"] / own["theory"]).dropna()
        assert len(ratio) == experiment.depth and ratio.between(0.5, 2).all()


def test_theory_has_the_mean_square_of_the_jacobian() -> None:
    experiment = replace(SMALL, repeats=4, depth=2)
    said, rows = theory(experiment), jacobian(experiment)
    said = said[(said["quantity"] == "jacobian_root_mean_square") & (said["layer"] == 2)]
    measured = rows[rows["quantity"] == "jacobian_root_mean_square"].groupby("method")["value"].median()
    ratio = measured / said.set_index("method")["value"]
    assert len(ratio) == 4 and ratio.between(0.6, 1.6).all()


def test_the_baselines_phases_are_the_known_ones() -> None:
    tanh = phase_table(SMALL).set_index("method")
    assert tanh["phase"].to_dict() == {
        "glorot_normal": "critical",
        "he_normal": "chaotic",
        "orthogonal": "critical",
    }
    relu = phase_table(replace(SMALL, activation="relu")).set_index("method")
    assert relu["phase"].to_dict() == {
        "glorot_normal": "ordered",
        "he_normal": "critical",
        "orthogonal": "ordered",
    }
    assert phase_table(replace(SMALL, methods=("steinglm",))).empty


def test_every_activation_has_its_factors() -> None:
    table = alphas().set_index("activation").round(4)
    assert table.loc["tanh"].tolist() == [1.0, 1.5925] and table.loc["sigmoid"].tolist() == [4.0, 4.8013]
    assert np.isnan(table.loc["relu", "paper"])
