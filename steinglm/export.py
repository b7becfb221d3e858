"""What a person takes home from a run: the code that reproduces it, its rows, its weights."""

import io
import json
import platform
from dataclasses import fields

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save

from steinglm import __version__
from steinglm.experiment import Experiment, Result

__all__ = ["as_csv", "as_parquet", "code", "versions", "weights"]


def code(experiment: Experiment) -> str:
    """A script that runs the experiment with the library and prints the same numbers.

    >>> print(code(Experiment(depth=40)).splitlines()[7])
        depth=40,
    """
    settings = "\n".join(
        f"    {field.name}={getattr(experiment, field.name)!r}," for field in fields(Experiment)
    )
    return f"""import torch

from steinglm.experiment import Experiment, initialize, summarize, train

torch.set_num_threads(1)  # as in the dashboard's workers: sums in the same order, the same result bit for bit
experiment = Experiment(
{settings}
)
layers = initialize(experiment)  # method, repeat, layer, quantity, rank, value
*epochs, result = train(experiment)  # result.history, result.summary, result.state
print(summarize(result.summary).to_string(index=False))
"""


def as_csv(rows: pd.DataFrame) -> bytes:
    """Rows as CSV in UTF-8, numbers to full precision."""
    return rows.to_csv(index=False).encode()


def as_parquet(rows: pd.DataFrame) -> bytes:
    """Rows as Parquet."""
    buffer = io.BytesIO()
    rows.to_parquet(buffer, index=False)
    return buffer.getvalue()


def weights(result: Result) -> bytes:
    """The parameters of every network at its best validation loss, as safetensors with the experiment as metadata."""
    return save(
        {name: value.contiguous() for name, value in result.state.items()},
        metadata={"experiment": json.dumps(result.experiment.as_dict()), "steinglm": __version__},
    )


def versions() -> dict[str, str]:
    """The versions that a result may depend on.

    >>> versions()["steinglm"] == __version__
    True
    """
    return {
        "steinglm": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "pandas": pd.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
    }
