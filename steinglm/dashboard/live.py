"""Charts that update in place: a Streamlit component that keeps its Plotly elements, and the feed of a run.

`st.plotly_chart` builds a new element for every new figure; here the same element is kept and `Plotly.react`
draws into it, so zoom, hidden methods and hover survive. A growing run does not pass through Streamlit at all:
the browser asks `GET /runs/<key>/rows?since=<epoch>` for the epochs that it lacks. So nothing is sent twice, a
reloaded page catches up by itself, and no update reruns the script. `routes` gives the server what this needs.
"""

import gzip
import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import plotly.io as pio
import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from steinglm.dashboard.charts import DARK, FLOOR, LIGHT, POINTS, Figure

__all__ = ["BYTES", "Events", "Look", "Panel", "feed_url", "live", "page", "preload", "routes"]

BYTES = 48_000  # the most that one answer of the feed may weigh
Feed = Callable[[str, int], Mapping[str, Any] | None]

_HERE = Path(str(files("steinglm.dashboard")))
_PLOTLY = Path(str(files("plotly"))) / "package_data" / "plotly.min.js"
# Streamlit sends this text with every update, so it only fetches the real module, which the browser keeps.
_LOADER = """
export default async component => {
  const { mount } = await import(new URL(component.data.assets.module, location.origin));
  return mount(component);
};
"""


@dataclass(frozen=True, eq=False)
class Panel:
    """One chart of a `live` component.

    Parameters
    ----------
    name : stable and unique within the component; the element is kept under this name
    figure : its title, subtitle and axes are used; its template is replaced by that of the page's theme
    alt : alternative text, one sentence on what the chart shows
    sentence : shown below the chart
    feed : the URL of a growing run (`feed_url`), for a figure made by `charts.learning(..., methods=...)`
    placeholder : shown over the chart as long as it has no points
    about : show a button "?" that reports `Events.about`
    opens : a click on a point reports `Events.point`
    """

    name: str
    figure: Figure
    alt: str
    sentence: str = ""
    feed: str = ""
    placeholder: str = ""
    about: bool = False
    opens: bool = False


@dataclass(frozen=True)
class Events:
    """What the browser reported in this run of the script: each is set once, then empty again."""

    about: str = ""  # the name of the panel whose "?" was pressed
    state: str = ""  # the state that a growing run has just come to
    point: tuple[int, int] | None = None  # x and y, rounded, of the point that was clicked


@dataclass(frozen=True)
class Look:
    """How a person has set the charts: methods hidden by the legend, and axes, "panel:log" or "panel:linear"."""

    hidden: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()


def live(
    panels: Sequence[Panel],
    *,
    key: str,
    legend: bool = True,
    presentation: bool = False,
    look: Look | None = None,
    on_look: Callable[[Look], None] | None = None,
    on_moved: Callable[[], None] | None = None,
) -> Events:
    """Show panels side by side (stacked where narrow) under one legend that hides a method in all of them.

    Parameters
    ----------
    panels : in the order of reading
    key : stable for the life of the page; under it the elements are kept
    legend : show the legend; every component of the page obeys it, so one is enough
    presentation : larger letters, thicker lines
    look : as the charts are to be set, which a browser follows that has told nothing newer; None leaves it alone
    on_look : called with what a person has set, before the script runs again
    on_moved : called where the browser went back or forth in its history. The query alone does not tell: one that is
        sent soon after the script wrote another is the old one
    """

    def told() -> dict[str, Any]:
        return dict(st.session_state.get(key, {}).get("look") or {})

    def looked() -> None:
        if on_look is not None and (new := told()):
            on_look(Look(tuple(new["hidden"]), tuple(new["scales"])))

    data = {
        "assets": _assets(),
        "templates": {"light": _template(LIGHT), "dark": _template(DARK)},
        "panels": [_described(panel) for panel in panels],
        "legend": legend,
        "presentation": presentation,
        "moves": on_moved is not None,
        "look": look and {**asdict(look), "at": told().get("at", 0)},
    }
    callbacks = {
        "on_about_change": _ignore,
        "on_state_change": _ignore,
        "on_point_change": _ignore,
        "on_look_change": looked,
        "on_moved_change": on_moved or _ignore,
    }
    result = _component()(key=key, data=data, **callbacks)
    point = result.get("point")
    return Events(
        about=str(result.get("about") or ""),
        state=str(result.get("state") or ""),
        point=(int(point[0]), int(point[1])) if point else None,
    )


def feed_url(key: str, run: str = "") -> str:
    """Return the URL of a run's rows; another `run` (a counter, say) makes the browser ask again at once."""
    return f"{_base()}/runs/{key}/rows" + (f"?run={run}" if run else "")


def preload() -> str:
    """A Link header for the page, so that the browser has the module when Streamlit asks for it.

    Not plotly.js: to parse it beside Streamlit's own start makes the first picture late, and the charts no earlier.
    """
    return f"<{_assets()['module']}>; rel=modulepreload"


