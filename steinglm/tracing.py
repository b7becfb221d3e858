"""The Linear layers of a model in the order in which a forward pass meets them.

Nothing is assumed about how the model is written: hooks see each layer's input before its output is computed. Passes
are made in evaluation mode, so that dropout draws no random numbers and batch normalization counts no rows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from steinglm.exceptions import InvalidInputError
from steinglm.mlp import activation_of

__all__ = ["Link", "all_or_nothing", "execution_order", "inputs_of", "linear_layers", "visit"]


@dataclass(frozen=True)
class Link:
    """A Linear layer as it is met in the forward pass, and the activation that follows it, if it is a known one."""

    name: str
    linear: nn.Linear
    activation: str | None


def linear_layers(model: nn.Module) -> list[nn.Linear]:
    """The Linear layers of a model in the order of registration; InvalidInputError if there is none."""
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if not linears:
        raise InvalidInputError(
            "model", "a model with at least one nn.Linear", type(model).__name__, "add one"
        )
    return linears


@torch.no_grad()
def execution_order(model: nn.Module, X: Tensor) -> list[Link]:
    """The Linear layers in the order of a forward pass over two rows."""
    linear_layers(model)  # there is one
    called: list[tuple[str, nn.Module]] = []
    leaves = [(name, m) for name, m in model.named_modules() if not any(m.children())]
    hooks = [
        m.register_forward_hook(lambda *_, leaf=leaf: called.append(leaf))
        for leaf in leaves
        for m in leaf[1:]
    ]
    try:
        with _evaluating(model):
            model(X[:2])
    except RuntimeError as err:
        raise InvalidInputError(
            "X", "a table that the model accepts", tuple(X.shape), f"the model says: {err}"
        ) from err
    finally:
        for hook in hooks:
            hook.remove()
    first = {module: i for i, (_, module) in reversed(list(enumerate(called)))}  # a shared layer counts once
    places = sorted(i for module, i in first.items() if isinstance(module, nn.Linear))
    links = []
    for i, end in zip(places, [*places[1:], len(called)], strict=True):
        following = (activation_of(module) for _, module in called[i + 1 : end])
        links.append(Link(called[i][0], called[i][1], next(filter(None, following), None)))  # type: ignore[arg-type]
    if not links or links[-1].linear.out_features != 1:
        raise InvalidInputError(
            "model",
            "a chain that ends in nn.Linear(k, 1)",
            links[-1].linear if links else "no Linear called",
            "give the output layer one unit: the prediction, or the logit of class 1",
        )
    return links


@torch.no_grad()
def visit(model: nn.Module, X: Tensor, links: list[Link], act: Callable[[Link, Tensor], None]) -> None:
    """One forward pass in which `act(link, h)` meets each layer's input h before the layer's output is computed."""
    hooks = [
        link.linear.register_forward_pre_hook(lambda _, inputs, link=link: act(link, inputs[0]))
        for link in links
    ]
    try:
        with _evaluating(model):
            model(X)
    finally:
        for hook in hooks:
            hook.remove()


def inputs_of(model: nn.Module, link: Link, X: Tensor) -> Tensor:
    """The input (n, d) of a layer."""
    captured: list[Tensor] = []
    visit(model, X, [link], lambda _, h: captured.append(h))
    return captured[0]


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Forward passes in which dropout draws no random numbers and batch normalization counts no rows."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def all_or_nothing(model: nn.Module) -> Iterator[None]:
    """Give the model back as it was if anything fails."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    try:
        yield
    except BaseException:
        model.load_state_dict(before)
        raise
