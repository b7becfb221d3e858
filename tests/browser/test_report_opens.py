"""The HTML report in a browser that has no network: all charts, in their own colours."""

from pathlib import Path
from typing import TYPE_CHECKING

from steinglm.dashboard import panels, table
from steinglm.dashboard.report import report
from steinglm.experiment import Experiment, Result, initialize, train
from steinglm.link import View
from steinglm.styles import STYLES

if TYPE_CHECKING:
    from playwright.sync_api import Page

SMALL = Experiment(dataset="diabetes", depth=3, epochs=3)


def test_it_opens_offline_with_all_charts_in_true_colours(page: "Page", tmp_path: Path) -> None:
    *_, result = train(SMALL)
    assert isinstance(result, Result)
    figures = panels.figures(initialize(SMALL), View(), result)
    path = tmp_path / "report.html"
    path.write_bytes(report(SMALL, "Diabetes", "A headline", figures, table.tidy(result)))
    page.context.set_offline(True)
    page.goto(path.as_uri())
    page.locator(".plotly .main-svg").nth(4).wait_for(state="attached")
    drawn = page.locator(".js-plotly-plot")
    assert drawn.count() == 3
    color = "t.mode.includes('lines') ? t.line.color : t.marker.color"
    for index in range(3):
        traces = drawn.nth(index).evaluate(
            f"el => el._fullData.filter(t => t.mode).map(t => [t.legendgroup, {color}, t.fill])"
        )
        colors = {method: color for method, color, fill in traces if fill != "toself"}
        assert colors == {name: STYLES[name].color for name in SMALL.methods}
    assert page.get_by_role("cell", name="SteinGLM", exact=True).count() == 1
