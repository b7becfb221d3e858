"""Fixed points, phases and depth scales against iteration of the maps, and against published values."""

import math

import pytest

from steinglm import phases, theory
from steinglm.exceptions import InvalidInputError
from steinglm.mlp import ACTIVATIONS
from steinglm.phases import CriticalPoint, critical_line, fixed_point, phase


def iterated(activation: str, sigma_w2: float, sigma_b2: float, layers: int) -> list[float]:
    lengths = [1.0]
    for _ in range(layers):
        lengths.append(theory.length_map(activation, lengths[-1], sigma_w2=sigma_w2, sigma_b2=sigma_b2))
    return lengths


@pytest.mark.parametrize("sigma_b2", [0.0, 0.3])
@pytest.mark.parametrize("sigma_w2", [0.5, 1.4])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_fixed_point_is_where_the_signal_goes(activation: str, sigma_w2: float, sigma_b2: float) -> None:
    q, last = fixed_point(activation, sigma_w2, sigma_b2), iterated(activation, sigma_w2, sigma_b2, 300)[-1]
    assert last > 1e4 if q == math.inf else last == pytest.approx(q, rel=5e-3, abs=1e-6)


@pytest.mark.parametrize(("activation", "slope"), [("tanh", 1.0), ("elu", 1.0), ("gelu", 0.5)])
@pytest.mark.parametrize("excess", [-1e-3, 1e-5, 1e-3])
def test_small_fixed_points_are_found(activation: str, slope: float, excess: float) -> None:
    """Without biases q* leaves 0 where sigma_w^2 f'(0)^2 passes 1, and chi_1 stays close to 1.

    gelu's signal of length 1 is far from 0 then, and grows for ever.
    """
    found = phase(activation, (1 + excess) / slope**2)
    if activation == "gelu":
        assert found.q_star == math.inf
    else:
        assert found.chi == pytest.approx(1 + min(excess, 0), abs=1e-5)
        assert (found.q_star > 0) == (excess > 0) and found.q_star < 1e-3


def test_relu_keeps_shrinks_or_grows() -> None:
    assert fixed_point("relu", 2.0, 0.0) == 1
    assert fixed_point("relu", 1.9, 0.0) == 0
    assert fixed_point("relu", 2.1, 0.0) == math.inf
    assert fixed_point("relu", 2.0, 0.1) == math.inf
    assert fixed_point("relu", 1.0, 0.5) == pytest.approx(1)  # q = q / 2 + 1/2


def test_tanh_is_critical_where_it_is_published_to_be() -> None:
    """Poole et al. (2016): sigma_w^2 = 1 without biases. Pennington et al. (2017), section 3: 1.05 and 2.01e-5.

    Schoenholz et al. (2017): about 1.76 with sigma_b^2 = 0.05.
    """
    assert phase("tanh", 1.0).phase == phase("tanh", 1.05, 2.01e-5).phase == "critical"
    assert phase("tanh", 1.05, 2.01e-5).chi == pytest.approx(1, abs=1e-6)
    assert phase("tanh", 1.76, 0.05).chi == pytest.approx(1, abs=1e-3)
    assert phase("tanh", 0.9).phase == "ordered" and phase("tanh", 1.1).phase == "chaotic"


def test_relu_is_critical_in_one_point() -> None:
    assert [phase("relu", sigma_w2).phase for sigma_w2 in (1.9, 2.0, 2.1)] == [
        "ordered",
        "critical",
        "chaotic",
    ]
    assert phase("relu", 1.0).chi == pytest.approx(0.5)  # the limit at q* = 0, where f' jumps
    assert phase("relu", 3.0).chi == pytest.approx(1.5)  # the limit at q* = inf
    assert phase("relu", 3.0).xi_q == phase("relu", 3.0).xi_c == math.inf


