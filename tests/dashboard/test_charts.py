"""The charts say what the rows say, in the fixed colours, with a floor for zeros and no more points than needed."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import pytest

from steinglm.dashboard import charts
from steinglm.phases import critical_line
from steinglm.styles import STYLES, style

METHODS = ["steinglm", "glorot_normal", "he_normal", "orthogonal"]
HISTORY = ["method", "repeat", "epoch", "quantity", "value"]


def layers(depth: int = 5, repeats: int = 1, methods: list[str] = METHODS) -> pd.DataFrame:
    """Variance 1/layer with a band, eigenvalues 1, -1/2, 1/3, ..; layer depth + 1 is the output layer."""
    rows: list[tuple[str, int, int, str, int, float]] = []
    for method in methods:
        for repeat in range(repeats):
            for layer in range(1, depth + 2):
                for end, factor in (("", 1.0), ("_q10", 0.5), ("_q90", 2.0)):
                    value = factor * (1 + repeat) / layer
                    rows.append((method, repeat, layer, "preactivation_variance" + end, 0, value))
                for rank in range(1, 5):
                    rows.append((method, repeat, layer, "moment_eigenvalue", rank, -((-1) ** rank) / rank))
                    rows.append((method, repeat, layer, "weight_singular_value", rank, 1 / rank))
    return pd.DataFrame(rows, columns=["method", "repeat", "layer", "quantity", "rank", "value"])


def history(epochs: int, repeats: int = 1, methods: list[str] = METHODS) -> pd.DataFrame:
    rows = [
        (method, repeat, epoch, quantity, (1 + repeat + extra) / (1 + epoch))
        for method in methods
        for repeat in range(repeats)
        for epoch in range(epochs + 1)
        for quantity, extra in (("training_loss", 0.0), ("validation_loss", 0.5))
    ]
    return pd.DataFrame(rows, columns=HISTORY)


def variance(rows: pd.DataFrame, **options: Any) -> go.Figure:
    return go.Figure(charts.variance(rows, **options))


def spectrum(rows: pd.DataFrame, **options: Any) -> go.Figure:
    return go.Figure(charts.spectrum(rows, **options))


def learning(rows: pd.DataFrame, **options: Any) -> go.Figure:
    return go.Figure(charts.learning(rows, **options))


def of(figure: go.Figure, role: str, method: str = "steinglm") -> list[go.Scatter]:
    return [t for t in figure.data if t.meta["role"] == role and t.meta["method"] == method]


def luminance(color: str) -> float:
    parts = np.array(list(bytes.fromhex(color[1:]))) / 255
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("background", ["#FFFFFF", "#0E1117"])
@pytest.mark.parametrize("method", [*STYLES, "another"])
def test_every_line_has_contrast(method: str, background: str) -> None:
    light, dark = sorted([luminance(style(method).color), luminance(background)], reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 3


@pytest.mark.parametrize(
    "figure",
    [
        variance(layers()),
        spectrum(layers(), layer=2),
        spectrum(layers(), layer=2, quantity="weight_singular_value"),
        learning(history(10)),
    ],
)
def test_one_look_for_a_method_in_all_charts(figure: go.Figure) -> None:
    expected = {
        "steinglm": "#0072B2",
        "glorot_normal": "#D55E00",
        "he_normal": "#009E73",
        "orthogonal": "#CC79A7",
    }
    lines = [trace for trace in figure.data if trace.meta["role"] == "line"]
    assert {trace.meta["method"]: trace.line.color for trace in lines} == expected
    assert [trace.name for trace in lines if trace.showlegend] == [
        "SteinGLM",
        "Glorot normal",
        "He normal",
        "Orthogonal",
    ]
    assert all(trace.line.dash == STYLES[trace.meta["method"]].dash for trace in lines)
    assert all(trace.legendgroup == trace.meta["method"] for trace in figure.data)
    assert figure.layout.title.text
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text


def test_figures_bring_their_own_template() -> None:
    figure = variance(layers())
    own = pio.templates[charts.LIGHT].layout
    assert figure.layout.template.layout.paper_bgcolor == own.paper_bgcolor == "rgba(0,0,0,0)"
    assert figure.layout.template.layout.hovermode == "x unified"
    assert pio.templates[charts.DARK].layout.font.color != own.font.color


def test_unknown_methods_are_neutral_and_last() -> None:
    figure = variance(layers(methods=["my_own", "orthogonal"]))
    lines = [trace for trace in figure.data if trace.meta["role"] == "line"]
    assert [trace.name for trace in lines] == ["Orthogonal", "my own"]
    assert lines[1].line.color not in {look.color for look in STYLES.values()}


def test_variance_shows_hidden_layers_with_their_band() -> None:
    figure = variance(layers(depth=5))
    (line,), (band,) = of(figure, "line"), of(figure, "band")
    assert line.x.tolist() == [1, 2, 3, 4, 5]
    assert line.y == pytest.approx(1 / line.x)
    assert band.x.tolist() == [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]
    assert band.y[:5] == pytest.approx(0.5 / line.x)
    assert band.y[5:][::-1] == pytest.approx(2 / line.x)
    assert figure.layout.yaxis.type == "log"
    assert variance(layers(), log=False).layout.yaxis.type == "linear"


def test_variance_takes_the_median_over_repeats_and_says_so() -> None:
    figure = variance(layers(repeats=3))
    (line,) = of(figure, "line")
    assert line.y == pytest.approx(2 / line.x)
    assert "median of 3 repeats" in figure.layout.title.subtitle.text
    assert "repeats" not in variance(layers()).layout.title.subtitle.text


def test_zeros_have_a_stated_floor_on_a_log_axis() -> None:
    rows = layers(depth=5)
    dead = (rows["layer"] >= 4) & (rows["method"] == "he_normal") & (rows["rank"] == 0)
    rows.loc[dead, "value"] = 0.0
    figure = variance(rows)
    (line,) = of(figure, "line", "he_normal")
    assert line.y[3:] == pytest.approx([0.01, 0.01])  # a decade below the smallest positive value, 0.1
    assert "smaller values at 1e-02" in figure.layout.title.subtitle.text
    linear = variance(rows, log=False)
    assert of(linear, "line", "he_normal")[0].y[3:].tolist() == [0, 0]
    assert "smaller" not in linear.layout.title.subtitle.text
    assert "smaller" not in variance(layers()).layout.title.subtitle.text


def test_all_zero_is_drawn_at_the_floor() -> None:
    figure = variance(layers().assign(value=0.0))
    assert of(figure, "line")[0].y == pytest.approx(charts.FLOOR)


def test_spectrum_is_signed_and_of_one_layer() -> None:
    rows = layers()
    rows.loc[rows["layer"] == 3, "value"] *= 10
    figure = spectrum(rows, layer=3)
    (line,) = of(figure, "line")
    assert line.x.tolist() == [1, 2, 3, 4]
    assert line.y == pytest.approx([10, -5, 10 / 3, -2.5])
    assert line.error_y.arrayminus == pytest.approx([10, 0, 10 / 3, 0])
    assert line.error_y.array == pytest.approx([0, 5, 0, 2.5])
    assert figure.layout.yaxis.type == "linear"
    assert not figure.layout.meta["positive"]
    assert "layer 3" in figure.layout.title.subtitle.text


def test_singular_values_are_curves_and_may_be_logarithmic() -> None:
    figure = spectrum(layers(), layer=1, quantity="weight_singular_value", log=True)
    (line,) = of(figure, "line")
    assert line.mode == "lines+markers"
    assert line.error_y.array is None
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.meta["positive"]


def test_learning_draws_training_thick_and_validation_thin() -> None:
    figure = learning(history(20))
    training, validation = of(figure, "line")
    assert training.line.width > 2 * validation.line.width
    assert training.x.tolist() == list(range(21))
    assert training.y == pytest.approx(1 / (1 + training.x))
    assert training.customdata == pytest.approx(1.5 / (1 + training.x))
    assert validation.hoverinfo == "skip"
    assert not validation.showlegend
    assert all(len(band.x) == 0 for band in of(figure, "band"))
    assert figure.layout.yaxis.type == "log"


def test_learning_averages_repeats_within_their_range() -> None:
    figure = learning(history(4, repeats=3))
    training, band = of(figure, "line")[0], of(figure, "band")[0]
    assert training.y == pytest.approx(2 / (1 + training.x))
    assert band.y[:5] == pytest.approx(1 / (1 + training.x))
    assert band.y[5:] == pytest.approx(3 / (1 + training.x[::-1]))
    assert "range of 3 repeats" in figure.layout.title.subtitle.text


def test_learning_prepares_curves_for_a_run_without_rows() -> None:
    figure = learning(pd.DataFrame(columns=HISTORY), methods=["steinglm", "he_normal"], epochs=200)
    parts = [(trace.meta["method"], trace.meta["quantity"], trace.meta["role"]) for trace in figure.data]
    assert parts == [
        (method, quantity, role)
        for method in ("steinglm", "he_normal")
        for quantity in ("training_loss", "validation_loss")
        for role in ("band", "line")
    ]
    assert all(len(trace.x) == 0 for trace in figure.data)
    assert figure.layout.xaxis.range == (0, 200)


def test_learning_thins_long_curves_and_keeps_ends_and_minimum() -> None:
    rows = history(5000, methods=["steinglm"])
    rows.loc[rows["epoch"] == 3333, "value"] = 1e-9
    for line in of(learning(rows), "line"):
        assert len(line.x) <= charts.POINTS
        assert {0, 3333, 5000} <= set(line.x.tolist())
        assert np.diff(line.x).max() <= 7


@pytest.mark.parametrize("n", [0, 1, 999, 1000, 1001, 2500])
def test_thin(n: int) -> None:
    values = np.cos(np.arange(n) / 300)
    kept = charts.thin(values)
    assert len(kept) == n if n <= 1000 else 998 <= len(kept) <= 1000
    assert (np.diff(kept) > 0).all()
    if n:
        assert kept[0] == 0
        assert kept[-1] == n - 1
        assert values[kept].min() == values.min()


def test_thin_survives_a_run_that_diverged() -> None:
    assert len(charts.thin(np.full(3000, np.nan))) <= 1000
    assert 7 in charts.thin(np.where(np.arange(3000) == 7, 1.0, np.nan))


@pytest.mark.parametrize(
    "figure",
    [
        variance(layers(), behind={"theory": layers()}),
        spectrum(layers(), layer=1, quantity="weight_singular_value", behind={"theory": layers()}),
        learning(history(9), behind={"theory": history(5)}),
    ],
)
def test_behind_is_thin_named_below_the_title_and_hides_with_its_method(figure: go.Figure) -> None:
    behind = [trace for trace in figure.data if trace.meta["role"] == "behind"]
    assert [trace.legendgroup for trace in behind] == METHODS
    assert all(trace.line.width < 1 for trace in behind)
    assert figure.layout.title.subtitle.text.endswith(": theory")
    assert not any(trace.showlegend for trace in behind)
    assert figure.data[0].meta["role"] == "behind"


def test_eigenvalues_behind_are_strokes_beside_their_methods_stems() -> None:
    figure = spectrum(layers(), layer=1, behind={"theory": layers().assign(value=0.25)})
    strokes = [t for t in figure.data if t.meta["role"] == "behind" and t.mode == "markers"]
    assert [trace.offsetgroup for trace in strokes] == METHODS
    assert all((trace.y == 0.25).all() for trace in strokes)
    assert not any(trace.mode == "lines" for trace in figure.data)


def test_singular_values_that_are_rounding_do_not_flatten_the_others() -> None:
    rows = pd.DataFrame(
        [
            ("steinglm", 0, 3, "jacobian_singular_value", rank, value)
            for rank, value in ((1, 2.0), (2, 0.1), (3, 1e-29))
        ],
        columns=["method", "repeat", "layer", "quantity", "rank", "value"],
    )
    figure = charts.spectrum(rows, layer=3, quantity="jacobian_singular_value", log=True)
    assert figure["data"][-1]["y"].tolist() == pytest.approx([2.0, 0.1, 2e-16])


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", "gelu"])
def test_the_phase_plane_holds_the_line_and_a_point_a_method(activation: str) -> None:
    line = pd.DataFrame([vars(point) for point in critical_line(activation)])
    points = pd.DataFrame(
        {"method": ["glorot_normal", "he_normal"], "sigma_w2": [1.0, 2.0], "sigma_b2": [0.0, 0.0]}
    )
    figure = go.Figure(charts.phases(points, line, activation))
    assert [(trace.legendgroup, *trace.x) for trace in figure.data[1:]] == [
        ("glorot_normal", 1),
        ("he_normal", 2),
    ]
    x = np.asarray(figure.data[0].x)
    assert (np.ptp(x) == 0 and x[0] == pytest.approx(2)) if activation == "relu" else len(x) > 10
