"""What a person takes home from a run: the code that reproduces it, its rows, its weights."""

import io
import json
import platform
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save

from steinglm import __version__
from steinglm.experiment import Experiment, Result
from steinglm.tables.choices import Choices
from steinglm.tables.raw import Options

__all__ = ["Source", "as_csv", "as_parquet", "code", "versions", "weights"]


@dataclass(frozen=True)
class Source:
    """Where a person's own table came from: a file beside the script, how to read it, and what to do with it."""

    file: str
    options: Options
    choices: Choices


def code(experiment: Experiment, source: Source | None = None, max_rows: int | None = None) -> str:
    """A script that runs the experiment with the library and prints the same numbers.

    Parameters
    ----------
    source : of the experiment's data set, if it is a person's own table
    max_rows : on which layers are measured; None for all

    >>> print(code(Experiment(depth=40)).splitlines()[7])
        depth=40,
    """
    values = {field.name: repr(getattr(experiment, field.name)) for field in fields(Experiment)}
    imports, table = "", ""
    if source is not None:
        values["dataset"] = "table.dataset.name"
        imports = """from steinglm.datasets import hold
from steinglm.experiment import Experiment, initialize, summarize, train
from steinglm.tables.loading import Choices, Options, load_file"""
        table = f"""table = hold(
    load_file(
        {source.file!r},  # beside this script
        {_call(source.choices)},
        {_call(source.options)},
    ).dataset
)
"""
    measured = "" if max_rows is None else f", max_rows={max_rows}"
    settings = "\n".join(f"    {name}={value}," for name, value in values.items())
    return f"""import torch

{imports or "from steinglm.experiment import Experiment, initialize, summarize, train"}

torch.set_num_threads(1)  # as in the dashboard's workers: sums in the same order, the same result bit for bit
{table}experiment = Experiment(
{settings}
)
layers = initialize(experiment{measured})  # method, repeat, layer, quantity, rank, value
*epochs, result = train(experiment)  # result.history, result.summary, result.state
print(summarize(result.summary).to_string(index=False))
"""


def _call(settings: Choices | Options) -> str:
    """The call that makes these settings, without what is as it comes."""
    plain = type(settings)()
    given = {field.name: getattr(settings, field.name) for field in fields(settings)}
    changed = [f"{name}={value!r}" for name, value in given.items() if value != getattr(plain, name)]
    return f"{type(settings).__name__}({', '.join(changed)})"


def as_csv(rows: pd.DataFrame) -> bytes:
    """Rows as CSV in UTF-8, numbers to full precision; a text that a spreadsheet would compute is quoted with a '.

    >>> as_csv(pd.DataFrame({"method": ["=cmd()"], "value": [-1.5]}))
    b"method,value\\n'=cmd(),-1.5\\n"
    """
    safe = rows.rename(columns=_inert)
    for name in safe.select_dtypes(["object", "str", "category"]):
        safe[name] = safe[name].map(_inert)
    return safe.to_csv(index=False).encode()


def _inert(value: object) -> object:
    starts = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if starts else value


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
