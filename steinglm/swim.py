"""SWIM (Bolager et al., NeurIPS 2023, "Sampling weights of deep neural networks"): each unit is a pair of data points.

For a pair x1, x2 of rows of a layer's input, w = s1 (x2 - x1) / |x2 - x1|^2 and b = -w x1 - s2, so that the unit's
pre-activation is -s2 at x1 and s1 - s2 at x2 (the paper's definition 1). Pairs are drawn with probability in proportion
to |y2 - y1| / max(|x2 - x1|, epsilon), 0 for equal points (its definition 2 and algorithm 1): units stand where the
response is steep. A departure: epsilon follows the distances, in the first layer too, where the paper has 0.
"""

import math
import time

import torch
from torch import Tensor

from steinglm import samples
from steinglm.exceptions import InvalidInputError
from steinglm.reports import LayerReport
from steinglm.sources import Source
from steinglm.steps import Rule, orthogonal_layer_
from steinglm.sums import Chunks
from steinglm.tracing import Link
from steinglm.windows import Windows

__all__ = ["ENDS", "draw_pairs", "swim_layer_"]

# The pre-activations -s2 and s1 - s2 at the ends of a pair. The paper's tanh: s1 = 2 s2, s2 = ln(3) / 2, which gives
# -1/2 and 1/2. A sigmoid is (1 + tanh(a / 2)) / 2, so that twice of both is the same unit. The paper's relu: s1 = 1,
# s2 = 0; every other activation is taken as one.
ENDS = {"tanh": (-math.log(3) / 2, math.log(3) / 2), "sigmoid": (-math.log(3), math.log(3))}
RELU = (0.0, 1.0)
# Of the candidates' mean distance. The paper wants it positive in hidden layers and gives no value. With 1e-10, as in
# its authors' code, nearly equal points with different responses make weights so large that ten layers tell nothing.
# A half was chosen by eye, by the test metrics of abalone, power plant and mammographic at depths 10 and 40.
EPSILON = 0.5
ROUNDING = 100  # units in the last place of the largest value: rows no farther apart are equal
MOST_ELEMENTS = (
    1 << 22
)  # of the rows that pairs are drawn from, 32 MB; where there are more, of a sample of them
FEWEST_ROWS = 1000


def draw_pairs(
    h: Tensor, y: Tensor, k: int, *, generator: torch.Generator, rounding: float = 0.0
) -> tuple[Tensor, Tensor] | None:
    """The rows (k,) of the first and of the second ends of k pairs; None if no two rows differ in both h and y.

    Candidates are n ceil(k / n) pairs of different rows, uniform; of these k are drawn, with replacement.

    Parameters
    ----------
    h, y : (n, d) and (n, C), n of 2 or more; the distance of responses is the largest over C
    rounding : the distance up to which two rows of h are equal
    """
    n = len(h)
    count = n * -(-k // n)
    first = torch.randint(n, (count,), generator=generator)
    second = (first + torch.randint(1, n, (count,), generator=generator)) % n
    distance = (h[second] - h[first]).norm(dim=1).cpu()
    rise = (y[second] - y[first]).abs().amax(1).cpu()
    apart = distance > rounding
    steepness = torch.where(apart, rise / distance.clamp(min=EPSILON * float(distance.mean())), 0.0)
    if not steepness.sum() > 0:
        return None
    chosen = torch.multinomial(steepness, k, replacement=True, generator=generator)
    return first[chosen], second[chosen]


def swim_layer_(link: Link, data: Source, rule: Rule, rows: Chunks) -> LayerReport:
    """Sample a layer's units; where no pair of rows differs in both input and response, it is random orthonormal."""
    start, layer = time.perf_counter(), link.layer
    if layer.bias is None:
        cure = "give it one: a unit stands where its pair of points does"
        raise InvalidInputError(f"layer {link.name!r}", "with a bias for SWIM", "none", cure)
    groups, d, k = samples.matrix_shape(layer)
    h, y, eps = _sampled(rows, max(FEWEST_ROWS, MOST_ELEMENTS // (groups * d)), rule.generator)
    rounding = ROUNDING * eps * float(h.abs().max())
    pairs = [draw_pairs(own, y, k, generator=rule.generator, rounding=rounding) for own in h]
    found = [(own[pair[0]], own[pair[1]]) for own, pair in zip(h, pairs, strict=True) if pair is not None]
    if len(found) < groups:
        return orthogonal_layer_(link, data, rule, rows)
    x1, x2 = (torch.stack(ends) for ends in zip(*found, strict=True))  # (groups, k, d)
    low, high = ENDS.get(link.activation or "", RELU)
    gap = x2 - x1
    with torch.no_grad():
        layer.weight.copy_(
            ((high - low) * gap / gap.square().sum(-1, keepdim=True)).reshape(layer.weight.shape)
        )
        stored = layer.weight.reshape(gap.shape).to(gap)
        layer.bias.copy_((low - (stored * x1).sum(-1)).flatten())
    return LayerReport(link.name, tuple(layer.weight.shape), "swim", seconds=time.perf_counter() - start)


def _sampled(rows: Chunks, most: int, generator: torch.Generator) -> tuple[Tensor, Tensor, float]:
    """The rows h (groups, n, d) and y (n, C), or `most` of them, in float64, and the precision that they came in."""
    h, y, keys, eps = torch.empty(0), torch.empty(0), torch.empty(0), 0.0
    for part, responses in rows:
        if isinstance(part, Windows):
            responses = responses.repeat_interleave(part.rows // responses.shape[-2], -2)
            part = part.written_out()
        own = part if part.dim() == 3 else part[None]
        own_y = responses if responses.dim() == 2 else responses[0]
        eps = torch.finfo(own.dtype).eps
        own_keys = torch.rand(len(own_y), generator=generator)
        if not len(keys):
            h, y, keys = own.double(), own_y.double(), own_keys
        elif (own_keys < keys.max()).any() or len(keys) < most:
            h, y = torch.cat([h, own.double()], 1), torch.cat([y, own_y.double()])
            keys = torch.cat([keys, own_keys])
        if len(keys) > most:
            kept = keys.topk(most, largest=False).indices.sort().values.to(h.device)
            h, y, keys = h[:, kept], y[kept], keys[kept.cpu()]
    return h, y, eps
