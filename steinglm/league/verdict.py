"""What the league says: which entry to take, where, and whether one is clearly the best. Every number is from the rows.

A clear winner has to pass two tests against what the library does by default. Nemenyi's has all pairs of entries in
mind, and so wants a wide gap, but takes cells of one data set as independent of one another, which they are not.
One-sided Wilcoxon signed-rank tests over the data sets' mean ranks, Holm-corrected over all other entries, do not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from steinglm.league.ranks import LEVEL, Standing, cells, errors, ranks, standing
from steinglm.league.study import DEFAULT, ENTRIES
from steinglm.paper.claims import holm

__all__ = ["Effect", "Part", "Verdict", "by_part", "effects", "signed_rank_p", "summary", "text", "verdict"]

# What is added to an entry, the entry with it, and the one without.
ADDED = (
    ("a GLM as the output layer of orthogonal weights", "orthogonal_glm", "orthogonal"),
    ("SteinGLM's directions in the place of random ones", DEFAULT, "orthogonal_glm"),
    (
        "SteinGLM's directions in the place of principal ones, which do not know the response",
        DEFAULT,
        "pca_glm",
    ),
    ("a variance of 1 in every unit of SteinGLM", "steinglm_lsuv", DEFAULT),
    ("a variance of 1 in every layer of orthogonal weights with the GLM", "lsuv_glm", "orthogonal_glm"),
)


@dataclass(frozen=True)
class Part:
    """The best entry in a part of the league, and the best of those that are not SteinGLM's.

    alike : how many other mean ranks lie within the critical difference of the best
    outsider : None where all are SteinGLM's
    """

    name: str
    cells: int
    best: str
    mean_rank: float
    default_rank: float
    alike: int
    outsider: str | None
    outsider_rank: float


@dataclass(frozen=True)
class Effect:
    """What something adds to an entry: the cells in which it is better, and the median of its relative gains.

    entry, without : the entries that are compared, with it and without
    gain : of the error, RMSE or 1 - AUC; positive where it helps
    p : of one-sided Wilcoxon signed-rank tests over the data sets' mean gains, that it helps; not corrected
    """

    added: str
    entry: str
    without: str
    cells: int
    better: int
    gain: float
    p: float


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the league says.

    best : the entry of the best mean rank
    winner : the same if it is clearly better than the default, else None; also None where the default is the best
    apart : whether best and default are more than the critical difference apart
    p : of the Wilcoxon test of best against default over the data sets, Holm-corrected; 1 for the default itself
    gain : the median over cells of by how much the best lowers the default's error, relative
    parts : by activation and by depth
    """

    whole: Standing
    best: str
    winner: str | None
    apart: bool
    p: float
    gain: float
    parts: tuple[Part, ...]


def verdict(rows: pd.DataFrame) -> Verdict:
    """The verdict on rows of `study.rows` that hold the default entry and another one at least."""
    table = cells(rows)
    whole = standing(table)
    best = str(whole.mean_ranks.index[0])
    apart, p = whole.apart(best, DEFAULT), _against_default(ranks(table)).get(best, 1.0)
    winner = best if best != DEFAULT and apart and p < LEVEL else None
    parts = tuple(_part(name, own) for name, own in _parts(table))
    return Verdict(whole, best, winner, apart, p, float(np.nanmedian(_gains(table, best, DEFAULT))), parts)


def effects(table: pd.DataFrame) -> dict[str, list[Effect]]:
    """Why entries of `ranks.cells` rank as they do: what each thing adds, in all ("all") and by activation."""
    by = [("all", table), *((str(name), own) for name, own in table.groupby(level="activation", sort=False))]
    return {part: [_effect(own, *each) for each in ADDED if {*each[1:]} <= set(own)] for part, own in by}


def text(found: Verdict) -> str:
    """The verdict in sentences."""
    return f"{summary(found)}\n\n{by_part(found)}"


def summary(found: Verdict) -> str:
    """Who is ahead over all cells, and whether that is clear."""
    whole, best, default = found.whole, _title(found.best), _title(DEFAULT)
    first = (
        f"A cell is a data set at a depth with an activation. Over {_counted(whole.cells, 'cell')} of "
        f"{_counted(whole.datasets, 'data set')}, {best} has the best mean rank, {whole.mean_ranks[found.best]:.2f} of "
        f"{len(whole.mean_ranks)}, and wins {_counted(int(whole.wins[found.best]), 'cell')}. Friedman's test that all "
        f"are alike gives p = {whole.p:.2g}."
    )
    return f"{first}\n\n{_decision(found, best, default)}"


