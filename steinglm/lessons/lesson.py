"""A lesson as frozen records: what is told and asked, the preset as a link, what may be changed, marked and claimed.

`lesson` makes one of the plain values of a TOML file and refuses what cannot be used, naming the file and the key. What
can be claimed is a comparison of two numbers that the dashboard shows: no expression is evaluated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from steinglm import link
from steinglm.checks import check_choice
from steinglm.exceptions import InvalidInputError
from steinglm.init import INITIALIZERS
from steinglm.lessons.fields import known_keys, listed, number, table, text, whole
from steinglm.settings import Experiment

__all__ = ["CHARTS", "COMPARISONS", "LOSSES", "SUMMARY", "Claim", "Lesson", "Mark", "Measure", "lesson"]

CHARTS = ("signal", "spectrum", "learning")
COMPARISONS = ("below", "above")
LOSSES = ("training_loss", "validation_loss")
SUMMARY = ("test_metric", "best_validation_loss", "best_epoch")
KEYS = ("title", "text", "link", "charts", "question", "answer", "look", "controls", "claims")
Query = dict[str, str]


@dataclass(frozen=True)
class Mark:
    """What to look at: layers (or ranks, or epochs) from `first` to `last` of a chart, or the height `level`."""

    chart: str
    label: str
    first: float | None = None
    last: float | None = None
    level: float | None = None


@dataclass(frozen=True)
class Measure:
    """One number that the dashboard shows.

    quantity : of `link.SIGNALS` in a hidden layer; of `LOSSES` before training, or after so many epochs; of `SUMMARY`
    method : a name of `init.INITIALIZERS`
    layer, epoch : where the quantity asks for one
    changes : what of the lesson's link is different
    """

    quantity: str
    method: str
    layer: int | None
    epoch: int | None
    changes: Query


@dataclass(frozen=True)
class Claim:
    """`left` is below, or above, `times` the right side: a number, or another measure."""

    left: Measure
    comparison: str
    times: float
    right: Measure | float


@dataclass(frozen=True)
class Lesson:
    """A preset with its story; see `docs/lessons.md` for the file that it is made of.

    name : of the file, and in the page's link
    controls : setting -> label -> the setting's value, as in a link; the first one is the preset's
    """

    name: str
    title: str
    text: tuple[str, ...]
    query: Query
    charts: tuple[str, ...]
    question: str
    answer: str
    look: Mark
    controls: dict[str, Query]
    claims: tuple[Claim, ...]

    def opened(self, changes: Mapping[str, str] = {}) -> tuple[Experiment, link.View]:
        """The experiment and the view of the lesson's link with these changes."""
        experiment, view, _ = link.decode(self.query | dict(changes))
        return experiment, view


def lesson(name: str, values: Mapping[str, Any]) -> Lesson:
    """The lesson of these plain values.

    Raises
    ------
    InvalidInputError : says which key of which lesson, what it must be, and what to do
    """
    known_keys(name, values, KEYS)
    query = dict(parse_qsl(text(name, values, "link").rpartition("?")[2]))
    _check_query(f"{name}: link", query, {})
    if not query:
        cure = "copy the page's address when the controls are set"
        raise InvalidInputError(f"{name}: link", "a link of the page Compare", values["link"], cure)
    charts = tuple(listed(name, values, "charts"))
    for chart in charts:
        check_choice(f"{name}: charts", chart, CHARTS)
    return Lesson(
        name=name,
        title=text(name, values, "title"),
        text=tuple(listed(name, values, "text", 3)),
        query=query,
        charts=charts,
        question=text(name, values, "question"),
        answer=text(name, values, "answer"),
        look=_look(f"{name}: look", table(name, values, "look"), charts),
        controls=_controls(f"{name}: controls", table(name, values, "controls", optional=True), query),
        claims=_claims(f"{name}: claims", values.get("claims"), query),
    )


