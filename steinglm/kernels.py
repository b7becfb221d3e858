"""What numpy computes faster than torch on the CPU: tanh, and products of small matrices.

numpy's tanh takes a tenth of the time of torch's and is as exact (1.1e-7 in float32). Its products run in OpenBLAS,
which has kernels for small matrices and, unlike torch's MKL, those of AVX-512 on processors of AMD, too. Where torch
has several threads they are made in one: OpenBLAS's threads and torch's wait by spinning, and beside one another take
forty times as long.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor

__all__ = ["computing", "matmul", "product", "reads", "tanh"]


@cache
def _openblas() -> ThreadpoolController:
    return ThreadpoolController().select(internal_api="openblas")


@contextmanager
def computing() -> Iterator[None]:
    """Around a `product`: in one thread, and without numpy's warnings, since a network may diverge."""
    alone = torch.get_num_threads() == 1  # then nothing spins beside OpenBLAS's threads
    with np.errstate(all="ignore"), nullcontext() if alone else _openblas().limit(limits=1):
        yield


def product(a: Tensor, b: Tensor, *, out: Tensor) -> Callable[[], object]:
    """What writes the products of the matrices a (K, m, n) and b (K, n, p) into out (K, m, p), whenever it is called.

    It is called within `computing`. numpy's views of the three, on the CPU, are taken once: for matrices of width 10
    that takes longer than to multiply them. One of a and b may hold fewer, R: its r-th then stands for the r-th, the
    (R + r)-th, the (2 R + r)-th, and so on.

    >>> a, out = torch.ones(1, 1, 1), torch.empty(1, 1, 1)
    >>> doubled = product(a, torch.full((1, 1, 1), 2.0), out=out)
    >>> _ = a.fill_(3), doubled()
    >>> out.item()
    6.0
    """
    R = min(len(a), len(b))
    first, second, by_repeat = (own.unflatten(0, (-1, R)).numpy() for own in (a, b, out))
    outer = a.shape[2] == 1  # OpenBLAS takes four times as long for it
    multiply = np.multiply if outer else np.matmul
    return partial(multiply, first, second, out=by_repeat)


@np.errstate(all="ignore")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a @ b of large matrices, by torch if it has several threads; in one, numpy is faster, most of all for a @ a.T."""
    if torch.get_num_threads() > 1 or not reads(a):
        return a @ b
    return torch.from_numpy(np.matmul(a.numpy(), b.numpy()))


def tanh(a: Tensor, *, out: Tensor) -> Tensor:
    """Write tanh(a), in float32 or float64 on the CPU, into `out`, which may be `a`.

    >>> float(tanh(torch.full((3,), 1e-9), out=torch.empty(3))[0])
    9.999999717180685e-10
    """
    np.tanh(a.numpy(), out=out.numpy())
    return out


def reads(a: Tensor) -> bool:
    """Whether numpy can read a tensor where it lies: on the CPU, in float32 or float64, with memory of its own."""
    if not a.is_cpu or a.layout != torch.strided or a.dtype not in (torch.float32, torch.float64):
        return False
    try:
        a.data_ptr()
    except RuntimeError:  # of a tensor inside torch.func.vmap
        return False
    return True
