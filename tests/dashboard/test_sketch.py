"""The first picture shows the same lines as the chart, at the same places, and survives what the rows may hold."""

import re
from base64 import b64decode
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from steinglm.dashboard import charts, sketch
from steinglm.styles import STYLES
from tests.dashboard.test_charts import METHODS, history, layers


def paths(text: str) -> list[ET.Element]:
    root = ET.fromstring(text)
    return [part for part in root.iter("{http://www.w3.org/2000/svg}path") if part.get("fill") == "none"]


def test_every_method_has_its_line_in_its_colour() -> None:
    drawn = paths(sketch.svg(charts.variance(layers(depth=5))))
    assert [part.get("stroke") for part in drawn] == [STYLES[method].color for method in METHODS]


def test_points_lie_where_their_values_are() -> None:
    (line, *_) = paths(sketch.svg(charts.variance(layers(depth=3), log=True)))
    (x0, y0), (x1, y1), (x2, y2) = np.array(re.findall(r"[\d.]+", str(line.get("d"))), float).reshape(-1, 2)
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert (y1 - y0) / (y2 - y0) == pytest.approx(
        np.log(2) / np.log(3), abs=0.01
    )  # 1, 1/2, 1/3 on a log axis


@pytest.mark.parametrize("value", [0.0, np.nan, 1e-30, 1e30])
def test_any_values_can_be_drawn(value: float) -> None:
    for figure in (
        charts.variance(layers().assign(value=value)),
        charts.learning(history(3).assign(value=value)),
    ):
        ET.fromstring(sketch.svg(figure))
    ET.fromstring(sketch.svg(charts.learning(history(3)[:0], methods=["steinglm"])))


def test_words_are_escaped() -> None:
    figure = charts.variance(layers())
    figure["layout"]["title"]["text"] = "<a & b>"
    text = sketch.markdown(figure, "a [b](c) <d>")
    assert text.startswith("![a b(c) d](data:image/svg+xml;base64,")
    encoded = re.search(r"base64,([^)]+)", text)
    assert encoded is not None
    assert "&lt;a &amp; b&gt;" in b64decode(encoded[1]).decode()
