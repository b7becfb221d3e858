"""Every diagnostic quantity against a numpy twin, and the share of saturated units on planted cases."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from steinglm import diagnostics
from steinglm.init import he_normal_
from steinglm.mlp import ACTIVATIONS, Stack, build, stack
from steinglm.stein import SCORES
from steinglm.train import Rows
from tests import reference

N, FEATURES, WIDTH, DEPTH, REPEATS = 40, 3, 4, 3, 2
NAMES = [(method, repeat) for method in ("one", "two") for repeat in range(REPEATS)]


def sample() -> Rows:
    g = torch.Generator().manual_seed(0)
    X = torch.randn(REPEATS, N, FEATURES, generator=g, dtype=torch.float64) * 2 + 0.3
    return Rows(X, (X[..., 0] ** 2 + X[..., 1])[..., None])


def networks(activation: str, depth: int = DEPTH) -> Stack:
    models = [build(FEATURES, WIDTH, depth, activation, torch.float64) for _ in NAMES]
    for seed, model in enumerate(models):
        he_normal_(model, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            model.get_submodule("hidden1").bias.add_(0.3 * seed)  # type: ignore[operator]
    return stack(models, torch.float64)


def twin(nets: Stack, data: Rows, score: str) -> dict[tuple[str, int, int, str, int], float]:
    """(method, repeat, layer, quantity, rank) -> value, a unit at a time."""
    found: dict[tuple[str, int, int, str, int], float] = {}
    for k, (method, repeat) in enumerate(NAMES):
        h, y = data.X[k % REPEATS].numpy(), data.y[k % REPEATS, :, 0].numpy()
        for layer, (weights, biases) in enumerate(zip(nets.weights, nets.biases, strict=True), start=1):
            W = weights[k].numpy()
            spectra = {
                "moment_eigenvalue": reference.directions(reference.cross_moment(h, y, score), 1)[1],
                "weight_singular_value": np.sqrt(
                    np.abs(np.linalg.eigvalsh(W @ W.T if len(W) < W.shape[1] else W.T @ W)[::-1])
                ),
            }
            for quantity, values in spectra.items():
                found |= {
                    (method, repeat, layer, quantity, rank): value
                    for rank, value in enumerate(values, start=1)
                }
            if layer == len(nets.weights):
                break
            a = h @ W + biases[k].numpy()
            h = reference.apply(nets.activation, a)
            slopes = np.abs(reference.slope(nets.activation, a)).mean(axis=0)
            steepest = ACTIVATIONS[nets.activation].steepest
            found[method, repeat, layer, "saturated_share", 0] = np.mean(
                [s < 0.05 * steepest for s in slopes]
            )
            for place, table in (("preactivation", a), ("activation", h)):
                for moment, units in (
                    ("mean", [u.mean() for u in table.T]),
                    ("variance", [u.var() for u in table.T]),
                ):
                    summaries = {
                        "": np.mean(units),
                        "_q10": np.quantile(units, 0.1),
                        "_q90": np.quantile(units, 0.9),
                    }
                    found |= {
                        (method, repeat, layer, f"{place}_{moment}{end}", 0): v
                        for end, v in summaries.items()
                    }
    return found


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_all_quantities_of_all_layers_equal_their_twins(activation: str, score: str) -> None:
    nets, data = networks(activation), sample()
    rows = diagnostics.layer_rows(nets, data, NAMES, score)
    assert tuple(rows.columns) == diagnostics.COLUMNS
    found = {tuple(row[:-1]): row[-1] for row in rows.itertuples(index=False)}
    expected = twin(nets, data, score)
    assert len(found) == len(rows)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-7, abs=1e-7), name


def test_planted_fault_the_twin_sees_a_sample_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(values: Tensor) -> tuple[Tensor, Tensor]:
        return values.mean(1), values.var(1)

    monkeypatch.setattr(diagnostics, "over_rows", wrong)
    with pytest.raises(AssertionError, match="preactivation_variance"):
        test_all_quantities_of_all_layers_equal_their_twins("tanh", "identity")


def test_a_network_of_one_layer() -> None:
    rows = diagnostics.layer_rows(networks("tanh", depth=1), sample(), NAMES, "identity")
    assert set(rows["layer"]) == {1, 2}
    assert set(rows.loc[rows["layer"] == 2, "quantity"]) == {"moment_eigenvalue", "weight_singular_value"}


def test_rows_are_tidy() -> None:
    rows = diagnostics.layer_rows(networks("tanh"), sample(), NAMES, "identity")
    assert not rows.duplicated(["method", "repeat", "layer", "quantity", "rank"]).any()
    assert rows["value"].notna().all()
    assert set(zip(rows["method"], rows["repeat"], strict=True)) == set(NAMES)
    spectra = rows[rows["quantity"].isin(["moment_eigenvalue", "weight_singular_value"])]
    assert (spectra["rank"] >= 1).all()
    assert (rows.drop(spectra.index)["rank"] == 0).all()
    sizes = spectra.assign(size=spectra["value"].abs()).sort_values("rank")
    groups = sizes.groupby(["method", "repeat", "layer", "quantity"])["size"]
    assert groups.apply(lambda values: values.is_monotonic_decreasing).all()
    assert isinstance(rows, pd.DataFrame)


def test_measuring_changes_nothing() -> None:
    nets, data = networks("tanh"), sample()
    before = nets.flat.clone(), data.X.clone(), data.y.clone()
    with reference.random_streams_untouched():
        diagnostics.layer_rows(nets, data, NAMES, "standardized")
    assert all(torch.equal(a, b) for a, b in zip(before, (nets.flat, data.X, data.y), strict=True))


def test_layers_leave_what_they_gave() -> None:
    """Each layer's tensors stay as they were when the next layer is computed: nothing is overwritten in place."""
    nets, data = networks("tanh"), sample()
    walk = list(diagnostics.layers(nets, data.X.repeat(2, 1, 1)))
    for (_, a, after), (h, _, _) in pairwise(walk):
        torch.testing.assert_close(torch.tanh(a), after)
        assert torch.equal(h, after)


