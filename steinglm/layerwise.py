"""The paper's Algorithm 1 on any torch model: one layer after another, each from its own input over all the data.

What is done to a layer is a step of `steps` or `swim`; Stein's is the paper's, others are its rivals'. Where all rows
fit into one batch, one forward pass serves all layers: each is initialized when its input arrives, before its output
is computed. Otherwise there is one pass a layer, which ends where that layer is met.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.parameter import is_lazy

from steinglm import samples
from steinglm.exceptions import InvalidInputError, SharedLayerWarning
from steinglm.glm import fit_output
from steinglm.reports import InitReport, LayerReport
from steinglm.sources import Batch, Source, source, validation_source
from steinglm.steps import Rule, Step
from steinglm.sums import CHUNK_ELEMENTS, Chunks
from steinglm.tracing import (
    Link,
    Reached,
    all_or_nothing,
    forward,
    layers_of,
    trace,
    undisturbed,
    watching,
)
from steinglm.windows import Windows

__all__ = [
    "Plan",
    "check_model",
    "glm_output_",
    "inputs_of",
    "learn_",
    "left_alone",
    "plan",
    "usable",
]

NORMALIZATIONS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.LocalResponseNorm)
COMPUTED = "its weight is computed from other parameters"
NO_RULE = "the method has no rule for this kind of layer"
REASONS: tuple[tuple[tuple[type[nn.Module], ...], str], ...] = (
    (NORMALIZATIONS, "a normalization keeps its own start"),
    ((nn.Embedding, nn.EmbeddingBag), "an embedding looks its input up and does not multiply it"),
    ((nn.MultiheadAttention,), "attention has no single input to take a moment of"),
    ((nn.RNNBase, nn.RNNCellBase), "a recurrent layer meets its own output"),
    (samples.LAYERS, "not called in the forward pass"),
)


@dataclass(frozen=True)
class Plan:
    """The hidden layers in the order of the forward pass, the output layer, and why other modules are left alone."""

    hidden: tuple[Link, ...]
    last: Link
    left_alone: dict[str, str]


def check_model(model: nn.Module) -> None:
    """Refuse a model without layers, a lazy one that is not built yet, and frozen weights or biases."""
    layers = layers_of(model)
    for name, value in chain(model.named_parameters(), model.named_buffers()):
        if is_lazy(value):
            cure = "call the model once on a batch, which builds it"
            raise InvalidInputError("model", "one whose layers are built", f"a lazy {name!r}", cure)
    for name, layer in layers.items():
        if usable(layer) and not all(p.requires_grad for p in layer.parameters()):
            cure = "call requires_grad_() on it, initialize, and freeze it again"
            raise InvalidInputError(f"layer {name!r}", "free to change", "a frozen parameter", cure)


def usable(layer: samples.Layer) -> bool:
    """Whether the layer's weight is a parameter of its own, not computed from others (weight or spectral norm)."""
    return isinstance(layer._parameters.get("weight"), nn.Parameter)


def plan(model: nn.Module, data: Source, output_layer: str | None) -> Plan:
    """Trace the model and choose its layers.

    Raises
    ------
    InvalidInputError
        No Linear layer is called, or not the one that is named; its units are not the responses; see `check_model`.

    Warns
    -----
    SharedLayerWarning
        A layer is called more than once.
    """
    links = trace(model, data.first_rows())
    last = _output_link(links, output_layer)
    data.check_outputs(last.name, last.layer)
    place = links.index(last)
    reasons = {link.name: "called after the output layer" for link in links[place + 1 :]}
    hidden: list[Link] = []
    owners: dict[Tensor, str] = {}
    for link in links[: place + 1]:
        if not usable(link.layer):
            reasons[link.name] = COMPUTED
        elif (owner := owners.setdefault(link.layer.weight, link.name)) != link.name:
            reasons[link.name] = f"shares its weight with {owner!r}"
        elif link is not last:
            hidden.append(link)
        if link.calls > 1:
            warnings.warn(
                f"layer {link.name!r} is called {link.calls} times; it is initialized at its first call",
                SharedLayerWarning,
                stacklevel=4,
            )
    if last.name in reasons:
        cure = "name another layer with output_layer="
        raise InvalidInputError("the output layer", "one with a weight of its own", last.name, cure)
    taken = {link.name for link in (*hidden, last)}
    return Plan(tuple(hidden), last, left_alone(model, taken, reasons))


