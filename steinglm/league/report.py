"""The league as Markdown with one figure, made from its rows and environment alone."""

from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import pandas as pd

from steinglm.drawing import image
from steinglm.league.ranks import Standing, cells, standing
from steinglm.league.study import DATASETS, DEFAULT, ENTRIES, LEAGUE
from steinglm.league.verdict import Effect, effects, text, verdict
from steinglm.paper.report import count
from steinglm.paper.results import Kept, read
from steinglm.styles import GREY, style

__all__ = [
    "about", "as_text", "by_rank", "documents", "exploded", "figure", "how", "kept", "markdown", "metric", "overview",
    "pair", "told",
]  # fmt: skip

LINE, LEFT, WIDTH = 22, 158, 460  # of the figure, in pixels
HUGE = 10  # an RMSE of a response between 0 and 1


@cache
def kept() -> Kept:
    """The rows and the environment of the run that comes with the library."""
    return read(files("steinglm.league"), LEAGUE)


def documents(rows: pd.DataFrame, environment: Mapping[str, Any]) -> dict[str, str]:
    """The report and its figure, by file name."""
    return {"league.md": markdown(rows, environment), "league.svg": figure(standing(cells(rows)))}


def markdown(rows: pd.DataFrame, environment: Mapping[str, Any]) -> str:
    """The whole report; equal rows and environments give equal text."""
    versions = ", ".join(f"{name} {number}" for name, number in environment["versions"].items())
    parts = [
        "# The league",
        f"This page is made by `python -m steinglm league`. {about(rows, environment)}\n\nMade with {versions}; "
        f"{environment['processor']}, {environment['cores']} cores.",
        "## Verdict",
        text(verdict(rows)),
        "## Ranks",
        f"{how()} {told(standing(cells(rows)))}",
        "![Mean ranks, each with half a critical difference to both sides](league.svg)",
        _markdown(overview(cells(rows))),
        "## Why",
        "What each thing adds to an entry, and the two that are compared: the cells in which the entry with it is "
        "better, the median relative gain in error (RMSE, or 1 - AUC), and p of a one-sided Wilcoxon signed-rank test "
        "over the data sets' mean gains, not corrected.",
        _why(effects(cells(rows))),
        "## Every cell",
        *(_cells(by_rank(cells(rows)), task) for task in DATASETS),
        exploded(cells(rows)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def about(rows: pd.DataFrame, environment: Mapping[str, Any]) -> str:
    """What was run, in sentences."""
    ends = rows[rows["quantity"] == "test_metric"]
    epochs = sorted({each["epochs"] for each in environment["experiments"]})
    several = f"{epochs[0]} to {epochs[-1]} epochs, fewer the more rows the data set has"
    return (
        f"{len(ends):,} networks: {ends['entry'].nunique()} entries, "
        f"{count(ends['dataset'], 'data set')}, {count(ends['depth'], 'depth')}, "
        f"{count(ends['activation'], 'activation')}, {count(ends['repeat'], 'repeat')} with splits of their own. Each "
        f"is trained for {several if len(epochs) > 1 else f'{epochs[0]} epochs'} (the paper takes 200), "
        "and the test metric is that of the best validation epoch. Alpha is the library's default: 1/f'(0), or a "
        "variance of 1 in each layer for relu."
    )


def how() -> str:
    """How ranks and differences are to be read."""
    return (
        "In each cell (data set, depth, activation) entries are ranked by their mean test metric over the repeats, 1 "
        "the best. Bars reach half of Nemenyi's critical difference to both sides: entries whose bars do not overlap "
        "differ at the level 0.05, all pairs of entries in mind (Demšar, 2006). A "
        "ring stands for an entry without a fitted output layer; the default's name is bold."
    )


def told(its: Standing) -> str:
    """How far apart mean ranks have to be, in a sentence."""
    if its.difference >= len(its.mean_ranks) - 1:
        return "So few cells cannot tell any two entries apart."
    return f"Mean ranks differ if they are more than {its.difference:.2f} apart."


def by_rank(table: pd.DataFrame) -> pd.DataFrame:
    """A table of `ranks.cells` with the best entries first."""
    return table[list(standing(table).mean_ranks.index)]


def exploded(table: pd.DataFrame) -> str:
    """A word on errors beyond any use, or nothing."""
    regression = table[table.index.get_level_values("dataset").isin(DATASETS["regression"])]
    if "lsuv" not in table or not (regression["lsuv"] > HUGE).any():
        return ""
    return (
        "LSUV scales the output layer, too, to a variance of 1: where the layers before leave next to none, its "
        "predictions start, and stay, enormous."
    )


def overview(table: pd.DataFrame) -> pd.DataFrame:
    """A line an entry of `ranks.cells`, the best first: entry, mean_rank, wins, and its mean rank in each part."""
    whole = standing(table)
    found = pd.DataFrame({"mean_rank": whole.mean_ranks, "wins": whole.wins.reindex(whole.mean_ranks.index)})
    for level in ("activation", "depth"):
        for value, own in table.groupby(level=level, sort=False):
            found[f"{value} layers" if level == "depth" else str(value)] = standing(own).mean_ranks
    return found.rename_axis("entry").reset_index()


def as_text(rows: pd.DataFrame) -> str:
    """The league for a terminal."""
    shown = overview(cells(rows))
    shown["entry"] = [ENTRIES[name].title for name in shown["entry"]]
    plain = text(verdict(rows)).replace("**", "")
    return f"{shown.round(2).to_string(index=False)}\n\n{plain}"


def metric(value: float) -> str:
    """A test metric as it is shown.

    >>> metric(0.12341), metric(1.2e16)
    ('0.1234', '1.2e+16')
    """
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.1e}"


def figure(its: Standing, *, background: str = "#fff", width: int = WIDTH) -> str:
    """The mean ranks as SVG: a line an entry, the best on top, a dot and a bar of one critical difference.

    `width` is how wide it is shown, in pixels, where there is room.
    """
    k, height = len(its.mean_ranks), LINE * len(its.mean_ranks) + 50
    half = min(its.difference, k - 1) / 2
    low, high = 1 - half, k + half

    def place(rank: float) -> float:
        return LEFT + (rank - low) / (high - low) * (WIDTH - LEFT - 10)

    parts = [f'<rect width="{WIDTH}" height="{height}" fill="{background}"/>']
    for tick in range(1, k + 1, 2 if k > 9 else 1):
        x = place(tick)
        parts.append(f'<path d="M{x:.1f} 10v{height - 50}" stroke="{GREY}" stroke-opacity=".25"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 22}" text-anchor="middle">{tick}</text>')
    middle = place((k + 1) / 2)
    parts.append(
        f'<text x="{middle:.1f}" y="{height - 5}" text-anchor="middle">mean rank, lower is better</text>'
    )
    for i, (name, rank) in enumerate(its.mean_ranks.items()):
        parts += _bar(str(name), rank, 22 + LINE * i, place, half)
    return image(parts, WIDTH, height, f' width="{width}"') + "\n"


def _bar(name: str, rank: float, y: float, place: Callable[[float], float], half: float) -> list[str]:
    own = ENTRIES[name]
    color, start, end = style(own.method).color, place(rank - half), place(rank + half)
    bold = ' font-weight="bold"' if name == DEFAULT else ""
    fill = color if own.glm else "none"
    return [
        f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end"{bold}>{escape(own.title)}</text>',
        f'<path d="M{start:.1f} {y}H{end:.1f}" stroke="{color}" stroke-width="4" stroke-opacity=".45"/>',
        f'<circle cx="{place(rank):.1f}" cy="{y}" r="4.5" fill="{fill}" stroke="{color}" stroke-width="1.5">'
        f"<title>{escape(own.title)}: {rank:.2f}</title></circle>",
    ]


def _markdown(table: pd.DataFrame) -> str:
    head = ["entry", "mean rank", "wins", *(f"{name}" for name in table.columns[3:])]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for name, mean, wins, *others in table.itertuples(index=False):
        numbers = [f"{mean:.2f}", str(wins), *(f"{value:.2f}" for value in others)]
        lines.append(f"| {ENTRIES[name].title} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def _why(found: Mapping[str, list[Effect]]) -> str:
    lines = [f"| added | {' | '.join(found)} |", "|---|" + "---|" * len(found)]
    for same in zip(*found.values(), strict=True):
        numbers = [f"{e.better} of {e.cells}, {e.gain:+.1%}, p = {e.p:.2g}" for e in same]
        lines.append(f"| {same[0].added}: {pair(same[0])} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def pair(effect: Effect) -> str:
    """The two entries that an effect compares."""
    return f"{ENTRIES[effect.entry].title} against {ENTRIES[effect.without].title}"


def _cells(table: pd.DataFrame, task: str) -> str:
    own = table[table.index.get_level_values("dataset").isin(DATASETS[task])]
    if own.empty:
        return ""
    measure = "RMSE, lower is better" if task == "regression" else "AUC, higher is better"
    best = own.min(axis=1) if task == "regression" else own.max(axis=1)
    lines = [
        f"Test {measure}.",
        "",
        f"| data set | depth | activation | {' | '.join(ENTRIES[str(name)].title for name in own)} |",
        "|---|---:|---|" + "---:|" * own.shape[1],
    ]
    for (dataset, depth, activation), numbers, top in zip(own.index, own.to_numpy(), best, strict=True):
        marked = [f"**{metric(value)}**" if value == top else metric(value) for value in numbers]
        lines.append(f"| {dataset.replace('_', ' ')} | {depth} | {activation} | {' | '.join(marked)} |")
    return "\n".join(lines)
