"""A first picture of a chart as a still SVG image, to be looked at while the browser still loads plotly.js.

It shows the lines of a figure on their axes in the colours of the chart that takes its place, and nothing else.
"""

import re
from base64 import b64encode
from html import escape

from steinglm.dashboard.charts import Figure
from steinglm.drawing import Line, Panel, image, panel

__all__ = ["markdown", "svg"]

WIDTH, HEIGHT = 440, 360
DATA = "data:image/svg+xml;base64,"  # by which live.js finds the image


def markdown(figure: Figure, alt: str) -> str:
    """The sketch as an image in Markdown, which Streamlit shows seconds before anything that it has to load."""
    data = b64encode(svg(figure).encode()).decode()
    plain = re.sub(r"[\\\[\]<>&]", "", alt)
    return f"![{plain}]({DATA}{data})"


def svg(figure: Figure) -> str:
    """Draw the lines of a figure; those without points, or not finite on a log axis, are left out."""
    layout = figure["layout"]
    traces = [trace for trace in figure["data"] if trace["meta"]["role"] == "line" and len(trace["x"])]
    lines = [Line(t["x"], t["y"], t["line"]["color"], t["line"]["dash"], t["line"]["width"]) for t in traces]
    at = Panel(
        52, 56, 376, 260, layout["xaxis"]["title"]["text"], logarithmic=layout["yaxis"]["type"] == "log"
    )
    head = [
        f'<text x="0" y="18" font-size="17" font-weight="600">{escape(layout["title"]["text"])}</text>',
        f'<text x="0" y="40" font-size="13">{escape(layout["title"]["subtitle"]["text"])}</text>',
    ]
    return image([*head, *panel(lines, at)], WIDTH, HEIGHT, ' width="340"')
