"""`compare`: the initializations side by side."""

import argparse
import json
import sys
from typing import Any

import pandas as pd
from tqdm import tqdm

from steinglm import datasets
from steinglm.commands.options import HelpFormatter, add_settings, experiment, own_table
from steinglm.experiment import TITLES, Epoch, Experiment, metric_name, summarize, train
from steinglm.init import INITIALIZERS

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    compare = commands.add_parser(
        "compare",
        help="train the initializations side by side and print a table",
        description="Train the initializations side by side; progress on standard error, a table on standard output.",
        formatter_class=HelpFormatter,
    )
    compare.set_defaults(command=_compare)
    add_settings(compare)
    default = ",".join(Experiment().methods)
    compare.add_argument("--methods", default=default, help=f"with commas, of {', '.join(INITIALIZERS)}")
    compare.add_argument("--format", choices=("table", "json", "csv"), default="table")


def _compare(options: argparse.Namespace) -> None:
    held = own_table(options)  # in memory as long as this name is
    chosen = experiment(options, held.dataset.name if held else None)
    task = datasets.load(chosen.dataset).task
    with tqdm(total=chosen.epochs, unit="epoch", file=sys.stderr) as bar:
        for step in train(chosen):
            if isinstance(step, Epoch):
                bar.update(step.epoch - bar.n)
            else:
                table = summarize(step.summary)
    if options.format == "json":
        rows = json.loads(table.to_json(orient="records"))
        print(
            json.dumps({"experiment": chosen.as_dict(), "metric": metric_name(task), "rows": rows}, indent=2)
        )
    elif options.format == "csv":
        print(table.to_csv(index=False), end="")
    else:
        print(_as_text(table, metric_name(task), chosen.repeats))


def _as_text(table: pd.DataFrame, metric: str, repeats: int) -> str:
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
    if repeats == 1:
        del columns["sd"]
    if metric == "RMSE":  # a regression has no classes
        del columns["test accuracy"]
    return pd.DataFrame(columns).to_string(index=False)
