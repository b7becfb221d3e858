"""Lines on two axes as SVG, for pictures that do without a plotting library: sketches, and a report's figures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from steinglm.styles import DASHES, GREY, Style

__all__ = ["Line", "Panel", "image", "key", "panel"]

TICKS = 5
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Line:
    """A curve: x and y of shape (n,); dash by Plotly's names."""

    x: np.ndarray
    y: np.ndarray
    color: str
    dash: str
    width: float = 2.0


@dataclass(frozen=True)
class Panel:
    """Where the axes stand in the image, and what is written there; `y_ends` is the range, None for the lines'."""

    left: float
    top: float
    width: float
    height: float
    x_title: str = ""
    logarithmic: bool = False
    y_ends: Ends | None = None


def image(parts: Sequence[str], width: float, height: float, attributes: str = "") -> str:
    """A whole SVG image of the parts."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif"'
        f' font-size="12" fill="{GREY}"{attributes}>{"".join(parts)}</svg>'
    )


def panel(lines: Sequence[Line], at: Panel) -> list[str]:
    """Axes, ticks and lines; points that are not finite, or not positive on a log axis, are left out.

    >>> line = Line(np.arange(3), np.array([1.0, 10.0, 100.0]), "#000", "solid")
    >>> panel([line], Panel(0, 0, 100, 50, logarithmic=True))[-1]
    '<path d="M0.0 50.0L50.0 25.0L100.0 0.0" fill="none" stroke="#000" stroke-width="2" stroke-dasharray=""/>'
    """
    curves = [
        (np.asarray(line.x, float), _scaled(np.asarray(line.y, float), at.logarithmic)) for line in lines
    ]
    x_ends = _ends([x for x, _ in curves])
    if at.y_ends is None:
        y_ends = _ends([y for _, y in curves])
    else:
        low, high = _scaled(np.asarray(at.y_ends, float), at.logarithmic)
        y_ends = float(low), float(high)
    right, bottom = at.left + at.width, at.top + at.height
    return [
        *(_across(tick, _place(tick, y_ends, bottom, at.top), at) for tick in _ticks(*y_ends)),
        *(_along(tick, _place(tick, x_ends, at.left, right), bottom) for tick in _ticks(*x_ends)),
        f'<text x="{at.left + at.width / 2:.0f}" y="{bottom + 38:.0f}" text-anchor="middle">'
        f"{escape(at.x_title)}</text>",
        *(
            _path(line, _place(x, x_ends, at.left, right), _place(y, y_ends, bottom, at.top))
            for line, (x, y) in zip(lines, curves, strict=True)
        ),
    ]


def key(look: Style, x: float, y: float) -> list[str]:
    """A method's line and name, for a legend."""
    return [
        f'<path d="M{x:g} {y:g}h28" stroke="{look.color}" stroke-width="2.4" stroke-dasharray="{DASHES[look.dash]}"/>',
        f'<text x="{x + 34:g}" y="{y + 4:g}">{escape(look.title)}</text>',
    ]


def _scaled(y: np.ndarray, logarithmic: bool) -> np.ndarray:
    """Values as their axis shows them."""
    return np.log10(np.where(y > 0, y, np.nan)) if logarithmic else y


def _ends(values: Sequence[np.ndarray]) -> Ends:
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


def _place(value: Any, ends: Ends, first: float, last: float) -> Any:
    return first + (value - ends[0]) / (ends[1] - ends[0]) * (last - first)


def _across(value: float, y: float, at: Panel) -> str:
    label = f"{10**value:.2g}" if at.logarithmic else f"{value:.3g}"
    return (
        f'<path d="M{at.left:g} {y:.1f}h{at.width:g}" stroke="{GREY}" stroke-opacity=".25"/>'
        f'<text x="{at.left - 6:g}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    )


def _along(value: float, x: float, bottom: float) -> str:
    return f'<text x="{x:.1f}" y="{bottom + 18:.0f}" text-anchor="middle">{value:.3g}</text>'


def _path(line: Line, x: np.ndarray, y: np.ndarray) -> str:
    shown = np.isfinite(y)
    points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x[shown], y[shown], strict=True))
    return (
        f'<path d="M{points}" fill="none" stroke="{line.color}" stroke-width="{line.width:g}"'
        f' stroke-dasharray="{DASHES[line.dash]}"/>'
        if points
        else ""
    )
