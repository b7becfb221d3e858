"""A data set from a file of one's own, in one call: what the command line and exported scripts use."""

from pathlib import Path

from steinglm.exceptions import InvalidInputError
from steinglm.tables.choices import NONE_MADE, Choices
from steinglm.tables.cleaning import Cleaned, clean
from steinglm.tables.limits import Limits
from steinglm.tables.opening import open_here
from steinglm.tables.raw import AS_IT_COMES, USUAL, Options

__all__ = ["Choices", "Options", "load_file"]


def load_file(
    path: str | Path, choices: Choices = NONE_MADE, options: Options = AS_IT_COMES, limits: Limits = USUAL
) -> Cleaned:
    """Read, understand and clean a file: CSV, Parquet, Arrow, Excel or OpenDocument.

    Parameters
    ----------
    choices : the target and the rest; what is None is guessed
    options : what is known about the file
    limits : bounds on its size; rows beyond `limits.kept_rows` are sampled

    Returns
    -------
    The data set, to be held by `datasets.hold`, and the report, which begins with what the reader took for granted.

    Raises
    ------
    InvalidInputError : a file that cannot be opened, read or used, with what to do
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        got = f"{path} ({error.strerror})"
        raise InvalidInputError(
            "file", "one that can be opened", got, "check its path and permissions"
        ) from error
    opened = open_here(content, options, limits)
    cleaned = clean(opened.columns, choices, title=Path(path).name, limits=limits)
    return cleaned.after(opened.notes)
