"""Lines stand where their values are, on axes with round numbers."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from steinglm.drawing import Line, Panel, image, key, panel
from steinglm.styles import STYLES

SVG = "{http://www.w3.org/2000/svg}"
AT = Panel(10, 20, 100, 50, "epoch")


def words(parts: list[str]) -> list[str | None]:
    return [text.text for text in ET.fromstring(image(parts, 200, 100)).iter(f"{SVG}text")]


def test_ends_of_the_lines_are_ends_of_the_axes() -> None:
    lines = [Line(np.array([0, 4]), np.array([1.0, 3.0]), "#000", "dash")]
    assert 'd="M10.0 70.0L110.0 20.0"' in panel(lines, AT)[-1]
    assert words(panel(lines, AT)) == ["1", "1.5", "2", "2.5", "3", "0", "1", "2", "3", "4", "epoch"]


def test_a_given_range_holds_for_all_panels() -> None:
    lines = [Line(np.array([0, 1]), np.array([1.0, 10.0]), "#000", "solid")]
    at = Panel(10, 20, 100, 50, logarithmic=True, y_ends=(1.0, 100.0))
    assert 'd="M10.0 70.0L110.0 45.0"' in panel(lines, at)[-1]


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, 1e-300, 1e300])
@pytest.mark.parametrize("logarithmic", [True, False])
def test_any_value_can_be_drawn(value: float, logarithmic: bool) -> None:
    lines = [Line(np.arange(2), np.array([value, 1.0]), "#000", "solid")]
    ET.fromstring(image(panel(lines, Panel(0, 0, 10, 10, logarithmic=logarithmic)), 10, 10))


def test_words_are_escaped_and_a_key_has_its_methods_look() -> None:
    assert "<b>" in words(panel([], Panel(0, 0, 1, 1, "<b>")))
    line, name = key(STYLES["orthogonal"], 0, 0)
    assert STYLES["orthogonal"].color in line
    assert "Orthogonal" in name
