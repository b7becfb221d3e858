"""How the charts look: one template for light and one for dark pages.

Both templates have a transparent background, so that they sit on the theme of the page. They are used in place
of Plotly's default template, which `import streamlit` replaces with placeholder colours.
"""

import plotly.graph_objects as go
import plotly.io as pio

from steinglm.styles import STYLES

__all__ = ["DARK", "LIGHT"]

LIGHT, DARK = "steinglm_light", "steinglm_dark"  # names in plotly.io.templates


def _template(text: str, muted: str, grid: str, surface: str) -> go.layout.Template:
    axis = {
        "gridcolor": grid, "zeroline": False, "zerolinecolor": muted, "linecolor": muted, "tickcolor": muted,
        "ticks": "outside", "ticklen": 4, "tickfont": {"color": muted}, "automargin": True,
        "title": {"font": {"color": muted, "size": 13}, "standoff": 8},
        "spikecolor": muted, "spikethickness": 1, "spikedash": "solid",
    }  # fmt: skip
    subtitle = {"font": {"size": 13, "color": muted}}
    return go.layout.Template(
        layout={
            "font": {"family": "Source Sans, Helvetica, Arial, sans-serif", "size": 13, "color": text},
            "title": {"x": 0, "xref": "paper", "font": {"size": 17}, "subtitle": subtitle},
            "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": [each.color for each in STYLES.values()],
            "xaxis": axis | {"showgrid": False, "showline": True},
            "yaxis": axis | {"showline": False, "ticks": "", "tickformat": "~g"},
            "hovermode": "x unified", "hoverdistance": 40,
            "hoverlabel": {"bgcolor": surface, "bordercolor": grid, "font": {"color": text, "size": 13}},
            "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "itemsizing": "trace"},
            "margin": {"l": 8, "r": 8, "t": 64, "b": 8},
        }
    )  # fmt: skip


pio.templates[LIGHT] = _template("#1F2328", "#59636E", "#E6E9ED", "#FFFFFF")
pio.templates[DARK] = _template("#E6EAF0", "#9AA4B2", "#262C36", "#171B22")
