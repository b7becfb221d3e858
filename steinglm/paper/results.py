"""The rows and the environment of a run of the study: as they are kept with this library, or in a folder."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import pandas as pd

from steinglm.exceptions import InvalidInputError
from steinglm.paper.run import ENVIRONMENT, ROWS
from steinglm.paper.study import COLUMNS

__all__ = ["kept", "read"]


@cache
def kept() -> tuple[pd.DataFrame, Mapping[str, Any]]:
    """The rows and the environment of the run that comes with the library."""
    return read(files("steinglm.paper"))


def read(folder: Traversable) -> tuple[pd.DataFrame, Mapping[str, Any]]:
    """The rows and the environment that `run.run` wrote into a folder.

    Raises
    ------
    InvalidInputError : a file is missing, cut off, or of another kind
    """
    with_rows, with_environment = folder.joinpath(ROWS), folder.joinpath(ENVIRONMENT)
    try:
        with with_rows.open("rb") as file:
            rows = pd.read_parquet(file)
        environment = json.loads(with_environment.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # pyarrow's errors are of these, too
        raise _unusable(folder, str(error)) from error
    if not isinstance(environment, dict) or not set(COLUMNS) <= set(rows):
        raise _unusable(folder, "other columns or keys")
    return rows, environment


def _unusable(folder: Traversable, why: str) -> InvalidInputError:
    return InvalidInputError(
        "results",
        f"{ROWS} and {ENVIRONMENT} of a run of the study in {folder}",
        why,
        "run `python -m steinglm paper` with this folder again: what was finished is not computed twice",
    )
