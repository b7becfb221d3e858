"""The report stands alone: all charts, no address to load anything from, nothing unescaped."""

from html.parser import HTMLParser

import pandas as pd

from steinglm.dashboard import charts
from steinglm.dashboard.report import report
from steinglm.settings import Experiment

QUANTITIES = ("preactivation_variance", "preactivation_variance_q10", "preactivation_variance_q90")
ROWS = pd.DataFrame(
    [("steinglm", 0, layer, quantity, 0, 1.0 / layer) for layer in (1, 2, 3) for quantity in QUANTITIES],
    columns=["method", "repeat", "layer", "quantity", "rank", "value"],
)


def made(title: str = "Abalone", table: pd.DataFrame | None = None) -> str:
    figures = [(charts.variance(ROWS), "It falls."), (charts.variance(ROWS, log=False), "It <falls>.")]
    return report(Experiment(), title, "A & B", figures, pd.DataFrame() if table is None else table).decode()


class Loads(HTMLParser):
    """Collects the addresses that a page loads something from."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href")]


def test_it_holds_plotly_and_loads_nothing() -> None:
    page = made()
    assert page.count("Plotly.newPlot(") == 2
    assert len(page) > 1_000_000
    loads = Loads()
    loads.feed(page)
    assert loads.found == []


def test_colours_are_ours_and_not_the_placeholders_of_a_theme() -> None:
    page = made()
    assert "#0072B2" in page
    assert "#000001" not in page


def test_text_and_cells_are_escaped() -> None:
    page = made("<img src=x onerror=alert(1)>", pd.DataFrame({"Method": ["<b>bold</b>"], "Test RMSE": [0.1]}))
    assert "<img src=x" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "It &lt;falls&gt;." in page