def by_part(found: Verdict) -> str:
    """Who is ahead with each activation and at each depth, as a list."""
    return "\n".join(map(_where, found.parts))


def _decision(found: Verdict, best: str, default: str) -> str:
    if found.best == DEFAULT:
        return f"That is what the library does by default, so **we recommend the default**, {default}."
    rank = found.whole.mean_ranks[DEFAULT]
    tests = (
        f"The default, {default}, has {rank:.2f}. A clear winner passes two tests against it. Nemenyi's, over all "
        f"cells and with all pairs of entries in mind, wants a gap of {found.whole.difference:.2f}; it is "
        f"{rank - found.whole.mean_ranks[found.best]:.2f}. Wilcoxon's, over the data sets, has p = {found.p:.2g} after "
        f"Holm's correction. In the median cell the error of {best} is {abs(found.gain):.1%} "
        f"{'lower' if found.gain >= 0 else 'higher'}."
    )
    if found.winner:
        return f"{tests} **{best} is one clear winner, and we recommend it.**"
    few = 0.5**found.whole.datasets * (len(found.whole.mean_ranks) - 1) >= LEVEL
    why = "There are too few data sets to tell" if few else "There is no one clear winner"
    second = f"{best} passes the second test alone: it is the first to try in its place."
    return f"{tests} **{why}, so the default stays what it is.**{f' {second}' if found.p < LEVEL else ''}"


def _where(part: Part) -> str:
    alike = (
        f"not told apart from {part.alike} others" if part.alike else "significantly better than all others"
    )
    default = "" if part.best == DEFAULT else f"; the default: {part.default_rank:.2f}"
    outsider = ""
    if part.outsider not in (None, part.best):
        ahead = ", ahead of the default" if part.outsider_rank < part.default_rank else ""
        outsider = (
            f"; best of those that are not SteinGLM: {_title(part.outsider)}, {part.outsider_rank:.2f}{ahead}"
        )
    return f"- {part.name}: {_title(part.best)}, mean rank {part.mean_rank:.2f}, {alike}{default}{outsider}"


def _title(name: str) -> str:
    return ENTRIES[name].title


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _parts(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for level in ("activation", "depth"):
        for value, own in table.groupby(level=level, sort=False):
            yield f"{value} layers" if level == "depth" else str(value), own


def _part(name: str, own: pd.DataFrame) -> Part:
    its = standing(own)
    best = str(its.mean_ranks.index[0])
    ranked = its.mean_ranks
    alike = sum(not its.apart(best, str(other)) for other in ranked.index) - 1
    outsider = next((str(other) for other in ranked.index if not str(other).startswith("steinglm")), None)
    behind = float(ranked[outsider]) if outsider else np.nan
    return Part(name, its.cells, best, float(ranked[best]), float(ranked[DEFAULT]), alike, outsider, behind)


def _against_default(own: pd.DataFrame) -> dict[str, float]:
    """The p of each entry's being better than the default over the data sets, Holm-corrected."""
    means = own.groupby(level="dataset").mean()
    gains = {str(name): (means[DEFAULT] - means[name]).to_numpy() for name in means if name != DEFAULT}
    return dict(zip(gains, holm([signed_rank_p(gain) for gain in gains.values()]), strict=True))


def signed_rank_p(gains: np.ndarray) -> float:
    """The p of Wilcoxon's one-sided signed-rank test of gains (n,) above zero, exact with ties too; zeros are left out.

    scipy's test gives the same, by a permutation test that takes seconds where there are ties.

    >>> signed_rank_p(np.array([1.0, 2.0, 2.0, -0.5]))
    0.125
    """
    gains = gains[np.isfinite(gains) & (gains != 0)]
    own = rankdata(np.abs(gains))
    signs = (
        np.arange(2 ** len(gains))[:, None] >> np.arange(len(gains))
    ) & 1  # each way to distribute the signs
    return float((signs @ own >= own[gains > 0].sum() - 1e-9).mean())


def _gains(table: pd.DataFrame, one: str, other: str) -> "pd.Series[float]":
    error = errors(table)
    return 1 - error[one] / error[other]


def _effect(own: pd.DataFrame, added: str, one: str, other: str) -> Effect:
    gains = _gains(own, one, other).dropna()
    means = gains.groupby(level="dataset").mean().to_numpy()
    return Effect(
        added, one, other, len(gains), int((gains > 0).sum()), float(gains.median()), signed_rank_p(means)
    )