def _output_link(links: list[Link], name: str | None) -> Link:
    linears = [link for link in links if isinstance(link.layer, nn.Linear)]
    chosen = linears if name is None else [link for link in linears if link.name == name]
    if not chosen:
        called = ", ".join(link.name for link in linears) or "none"
        expected = "a Linear layer that the forward pass calls"
        raise InvalidInputError(
            "output_layer", expected, "none" if name is None else name, f"those called are: {called}"
        )
    return chosen[-1]


def left_alone(model: nn.Module, taken: set[str], reasons: dict[str, str]) -> dict[str, str]:
    """Every other module that has parameters of its own, with the reason."""
    found: dict[str, str] = {}
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{outer}.") for outer in found)
        if name in taken or inside or not any(True for _ in module.parameters(recurse=False)):
            continue
        kind = next((reason for kinds, reason in REASONS if isinstance(module, kinds)), NO_RULE)
        computed = isinstance(module, samples.LAYERS) and not usable(module)
        found[name] = COMPUTED if computed else reasons.get(name, kind)
    return found


def learn_(
    model: nn.Module,
    X: Any,
    y: Any,
    step: Step,
    last: Step | None,
    rule: Rule,
    *,
    task: str | None,
    output_layer: str | None = None,
    validation: Any = None,
) -> InitReport:
    """Initialize the hidden layers in their order by `step` and the output layer by `last`, a GLM where it is None.

    The model is changed as a whole or not at all; X, y, task, output_layer and validation are as in `init.stein_glm_`.
    """
    check_model(model)
    with all_or_nothing(model), undisturbed(model):
        data = source(model, X, y, task)
        held = validation_source(model, validation, data)
        chosen = plan(model, data, output_layer)
        jobs: Jobs = [(link, partial(step, link, data, rule)) for link in chosen.hidden]
        if last is not None:
            jobs.append((chosen.last, partial(last, chosen.last, data, rule)))
        walk = _in_one_pass if data.whole else _pass_by_pass
        reports, spreads, met = walk(model, jobs, chosen.last, data, rule)
        layers = [replace(r, variance=s.variance) for r, s in zip(reports, spreads, strict=True)]
        if last is None:
            layers.append(glm_output_(model, chosen.last, met, data, held, rule.generator))
    return InitReport(tuple(layers), chosen.left_alone)


Jobs = list[tuple[Link, Callable[[Chunks], LayerReport]]]  # each layer, and what is made of its input's rows
Walked = tuple[list[LayerReport], list["_Spread"], list[Batch]]  # with h and y where the output layer is met


def _in_one_pass(model: nn.Module, jobs: Jobs, last: Link, data: Source, rule: Rule) -> Walked:
    (x, y), *_ = data.batches()
    responses = data.responses(y)
    reports: list[LayerReport] = []
    met: list[Batch] = []
    spreads = [_Spread(link.layer) for link, _ in jobs]

    def initialize(link: Link, write_: Callable[[Chunks], LayerReport], h: Tensor) -> None:
        table = isinstance(link.layer, nn.Linear) and h.dim() == 2
        rows = samples.rows(link.layer, h, responses, rule.max_patches, rule.generator)
        reports.append(write_([(h, responses)] if table else rows))
        if link is last:
            raise Reached

    def meet(h: Tensor) -> None:
        met.append((h, y))
        raise Reached

    inputs = {last.layer: meet} | {link.layer: partial(initialize, link, write_) for link, write_ in jobs}
    with watching(inputs, {spread.layer: spread.add for spread in spreads}):
        forward(model, x)
    return reports, spreads, met


def _pass_by_pass(model: nn.Module, jobs: Jobs, last: Link, data: Source, rule: Rule) -> Walked:
    reports: list[LayerReport] = []
    spreads = [_Spread(link.layer) for link, _ in jobs]
    for (link, write_), before in zip(jobs, [None, *spreads], strict=False):
        passes = samples.Passes(partial(_samples, model, link, before, data, rule), rule.generator)
        reports.append(write_(passes))
    over = bool(jobs) and jobs[-1][0] is last
    met = [] if over else list(inputs_of(model, last, data, spreads[-1] if spreads else None))
    return reports, spreads, met


