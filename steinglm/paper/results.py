"""The rows and the environment of a run of the study: as they are kept with this library, or in a folder."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import pandas as pd

from steinglm.exceptions import InvalidInputError
from steinglm.paper.run import IMAGES, TABLES, Files

__all__ = ["Kept", "kept", "kept_images", "read"]


Kept = tuple[pd.DataFrame, Mapping[str, Any]]  # rows and environment


@cache
def kept() -> Kept:
    """The rows and the environment of the run that comes with the library."""
    return read(files("steinglm.paper"))


@cache
def kept_images() -> Kept:
    """Those of the run with images."""
    return read(files("steinglm.paper"), IMAGES)


def read(folder: Traversable, of: Files = TABLES) -> Kept:
    """The rows and the environment that `run.run` wrote into a folder.

    Raises
    ------
    InvalidInputError : a file is missing, cut off, or of another kind
    """
    with_rows, with_environment = folder.joinpath(of.rows), folder.joinpath(of.environment)
    try:
        with with_rows.open("rb") as file:
            rows = pd.read_parquet(file)
        environment = json.loads(with_environment.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # pyarrow's errors are of these, too
        raise _unusable(folder, of, str(error)) from error
    if not isinstance(environment, dict) or not set(of.columns) <= set(rows):
        raise _unusable(folder, of, "other columns or keys")
    return rows, environment


def _unusable(folder: Traversable, of: Files, why: str) -> InvalidInputError:
    return InvalidInputError(
        "results",
        f"{of.rows} and {of.environment} of a run of the study in {folder}",
        why,
        f"run `python -m steinglm {of.command}` with this folder again: what was finished is not computed twice",
    )
