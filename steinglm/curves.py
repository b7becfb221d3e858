"""The theory of an experiment's networks: the curves by layer that `diagnostics` should measure, from plain values.

The baselines' variances are the gaps s = q - q_ab of `theory`, from layer to layer; SteinGLM's follow from the
variance alone, since its biases remove the means. Theory speaks of wide layers, of the mean over pairs of inputs and
of directions that have nothing to do with the data. Of 20 units it says what many networks do on average, and not
where a product of many random factors, as relu's length is, is far from its mean. SteinGLM's own directions keep to the
curves of tanh and sigmoid; with relu and gelu they follow the few rows of the largest signal, and the measured variance
lies above the curve, the more so the deeper.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from steinglm.checks import check_alpha, check_between, check_choice, check_whole
from steinglm.exceptions import InvalidInputError
from steinglm.mlp import ACTIVATIONS
from steinglm.theory import (
    LARGEST,
    chi,
    gap_map,
    length_map,
    paper_alpha,
    variance_map,
)

__all__ = ["METHODS", "SIGMA_W2", "LayerTheory", "predict"]

# sigma_w^2 = fan_in Var W_ij by (fan_in, fan_out). Orthogonal layers have gain 1; in one that widens the rows are
# orthonormal, not the columns, and its entries are the smaller.
SIGMA_W2: dict[str, Callable[[int, int], float]] = {
    "glorot_normal": lambda n_in, n_out: 2 * n_in / (n_in + n_out),
    "he_normal": lambda n_in, n_out: 2.0,
    "orthogonal": lambda n_in, n_out: min(1.0, n_in / n_out),
}
METHODS = ("steinglm", *SIGMA_W2)  # of which there is a theory
Alpha = float | str | None
Step = tuple[float, float, float, float]  # sigma_w^2, q, s, the activation's variance


@dataclass(frozen=True)
class LayerTheory:
    """What theory says of a hidden layer; `diagnostics` measures the two variances under the same names.

    layer : its number, from 1
    sigma_w2 : fan_in times the variance of a weight; for SteinGLM alpha^2
    length : q, the mean square of the pre-activations over units and data; for a calibrated SteinGLM their variance
    preactivation_variance : s = q - q_ab; for a calibrated SteinGLM v
    activation_variance : the same of f(a)
    jacobian_mean_square : the mean square of the singular values that `jacobian.singular_values` measures: the product
        of chi over the layers up to this one, times its units by the number of singular values
    """

    layer: int
    sigma_w2: float
    length: float
    preactivation_variance: float
    activation_variance: float
    jacobian_mean_square: float

    @property
    def jacobian_root_mean_square(self) -> float:
        """The root of `jacobian_mean_square`."""
        return self.jacobian_mean_square**0.5


def predict(
    method: str,
    activation: str,
    units: Sequence[int],
    *,
    alpha: Alpha | Sequence[Alpha] = None,
    calibrate: bool = True,
    length: float = 1.0,
    overlap: float = 0.0,
) -> tuple[LayerTheory, ...]:
    """The theory of every hidden layer; from an infinite length on, all that follows from it is inf.

    Parameters
    ----------
    method, activation : names of `METHODS` and `mlp.ACTIVATIONS`
    units : how many inputs, and units of each hidden layer
    alpha : SteinGLM's scaling factor of all layers, or a list of each layer's, as in `init.stein_glm_`: a number, None
        for the paper's 1 / f'(0) ("auto" where f has a kink), "auto" for a variance of 1
    calibrate : whether SteinGLM's biases remove the means; if not, alpha^2 is the sigma_w^2 of orthonormal weights
    length : the mean over the data of |x|^2 / d; 1 for standardized columns
    overlap : the mean of x_a . x_b / d over all pairs, which is |mean x|^2 / d; 0 for standardized columns

    >>> [round(row.preactivation_variance, 3) for row in predict("steinglm", "sigmoid", [20] * 4)]
    [16.0, 2.541, 1.255]
    >>> [round(row.length, 3) for row in predict("orthogonal", "sigmoid", [20] * 4)]
    [1.0, 0.293, 0.266]
    >>> [round(row.preactivation_variance, 4) for row in predict("orthogonal", "sigmoid", [20] * 4)]
    [1.0, 0.0434, 0.0024]
    """
    check_choice("method", method, METHODS)
    check_choice("activation", activation, tuple(ACTIVATIONS))
    check_between("length", length, 0, LARGEST, "that of standardized columns is 1")
    check_between("overlap", overlap, 0, length, "that of standardized columns is 0")
    depth, gap = _checked(units), length - overlap
    if method != "steinglm":
        walk = _drawn(SIGMA_W2[method], activation, units, length, gap)
    elif calibrate:
        walk = _stein(activation, _alphas(activation, alpha, depth), gap)
    else:
        walk = _uncalibrated(activation, _alphas(activation, alpha, depth), length, gap)
    product, rows = 1.0, []
    for layer, (sigma_w2, q, s, variance) in enumerate(walk, start=1):
        product *= chi(activation, q, sigma_w2=sigma_w2)  # E |J|^2 / units, J the Jacobian up to here
        mean_square = product * units[layer] / min(units[0], units[layer])
        rows.append(LayerTheory(layer, sigma_w2, q, s, variance, mean_square))
    return tuple(rows)


def _checked(units: Sequence[int]) -> int:
    """The number of hidden layers."""
    for k in units:
        check_whole("units", k, 1, 10**9, "give the inputs, then the units of each hidden layer")
    if len(units) < 2:
        raise InvalidInputError(
            "units", "two numbers or more", units, "one hidden layer is the smallest network"
        )
    return len(units) - 1


def _alphas(activation: str, alpha: Alpha | Sequence[Alpha], depth: int) -> list[float | str]:
    """The factor of each layer, by the rule of `layerwise` where it is None."""
    each: Sequence[Alpha] = (
        [alpha] * depth if alpha is None or isinstance(alpha, float | int | str) else alpha
    )
    if len(each) != depth:
        raise InvalidInputError("alpha", f"one factor or {depth}", alpha, "give each hidden layer its own")
    for one in each:
        check_alpha(one)
    default = paper_alpha(activation) or "auto"
    return [default if one is None else one for one in each]


def _drawn(
    rule: Callable[[int, int], float], activation: str, units: Sequence[int], length: float, gap: float
) -> Iterator[Step]:
    """q = sigma_w^2 E h^2 and s = sigma_w^2 (E h_a^2 - E h_a h_b), h the input of the layer."""
    for n_in, n_out in pairwise(units):
        sigma_w2 = rule(n_in, n_out)
        q, s, length, gap = _through(activation, sigma_w2, length, gap)
        yield sigma_w2, q, s, gap


def _through(
    activation: str, sigma_w2: float, length: float, gap: float
) -> tuple[float, float, float, float]:
    """One layer without biases: q and s of its pre-activations, length and gap of its outputs."""
    q, s = sigma_w2 * length, sigma_w2 * gap
    if q > LARGEST:
        return inf, inf, inf, inf
    return q, s, length_map(activation, q, sigma_w2=1.0), gap_map(activation, q, s, sigma_w2=1.0)


def _stein(activation: str, alphas: Sequence[float | str], gap: float) -> Iterator[Step]:
    """v = alpha^2 Var h, h the input of the layer."""
    for alpha in alphas:
        sigma_w2 = _squared(alpha, gap)
        v = sigma_w2 * gap
        gap = inf if v > LARGEST else variance_map(activation, v, alpha=1.0)
        yield sigma_w2, v, v, gap


def _uncalibrated(
    activation: str, alphas: Sequence[float | str], length: float, gap: float
) -> Iterator[Step]:
    """As `_drawn`, with sigma_w^2 = alpha^2: orthonormal weights pass the means on, too."""
    for alpha in alphas:
        sigma_w2 = _squared(alpha, gap)
        q, s, length, gap = _through(activation, sigma_w2, length, gap)
        yield sigma_w2, q, s, gap


def _squared(alpha: float | str, gap: float) -> float:
    """alpha^2; the "auto" one holds a variance of 1."""
    return (1 / gap if gap else 1.0) if alpha == "auto" else float(alpha) * float(alpha)