@pytest.mark.parametrize("activation", ["tanh", "elu", "selu"])
def test_the_critical_line_is_critical(activation: str) -> None:
    """These have attracting fixed points on the line, so that a signal finds them."""
    for point in critical_line(activation)[20:80:15]:
        found = phase(activation, point.sigma_w2, point.sigma_b2)
        assert found.phase == "critical"
        assert found.q_star == pytest.approx(point.q, rel=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_critical_line_solves_its_equations(activation: str) -> None:
    line = critical_line(activation)
    assert len(line) > 5
    for q, sigma_w2, sigma_b2 in ((p.q, p.sigma_w2, p.sigma_b2) for p in line):
        assert sigma_b2 >= 0 and theory.chi(activation, q, sigma_w2=sigma_w2) == pytest.approx(1)
        assert theory.length_map(activation, q, sigma_w2=sigma_w2, sigma_b2=sigma_b2) == pytest.approx(q)


@pytest.mark.parametrize("activation", ["gelu", "silu"])
def test_gelu_and_silu_are_led_away_from_their_critical_line(activation: str) -> None:
    """Up to lengths of 3 (gelu) and 12 (silu); from there on the length map is flatter than 1."""
    slopes = {
        p.q: theory.length_slope(activation, p.q, sigma_w2=p.sigma_w2) for p in critical_line(activation)
    }
    assert all(slope > 1 for q, slope in slopes.items() if q < 2)


@pytest.mark.parametrize(
    ("activation", "sigma_w2", "sigma_b2"),
    [("tanh", 1.5, 0.1), ("sigmoid", 3.0, 0.2), ("tanh", 2.5, 0.1), ("elu", 1.2, 0.1)],
)
def test_depth_scales_are_those_of_the_iterated_maps(
    activation: str, sigma_w2: float, sigma_b2: float
) -> None:
    """The distance from where it ends falls by exp(-1 / xi) a layer, of the length and of the gap."""
    found = phase(activation, sigma_w2, sigma_b2)
    q = found.q_star
    near = q * (1 + 1e-6)
    after = theory.length_map(activation, near, sigma_w2=sigma_w2, sigma_b2=sigma_b2)
    assert (after - q) / (near - q) == pytest.approx(math.exp(-1 / found.xi_q), rel=1e-3)
    gaps = [q / 2]
    for _ in range(400):
        gaps.append(theory.gap_map(activation, q, gaps[-1], sigma_w2=sigma_w2))
    layers = min(30, max(3, int(5 * found.xi_c)))
    falls = [abs(gap - gaps[-1]) for gap in gaps[layers : layers + 3]]
    assert falls[1] / falls[0] == pytest.approx(math.exp(-1 / found.xi_c), rel=2e-2)
    assert (gaps[-1] > q / 100) == (found.phase == "chaotic")


def test_depth_scales_without_biases() -> None:
    ordered = phase("tanh", 0.5)
    assert (ordered.xi_q, ordered.xi_c) == pytest.approx((1 / math.log(2), 1 / math.log(2)))
    assert phase("tanh", 1.0).xi_c == phase("relu", 2.0).xi_c == math.inf
    nothing = phase("tanh", 0.0)
    assert (nothing.q_star, nothing.chi, nothing.xi_q, nothing.xi_c) == (0, 0, 0, 0)


def test_a_planted_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """chi with f' for f'^2."""
    honest = theory.chi

    def wrong(activation: str, q: float, *, sigma_w2: float) -> float:
        return honest(activation, q, sigma_w2=1.0) ** 0.5 * sigma_w2

    monkeypatch.setattr(phases, "chi", wrong)
    with pytest.raises(AssertionError):
        test_tanh_is_critical_where_it_is_published_to_be()


def test_a_negative_variance_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="sigma_w2"):
        phase("tanh", -1.0)
    with pytest.raises(InvalidInputError, match="sigma_b2"):
        phase("tanh", 1.0, -0.1)
    with pytest.raises(InvalidInputError, match="activation"):
        critical_line("sin")


def test_results_are_plain() -> None:
    assert critical_line("relu")[0] == CriticalPoint(pytest.approx(1e-4), pytest.approx(2), pytest.approx(0))  # type: ignore[arg-type]
