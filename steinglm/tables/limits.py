"""How large a table may be. Environment variables set each bound: a teacher's server is not one's own machine."""

from dataclasses import dataclass, fields
from typing import Self

from steinglm.checks import bound, check_whole

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds that are checked before anything is expanded.

    megabytes : of the file
    rows, columns : of the table that is read
    cells : rows times columns; a cell takes 8 bytes as a number
    expanded_megabytes : of a workbook's or a column's parts when they are unpacked
    kept_rows : a larger table is sampled down to so many rows before it is prepared
    encoded : columns after every category has become one column a level
    seconds : for reading, in a process of its own
    """

    megabytes: int = 256
    rows: int = 5_000_000
    columns: int = 2_000
    cells: int = 100_000_000
    expanded_megabytes: int = 2_000
    kept_rows: int = 100_000
    encoded: int = 500
    seconds: int = 60

    def __post_init__(self) -> None:
        for field in fields(self):
            check_whole(field.name, getattr(self, field.name), 1, 10**12, "a bound is a whole number")

    @classmethod
    def from_environment(cls) -> Self:
        """The bounds with what STEINGLM_TABLE_MEGABYTES, STEINGLM_TABLE_ROWS and so on say.

        Raises
        ------
        InvalidInputError : a variable that is no whole number of 1 or more
        """
        plain = vars(cls())
        return cls(**{name: bound(f"STEINGLM_TABLE_{name.upper()}", plain[name]) for name in plain})
