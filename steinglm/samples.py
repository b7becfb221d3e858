"""A layer's weights as a matrix, and its input as the rows of a table that this matrix multiplies.

A convolution is a linear layer on patches (the paper's section 3.4): each patch of an image is a sample of
d = channels * kernel values and each filter one of k units; a grouped one is so many linear layers side by side.
Where a Linear layer meets many positions of a sample (a sequence), each position is a sample. The response of the
sample goes with each of its patches or positions.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from steinglm.windows import Windows

__all__ = ["LAYERS", "Layer", "Passes", "draw_fans", "matrix_shape", "rows", "unit_axis", "write_"]

Layer = nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d
LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
CHUNK_ELEMENTS = 1 << 18


def matrix_shape(layer: Layer) -> tuple[int, int, int]:
    """(groups, d, k): each group's inputs and units.

    >>> matrix_shape(nn.Conv2d(4, 6, 3, groups=2))
    (2, 18, 3)
    """
    groups = 1 if isinstance(layer, nn.Linear) else layer.groups
    return groups, layer.weight[0].numel(), len(layer.weight) // groups


def draw_fans(layer: Layer) -> tuple[int, int]:
    """The inputs of a unit and the units of an input, as Glorot and He count them: with the kernel's positions."""
    positions = layer.weight[0, 0].numel()
    return layer.weight.shape[1] * positions, layer.weight.shape[0] * positions


def unit_axis(layer: Layer) -> int:
    """The axis of the layer's output on which its units stand."""
    return -1 if isinstance(layer, nn.Linear) else 1


@torch.no_grad()
def write_(layer: Layer, W: Tensor, mean: Tensor) -> None:
    """Store weights W (groups, d, k), and the bias that centers the pre-activation of inputs of mean (groups, d).

    The bias is made from the weights as stored, so that the pre-activation's mean is zero to the precision of the
    layer's dtype.
    """
    layer.weight.copy_(W.mT.reshape(layer.weight.shape))
    if layer.bias is not None:
        stored = layer.weight.reshape(W.mT.shape).to(mean)  # (groups, k, d)
        layer.bias.copy_(-(stored @ mean[..., None]).flatten())


@dataclass(eq=False)
class Passes:
    """Chunks of rows that start anew each time they are asked for, with the same draws from the generator."""

    start: Callable[[], Iterator[tuple[Tensor | Windows, Tensor]]]
    generator: torch.Generator | None
    state: Tensor | None = None  # the generator's before the first pass

    def __iter__(self) -> Iterator[tuple[Tensor | Windows, Tensor]]:
        if self.generator is not None and self.state is None:
            self.state = self.generator.get_state()
        elif self.generator is not None and self.state is not None:
            self.generator.set_state(self.state)
        return self.start()


def rows(
    layer: Layer, h: Tensor, y: Tensor, most: int | None = None, generator: torch.Generator | None = None
) -> Passes:
    """The samples of a layer's input h (n, ...) and their responses y (n, C), in chunks (c, d) and (c, C).

    With G > 1 groups the chunks are (G, c, d) and (G, c, C). `most` bounds the patches or positions of each of the n
    samples: a subsample of its own, drawn with the generator. No more than a chunk of patches is in memory at a time;
    all patches of a convolution that moves on by one come as `Windows`, which are smaller, with y one a sample.
    """
    return Passes(partial(_rows, layer, h, y, most, generator), generator)