@pytest.mark.parametrize(
    ("activation", "shifts", "share"),
    [
        ("tanh", [0, 0, 0, 0], 0.0),
        ("tanh", [9, 0, 0, 0], 0.25),
        ("tanh", [9, -9, 0, 0], 0.5),
        ("tanh", [9, -9, 9, -9], 1.0),
        ("sigmoid", [0, 0, 9, -9], 0.5),
        ("relu", [-9, -9, -9, 9], 0.75),  # dead, and a unit that is always on is not saturated
        ("elu", [-9, 0, 0, 9], 0.25),
        ("selu", [-9, 0, 0, 9], 0.25),
        ("gelu", [-9, -9, 0, 9], 0.5),
        ("silu", [-9, -9, 0, 9], 0.5),
        ("identity", [-9, 9, 0, 0], 0.0),
    ],
)
def test_saturated_share_on_planted_units(activation: str, shifts: list[float], share: float) -> None:
    a = (
        torch.linspace(-1, 1, 50, dtype=torch.float64)[None, :, None]
        + torch.tensor([shifts], dtype=torch.float64)[:, None]
    )
    before = a.clone()
    assert diagnostics.saturated_share(a, activation).tolist() == [share]
    assert torch.equal(a, before)


def test_a_unit_is_saturated_by_its_mean_slope() -> None:
    """One row in ten on the slope is enough; one in a hundred is not."""
    a = torch.full((1, 100, 2), 20.0, dtype=torch.float64)
    a[0, :10, 0] = 0
    a[0, :1, 1] = 0
    assert diagnostics.saturated_share(a, "tanh").tolist() == [0.5]


