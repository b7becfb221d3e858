"""The theory of wide networks against published values, twins by small steps, and simulated networks."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch

from steinglm import curves, diagnostics, expectations, theory
from steinglm.curves import SIGMA_W2, LayerTheory, predict
from steinglm.exceptions import InvalidInputError
from steinglm.init import stein_glm_
from steinglm.mlp import ACTIVATIONS, build, stack
from tests import reference
from tests.wide import Layer, simulate

WIDTH, DEPTH, TOLERANCE = 400, 20, 0.05
SIMULATED = ("tanh", "sigmoid", "relu", "gelu")
RELU_ALPHA = 1.7128585504496627  # (1/2 - 1/(2 pi))^(-1/2)
QUANTITIES = ("preactivation_variance", "activation_variance")


# The requirement's constants.


@pytest.mark.parametrize(
    ("activation", "alpha"),
    [("tanh", 1.5925), ("sigmoid", 4.801), ("relu", 1.7129), ("gelu", 1.7009), ("silu", 1.7872),
     ("elu", 1.2708), ("selu", 1.0)],
)  # fmt: skip
def test_the_alpha_that_holds_the_variance(activation: str, alpha: float) -> None:
    found = theory.variance_preserving_alpha(activation)
    assert found == pytest.approx(alpha, abs=6e-5 if alpha < 4 else 6e-4)
    assert theory.variance_map(activation, 1.0, alpha=found) == pytest.approx(1)


def test_sigmoid_by_steinglm() -> None:
    found = [row.preactivation_variance for row in predict("steinglm", "sigmoid", [20] * 7)]
    assert found == pytest.approx([16, 2.541, 1.255, 0.8135, 0.596, 0.468], rel=1e-3)


def test_sigmoid_by_orthogonal_weights_has_a_length_and_a_variance() -> None:
    rows = predict("orthogonal", "sigmoid", [20] * 5)
    assert [row.length for row in rows] == pytest.approx([1, 0.293, 0.266, 0.265], rel=2e-3)
    gaps = [row.preactivation_variance for row in rows]
    assert gaps == pytest.approx([1, 0.0434, 0.0024, 0.00013], rel=3e-2)  # as many digits as are stated


def test_weight_variances_of_the_baselines() -> None:
    assert SIGMA_W2["glorot_normal"](30, 10) == 1.5
    assert SIGMA_W2["he_normal"](30, 10) == 2
    assert SIGMA_W2["orthogonal"](30, 10) == 1 and SIGMA_W2["orthogonal"](10, 30) == pytest.approx(1 / 3)


# Quadrature.


def test_the_rule_of_a_half_line_is_exact_for_polynomials() -> None:
    r, w = expectations.half_line(64)
    for k in range(30):
        exact = 2 ** (k / 2) * math.gamma((k + 1) / 2) / math.sqrt(math.pi)
        assert float(w @ r**k) == pytest.approx(exact, rel=1e-10)


def test_the_split_at_zero_is_what_a_kink_needs() -> None:
    """E |z| by 128 nodes: the plain rule has three digits, the split one all."""
    exact = math.sqrt(2 / math.pi)
    x, w = np.polynomial.hermite_e.hermegauss(128)
    assert abs(float(w @ np.abs(x)) / w.sum() - exact) > 1e-3
    z, w_split = expectations.normal()
    assert float(w_split @ z.abs()) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize(
    ("activation", "scale", "alpha"), [("elu", 1, 1), ("selu", 1.0507009873554805, 1.6732632423543772)]
)
def test_elu_has_its_closed_forms(activation: str, scale: float, alpha: float) -> None:
    """E f(z)^2 = scale^2 (1/2 + alpha^2 (E e^2z - 2 E e^z + 1/2)), E over z < 0, and E f'(z)^2 likewise."""
    once, twice = (math.exp(k * k / 2) * math.erfc(k / math.sqrt(2)) / 2 for k in (1, 2))
    length = scale**2 * (1 / 2 + alpha**2 * (twice - 2 * once + 1 / 2))
    assert theory.length_map(activation, 1.0, sigma_w2=1.0) == pytest.approx(length, rel=1e-13)
    assert theory.chi(activation, 1.0, sigma_w2=1.0) == pytest.approx(
        scale**2 * (1 / 2 + alpha**2 * twice), rel=1e-13
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("q", [1e-4, 1.0, 16.0, 100.0])
def test_more_nodes_change_nothing(activation: str, q: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def values() -> list[float]:
        return [
            theory.length_map(activation, q, sigma_w2=1.0),
            theory.variance_map(activation, q, alpha=1.0),
            theory.chi(activation, q, sigma_w2=1.0),
            theory.length_slope(activation, q, sigma_w2=1.0),
            theory.covariance_map(activation, q, -q / 3, sigma_w2=1.0),
            theory.gap_map(activation, q, q / 100, sigma_w2=1.0),
            theory.pair_slope(activation, q, q / 2, sigma_w2=1.0),
        ]

    found = values()
    monkeypatch.setattr(expectations, "NODES", 110)
    monkeypatch.setattr(expectations, "ANGLES", 90)
    assert found == pytest.approx(values(), rel=1e-10 if q <= 16 else 2e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_expectations_equal_their_twins(activation: str) -> None:
    q, q_ab = 1.7, 0.6

    def f(a: np.ndarray) -> np.ndarray:
        return reference.apply(activation, a)

    root = math.sqrt(q)
    square, mean = (reference.gaussian_mean(lambda z, p=p: f(root * z) ** p) for p in (2, 1))
    slopes = reference.gaussian_mean(lambda z: reference.slope(activation, root * z) ** 2)
    product = reference.gaussian_pair_mean(lambda u, v: f(u) * f(v), q, q_ab)
    assert theory.length_map(activation, q, sigma_w2=1.5, sigma_b2=0.2) == pytest.approx(1.5 * square + 0.2)
    assert theory.variance_map(activation, q, alpha=3.0) == pytest.approx(9 * (square - mean**2))
    assert theory.chi(activation, q, sigma_w2=1.5) == pytest.approx(1.5 * slopes, rel=1e-5)
    found = theory.covariance_map(activation, q, q_ab, sigma_w2=1.5, sigma_b2=0.2)
    assert found == pytest.approx(1.5 * product + 0.2, rel=2e-4)  # the twin's kinks
    gap = theory.gap_map(activation, q, q - q_ab, sigma_w2=1.5)
    assert gap == pytest.approx(theory.length_map(activation, q, sigma_w2=1.5, sigma_b2=0.2) - found)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_slopes_of_the_maps_are_their_differences(activation: str) -> None:
    q, s, step = 1.7, 0.9, 1e-5
    lengths = [theory.length_map(activation, q + d, sigma_w2=1.5) for d in (step, -step)]
    slope = (lengths[0] - lengths[1]) / (2 * step)
    assert theory.length_slope(activation, q, sigma_w2=1.5) == pytest.approx(slope, rel=1e-6)
    gaps = [theory.gap_map(activation, q, s + d, sigma_w2=1.5) for d in (step, -step)]
    slope = (gaps[0] - gaps[1]) / (2 * step)
    assert theory.pair_slope(activation, q, s, sigma_w2=1.5) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_small_signals_keep_their_digits(activation: str) -> None:
    """From where differences of f have lost their digits, the first order has them; the two meet."""
    for s in (0.9 * theory.CLOSE, 1.1 * theory.CLOSE):
        ratio = theory.gap_map(activation, 1.0, s, sigma_w2=1.0) / s
        assert ratio == pytest.approx(theory.chi(activation, 1.0, sigma_w2=1.0), rel=1e-5)
    below, above = (theory.variance_map(activation, v, alpha=1.0) / v for v in (0.9e-16, 1.1e-16))
    assert below == pytest.approx(above, rel=1e-5)


# Published values.


@pytest.mark.parametrize("c", [-0.9, 0.0, 0.3, 0.99])
def test_relu_has_the_arc_cosine_kernel(c: float) -> None:
    """Cho and Saul (2009); He et al. (2015): with sigma_w^2 = 2 the length stays."""
    t = math.acos(c)
    kernel = (math.sin(t) + (math.pi - t) * math.cos(t)) / math.pi
    assert theory.covariance_map("relu", 3.0, 3 * c, sigma_w2=2.0) == pytest.approx(3 * kernel, rel=1e-10)
    assert theory.length_map("relu", 3.0, sigma_w2=2.0) == pytest.approx(3)
    angle = theory.pair_slope("relu", 3.0, 3 * (1 - c), sigma_w2=2.0)
    assert angle == pytest.approx(1 - t / math.pi)


def test_the_orthant_of_a_normal_pair() -> None:
    """E Phi(u) Phi(v) is the probability that two normals of correlation (q - s) / (1 + q) are negative."""
    q, s = 2.0, 0.7
    u, v, w = expectations.normal_pair(q, s)
    found = float(w @ (torch.special.ndtr(u) * torch.special.ndtr(v)))
    assert found == pytest.approx(1 / 4 + math.asin((q - s) / (1 + q)) / (2 * math.pi), abs=1e-12)


def test_selu_has_its_fixed_point() -> None:
    """Klambauer et al. (2017): inputs of mean 0 and variance 1 give activations of mean 0 and variance 1."""
    assert theory.length_map("selu", 1.0, sigma_w2=1.0) == pytest.approx(1)
    assert theory.variance_map("selu", 1.0, alpha=1.0) == pytest.approx(1)


# Simulation: networks of width 400, 20 of them, 20 layers.

CURVES = [
    (method, activation)
    for method in ("glorot_normal", "he_normal", "orthogonal", "steinglm")
    for activation in SIMULATED
]
# The length of relu's signal is a product of 20 random factors of variance 5 / width each, and gelu with He's weights
# has a length map of slope above 1, which magnifies them. There 400 units are too few for the limit at layer 20.
FLUCTUATING = {(method, "relu") for method in SIGMA_W2} | {("he_normal", "gelu")}
STEADY = [pair for pair in CURVES if pair not in FLUCTUATING]


def factor(activation: str) -> float:
    return theory.paper_alpha(activation) or RELU_ALPHA


def compare(method: str, activation: str) -> None:
    """The measured curves are the predicted ones, in every layer."""
    alpha = factor(activation)
    layers = simulate(method, activation, alpha if method == "steinglm" else 1.0)
    length = float(layers[0].length.mean()) / alpha**2 if method == "steinglm" else 1.0
    rows = predict(method, activation, [WIDTH] * (DEPTH + 1), alpha=alpha, length=length)
    for row, layer in zip(rows, layers, strict=True):
        for quantity in QUANTITIES:
            measured = float(getattr(layer, quantity).mean())
            assert measured == pytest.approx(getattr(row, quantity), rel=TOLERANCE), (row.layer, quantity)


@pytest.mark.parametrize(("method", "activation"), STEADY)
def test_curves_are_those_of_simulated_networks(method: str, activation: str) -> None:
    compare(method, activation)


def next_variances(activation: str, layer: Layer) -> torch.Tensor:
    """What theory makes of each network's length and variance."""
    pairs = zip(layer.length.tolist(), layer.preactivation_variance.tolist(), strict=True)
    return torch.tensor([curves.gap_map(activation, q, s, sigma_w2=1.0) for q, s in pairs])


@pytest.mark.parametrize("method", SIGMA_W2)
def test_each_layer_of_a_relu_network_follows_from_the_one_before(method: str) -> None:
    for layer in simulate(method, "relu"):
        predicted = float(next_variances("relu", layer).mean())
        assert float(layer.activation_variance.mean()) == pytest.approx(predicted, rel=TOLERANCE)


def test_the_curve_of_relu_is_the_limit_of_wide_networks() -> None:
    """After 20 layers the mean over networks is above it, by an amount that falls like 1 / width."""
    expected = predict("he_normal", "relu", [WIDTH] * (DEPTH + 1))[-1].preactivation_variance
    excess = [
        float(
            simulate("he_normal", "relu", width=width, networks=8000 // width)[
                -1
            ].preactivation_variance.mean()
        )
        / expected
        - 1
        for width in (50, 100, 200)
    ]
    assert all(0.3 < b / a < 0.8 for a, b in pairwise(excess)), excess


def test_gelu_with_he_weights_is_led_away_from_its_curve() -> None:
    layers = simulate("he_normal", "gelu")
    rows = predict("he_normal", "gelu", [WIDTH] * (DEPTH + 1))
    for row, layer in zip(rows[:7], layers, strict=False):
        assert float(layer.preactivation_variance.mean()) == pytest.approx(
            row.preactivation_variance, rel=TOLERANCE
        )
        relative = theory.length_slope("gelu", row.length, sigma_w2=2.0) * row.length
        assert relative > theory.length_map("gelu", row.length, sigma_w2=2.0)  # d log q' / d log q > 1


def _uncentered(activation: str, v: float, *, alpha: float) -> float:
    return theory.length_map(activation, v, sigma_w2=alpha**2)


def _length_for_gap(activation: str, q: float, s: float, *, sigma_w2: float) -> float:
    return theory.length_map(activation, q, sigma_w2=sigma_w2)


def _gap_at_the_gap(activation: str, q: float, s: float, *, sigma_w2: float) -> float:
    return theory.gap_map(activation, s, s, sigma_w2=sigma_w2)


def _slope_for_square(activation: str, q: float, *, sigma_w2: float, sigma_b2: float = 0.0) -> float:
    return theory.chi(activation, q, sigma_w2=sigma_w2) * q


@pytest.mark.parametrize(
    ("name", "wrong", "method", "activation"),
    [
        ("variance_map", _uncentered, "steinglm", "sigmoid"),
        ("variance_map", _uncentered, "steinglm", "gelu"),
        ("gap_map", _length_for_gap, "he_normal", "sigmoid"),
        ("gap_map", _gap_at_the_gap, "orthogonal", "sigmoid"),
        ("length_map", _slope_for_square, "he_normal", "tanh"),
        ("length_map", _slope_for_square, "glorot_normal", "gelu"),
    ],
)
def test_a_planted_error_is_found(
    name: str, wrong: Callable[..., float], method: str, activation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, name, wrong)
    with pytest.raises(AssertionError):
        compare(method, activation)


def test_a_planted_weight_variance_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIGMA_W2, "he_normal", lambda n_in, n_out: 2 * n_in / (n_in + n_out))
    with pytest.raises(AssertionError):
        compare("he_normal", "tanh")


def test_a_planted_error_in_one_layer_of_relu_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "gap_map", _gap_at_the_gap)
    with pytest.raises(AssertionError):
        test_each_layer_of_a_relu_network_follows_from_the_one_before("he_normal")


def own_directions(activation: str, depth: int) -> list[list[tuple[float, float]]]:
    """Measured and predicted variances (a, f(a)) of the layers of `stein_glm_` itself, 80 units wide."""
    g = torch.Generator().manual_seed(0)
    X = torch.randn(1500, 80, generator=g, dtype=torch.float64) * 1.3 + 0.4
    model = build(80, 80, depth, activation, torch.float64)
    report = stein_glm_(model, X, X[:, 0] ** 2 + X[:, 1], task="regression", output="stein", generator=g)
    rows = predict(
        "steinglm",
        activation,
        [80] * (depth + 1),
        alpha=[layer.alpha for layer in report.layers[:-1]],
        length=float(X.square().mean()),
        overlap=float(X.mean(0).square().mean()),
    )
    layers = diagnostics.layers(stack([model], torch.float64), X[None])
    return [
        [
            (float(diagnostics.over_rows(values)[1].mean()), getattr(row, quantity))
            for quantity, values in zip(QUANTITIES, (a, after), strict=True)
        ]
        for row, (_, a, after) in zip(rows, layers, strict=True)
    ]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_curves_are_those_of_stein_glm_itself(activation: str) -> None:
    """Exactly in the first layer, which is linear; from then on its units are not quite normal."""
    layers = own_directions(activation, 8)
    assert layers[0][0][0] == pytest.approx(layers[0][0][1], rel=1e-9)
    for layer in layers:
        for measured, predicted in layer:
            assert measured == pytest.approx(predicted, rel=0.1)


def test_stein_glm_with_relu_is_above_its_curve() -> None:
    """Its directions follow the rows of the largest signal, and the units' tails are heavier than a normal's."""
    ratios = [layer[0][0] / layer[0][1] for layer in own_directions("relu", 6)]
    assert ratios[:2] == pytest.approx([1, 1], rel=0.02)
    assert 1.5 < ratios[-1] < 4 and ratios[1:] == sorted(ratios[1:])


# The door.


def variances(rows: tuple[LayerTheory, ...]) -> list[float]:
    return [row.preactivation_variance for row in rows]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_alpha_auto_holds_the_variance_at_one(activation: str) -> None:
    rows = predict("steinglm", activation, [30, 20, 20, 20], alpha="auto", length=3.0, overlap=1.0)
    assert variances(rows) == pytest.approx([1, 1, 1])
    later = theory.variance_preserving_alpha(activation) ** 2
    assert [row.sigma_w2 for row in rows] == pytest.approx([0.5, later, later])
    each = [math.sqrt(row.sigma_w2) for row in rows]
    again = predict("steinglm", activation, [30, 20, 20, 20], alpha=each, length=3.0, overlap=1.0)
    assert variances(again) == pytest.approx([1, 1, 1])


def test_alpha_by_default_is_the_papers_or_auto() -> None:
    assert predict("steinglm", "gelu", [9, 9])[0].sigma_w2 == 4
    assert variances(predict("steinglm", "relu", [9, 9, 9], length=7.0)) == pytest.approx([1, 1])


def test_widths_enter_by_fan_in_and_fan_out() -> None:
    rows = predict("glorot_normal", "identity", [30, 10, 10])
    assert [row.length for row in rows] == pytest.approx([1.5, 1.5])
    assert [row.jacobian_mean_square for row in rows] == pytest.approx([1.5, 1.5])
    assert predict("orthogonal", "identity", [10, 30])[0].jacobian_mean_square == pytest.approx(1)


def test_what_grows_becomes_inf_and_what_vanishes_keeps_its_digits() -> None:
    grown = predict("steinglm", "relu", [9] * 201, alpha=1e6)[-1]
    assert grown.length == grown.activation_variance == grown.jacobian_mean_square == math.inf
    assert predict("he_normal", "elu", [9] * 201, length=1e149)[-1].preactivation_variance > 0
    vanished = predict("orthogonal", "sigmoid", [9] * 201)
    chi = theory.chi("sigmoid", vanished[-1].length, sigma_w2=1.0)
    ratios = [b / a for a, b in pairwise(variances(vanished[100:]))]
    assert ratios == pytest.approx([chi] * len(ratios), rel=1e-6)
    assert variances(predict("steinglm", "tanh", [9, 9], length=1.0, overlap=1.0)) == [0]


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"method": "glorot"}, "method"),
        ({"activation": "sin"}, "activation"),
        ({"units": [5]}, "units"),
        ({"units": [5, 0]}, "units"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": [1.0, 1.0, 1.0]}, "alpha"),
        ({"length": -1.0}, "length"),
        ({"length": math.nan}, "length"),
        ({"overlap": 2.0}, "overlap"),
    ],
)
def test_what_cannot_be_predicted_is_refused(options: dict[str, object], argument: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        predict(**({"method": "steinglm", "activation": "tanh", "units": [5, 5, 5]} | options))  # type: ignore[arg-type]
    assert caught.value.argument == argument


def test_a_covariance_beyond_the_length_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="q_ab"):
        theory.covariance_map("tanh", 1.0, 1.5, sigma_w2=1.0)
    with pytest.raises(InvalidInputError, match="opposite"):
        theory.gap_map("tanh", 1.0, 2.5, sigma_w2=1.0)
