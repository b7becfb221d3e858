"""The options that commands share: an experiment's settings, and a table of one's own."""

import argparse
import math
import sys
from dataclasses import fields, replace
from typing import Any

from steinglm import datasets
from steinglm.datasets import hold
from steinglm.datasets.own import Held
from steinglm.engine import Engine, Settings
from steinglm.experiment import Experiment
from steinglm.mlp import ACTIVATIONS
from steinglm.responses import TASKS
from steinglm.settings import OUTPUTS
from steinglm.stein import SCORES
from steinglm.tables.choices import MISSING, TAILS, Choices
from steinglm.tables.limits import Limits
from steinglm.tables.loading import load_file
from steinglm.tables.raw import Options

__all__ = ["HelpFormatter", "add_settings", "engine", "experiment", "names", "numbers", "own_table"]


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """argparse's, without the defaults that say nothing: None, an empty text, a switch that is off."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        says_nothing = action.default is None or action.default is False or action.default == ""
        return action.help if says_nothing else super()._get_help_string(action)


def numbers(text: str) -> tuple[int, ...]:
    """The type of an option that takes whole numbers with commas between them.

    >>> numbers("10, 40")
    (10, 40)
    """
    try:
        return tuple(int(part) for part in names(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"whole numbers with commas between them, such as 10,40, were expected, got {text!r}"
        ) from error


def names(text: str) -> tuple[str, ...]:
    """The type of an option that takes names with commas between them.

    >>> names("abalone, magic,")
    ('abalone', 'magic')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _alpha(text: str) -> float | str | None:
    if text in ("default", "auto"):
        return None if text == "default" else text
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"a number, default or auto was expected, got {text!r}") from error


def add_settings(parser: argparse.ArgumentParser) -> None:
    """One option a setting of an experiment, and those of `own_table`."""
    default = Experiment()
    add = parser.add_argument
    add("--dataset", default=default.dataset, metavar="NAME", help=", ".join(datasets.names()))
    _add_table(parser)
    add("--depth", type=int, default=default.depth, help="hidden layers")
    add("--width", type=int, help="units a layer; if left out, min(features, 20)")
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
    add("--batch-size", type=int, help="if left out, min(500, a fifth of the training rows)")
    add("--learning-rate", type=float, default=default.learning_rate, help="of Adam")
    add("--repeats", type=int, default=default.repeats, help="each with its own split and draws")
    add("--rows", type=int, help="training rows that are used; if left out, all")
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
    add("--delimiter", metavar="SIGN", help="of a text file")
    add("--decimal", choices=(".", ","), metavar="SIGN", help="of a text file: a point or a comma")
    add("--no-header", dest="header", action="store_false", default=None, help="the first row holds no names")
    add("--sheet", help="of a workbook")


def own_table(options: argparse.Namespace) -> Held | None:
    """The table of --data, held while the command runs, after its report on standard error."""
    if options.data is None:
        return None
    read = Options(options.delimiter, options.header, options.decimal, options.sheet)
    left_out = names(options.leave_out)
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


def experiment(options: argparse.Namespace, dataset: str | None = None) -> Experiment:
    """The experiment of a command line; `dataset` stands for the table of --data."""
    own = {field.name for field in fields(Experiment)}
    settings = {name: value for name, value in vars(options).items() if name in own}
    settings["dataset"] = dataset or options.dataset
    settings["methods"] = names(options.methods)
    return Experiment(**settings)


def engine(**settings: Any) -> Engine:
    """An engine of the command's own: the machine may sleep meanwhile, and each run takes the time that it needs."""
    return Engine(replace(Settings(), idle_seconds=math.inf, turn_seconds=math.inf, **settings))
