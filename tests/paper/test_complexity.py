"""The fit finds the exponents of made times, and the measurement times every shape."""

import numpy as np
import pytest
import torch

from steinglm.paper import complexity


@pytest.mark.parametrize(("rows", "units"), [(1.0, 2.0), (0.5, 3.0)])
def test_exponents_are_found_in_noise(rows: float, units: float) -> None:
    noise = np.random.default_rng(0)
    measured = [
        {"rows": n, "units": N, "seconds": 1e-9 * n**rows * N**units * np.exp(0.01 * noise.normal())}
        for n in (100, 200, 400)
        for N in (8, 16, 32)
    ]
    found = complexity.fit(measured)
    assert (found.rows, found.units) == pytest.approx((rows, units), abs=0.02)
    assert found.r2 > 0.99


def test_every_shape_is_timed_and_threads_are_as_before() -> None:
    threads = torch.get_num_threads()
    measured = complexity.measure(rows=(50, 60), units=(3, 4))
    assert [(each["rows"], each["units"]) for each in measured] == [(50, 3), (60, 3), (50, 4), (60, 4)]
    assert all(each["seconds"] > 0 for each in measured)
    assert torch.get_num_threads() == threads
