"""`paper` and `league`: studies that take hours, through an engine, and go on where they were."""

import argparse
import sys
from pathlib import Path
from typing import Any

from steinglm.commands.options import HelpFormatter, names, numbers
from steinglm.commands.options import engine as own_engine
from steinglm.engine import Engine, Settings
from steinglm.league import report as standings
from steinglm.league import study as entries
from steinglm.paper import complexity, mnist, report, run, study, tables

__all__ = ["add_league", "add_paper"]


def add_paper(commands: Any) -> None:
    """Add the command to the parser's."""
    paper = commands.add_parser(
        "paper",
        help="run the paper's section 3 and print its tables",
        description="Run the paper's section 3, whole or in part: progress on standard error, the tables on standard "
        "output, rows, environment and a report in a folder. Interrupted with Ctrl-C, the same command goes on.",
        formatter_class=HelpFormatter,
    )
    paper.set_defaults(command=_paper, goes_on=True)
    add = paper.add_argument
    add(
        "--tables",
        type=numbers,
        default=", ".join(map(str, study.TABLES)),
        help="of the paper, with commas; 4 and 5: the ablation",
    )
    add("--datasets", type=names, default="", help="with commas; if left out, all of the tables'")
    add("--depths", type=numbers, default=", ".join(map(str, study.DEPTHS)), help="with commas")
    add("--figure", choices=("mnist",), help="run section 3.4 instead: the convolutional network on digits")
    add("--part", action="store_true", help="of MNIST, only the images that come with the library")
    add(
        "--repeats",
        type=int,
        help="each with its own split and draws; if left out, 10, and 3 with --figure mnist",
    )
    add("--folder", type=Path, default=Path("paper"), help="where rows, environment and report are written")
    add("--scheduler", default="", metavar="ADDRESS", help="of an existing Dask cluster, tcp://host:port")


def add_league(commands: Any) -> None:
    """Add the command to the parser's."""
    league = commands.add_parser(
        "league",
        help="rank SteinGLM's scores, the baselines and the rivals over ten data sets",
        description="Run the league, whole or in part: progress on standard error, ranks and verdict on standard "
        "output, rows, environment and a report in a folder. Interrupted with Ctrl-C, the same command goes on.",
        formatter_class=HelpFormatter,
    )
    league.set_defaults(command=_league, goes_on=True)
    add = league.add_argument
    add("--datasets", type=names, default=", ".join(entries.NAMES), help="of these, with commas")
    add("--depths", type=numbers, default=", ".join(map(str, entries.DEPTHS)), help="of these, with commas")
    add("--activations", type=names, default=", ".join(entries.ACTIVATIONS), help="of these, with commas")
    add("--repeats", type=int, default=entries.REPEATS, help="each with its own split and draws")
    add("--epochs", type=int, help="the paper takes 200; if left out, about 1,000 steps, at most 100 epochs")
    add("--folder", type=Path, default=Path("league"), help="where rows, environment and report are written")
    add("--scheduler", default="", metavar="ADDRESS", help="of an existing Dask cluster, tcp://host:port")


def _engine(options: argparse.Namespace, experiments: int = 0) -> Engine:
    """An engine whose store has room for all experiments of a study."""
    scheduler = {"scheduler": options.scheduler} if options.scheduler else {}
    return own_engine(store_runs=max(Settings().store_runs, experiments), **scheduler)


def _league(options: argparse.Namespace) -> None:
    chosen = entries.experiments(
        options.datasets, options.depths, options.activations, options.repeats, options.epochs
    )
    with _engine(options, len(chosen)) as engine:
        rows, environment = run.run(engine, chosen, options.folder, entries.LEAGUE)
    run.write(options.folder, standings.documents(rows, environment))
    print(standings.as_text(rows))
    _say_where(options.folder)


def _say_where(folder: Path) -> None:
    print(f"Rows, environment and report are in {folder}.", file=sys.stderr)


def _paper(options: argparse.Namespace) -> None:
    with _engine(options) as engine:
        paper = _paper_images if options.figure else _paper_tables
        paper(engine, options)


def _paper_tables(engine: Engine, options: argparse.Namespace) -> None:
    repeats = 10 if options.repeats is None else options.repeats
    chosen = study.experiments(options.tables, options.datasets, options.depths, repeats)
    rows, environment = run.run(engine, chosen, options.folder)
    if len(chosen) == len(study.experiments()):
        environment["layer_seconds"] = complexity.measure()
        run.write(options.folder, {run.TABLES.environment: environment})
    run.write(options.folder, report.documents(rows, environment))
    for number in options.tables:
        if len(lines := tables.table(rows, number)):
            print(tables.as_text(lines, number), end="\n\n")
    _say_where(options.folder)


def _paper_images(engine: Engine, options: argparse.Namespace) -> None:
    repeats = 3 if options.repeats is None else options.repeats
    chosen = mnist.experiments(repeats=repeats, complete=not options.part)
    rows, environment = run.run(engine, chosen, options.folder, run.IMAGES)
    section = mnist.markdown(rows, environment)
    run.write(options.folder, {"mnist.md": section + "\n", "figure_mnist.svg": mnist.figure(rows)})
    print(section)
    _say_where(options.folder)
