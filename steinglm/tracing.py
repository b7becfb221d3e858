"""The layers of a model in the order in which a forward pass meets them, and passes that leave no trace.

Nothing is assumed about how the model is written: hooks see each layer's input before its output is computed, and
calls of torch's functions are overheard. Passes are made without dropout; batch normalization works in the mode that
the model is in (with a batch's own statistics where it trains), and its running statistics are put back afterwards.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.overrides import TorchFunctionMode

from steinglm import kernels
from steinglm.exceptions import InvalidInputError, SteinGLMError
from steinglm.mlp import ACTIVATIONS, activation_of
from steinglm.samples import LAYERS, Layer

__all__ = [
    "Link",
    "Reached",
    "all_or_nothing",
    "forward",
    "in_double_precision",
    "layers_of",
    "trace",
    "undisturbed",
    "watching",
]


@dataclass(frozen=True)
class Link:
    """A layer as it is met in the forward pass, the known activation that follows it, and how often it is called."""

    name: str
    layer: Layer
    activation: str | None
    calls: int = 1


class Reached(BaseException):
    """Ends a forward pass whose rest is not needed; no `except Exception` of a model stops it."""


def layers_of(model: nn.Module) -> dict[str, Layer]:
    """The Linear and convolutional layers by name, in the order of registration; InvalidInputError if there is none."""
    found = {name: module for name, module in model.named_modules() if isinstance(module, LAYERS)}
    if not found:
        raise InvalidInputError(
            "model", "a model with at least one nn.Linear", type(model).__name__, "add one"
        )
    return found


class _Overhearing(TorchFunctionMode):
    """Notes the activation functions among the calls to torch, however a model spells them."""

    def __init__(self, events: list[Any]) -> None:
        super().__init__()
        self.events = events

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").rstrip("_")
        other = name == "elu" and kwargs.get("alpha", [*args, 1.0][1]) != 1
        if name in ACTIVATIONS and not other:
            self.events.append(name)
        return func(*args, **kwargs)


class _FasterTanh(TorchFunctionMode):
    """Computes tanh as the trainer does, which takes a tenth of the time, where no gradients are asked for."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # A model may ask for gradients in its own forward pass, and map it over tensors without memory of their own.
        alone = not kwargs and not torch.is_grad_enabled()
        if func in (torch.tanh, Tensor.tanh) and alone and kernels.reads(args[0]):
            return kernels.tanh(args[0].detach(), out=torch.empty_like(args[0]))
        return func(*args, **kwargs)


@torch.no_grad()
def trace(model: nn.Module, x: Tensor) -> list[Link]:
    """The layers in the order of a forward pass over x (two rows will do), each where it is first called."""
    names = {module: name for name, module in model.named_modules()}
    events: list[Any] = []  # modules that are called, and names of activations
    watched = [m for m in model.modules() if isinstance(m, LAYERS) or activation_of(m) is not None]
    hooks = [m.register_forward_pre_hook(lambda module, _: events.append(module)) for m in watched]
    try:
        with _Overhearing(events):
            forward(model, x)
    finally:
        for hook in hooks:
            hook.remove()
    order = [i for i, event in enumerate(events) if isinstance(event, LAYERS)]
    links: dict[nn.Module, Link] = {}
    for i, end in zip(order, [*order[1:], len(events)], strict=True):
        layer = events[i]
        if layer in links:
            links[layer] = replace(links[layer], calls=links[layer].calls + 1)
        else:
            links[layer] = Link(names[layer], layer, _activation(events[i + 1 : end]))
    return list(links.values())


def _activation(events: list[Any]) -> str | None:
    """The first activation; an nn.Identity is one if nothing else is (it often stands for a layer left out)."""
    found = [event if isinstance(event, str) else activation_of(event) for event in events]
    return next((name for name in found if name != "identity"), found[0] if found else None)


def forward(model: nn.Module, x: Tensor) -> None:
    """A forward pass whose failure says what came; `Reached` ends it early."""
    try:
        model(x)
    except Reached:
        pass
    except SteinGLMError:
        raise
    except Exception as err:
        got = f"of shape (n, {', '.join(map(str, x.shape[1:]))})"
        raise InvalidInputError("X", "data that the model accepts", got, f"the model says: {err}") from err


@contextmanager
def watching(
    inputs: Mapping[Layer, Callable[[Tensor], None]], outputs: Mapping[Layer, Callable[[Tensor], None]]
) -> Iterator[Callable[[], None]]:
    """Hooks that hand over each layer's input and output at its first call; calling what is given starts anew."""
    entered: set[nn.Module] = set()
    left: set[nn.Module] = set()

    def enter(layer: Any, args: tuple[Any, ...]) -> None:
        if layer not in entered:
            entered.add(layer)
            with torch._C.DisableTorchFunction():  # what is computed here need not be overheard
                inputs[layer](in_double_precision(args[0]))

    def leave(layer: Any, _: Any, output: Tensor) -> None:
        if layer not in left:
            left.add(layer)
            with torch._C.DisableTorchFunction():
                outputs[layer](in_double_precision(output))

    def restart() -> None:
        entered.clear()
        left.clear()

    hooks = [layer.register_forward_pre_hook(enter) for layer in inputs]
    hooks += [layer.register_forward_hook(leave) for layer in outputs]
    try:
        yield restart
    finally:
        for hook in hooks:
            hook.remove()


def in_double_precision(values: Tensor) -> Tensor:
    """The values where float64 is to be had: CUDA has it, other accelerators may not."""
    return values if values.is_cuda else values.cpu()


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Passes in which dropout is off, and after which modes, buffers and global random streams are as they were."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (owner, name, buffer, buffer.clone())
        for owner in model.modules()
        for name, buffer in owner._buffers.items()
        if buffer is not None
    ]
    streams = random.getstate(), np.random.get_state()
    device = next(model.parameters()).device
    try:
        for module, _ in modes:
            module.training = module.training and isinstance(module, _NormBase)
        with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad(), _FasterTanh():
            yield
    finally:
        random.setstate(streams[0])
        np.random.set_state(streams[1])
        for owner, name, buffer, value in buffers:
            owner._buffers[name] = buffer.copy_(value)
        for module, mode in modes:
            module.training = mode


@contextmanager
def all_or_nothing(model: nn.Module) -> Iterator[None]:
    """Give the parameters back as they were if anything fails."""
    before = [(parameter, parameter.detach().clone()) for parameter in model.parameters()]
    try:
        yield
    except BaseException:
        with torch.no_grad():
            for parameter, value in before:
                parameter.copy_(value)
        raise