def _check_query(where: str, query: Query, base: Query) -> None:
    """Refuse what a link cannot hold."""
    for name in query:
        check_choice(where, name, ("v", *link.DEFAULTS[link.VERSION]))
    *_, messages = link.decode(base | query)
    if messages:
        raise InvalidInputError(where, "what a link can hold", query, " ".join(messages))


def _look(where: str, values: Mapping[str, Any], charts: tuple[str, ...]) -> Mark:
    known_keys(where, values, ("chart", "label", "from", "to", "level"))
    chart, label = text(where, values, "chart"), text(where, values, "label")
    check_choice(f"{where}: chart", chart, charts)
    if ("level" in values) == ("from" in values or "to" in values):
        raise InvalidInputError(where, "either 'from' and 'to', or 'level'", sorted(values), "mark one thing")
    if "level" in values:
        return Mark(chart, label, level=number(where, values, "level"))
    first, last = number(where, values, "from"), number(where, values, "to")
    if first > last:
        raise InvalidInputError(where, "'from' up to 'to'", (first, last), "exchange them")
    return Mark(chart, label, first, last)


def _controls(where: str, values: Mapping[str, Any], query: Query) -> dict[str, Query]:
    return {
        setting: _options(f"{where}: {setting}", setting, table(where, values, setting), query)
        for setting in values
    }


def _options(where: str, setting: str, values: Mapping[str, Any], query: Query) -> Query:
    """What one control offers."""
    options = {label: text(where, values, label) for label in values}
    for value in options.values():
        _check_query(where, {setting: value}, query)
    first = next(iter(options.values()), "")
    if link.decode(query | {setting: first}) != link.decode(query):
        raise InvalidInputError(
            where, "label = value, the link's own first", options, "put the one of the link first"
        )
    return options


def _claims(where: str, values: object, query: Query) -> tuple[Claim, ...]:
    if not isinstance(values, list) or not values:
        raise InvalidInputError(where, "one or more [[claims]]", values, "say what the numbers must show")
    return tuple(_claim(f"{where} {i}", value, query) for i, value in enumerate(values, start=1))


def _claim(where: str, values: object, query: Query) -> Claim:
    if not isinstance(values, dict):
        raise InvalidInputError(where, "a table", values, "begin it with [[claims]]")
    known_keys(where, values, ("quantity", "method", "layer", "epoch", "with", "is", "times", "than"))
    comparison = text(where, values, "is")
    check_choice(f"{where}: is", comparison, COMPARISONS)
    times = number(where, values, "times") if "times" in values else 1.0
    left = _measure(where, values, query)
    than = values.get("than")
    if isinstance(than, dict):
        own = ("quantity", "method", "layer", "epoch", "with")
        known_keys(f"{where}: than", than, own)
        rest = {name: values[name] for name in own if name in values}  # what is not said is as on the left
        return Claim(left, comparison, times, _measure(f"{where}: than", rest | than, query))
    return Claim(left, comparison, times, number(where, values, "than"))


def _measure(where: str, values: Mapping[str, Any], query: Query) -> Measure:
    quantity, method = text(where, values, "quantity"), text(where, values, "method")
    check_choice(f"{where}: quantity", quantity, (*link.SIGNALS, *LOSSES, *SUMMARY))
    check_choice(f"{where}: method", method, tuple(INITIALIZERS))
    changes = dict(table(where, values, "with", optional=True))
    changes = {name: text(f"{where}: with", changes, name) for name in changes}
    _check_query(f"{where}: with", changes, query)
    experiment, *_ = link.decode(query | changes)
    check_choice(f"{where}: method", method, experiment.methods)
    layer = whole(where, values, "layer", 1, experiment.depth) if quantity in link.SIGNALS else None
    epoch = whole(where, values, "epoch", 0, experiment.epochs) if quantity in LOSSES else None
    return Measure(quantity, method, layer, epoch, changes)