def test_many_responses_have_the_singular_values_of_their_moments() -> None:
    data = sample()
    h, y = (
        data.X.repeat(2, 1, 1),
        torch.cat([data.y, data.X[..., :1] * data.X[..., 1:2], data.X[..., 2:]], dim=2),
    )
    found = diagnostics.moment_eigenvalues(h, y, "standardized")  # (K, d)
    for k, values in enumerate(found):
        columns = y[k % REPEATS].T.numpy()
        stacked = np.hstack([reference.cross_moment(h[k].numpy(), own, "standardized") for own in columns])
        np.testing.assert_allclose(values, np.linalg.svd(stacked, compute_uv=False), rtol=1e-9, atol=1e-12)


def test_recovery_is_the_r_squared_of_a_fit() -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(2, 300, 5, generator=g, dtype=torch.float64)
    a, u = x[..., :3] + 0.3 * x[..., 2:], torch.stack([x[..., 0], x[..., 1] ** 2 + x[..., 4]], dim=-1)
    found = diagnostics.direction_recovery(a, u)
    for k in range(2):
        design = np.column_stack([np.ones(300), a[k]])
        for j in range(2):
            _, residual, *_ = np.linalg.lstsq(design, u[k, :, j].numpy())
            assert found[k, j] == pytest.approx(1 - residual[0] / 300 / u[k, :, j].numpy().var(), abs=1e-10)


def test_recovery_is_the_squared_cosine_to_the_span_of_the_weights() -> None:
    g = torch.Generator().manual_seed(1)
    x, _ = torch.linalg.qr(torch.randn(200, 6, generator=g, dtype=torch.float64))
    x -= x.mean(0)
    x = torch.linalg.qr(x)[0] * 200**0.5  # centered and exactly uncorrelated
    W, B = (torch.linalg.qr(torch.randn(6, k, generator=g, dtype=torch.float64))[0] for k in (3, 2))
    found = diagnostics.direction_recovery((x @ W)[None], (x @ B)[None])
    torch.testing.assert_close(found[0], (W.T @ B).square().sum(0))


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e6])
def test_recovery_does_not_depend_on_the_scale_of_the_signal(scale: float) -> None:
    g = torch.Generator().manual_seed(2)
    x = torch.randn(1, 100, 4, generator=g, dtype=torch.float64)
    a, u = x[..., :2], x[..., :3]
    torch.testing.assert_close(
        diagnostics.direction_recovery(a * scale, u),
        diagnostics.direction_recovery(a, u),
        rtol=1e-6,
        atol=1e-9,
    )


def test_recovery_with_units_that_are_constant_or_alike() -> None:
    g = torch.Generator().manual_seed(3)
    x = torch.randn(1, 100, 2, generator=g, dtype=torch.float64)
    a = torch.stack([x[..., 0], x[..., 0], torch.ones(1, 100).double()], dim=-1)
    torch.testing.assert_close(
        diagnostics.direction_recovery(a, x),
        diagnostics.direction_recovery(a[..., :1], x),
        atol=1e-10,
        rtol=0,
    )
    nothing = diagnostics.direction_recovery(torch.zeros_like(a), x)
    assert torch.equal(nothing, torch.zeros(1, 2).double())


def test_layer_rows_tell_the_recovery_where_the_indices_are_known() -> None:
    nets, data = networks("tanh"), sample()
    plain = diagnostics.layer_rows(nets, data, NAMES, "identity")
    rows = diagnostics.layer_rows(nets, data, NAMES, "identity", data.X[..., :2])
    own = rows[rows["quantity"].str.startswith("direction_recovery")]
    assert set(own["quantity"]) == {f"direction_recovery{end}" for end in ("", "_q10", "_q90")}
    assert own["value"].between(0, 1).all() and len(rows) == len(plain) + len(own)
    first = own[(own["layer"] == 1) & (own["quantity"] == "direction_recovery")]
    for k, (method, repeat) in enumerate(NAMES):
        a = data.X[k % REPEATS] @ nets.weights[0][k] + nets.biases[0][k]
        expected = diagnostics.direction_recovery(a[None], data.X[k % REPEATS][None, :, :2]).mean()
        value = first.loc[(first["method"] == method) & (first["repeat"] == repeat), "value"].item()
        assert value == pytest.approx(float(expected))
