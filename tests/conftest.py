"""What every test stands on: one thread for torch and numpy, a store of runs not the user's, one worker an engine."""

import atexit
import os
import shutil
import tempfile

import pytest
import torch
from threadpoolctl import threadpool_limits

torch.set_num_threads(1)  # the tests' matrices are small, and beside other work more threads are far slower
threadpool_limits(1)
_store = tempfile.mkdtemp(prefix="steinglm-tests-")
atexit.register(shutil.rmtree, _store, ignore_errors=True)
os.environ["STEINGLM_STORE"] = _store
os.environ["STEINGLM_WORKERS"] = "1"  # each takes seconds to start; tests that need two say so


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright leaves an event loop running, beside which no other can be started."""
    items.sort(key=lambda item: "browser" in item.path.parts)
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker("browser")
