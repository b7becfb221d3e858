"""Small pictures as HTML: filters in the colours of their sign, digits, side by side by method.

Streamlit takes SVG out of HTML, so they are PNG; where nothing is drawn they are clear, and the theme shows.
"""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO

import numpy as np
from PIL import Image

from steinglm.styles import GREY, style

__all__ = ["card", "cards", "colours", "digit", "filters", "mosaic", "png", "scale", "sheet"]

POSITIVE, NEGATIVE = "#D55E00", "#0072B2"  # told apart by the colour-blind, on white and on black
CELL, FRAME, GAP = 24, 2, 18  # pixels of a weight, of the line around a filter, and between filters
ACROSS = 3  # filters in a row
STEPS = 8  # of the scale, on either side of zero
MINUS = "−"
MARKS = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "triangle-down": "▼"}


def colours(values: np.ndarray, most: float) -> np.ndarray:
    """RGBA (..., 4) of values: the hue is the sign, the opacity the size; `most` is opaque, zero is clear.

    >>> colours(np.array([-0.5, 0.0, 1.0]), 1.0).tolist()
    [[0, 114, 178, 128], [0, 114, 178, 0], [213, 94, 0, 255]]
    """
    pixels = np.where(values[..., None] > 0, _opaque(POSITIVE), _opaque(NEGATIVE))
    pixels[..., 3] = (255 * np.minimum(np.abs(values) / most, 1)).round()
    return pixels


def mosaic(weights: np.ndarray, most: float) -> np.ndarray:
    """Filters (n, height, width) in rows of three, each in a thin frame, as RGBA pixels."""
    n, height, width = weights.shape
    high, wide = height * CELL + 2 * FRAME, width * CELL + 2 * FRAME
    down, along = high + GAP, wide + GAP
    drawn = np.zeros((-(-n // ACROSS) * down - GAP, ACROSS * along - GAP, 4), np.uint8)
    for i, own in enumerate(weights):
        top, left = i // ACROSS * down, i % ACROSS * along
        framed = np.tile(_opaque(GREY), (high, wide, 1))
        framed[..., 3] //= 2
        framed[FRAME:-FRAME, FRAME:-FRAME] = colours(np.kron(own, np.ones((CELL, CELL))), most)
        drawn[top : top + high, left : left + wide] = framed
    return drawn


def filters(weights: np.ndarray, most: float, alt: str, caption: str) -> str:
    """Filters (n, height, width) as a picture with words below it; `most` is one for all that are compared."""
    return _figure(mosaic(weights, most), alt, caption, "")


def digit(pixels: np.ndarray, alt: str, caption: str) -> str:
    """An image (height, width) of values in [0, 1] with words below it."""
    grey = (255 * np.clip(pixels, 0, 1)).round().astype(np.uint8)
    return _figure(grey, alt, caption, "image-rendering:pixelated;border-radius:2px")


def sheet(rows: Sequence[np.ndarray], alt: str) -> str:
    """Rows of images (n, height, width) of values in [0, 1] as one picture, a thin line between them."""
    padded = [np.pad(own, ((0, 0), (1, 1), (1, 1)), constant_values=0.25) for own in rows]
    pixels = np.concatenate([np.concatenate([*own], axis=1) for own in padded])
    width = f"width:min(100%,{3 * len(rows[0]):g}rem);image-rendering:pixelated;border-radius:2px"
    return _image((255 * np.clip(pixels, 0, 1)).round().astype(np.uint8), alt, width)


def scale(most: float) -> str:
    """What the colours of `filters` mean."""
    values = np.arange(-STEPS, STEPS + 1) / STEPS
    bar = _image(
        colours(values[None], 1.0),
        "from blue over nothing to orange",
        "width:11rem;height:.75rem;image-rendering:pixelated",
    )
    return (
        '<div style="display:flex;align-items:center;gap:.5rem;font-size:.875rem;margin-top:1rem">'
        f"<span>{MINUS}{most:.2g}</span>{bar}<span>{most:.2g}</span></div>"
    )


def card(method: str, words: str, pictures: Sequence[str], narrowest: str, gap: str) -> str:
    """Pictures of one method in a grid below its name; none is narrower than `narrowest`."""
    look = style(method)
    grid = f"display:grid;grid-template-columns:repeat(auto-fill,minmax({narrowest},1fr));gap:{gap}"
    return (
        f'<section aria-label="{escape(look.title)}"><p style="margin:0 0 .5rem">'
        f'<span aria-hidden="true" style="color:{look.color}">{MARKS.get(look.symbol, "")}</span> '
        f"<strong>{escape(look.title)}</strong>{escape(words)}</p>"
        f'<div style="{grid}">{"".join(pictures)}</div></section>'
    )


def cards(each: Sequence[str], below: str = "") -> str:
    """Cards side by side, or below one another where there is no room."""
    grid = "display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,13rem),1fr));gap:1.5rem"
    return f'<div style="{grid}">{"".join(each)}</div>{below}'


def png(pixels: np.ndarray) -> bytes:
    """A picture as a PNG file: uint8, grey (height, width) or RGBA (height, width, 4)."""
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def _opaque(color: str) -> np.ndarray:
    return np.array([*bytes.fromhex(color[1:]), 255], np.uint8)


def _figure(pixels: np.ndarray, alt: str, caption: str, looks: str) -> str:
    shown = _image(pixels, alt, f"width:100%;{looks}")
    words = f'<figcaption style="font-size:.8125rem;line-height:1.3;margin-top:.25rem">{escape(caption)}</figcaption>'
    return f'<figure style="margin:0;max-width:8rem">{shown}{words}</figure>'


def _image(pixels: np.ndarray, alt: str, looks: str) -> str:
    data = b64encode(png(pixels)).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}" style="display:block;{looks}">'
