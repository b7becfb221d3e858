"""The library from a terminal.

`compare` trains an experiment, `sweep` a grid of them; `paper` runs the paper's study, `league` compares all entries;
`lessons` measures what lessons claim.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from steinglm import __version__, datasets
from steinglm.datasets import hold
from steinglm.datasets.own import Held
from steinglm.engine import Engine, Settings
from steinglm.exceptions import InvalidInputError, SteinGLMError
from steinglm.experiment import TITLES, Epoch, Experiment, metric_name, summarize, train
from steinglm.export import as_csv, as_parquet
from steinglm.grid import Grid
from steinglm.init import INITIALIZERS
from steinglm.league import report as standings
from steinglm.league import study as entries
from steinglm.lessons.claims import holds
from steinglm.lessons.reading import every, read
from steinglm.mlp import ACTIVATIONS
from steinglm.paper import complexity, mnist, report, run, study, tables
from steinglm.responses import TASKS
from steinglm.settings import OUTPUTS
from steinglm.stein import SCORES
from steinglm.sweep import AXES, INITIAL, TRAINED, Axis, Sweep, pivot
from steinglm.tables.choices import MISSING, TAILS, Choices
from steinglm.tables.limits import Limits
from steinglm.tables.loading import load_file
from steinglm.tables.raw import Options

__all__ = ["main"]

LOOK = 0.1  # seconds between two looks at a sweep


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line: 0 if all went well, 1 if a lesson's claim does not hold.

    2, with one line on standard error, if the input cannot be used; 130 if it was interrupted.
    """
    options = _parser().parse_args(arguments)
    try:
        status: int | None = options.command(options)
    except SteinGLMError as err:
        print(f"steinglm: {err}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        goes_on = options.command in (_paper, _sweep, _league)
        kept = "; what was finished is kept, and the same command goes on" if goes_on else ""
        print(f"steinglm: interrupted{kept}", file=sys.stderr)
        return 130
    return status or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m steinglm", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    compare = commands.add_parser(
        "compare",
        help="train the initializations side by side and print a table",
        description="Train the initializations side by side; progress on standard error, a table on standard output.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    compare.set_defaults(command=_compare)
    _add_settings(compare)
    default = ",".join(Experiment().methods)
    compare.add_argument("--methods", default=default, help=f"with commas, of {', '.join(INITIALIZERS)}")
    compare.add_argument("--format", choices=("table", "json", "csv"), default="table")
    _add_sweep(commands)
    _add_paper(commands)
    _add_league(commands)
    _add_lessons(commands)
    return parser


def _add_sweep(commands: Any) -> None:
    sweep = commands.add_parser(
        "sweep",
        help="vary two settings and print a quantity as a grid",
        description="Vary two settings of an experiment and print a quantity of one method's networks as a grid: "
        "progress on standard error, the grid on standard output. An axis is a setting with its values, such as "
        "alpha=0.5,1,auto, or with from:to:steps, such as depth=1:40:10, and :log at the end for steps by a factor. "
        "Interrupted with Ctrl-C, the same command goes on.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    sweep.set_defaults(command=_sweep, methods=",".join(Experiment().methods))
    add = sweep.add_argument
    add("--x", required=True, metavar="NAME=VALUES", help=f"across: {', '.join(AXES)}")
    add("--y", required=True, metavar="NAME=VALUES", help="down: another of these")
    add("--method", default="steinglm", metavar="NAME", help=", ".join(INITIALIZERS))
    add(
        "--colour",
        default="last_variance",
        metavar="NAME",
        help=f"{', '.join(INITIAL)}; trained: {', '.join(TRAINED)}",
    )
    add("--out", type=Path, metavar="FILE", help="every quantity of every cell, as .csv or .parquet")
    _add_settings(sweep)


def _add_lessons(commands: Any) -> None:
    lessons = commands.add_parser(
        "lessons",
        help="measure what lessons claim",
        description="Measure both sides of every claim of lessons, and say whether it holds: status 1 if one does not.",
    )
    lessons.set_defaults(command=_lessons)
    lessons.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="TOML; the library's lessons if none"
    )


def _lessons(options: argparse.Namespace) -> int:
    chosen = [read(path) for path in options.files] or list(every()[0].values())
    false = 0
    for lesson in chosen:
        print(lesson.name)
        for finding in holds(lesson):
            false += finding.holds is False
            print(f"  {finding}")
    return int(false > 0)


def _add_paper(commands: Any) -> None:
    paper = commands.add_parser(
        "paper",
        help="run the paper's section 3 and print its tables",
        description="Run the paper's section 3, whole or in part: progress on standard error, the tables on standard "
        "output, rows, environment and a report in a folder. Interrupted with Ctrl-C, the same command goes on.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    paper.set_defaults(command=_paper)
    add = paper.add_argument
    whole = _listed(int)
    add(
        "--tables",
        type=whole,
        default=tuple(study.TABLES),
        help="of the paper, with commas; 4 and 5: the ablation",
    )
    add("--datasets", type=_listed(str), default=(), help="with commas; all of the tables' by default")
    add("--depths", type=whole, default=study.DEPTHS, help="with commas")
    add("--figure", choices=("mnist",), help="run section 3.4 instead: the convolutional network on digits")
    add("--part", action="store_true", help="of MNIST, only the images that come with the library")
    add(
        "--repeats",
        type=int,
        help="each with its own split and draws; None for 10, and 3 with --figure mnist",
    )
    add("--folder", type=Path, default=Path("paper"), help="where rows, environment and report are written")
    add("--scheduler", default="", metavar="ADDRESS", help="of an existing Dask cluster, tcp://host:port")


def _add_league(commands: Any) -> None:
    league = commands.add_parser(
        "league",
        help="rank SteinGLM's scores, the baselines and the rivals over ten data sets",
        description="Run the league, whole or in part: progress on standard error, ranks and verdict on standard "
        "output, rows, environment and a report in a folder. Interrupted with Ctrl-C, the same command goes on.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    league.set_defaults(command=_league)
    add = league.add_argument
    add("--datasets", type=_listed(str), default=(), help="of the paper's ten, with commas; all by default")
    add("--depths", type=_listed(int), default=entries.DEPTHS, help="with commas")
    add("--activations", type=_listed(str), default=entries.ACTIVATIONS, help="with commas")
    add("--repeats", type=int, default=entries.REPEATS, help="each with its own split and draws")
    add("--epochs", type=int, default=entries.EPOCHS, help="the paper takes 200")
    add("--folder", type=Path, default=Path("league"), help="where rows, environment and report are written")
    add("--scheduler", default="", metavar="ADDRESS", help="of an existing Dask cluster, tcp://host:port")


def _listed(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """The type of an option that takes several values with commas."""

    def values(text: str) -> tuple[Any, ...]:
        return tuple(kind(part.strip()) for part in text.split(",") if part.strip())

    values.__name__ = f"list of {kind.__name__}"  # argparse's messages name it
    return values


def _engine(options: argparse.Namespace, experiments: int = 0) -> Engine:
    # The machine may sleep meanwhile; and a run that is finished is kept, so one after the other.
    settings = replace(Settings(), idle_seconds=math.inf, turn_seconds=math.inf)
    if options.scheduler:
        settings = replace(settings, scheduler=options.scheduler)
    return Engine(replace(settings, store_runs=max(settings.store_runs, experiments)))


def _league(options: argparse.Namespace) -> None:
    chosen = entries.experiments(
        options.datasets, options.depths, options.activations, options.repeats, options.epochs
    )
    with _engine(options, len(chosen)) as engine:
        rows, environment = run.run(engine, chosen, options.folder, entries.LEAGUE)
    run.write(options.folder, standings.documents(rows, environment))
    print(standings.as_text(rows))


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


def _paper_images(engine: Engine, options: argparse.Namespace) -> None:
    repeats = 3 if options.repeats is None else options.repeats
    chosen = mnist.experiments(repeats=repeats, complete=not options.part)
    rows, environment = run.run(engine, chosen, options.folder, run.IMAGES)
    section = mnist.markdown(rows, environment)
    run.write(options.folder, {"mnist.md": section + "\n", "figure_mnist.svg": mnist.figure(rows)})
    print(section)


def _alpha(text: str) -> float | str | None:
    return None if text == "default" else text if text == "auto" else float(text)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    default = Experiment()
    add = parser.add_argument
    add("--dataset", default=default.dataset, metavar="NAME", help=", ".join(datasets.names()))
    _add_table(parser)
    add("--depth", type=int, default=default.depth, help="hidden layers")
    add("--width", type=int, help="units a layer; None for min(features, 20)")
    add("--activation", default=default.activation, metavar="NAME", help=", ".join(ACTIVATIONS))
    add("--alpha", type=_alpha, default="default", help="a number, 'default' for 1/f'(0), or 'auto'")
    add("--score", default=default.score, metavar="NAME", help=", ".join(SCORES))
    add(
        "--calibrate",
        action=argparse.BooleanOptionalAction,
        default=default.calibrate,
        help="biases of SteinGLM's that center the pre-activations, or zero",
    )
    add(
        "--output",
        default=default.output,
        metavar="NAME",
        help=f"{', '.join(OUTPUTS)}: who gets a GLM output layer",
    )
    add("--epochs", type=int, default=default.epochs, help="passes over the training rows")
    add("--batch-size", type=int, help="None for min(500, a fifth of the training rows)")
    add("--learning-rate", type=float, default=default.learning_rate, help="of Adam")
    add("--repeats", type=int, default=default.repeats, help="each with its own split and draws")
    add("--rows", type=int, help="training rows that are used; None for all")
    add("--seed", type=int, default=default.seed, help="determines everything random")
    add("--target-loss", type=float, help="stop a network at this validation loss")
    add("--patience", type=int, help="stop a network after so many epochs without a better validation loss")
    add("--time-budget", type=float, help="stop after so many seconds of training")


def _add_table(parser: argparse.ArgumentParser) -> None:
    """The options of a file of one's own."""
    own = parser.add_argument_group("your own table, in the place of --dataset")
    add = own.add_argument
    add("--data", metavar="FILE", help="CSV, Parquet, Arrow, Excel or OpenDocument")
    add("--target", metavar="COLUMN", help="the response; guessed by its name or the last column")
    add("--task", choices=TASKS, help="inferred from the target")
    add("--missing", choices=MISSING, help="rows with missing values: drop them, or impute")
    add("--tails", choices=TAILS, default="keep", help="inputs with heavy tails")
    add("--leave-out", default="", metavar="COLUMNS", help="columns, with commas")
    add("--delimiter", help="of a text file")
    add("--decimal", choices=(".", ","), help="sign of a text file")
    add("--no-header", dest="header", action="store_false", default=None, help="the first row holds no names")
    add("--sheet", help="of a workbook")


def _own_table(options: argparse.Namespace) -> Held | None:
    """The table of --data, held while the command runs, after its report on standard error."""
    if options.data is None:
        return None
    read = Options(options.delimiter, options.header, options.decimal, options.sheet)
    left_out = tuple(name.strip() for name in options.leave_out.split(",") if name.strip())
    limits = Limits.from_environment()
    choices = Choices(options.target, options.task, options.missing, options.tails, left_out)
    cleaned = load_file(options.data, choices, read, replace(limits, kept_rows=limits.rows))
    rows = f"{len(cleaned.dataset.y):,} of {cleaned.rows_read:,} rows, {cleaned.encoded} inputs"
    print(
        f"{cleaned.dataset.title}: {rows}, {cleaned.choices.target!r} by {cleaned.choices.task}",
        file=sys.stderr,
    )
    for where, what in cleaned.report:
        print(f"  {where}: {what}", file=sys.stderr)
    return hold(cleaned.dataset)


def _experiment(options: argparse.Namespace, dataset: str | None = None) -> Experiment:
    """The experiment of a command line; `dataset` stands for the table of --data."""
    own = {field.name for field in fields(Experiment)}
    settings = {name: value for name, value in vars(options).items() if name in own}
    settings["dataset"] = dataset or options.dataset
    settings["methods"] = tuple(name.strip() for name in options.methods.split(",") if name.strip())
    return Experiment(**settings)


def _compare(options: argparse.Namespace) -> None:
    held = _own_table(options)  # in memory as long as this name is
    experiment = _experiment(options, held.dataset.name if held else None)
    task = datasets.load(experiment.dataset).task
    with tqdm(total=experiment.epochs, unit="epoch", file=sys.stderr) as bar:
        for step in train(experiment):
            if isinstance(step, Epoch):
                bar.update(step.epoch - bar.n)
            else:
                table = summarize(step.summary)
    if options.format == "json":
        rows = json.loads(table.to_json(orient="records"))
        print(
            json.dumps(
                {"experiment": experiment.as_dict(), "metric": metric_name(task), "rows": rows}, indent=2
            )
        )
    elif options.format == "csv":
        print(table.to_csv(index=False), end="")
    else:
        print(_as_text(table, metric_name(task), experiment))


def _sweep(options: argparse.Namespace) -> None:
    held = _own_table(options)  # in memory as long as this name is
    base = _experiment(options, held.dataset.name if held else None)
    sweep = Sweep(base, Axis.parse(options.x), Axis.parse(options.y), options.method, options.colour)
    form = {".csv": as_csv, ".parquet": as_parquet}.get("" if options.out is None else options.out.suffix)
    if options.out is not None and form is None:
        raise InvalidInputError("out", "a name that ends in .csv or .parquet", options.out.name, "rename it")
    with Engine(replace(Settings(), idle_seconds=math.inf, turn_seconds=math.inf)) as engine:
        rows = _followed(Grid(sweep, engine))
    print(f"{sweep.colour}, {TITLES[sweep.method]}; {sweep.y.name} down, {sweep.x.name} across")
    print(pivot(sweep, rows).to_string(float_format="{:.4g}".format, na_rep="-"))
    for error, own in rows[rows["error"] != ""].groupby("error", sort=False):
        print(f"{len(own)} without a value: {error}")
    if form is not None:
        run.write(options.out.parent, {options.out.name: form(rows.drop(columns="done"))})


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


def _as_text(table: pd.DataFrame, metric: str, experiment: Experiment) -> str:
    columns = {
        "method": table["method"].map(TITLES),
        f"test {metric}": table["test_metric_mean"].map("{:.4f}".format),
        "sd": table["test_metric_sd"].map("{:.4f}".format),
        "test accuracy": table["test_accuracy_mean"].map("{:.4f}".format),
        "best validation loss": table["best_validation_loss_mean"].map("{:.5f}".format),
        "best epoch": table["best_epoch_mean"].map("{:.0f}".format),
        "init s": table["initialization_seconds_mean"].map("{:.3f}".format),
        "train s": table["training_seconds"].map("{:.1f}".format),
    }
    if experiment.repeats == 1:
        del columns["sd"]
    if metric == "RMSE":  # a regression has no classes
        del columns["test accuracy"]
    return pd.DataFrame(columns).to_string(index=False)


if __name__ == "__main__":
    sys.exit(main())
