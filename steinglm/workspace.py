"""Forward and backward passes of K networks of one shape, written out by hand, in buffers that are allocated once.

Groups of networks take turns in the buffers, which hold no more than the processor's cache, and products are prepared
once: a pass is a few batched GEMMs and elementwise functions a layer, and nothing else.
"""

import math

from torch import Tensor

from steinglm.kernels import computing, product
from steinglm.mlp import ACTIVATIONS, Stack

__all__ = ["Group", "Workspace", "Workspaces"]

# Bytes of what layers put out. With more than this of all layers, it is not in the cache any more on the way back;
# with less than that of one, to call takes longer than to compute.
CACHE, CALL = 2**22, 2**18


class Workspace:
    """The buffers of a forward and a backward pass over b rows, units before rows: (k, b) a layer and network.

    With the rows last, the GEMMs of these narrow layers and the sums over rows run along contiguous memory, which is
    up to four times as fast as along units. What a layer takes in has one more unit, always 1, for its bias; the first
    layer's is there once a repeat, for all of its networks. There is room for as many networks as the cache holds:
    their groups take turns.
    """

    def __init__(self, networks: Stack, repeats: int, b: int, gradients: Stack | None) -> None:
        K, d, _ = networks.layers[0].shape  # d with the unit that is 1
        *widths, C = (own.shape[2] for own in networks.layers)
        new, ones = networks.flat.new_empty, networks.flat.new_ones
        unit = b * networks.flat.element_size()  # bytes
        most = max(CACHE // (unit * sum(widths)), CALL // (unit * max(widths)), 1) if widths else K
        parts = _parts(K, repeats, most)
        G = max(part.stop - part.start for part in parts)
        self.inputs = [ones(repeats, d, b), *(ones(G, k + 1, b) for k in widths)]
        self.activation = ACTIVATIONS[networks.activation]
        self.h = [own[:, :-1] for own in self.inputs[1:]]
        self.a = self.h if self.activation.from_output else [new(G, k, b) for k in widths]
        self.y, self.z, self.gz = new(max(G, repeats), C, b), new(G, C, b), new(G, C, b)
        turns = [new(G * max(widths, default=0) * b) for _ in range(2)]  # of a layer and of the one before it
        self.g = [turns[i % 2][: h.numel()].view(h.shape) for i, h in enumerate(self.h)]
        self.groups = [Group(self, networks, part, repeats, gradients) for part in parts]

    def take(self, X: Tensor, y: Tensor) -> None:
        """Copy the rows X (R, d, b) of every repeat, and y (R, C, b) to its networks."""
        self.inputs[0][:, :-1].copy_(X)
        self.y.unflatten(0, (-1, len(y))).copy_(y)


class Group:
    """The passes of some of the networks (k = method * R + repeat): of whole methods, or of some repeats of one."""

    def __init__(
        self, space: Workspace, networks: Stack, part: slice, repeats: int, gradients: Stack | None
    ) -> None:
        self.networks, self.activation = part, space.activation
        G = part.stop - part.start
        first = part.start % repeats if repeats > G else 0
        self.y, self.z, self.gz = space.y[first : first + G], space.z[:G], space.gz[:G]
        self.h, self.a, self.g = ([own[:G] for own in buffers] for buffers in (space.h, space.a, space.g))
        inputs = [space.inputs[0][first : first + G], *(own[:G] for own in space.inputs[1:])]
        layers = [own[part] for own in networks.layers]
        self.outputs = [
            product(own.mT, h, out=a) for own, h, a in zip(layers, inputs, [*self.a, self.z], strict=True)
        ]
        if gradients is None:
            return
        back = [*self.g, self.gz]  # d(loss)/da of each layer
        self.of_weights = [
            product(h, g.mT, out=own[part]) for h, g, own in zip(inputs, back, gradients.layers, strict=True)
        ]
        self.of_inputs = [
            product(own[:, :-1], g, out=before)
            for own, g, before in zip(layers[1:], back[1:], back, strict=False)
        ]

    @computing()
    def forward(self) -> Tensor:
        """The linear predictors (G, C, b)."""
        f = self.activation.function
        for output, a, h in zip(self.outputs, self.a, self.h, strict=False):
            output()
            f(a, out=h)
        self.outputs[-1]()
        return self.z

    @computing()
    def backward(self) -> None:
        """Write the gradients of all parameters, given d(loss)/dz in `gz`."""
        f = self.activation.gradient
        for layer in reversed(range(len(self.a))):
            self.of_inputs[layer]()
            # d/dh becomes d/da; `a` holds f(a) where f was applied in place
            f(self.g[layer], self.a[layer], grad_input=self.g[layer])
            self.of_weights[layer + 1]()  # as late as possible: what it reads is in the cache by now
        self.of_weights[0]()


def _parts(K: int, R: int, most: int) -> list[slice]:
    """Even parts of at most `most` of the networks: of whole methods, or of repeats of one.

    >>> [(part.start, part.stop) for most in (10, 3) for part in _parts(12, 4, most)]
    [(0, 8), (8, 12), (0, 2), (2, 4), (4, 6), (6, 8), (8, 10), (10, 12)]
    """

    def even(whole: int, most: int) -> int:
        return math.ceil(whole / math.ceil(whole / most))

    if most >= R:
        size = R * even(K // R, most // R)
        return [slice(start, min(start + size, K)) for start in range(0, K, size)]
    size = even(R, most)
    return [
        slice(start, min(start + size, end))
        for end in range(R, K + 1, R)
        for start in range(end - R, end, size)
    ]


class Workspaces(dict[int, Workspace]):
    """One workspace for each number of rows that is met: the batch size and a few remainders."""

    def __init__(self, networks: Stack, repeats: int, gradients: Stack | None = None) -> None:
        self.networks, self.repeats, self.gradients = networks, repeats, gradients

    def __missing__(self, b: int) -> Workspace:
        self[b] = Workspace(self.networks, self.repeats, b, self.gradients)
        return self[b]

    def take(self, X: Tensor, y: Tensor) -> list[Group]:
        """The groups of the workspace that fits a batch, with the batch in it; they have to be run one by one."""
        space = self[y.shape[2]]
        space.take(X, y)
        return space.groups
