"""The rational tanh: as accurate as float32 allows, everywhere, and never outside of [-1, 1]."""

import pytest
import torch

from steinglm import rational

N = 200_000


def error(x: torch.Tensor) -> float:
    """The largest relative error against float64."""
    exact = torch.tanh(x.double())
    return float(((rational.tanh(x, out=torch.empty_like(x)).double() - exact) / exact).abs().max())


def test_relative_error_is_that_of_float32_down_to_the_smallest_numbers() -> None:
    assert error(torch.linspace(-10, 10, N)) < 5e-7
    assert error(torch.logspace(-37, 1, N)) < 5e-7
    assert error(-torch.logspace(-37, 1, N)) < 5e-7


def test_ends_zeros_and_what_is_no_number() -> None:
    x = torch.zeros(N)
    x[:5] = torch.tensor([torch.inf, -torch.inf, torch.nan, 1e30, -1e30])
    y = rational.tanh(x, out=torch.empty_like(x))
    assert y[:2].tolist() == pytest.approx([1, -1], abs=5e-7)
    assert y[2].isnan()
    assert y[3:5].tolist() == pytest.approx([1, -1], abs=5e-7)
    assert (y[5:] == 0).all()
    assert (rational.tanh(torch.linspace(7, 9, N), out=torch.empty(N)) <= 1).all()


@pytest.mark.parametrize("shape", [(10, 7), (40, 20, 500)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_in_place_and_any_shape(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(0))
    expected = torch.tanh(x)
    assert rational.tanh(x, out=x) is x
    torch.testing.assert_close(x, expected)


def test_few_or_double_numbers_are_torchs_own() -> None:
    few, double = torch.linspace(-3, 3, rational.FEWEST - 1), torch.linspace(-3, 3, N, dtype=torch.float64)
    for x in (few, double):
        assert torch.equal(rational.tanh(x, out=torch.empty_like(x)), torch.tanh(x))


def test_pieces_and_images_with_channels_last_are_taken_as_they_lie() -> None:
    x = torch.randn(130, 9, 30, 30, generator=torch.Generator().manual_seed(0))
    assert x.numel() > rational.PIECE
    last = x.to(memory_format=torch.channels_last)
    for a in (x, last):
        y = rational.tanh(a, out=torch.empty_like(a))
        assert y.stride() == a.stride()
        torch.testing.assert_close(y, torch.tanh(x), rtol=5e-7, atol=0)


def test_what_has_gaps_or_another_order_than_its_result_is_right() -> None:
    x = torch.randn(130, 9, 30, 30, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        rational.tanh(x[:, ::2], out=torch.empty(130, 5, 30, 30)), torch.tanh(x[:, ::2])
    )
    other = torch.empty(x.shape).to(memory_format=torch.channels_last)
    torch.testing.assert_close(rational.tanh(x, out=other), torch.tanh(x))