def _rows(
    layer: Layer, h: Tensor, y: Tensor, most: int | None, generator: torch.Generator | None
) -> Iterator[tuple[Tensor | Windows, Tensor]]:
    groups, d, _ = matrix_shape(layer)
    view = _positions(h) if isinstance(layer, nn.Linear) else _patches(layer, h)
    kernel = 0 if isinstance(layer, nn.Linear) else len(layer.kernel_size)
    positions = view.shape[1 : view.dim() - kernel - 2]
    count = math.prod(positions)
    taken = count if most is None else min(most, count)
    if not isinstance(layer, nn.Linear) and taken == count and layer.stride[-1] == 1 < layer.kernel_size[-1]:
        yield from _windows(layer, h, y)
        return
    size = max(1, CHUNK_ELEMENTS // max(1, taken * groups * d))
    for part, responses in zip(view.split(size), y.split(size), strict=True):
        if taken < count:
            order = torch.rand(len(part), count, generator=generator).argsort(1)[:, :taken].to(h.device)
            samples = torch.arange(len(part), device=h.device)[:, None]
            strips: Sequence[Tensor] = [part[(samples, *torch.unravel_index(order, positions))]]
        elif positions:  # a sample of very many patches comes in strips
            across = math.prod(positions[1:]) * groups * d
            strips = part.split(max(1, CHUNK_ELEMENTS // across), 1)
        else:
            strips = [part]
        for strip in strips:
            yield _as_rows(strip, responses, groups, kernel)


def _positions(h: Tensor) -> Tensor:
    """The input of a Linear layer (n, ..., d) as a view (n, ..., 1, d)."""
    return h.unsqueeze(-2)


def _patches(conv: nn.Conv1d | nn.Conv2d | nn.Conv3d, h: Tensor) -> Tensor:
    """The patches of h (n, channels, ...) as a view (n, positions ..., groups, channels of a group, kernel ...)."""
    kernel = len(conv.kernel_size)
    x = _padded(conv, h)
    for axis, (size, stride, dilation) in enumerate(
        zip(conv.kernel_size, conv.stride, conv.dilation, strict=True), start=2
    ):
        x = x.unfold(axis, dilation * (size - 1) + 1, stride)[..., ::dilation]
    x = x.unflatten(1, (conv.groups, -1))  # (n, groups, channels, positions ..., kernel ...)
    return x.movedim([1, 2], [1 + kernel, 2 + kernel])


def _windows(
    conv: nn.Conv1d | nn.Conv2d | nn.Conv3d, h: Tensor, y: Tensor
) -> Iterator[tuple[Windows, Tensor]]:
    """All patches of h, as windows along its last axis; along the others they are written out."""
    x = _padded(conv, h)
    others = len(conv.kernel_size) - 1
    for axis, (size, stride, dilation) in enumerate(
        zip(conv.kernel_size[:-1], conv.stride[:-1], conv.dilation[:-1], strict=True), start=2
    ):
        x = x.unfold(axis, dilation * (size - 1) + 1, stride)[..., ::dilation]
    x = x.unflatten(1, (conv.groups, -1))  # (n, groups, channels, positions ..., line, kernel ...)
    axes = range(x.dim())
    positions, line, kernel = axes[3 : 3 + others], axes[3 + others], axes[4 + others :]
    count = math.prod(x.shape[i] for i in positions)
    size = max(1, CHUNK_ELEMENTS // max(1, x[0].numel()))
    for part, responses in zip(x.split(size), y.split(size), strict=True):
        lines = part.permute(1, 2, *kernel, 0, *positions, line)
        lines = lines.reshape(conv.groups, -1, len(part), count, part.shape[line])  # (groups, e, n, m, l)
        windows = Windows(lines if conv.groups > 1 else lines[0], conv.kernel_size[-1], conv.dilation[-1])
        yield windows, responses if conv.groups == 1 else responses.expand(conv.groups, -1, -1)


def _padded(conv: nn.Conv1d | nn.Conv2d | nn.Conv3d, h: Tensor) -> Tensor:
    mode = "constant" if conv.padding_mode == "zeros" else conv.padding_mode
    return nn.functional.pad(h, _padding(conv), mode=mode)


def _padding(conv: nn.Conv1d | nn.Conv2d | nn.Conv3d) -> list[int]:
    """The padding before and after each axis, the last axis first, as `nn.functional.pad` takes it."""
    padding: list[int] = []
    for axis in reversed(range(len(conv.kernel_size))):
        if conv.padding == "same":
            total = conv.dilation[axis] * (conv.kernel_size[axis] - 1)
            padding += [total // 2, total - total // 2]
        elif conv.padding == "valid":
            padding += [0, 0]
        else:
            padding += [int(conv.padding[axis])] * 2
    return padding


def _as_rows(view: Tensor, y: Tensor, groups: int, kernel: int) -> tuple[Tensor, Tensor]:
    """A view (n, positions ..., groups, channels, kernel ...) as rows, with the units before the rows in memory."""
    first = view.dim() - kernel - 2  # the axis of the groups
    count = math.prod(view.shape[1:first])
    axes = (*range(first, view.dim()), *range(first))
    h = view.permute(axes).reshape(groups, -1, len(view) * count).mT  # (groups, c, d)
    responses = y.repeat_interleave(count, 0)  # (c, C)
    return (h[0], responses) if groups == 1 else (h, responses.expand(groups, -1, -1))
