"""The Jacobian of a network's last hidden layer with respect to its input, measured at the data.

Its singular values say by how much small differences between inputs are stretched or squeezed on their way through,
and gradients on their way back. If all are alike, one speaks of dynamical isometry (Saxe et al., 2013; Pennington et
al., 2017): a linear network of square orthogonal layers has it exactly. SteinGLM's layers are alpha times orthonormal
columns, so that in its linear part, too, every singular value is alpha^L; what spreads them is f' alone.
"""

import torch
from torch import Tensor

from steinglm.diagnostics import layers
from steinglm.mlp import ACTIVATIONS, Stack

__all__ = ["singular_values"]


def singular_values(networks: Stack, x: Tensor) -> Tensor:
    """The singular values (K, n, min(d, k)) of dh/dx at the inputs x (K, n, d) of K networks, largest first, float64.

    h (K, n, k) is the output of the last hidden layer, and dh/dx = W_1 diag(f'(a_1)) ... W_L diag(f'(a_L)), one
    product of matrices a row of x: some tens of rows tell the distribution. Theory has the mean of their squares,
    `curves.LayerTheory.jacobian_mean_square`.

    >>> from steinglm import mlp
    >>> from steinglm.init import orthogonal_
    >>> model = mlp.build(3, 3, 20, "identity")
    >>> report = orthogonal_(model)
    >>> singular_values(mlp.stack([model]), torch.zeros(1, 1, 3)).round(decimals=5)
    tensor([[[1., 1., 1.]]], dtype=torch.float64)
    """
    K, n, d = x.shape
    exact = networks.like(networks.flat.double())
    f = ACTIVATIONS[networks.activation]
    J = torch.eye(d, dtype=torch.float64).expand(K, n, d, d)
    for W, (_, a, after) in zip(exact.weights, layers(exact, x.double()), strict=False):
        J = J @ W[:, None] * f.derivative(a, after)[:, :, None]  # (K, n, d, k)
    return torch.linalg.svdvals(J)
