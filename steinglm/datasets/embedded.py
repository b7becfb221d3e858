"""Nine of the paper's ten data sets, which travel with the package in `data/`, with `ATTRIBUTION.md` beside
them. The files hold the values as published: nothing is scaled, sampled or reordered."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from steinglm.datasets.dataset import Dataset

__all__ = ["SOURCES", "Source", "load"]

FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Source:
    """How to read one file: its response, the positive class's label, the columns that are no inputs."""

    code: str
    title: str
    target: str
    description: str
    positive: str | int | None = None  # None: a regression
    excluded: tuple[str, ...] = ()


def _uci(number: int, authors: str) -> str:
    return f"UCI Machine Learning Repository, data set {number} ({authors}), CC BY 4.0"


SOURCES = {
    "abalone": Source(
        "D1",
        "Abalone",
        "Rings",
        f"Age of abalone in rings of the shell; {_uci(1, 'Nash et al., 1995')}",
    ),
    "california_housing": Source(
        "D2",
        "California Housing",
        "MedHouseVal",
        "Median house value of a block in $100,000, from the 1990 census; StatLib (Pace and Barry, 1997), "
        "no licence stated",
    ),
    "power_plant": Source(
        "D3",
        "Power Plant",
        "PE",
        f"Hourly output of a combined cycle power plant in MW; {_uci(294, 'Tüfekci and Kaya, 2014')}",
    ),
    "electrical_grid": Source(
        "D4",
        "Electrical Grid",
        "stab",
        f"Stability of a simulated four-node grid; {_uci(471, 'Arzamasov, 2018')}",
        excluded=("p1", "stabf"),  # p1 = -(p2 + p3 + p4); stabf is the sign of the response
    ),
    "adult": Source(
        "D6",
        "Adult",
        "income",
        f"Income above $50,000 (positive), 1994 census; {_uci(2, 'Becker and Kohavi, 1996')}",
        positive=">50K",
    ),
    "bank_marketing": Source(
        "D7",
        "Bank Marketing",
        "y",
        f"A term deposit is subscribed after a call (positive); {_uci(222, 'Moro, Rita and Cortez, 2012')}",
        positive="yes",
    ),
    "magic": Source(
        "D8",
        "MAGIC Telescope",
        "class",
        f"Gamma rays (positive) against hadrons, simulated; {_uci(159, 'Bock, 2007')}",
        positive="g",
    ),
    "mammographic": Source(
        "D9",
        "Mammographic",
        "Severity",
        f"Malignant (positive) against benign masses; {_uci(161, 'Elter, 2007')}",
        positive=1,
    ),
    "spambase": Source(
        "D10",
        "Spambase",
        "spam",
        f"Spam (positive) against other mail, by word counts; {_uci(94, 'Hopkins et al., 1999')}",
        positive=1,
    ),
}


def load(name: str) -> Dataset:
    """Read one embedded data set; rows with missing values are still there.

    >>> load("mammographic").X.shape
    (830, 5)
    """
    source = SOURCES[name]
    table = pd.read_parquet(FOLDER / f"{name}.parquet")
    y = table.pop(source.target)
    if source.positive is not None:
        y = (y == source.positive).astype("int8")
    return Dataset(
        name=name,
        X=table.drop(columns=list(source.excluded)),
        y=y,
        task="regression" if source.positive is None else "binary",
        description=source.description,
        title=source.title,
        code=source.code,
    )