def routes(feed: Feed) -> list[BaseRoute]:
    """Return the routes that the component needs: plotly.js, its own two files, and the rows of the runs.

    Parameters
    ----------
    feed : (key, since) -> None for an unknown run, else a mapping: run (an identity that changes when the run
        starts anew), state ("running"; "queued" or "paused"; any other word is final), rows (mappings with method,
        repeat, epoch, quantity, value, of epochs after `since`, the first epoch being 0), if wanted sentence
    """

    def rows(request: Request) -> Response:
        since = request.query_params.get("since", "-1")
        if not since.removeprefix("-").isdecimal() or len(since) > 9:
            return Response("since must be an epoch number", status_code=400)
        answer = feed(request.path_params["key"], int(since))
        if answer is None:
            return Response(status_code=204)  # not 404: the browser would report it as an error of the page
        return Response(
            page(answer, int(since)), media_type="application/json", headers={"Cache-Control": "no-store"}
        )

    def asset(path: Path) -> Route:
        packed = gzip.compress(path.read_bytes(), 6)  # once, and not for every browser
        # The URL carries a digest of the file, so that a browser may keep it for good.
        headers = {"Cache-Control": "public, max-age=31536000, immutable", "Content-Encoding": "gzip"}
        kind = "text/css" if path.suffix == ".css" else "text/javascript"
        return Route(
            f"{_base()}/plotlyjs/{path.name}", lambda _: Response(packed, headers=headers, media_type=kind)
        )

    shipped = [asset(path) for path in (_PLOTLY, _HERE / "live.js", _HERE / "live.css")]
    return [*shipped, Route(f"{_base()}/runs/{{key}}/rows", rows)]


def page(answer: Mapping[str, Any], since: int) -> bytes:
    """Encode the epochs after `since`, averaged over repeats, in at most `BYTES`; `more` says if some are left.

    A history longer than a curve can show is thinned. Returns JSON: run, state, sentence, since, next (the last
    epoch in it), more, epochs [n], and series "method quantity" -> mean [n]; low, high [n] where repeats differ.
    """
    table = _by_epoch(answer["rows"], since)
    epochs = _thinned(table)
    total = len(epochs)
    while True:
        body = {
            **{name: str(answer.get(name, "")) for name in ("run", "state", "sentence")},
            "since": since,
            "next": epochs[-1] if epochs else since,
            "more": len(epochs) < total,
            "epochs": epochs,
            "series": _series(table, epochs),
        }
        encoded = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        if len(encoded) <= BYTES or len(epochs) <= 1:
            return encoded
        epochs = epochs[: max(1, len(epochs) * BYTES // (len(encoded) + BYTES // 10))]


def _by_epoch(rows: Iterable[Mapping[str, Any]], since: int) -> dict[int, dict[str, list[float]]]:
    """epoch -> "method quantity" -> the values of the repeats."""
    table: dict[int, dict[str, list[float]]] = {}
    for row in rows:
        if row["epoch"] > since:
            one = table.setdefault(int(row["epoch"]), {})
            one.setdefault(f"{row['method']} {row['quantity']}", []).append(float(row["value"]))
    return dict(sorted(table.items()))


def _thinned(table: dict[int, dict[str, list[float]]]) -> list[int]:
    """Epochs that suffice to draw the curves: a power of two apart, the last one, and each curve's minimum."""
    epochs = list(table)
    if len(epochs) <= POINTS:
        return epochs
    step = 2 ** math.ceil(math.log2(len(epochs) / POINTS))
    names = table[epochs[0]]
    best = {min(epochs, key=lambda e: min(table[e].get(name, [math.inf]))) for name in names}
    return [e for e in epochs if e % step == 0 or e in best or e == epochs[-1]]


def _series(
    table: dict[int, dict[str, list[float]]], epochs: list[int]
) -> dict[str, dict[str, list[float | None]]]:
    """Mean and extremes over the repeats, column by column."""
    names = dict.fromkeys(name for epoch in epochs for name in table[epoch])
    series: dict[str, dict[str, list[float | None]]] = {}
    for name in names:
        groups = [table[epoch].get(name, []) for epoch in epochs]
        series[name] = {"mean": [_short(math.fsum(g) / len(g)) if g else None for g in groups]}
        if any(len(g) > 1 for g in groups):
            series[name] |= {
                "low": [_short(min(g, default=math.nan)) for g in groups],
                "high": [_short(max(g, default=math.nan)) for g in groups],
            }
    return series


def _short(value: float) -> float | None:
    """Five digits, floored for a log axis; JSON has no nan."""
    return float(f"{max(value, FLOOR):.5g}") if math.isfinite(value) else None


def _described(panel: Panel) -> dict[str, Any]:
    """A panel in plain values, without the template, which is sent once for all."""
    figure = {"data": panel.figure["data"], "layout": {**panel.figure["layout"], "template": None}}
    return {**vars(panel), "figure": _plain(figure)}


def _plain(part: Any) -> Any:
    """A figure in JSON's types; arrays are base64 of their own type: 5 bytes for a float32."""
    if isinstance(part, Mapping):
        return {name: _plain(value) for name, value in part.items() if value is not None}
    if isinstance(part, list | tuple):
        return [_plain(value) for value in part]
    if isinstance(part, np.ndarray):
        return {"dtype": part.dtype.str[1:], "bdata": b64encode(part.tobytes()).decode()}
    return part.item() if isinstance(part, np.generic) else part


@cache
def _template(name: str) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(pio.templates[name].to_json())
    return plain


def _ignore() -> None:
    """For what is read from the result, not in a callback; Streamlit wants one to declare it."""


@cache
def _component() -> Any:
    return st.components.v2.component("steinglm_live", js=_LOADER)


@cache
def _assets() -> dict[str, str]:
    """The versioned URLs of the component's files."""
    named = {"plotly": _PLOTLY, "module": _HERE / "live.js", "style": _HERE / "live.css"}
    digests = {name: sha256(path.read_bytes()).hexdigest()[:12] for name, path in named.items()}
    return {name: f"{_base()}/plotlyjs/{path.name}?v={digests[name]}" for name, path in named.items()}


def _base() -> str:
    """The path under which a proxy serves the app: "" or "/something"."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""
