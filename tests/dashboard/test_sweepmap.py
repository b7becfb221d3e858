"""The heat map: every cell at its place with its exact value, colours by what they are of, and what has no value."""

import math

import pandas as pd
import plotly.graph_objects as go
import pytest

from steinglm.dashboard.sweepcontrols import AXIS_TITLES
from steinglm.dashboard.sweepmap import heatmap, hover, sentence
from steinglm.settings import Experiment
from steinglm.sweep import Axis, Sweep, table

SWEEP = Sweep(Experiment(), Axis("alpha", (0.5, 1.0, None)), Axis("depth", (2, 0)))
COLOUR = "Variance"


def cells(values: list[float], sweep: Sweep = SWEEP) -> pd.DataFrame:
    return table(sweep, {}).assign(**{sweep.colour: [*values, *[math.nan] * 3], "done": True})


def test_each_cell_is_at_its_place_and_the_figure_is_valid() -> None:
    figure = heatmap(SWEEP, cells([1.0, 3.0, 2.0]), AXIS_TITLES, COLOUR)
    go.Figure(figure)
    trace, layout = figure["data"][0], figure["layout"]
    assert trace["z"] == [[1.0, 3.0, 2.0], [None] * 3]
    assert (trace["zmin"], trace["zmax"]) == (1, 3)
    assert layout["xaxis"]["ticktext"] == ["0.5", "1", "default"]
    assert layout["yaxis"]["ticktext"] == ["2", "0"]
    assert [(mark["x"], mark["y"]) for mark in layout["annotations"]] == [(0, 1), (1, 1), (2, 1)]


def test_hover_says_the_exact_value_or_why_there_is_none() -> None:
    texts = hover(SWEEP, cells([1.23456789, math.inf, math.nan]), AXIS_TITLES, COLOUR)
    assert texts[0] == "Scaling alpha 0.5<br>Depth 2<br>Variance: 1.23457"
    assert texts[1].endswith("not a number: it diverged")
    assert "depth must be 1..200, got 0" in texts[3].replace("<br>", "")
    assert hover(SWEEP, table(SWEEP, {}), AXIS_TITLES, COLOUR)[0].endswith("not computed yet")
    target = Sweep(
        Experiment(target_loss=0.1), Axis("alpha", (1.0,)), Axis("depth", (2,)), colour="epochs_to_target"
    )
    never = table(target, {}).assign(epochs_to_target=math.inf, done=True)
    assert hover(target, never, AXIS_TITLES, "Epochs")[0].endswith("never")
    assert heatmap(target, never, AXIS_TITLES, "Epochs")["layout"]["annotations"][0]["text"] == "∞"


def test_colours_follow_the_logarithm_over_decades_and_part_at_1_for_chi() -> None:
    figure = heatmap(SWEEP, cells([1e-2, 1.0, 100.0]), AXIS_TITLES, COLOUR)
    assert figure["data"][0]["z"][0] == pytest.approx([-2, 0, 2])
    assert "logarithm" in figure["layout"]["title"]["subtitle"]["text"]
    far = heatmap(SWEEP, cells([0.0, 1e-30, 1.0]), AXIS_TITLES, COLOUR)
    assert far["data"][0]["z"][0] == pytest.approx([-8, -8, 0])
    assert far["data"][0]["zmin"] == -8
    assert "up to 10⁻⁸ all are alike" in far["layout"]["title"]["subtitle"]["text"]
    chi = Sweep(SWEEP.base, SWEEP.x, SWEEP.y, colour="chi_1")
    trace = heatmap(chi, cells([0.5, 1.0, 4.0], chi), AXIS_TITLES, "chi")["data"][0]
    assert trace["zmin"] == -trace["zmax"] == pytest.approx(-math.log10(4))
    for colour_bar in (figure["data"][0]["colorbar"], trace["colorbar"]):
        assert len(colour_bar["tickvals"]) == len(colour_bar["ticktext"]) <= 7


def test_an_empty_grid_is_a_valid_figure_without_a_colour_bar() -> None:
    figure = heatmap(SWEEP, table(SWEEP, {}), AXIS_TITLES, COLOUR)
    go.Figure(figure)
    assert not figure["data"][0]["showscale"]
    assert figure["layout"]["annotations"][-1]["text"] == "Cells will fill in here"
    filled = heatmap(SWEEP, cells([0.25, 3.0, 2.0]), AXIS_TITLES, COLOUR)["layout"]["annotations"]
    assert not any("fill in" in each["text"] for each in filled)
    assert sentence(SWEEP, table(SWEEP, {}), AXIS_TITLES, "") == ""


def test_the_sentence_names_the_ends_and_what_has_no_value() -> None:
    rows = cells([0.25, 3.0, 2.0])
    said = sentence(SWEEP, rows, AXIS_TITLES, "")
    assert said.startswith("Lowest is 0.25, at scaling alpha 0.5 and depth 2; highest 3, at scaling alpha 1")
    assert said.endswith("3 of 6 cells have no value.")
    assert sentence(SWEEP, rows, AXIS_TITLES, "higher").startswith("Best is 3, at scaling alpha 1")
    assert sentence(SWEEP, rows, AXIS_TITLES, "lower").startswith("Best is 0.25")
