"""`sweep`: two settings varied, a quantity as a grid."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from steinglm.commands.options import HelpFormatter, add_settings, engine, experiment, own_table
from steinglm.exceptions import InvalidInputError
from steinglm.experiment import TITLES, Experiment
from steinglm.export import as_csv, as_parquet
from steinglm.grid import Grid
from steinglm.init import INITIALIZERS
from steinglm.paper.run import write
from steinglm.sweep import AXES, INITIAL, TRAINED, Axis, Sweep, pivot

__all__ = ["add"]

LOOK = 0.1  # seconds between two looks at a sweep


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    sweep = commands.add_parser(
        "sweep",
        help="vary two settings and print a quantity as a grid",
        description="Vary two settings of an experiment and print a quantity of one method's networks as a grid: "
        "progress on standard error, the grid on standard output. An axis is a setting with its values, such as "
        "alpha=0.5,1,auto, or with from:to:steps, such as depth=1:40:10, and :log at the end for steps by a factor. "
        "Interrupted with Ctrl-C, the same command goes on.",
        formatter_class=HelpFormatter,
    )
    sweep.set_defaults(command=_sweep, goes_on=True, methods=",".join(Experiment().methods))
    option = sweep.add_argument
    option("--x", required=True, metavar="NAME=VALUES", help=f"across: {', '.join(AXES)}")
    option("--y", required=True, metavar="NAME=VALUES", help="down: another of these")
    option("--method", default="steinglm", metavar="NAME", help=", ".join(INITIALIZERS))
    option(
        "--colour",
        default="last_variance",
        metavar="NAME",
        help=f"{', '.join(INITIAL)}; trained: {', '.join(TRAINED)}",
    )
    option("--out", type=Path, metavar="FILE", help="every quantity of every cell, as .csv or .parquet")
    add_settings(sweep)


def _sweep(options: argparse.Namespace) -> None:
    held = own_table(options)  # in memory as long as this name is
    base = experiment(options, held.dataset.name if held else None)
    sweep = Sweep(base, Axis.parse(options.x), Axis.parse(options.y), options.method, options.colour)
    form = {".csv": as_csv, ".parquet": as_parquet}.get("" if options.out is None else options.out.suffix)
    if options.out is not None and form is None:
        raise InvalidInputError("out", "a name that ends in .csv or .parquet", options.out.name, "rename it")
    with engine() as its:
        rows = _followed(Grid(sweep, its))
    print(f"{sweep.colour}, {TITLES[sweep.method]}; {sweep.y.name} down, {sweep.x.name} across")
    print(pivot(sweep, rows).to_string(float_format="{:.4g}".format, na_rep="-"))
    for error, own in rows[rows["error"] != ""].groupby("error", sort=False):
        print(f"{len(own)} without a value: {error}")
    if form is not None:
        write(options.out.parent, {options.out.name: form(rows.drop(columns="done"))})


def _followed(grid: Grid) -> pd.DataFrame:
    """The table of a sweep when it is over; interrupted, it stops at once."""
    with tqdm(total=len(grid.sweep.cells), unit="cell", file=sys.stderr) as bar:
        try:
            while not grid.over:
                grid.look()
                bar.update(int(grid.table["done"].sum()) - bar.n)
                time.sleep(LOOK)
        finally:
            grid.stop()
    return grid.table