def _samples(
    model: nn.Module, link: Link, before: "_Spread | None", data: Source, rule: Rule
) -> Iterator[tuple[Tensor | Windows, Tensor]]:
    for h, y in inputs_of(model, link, data, before):
        yield from samples.rows(link.layer, h, data.responses(y), rule.max_patches, rule.generator)


def inputs_of(
    model: nn.Module, link: Link, data: Source, before: "_Spread | None" = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """The input of a layer, batch by batch, with y; `before` measures the output of the layer before it."""
    caught: list[Tensor] = []

    def catch(h: Tensor) -> None:
        caught.append(h)
        raise Reached

    outputs = {} if before is None else {before.layer: before.add}
    with watching({link.layer: catch}, outputs) as restart:
        for x, y in data.batches():
            restart()
            forward(model, x)
            if not caught:
                cure = "a layer that only some rows reach cannot be initialized from all of them"
                raise InvalidInputError(
                    "model", f"one that always calls {link.name!r}", "a pass without", cure
                )
            yield caught.pop(), y


class _Spread:
    """The population variance over all rows and positions of each unit of a layer's output, in float64."""

    def __init__(self, layer: samples.Layer) -> None:
        self.layer, self.n = layer, 0
        self.mean = self.squares = torch.zeros((), dtype=torch.float64)  # (k,), the latter of deviations

    def add(self, output: Tensor) -> None:
        """Take another batch's output in, in pieces whose float64 copies stay in the cache."""
        size = max(1, CHUNK_ELEMENTS * len(output) // max(1, output.numel()))
        for part in output.split(size):
            self._merge(part.movedim(samples.unit_axis(self.layer), -1).flatten(0, -2).double())

    def _merge(self, values: Tensor) -> None:
        """Chan et al. (1979): merge the moments of other rows (m, k)."""
        m = len(values)
        weights = values.new_full((1, m), 1 / m)
        mean = weights @ values  # (1, k); a product sums over rows many times faster than a reduction
        squares = weights @ (values - mean).square_() * m
        gap = mean - self.mean
        self.squares = self.squares + squares + gap**2 * (self.n * m / (self.n + m))
        self.mean = self.mean + gap * (m / (self.n + m))
        self.n += m

    @property
    def variance(self) -> float | None:
        """The mean over units."""
        return float(self.squares.mean()) / self.n if self.n else None


def glm_output_(
    model: nn.Module,
    last: Link,
    met: Sequence[Batch],
    data: Source,
    validation: Source | None,
    generator: torch.Generator,
) -> LayerReport:
    """Fit the output layer on the last hidden layer (the paper's step 2), whose batches are `met`."""
    start = time.perf_counter()
    h, y = _gathered(met, last)
    if validation is None:
        order = torch.randperm(len(h), generator=generator).numpy()
        held, kept = np.array_split(order, [len(h) // 5])
        if data.task != "regression" and len(np.unique(y[kept])) < len(np.unique(y)):
            kept = order  # the only row of a class would be held out
        part = {"task": data.task, "h_validation": h[held], "y_validation": y[held]}
        choice = fit_output(h[kept], y[kept], **part)
        fit = fit_output(h, y, strengths=(choice.strength,), **part)
    else:
        h_validation, y_validation = _gathered(list(inputs_of(model, last, validation)), last)
        fit = fit_output(h, y, task=data.task, h_validation=h_validation, y_validation=y_validation)
    weight, bias = last.layer.weight, last.layer.bias
    with torch.no_grad():
        weight.copy_(torch.as_tensor(fit.coefficients.T).reshape(weight.shape))
        if bias is not None:
            bias.copy_(torch.as_tensor(fit.intercept).reshape(bias.shape))
    return LayerReport(last.name, tuple(weight.shape), "glm", seconds=time.perf_counter() - start)


def _gathered(met: Sequence[Batch], last: Link) -> tuple[np.ndarray, np.ndarray]:
    """The last hidden layer (n, d) and y (n,) or (n, C), all rows."""
    h, y = (torch.cat(parts).double().cpu().numpy() for parts in zip(*met, strict=True))
    if h.ndim != 2:
        expected = "a layer that meets one row a sample, (n, d)"
        raise InvalidInputError(f"the output layer {last.name!r}", expected, h.shape, "pool or flatten first")
    return h, y
