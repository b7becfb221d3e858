"""What numpy computes for torch: exact to rounding, in place, in any layout."""

import pytest
import torch
from threadpoolctl import ThreadpoolController, threadpool_limits

from steinglm import kernels

N = 200_000
GENERATOR = torch.Generator().manual_seed(0)


def error(x: torch.Tensor) -> float:
    """The largest relative error of tanh against float64."""
    exact = torch.tanh(x.double())
    return float(((kernels.tanh(x, out=torch.empty_like(x)).double() - exact) / exact).abs().max())


def test_tanh_is_exact_to_float32_down_to_the_smallest_numbers() -> None:
    assert error(torch.linspace(-10, 10, N)) < 3e-7
    assert error(torch.logspace(-37, 1, N)) < 3e-7
    assert error(-torch.logspace(-37, 1, N)) < 3e-7


def test_ends_zeros_and_what_is_no_number() -> None:
    x = torch.tensor([torch.inf, -torch.inf, torch.nan, 1e30, -1e30, 0.0])
    y = kernels.tanh(x, out=torch.empty_like(x))
    assert y[:2].tolist() == [1, -1]
    assert y[2].isnan()
    assert y[3:].tolist() == [1, -1, 0]
    assert (kernels.tanh(torch.linspace(7, 12, N), out=torch.empty(N)) <= 1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tanh_in_place_with_gaps_and_with_channels_last(dtype: torch.dtype) -> None:
    x = torch.randn(13, 9, 30, 30, dtype=dtype, generator=GENERATOR)
    expected = torch.tanh(x)
    for a in (x[:, ::2], x.to(memory_format=torch.channels_last)):
        y = kernels.tanh(a, out=torch.empty_like(a))
        assert y.stride() == torch.empty_like(a).stride()
        torch.testing.assert_close(y, torch.tanh(a))
    assert kernels.tanh(x, out=x) is x
    torch.testing.assert_close(x, expected)


def test_products_are_torchs() -> None:
    W, h = (torch.randn(4, *shape, generator=GENERATOR) for shape in ((6, 5), (6, 50)))
    out, gradient = torch.empty(4, 6, 50)[:, :-1], torch.empty(4, 6, 6)  # one with gaps
    few = torch.randn(2, 6, 50, generator=GENERATOR)  # of the repeats
    every = few[[0, 1, 0, 1]]
    for a, b, found, expected in (
        (W.mT, h, out, (W.mT, h)),
        (h, h.mT, gradient, (h, h.mT)),
        (W.mT, few, out, (W.mT, every)),
        (few, h.mT, gradient, (every, h.mT)),
        (W.mT[:, :, :1], h[:, :1], out, (W.mT[:, :, :1], h[:, :1])),  # outer products
    ):
        kernels.product(a, b, out=found)()
        torch.testing.assert_close(found, torch.bmm(*expected))


def test_a_product_reads_its_matrices_anew() -> None:
    W, h, out = torch.ones(2, 3, 3), torch.ones(2, 3, 5), torch.empty(2, 3, 5)
    multiply = kernels.product(W, h, out=out)
    W.fill_(2)
    multiply()
    assert out.unique().tolist() == [6]


@pytest.mark.parametrize("threads", [1, 2])
def test_beside_threads_of_torchs_openblas_has_one(threads: int) -> None:
    def of_openblas() -> list[int]:
        pools = ThreadpoolController().select(internal_api="openblas").info()
        return [pool["num_threads"] for pool in pools]

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(2, user_api="blas"):
            outside = of_openblas()
            with kernels.computing():
                assert of_openblas() == (outside if threads == 1 else [1] * len(outside))
            assert of_openblas() == outside
            u = torch.randn(3, 5, 40, dtype=torch.float64, generator=GENERATOR)
            torch.testing.assert_close(kernels.matmul(u, u.mT), u @ u.mT)
    finally:
        torch.set_num_threads(before)


def test_matrix_products_are_torchs() -> None:
    u = torch.randn(3, 5, 40, dtype=torch.float64, generator=GENERATOR)
    torch.testing.assert_close(kernels.matmul(u, u.mT), u @ u.mT)


def test_what_numpy_cannot_read_is_multiplied_by_torch() -> None:
    a = torch.ones(2, 2, dtype=torch.bfloat16)
    assert kernels.matmul(a, a).dtype == torch.bfloat16


def test_what_numpy_reads() -> None:
    seen = []
    torch.func.vmap(lambda row: seen.append(kernels.reads(row)) or row)(torch.ones(3, 2))
    assert seen == [False]
    assert kernels.reads(torch.ones(2)) and kernels.reads(torch.ones(2, dtype=torch.float64))
    assert not kernels.reads(torch.ones(2, dtype=torch.bfloat16))
    assert not kernels.reads(torch.ones(2).to_sparse())
    assert not kernels.reads(torch.ones(2, device="meta"))
