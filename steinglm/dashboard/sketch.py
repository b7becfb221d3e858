"""A first picture of a chart as a still SVG image, to be looked at while the browser still loads plotly.js.

It shows the lines of a figure on their axes in the colours of the chart that takes its place, and nothing else.
"""

import math
import re
from base64 import b64encode
from html import escape
from typing import Any

import numpy as np

from steinglm.dashboard.charts import Figure
from steinglm.dashboard.look import GREY

__all__ = ["markdown", "svg"]

WIDTH, HEIGHT = 440, 360
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 56, 44  # margins
DASHES = {"solid": "", "dash": "8 4", "dot": "2 3.5", "dashdot": "8 3 2 3", "longdash": "12 4"}
TICKS = 5
DATA = "data:image/svg+xml;base64,"  # by which live.js finds the image


def markdown(figure: Figure, alt: str) -> str:
    """The sketch as an image in Markdown, which Streamlit shows seconds before anything that it has to load."""
    data = b64encode(svg(figure).encode()).decode()
    plain = re.sub(r"[\\\[\]<>&]", "", alt)
    return f"![{plain}]({DATA}{data})"


def svg(figure: Figure) -> str:
    """Draw the lines of a figure; those without points, or not finite on a log axis, are left out."""
    layout = figure["layout"]
    logarithmic = layout["yaxis"]["type"] == "log"
    lines = [trace for trace in figure["data"] if trace["meta"]["role"] == "line" and len(trace["x"])]
    curves = [(np.asarray(t["x"], float), _scaled(np.asarray(t["y"], float), logarithmic)) for t in lines]
    x_range = _range([x for x, _ in curves])
    y_range = _range([y for _, y in curves])
    title, note = layout["title"]["text"], layout["title"]["subtitle"]["text"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="340" font-family="sans-serif"'
        f' font-size="12" fill="{GREY}">',
        f'<text x="0" y="18" font-size="17" font-weight="600">{escape(title)}</text>',
        f'<text x="0" y="40" font-size="13">{escape(note)}</text>',
        *(
            _across(value, _place(value, y_range, HEIGHT - BOTTOM, TOP), logarithmic)
            for value in _ticks(*y_range)
        ),
        *(_along(value, _place(value, x_range, LEFT, WIDTH - RIGHT)) for value in _ticks(*x_range)),
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(layout['xaxis']['title']['text'])}</text>",
        *(_path(trace["line"], x, y, x_range, y_range) for trace, (x, y) in zip(lines, curves, strict=True)),
        "</svg>",
    ]
    return "".join(parts)


def _scaled(y: np.ndarray, logarithmic: bool) -> np.ndarray:
    """Values as their axis shows them."""
    return np.log10(np.where(y > 0, y, np.nan)) if logarithmic else y


def _range(values: list[np.ndarray]) -> tuple[float, float]:
    """The ends of an axis: those of the finite values, never equal."""
    every = np.concatenate([np.zeros(0), *values])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within the range, about `TICKS` of them."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _place(value: Any, ends: tuple[float, float], first: float, last: float) -> Any:
    return first + (value - ends[0]) / (ends[1] - ends[0]) * (last - first)


def _across(value: float, y: float, logarithmic: bool) -> str:
    label = f"{10**value:.2g}" if logarithmic else f"{value:.3g}"
    return (
        f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity=".25"/>'
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    )


def _along(value: float, x: float) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:.3g}</text>'


def _path(
    look: dict[str, Any],
    x: np.ndarray,
    y: np.ndarray,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
) -> str:
    shown = np.isfinite(y)
    across = _place(x[shown], x_range, LEFT, WIDTH - RIGHT)
    down = _place(y[shown], y_range, HEIGHT - BOTTOM, TOP)
    points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, down, strict=True))
    return (
        f'<path d="M{points}" fill="none" stroke="{look["color"]}" stroke-width="{look["width"]}"'
        f' stroke-dasharray="{DASHES[look["dash"]]}"/>'
        if points
        else ""
    )
