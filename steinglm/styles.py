"""One name, colour, dash and marker a method, in every chart, table and report.

The colours are told apart by the colour-blind (the paper's methods have those of Okabe and Ito, 2008) and have at least
3:1 on white and on the app's dark background; the dashes tell them apart in print.
"""

from dataclasses import dataclass

__all__ = ["DASHES", "GREY", "STYLES", "Style", "style"]

GREY = "#767C85"
DASHES = {  # Plotly's names or lengths -> SVG's lengths
    "solid": "", "dash": "8 4", "dot": "2 3.5", "dashdot": "8 3 2 3", "longdash": "12 4", "longdashdot": "12 3 2 3",
    "4px,3px": "4 3", "12px,3px,2px,3px,2px,3px": "12 3 2 3 2 3", "16px,2px": "16 2",
}  # fmt: skip


@dataclass(frozen=True)
class Style:
    """How one method is called and looks; dash and symbol by Plotly's names."""

    title: str
    color: str
    dash: str
    symbol: str


STYLES = {
    "steinglm": Style("SteinGLM", "#0072B2", "solid", "circle"),
    "steinglm_standardized": Style("SteinGLM, standardized", "#947300", "longdash", "triangle-down"),
    "glorot_normal": Style("Glorot normal", "#D55E00", "dash", "square"),
    "he_normal": Style("He normal", "#009E73", "dot", "diamond"),
    "orthogonal": Style("Orthogonal", "#CC79A7", "dashdot", "triangle-up"),
    "lsuv": Style("LSUV", "#4F40FF", "longdashdot", "pentagon"),
    "swim": Style("SWIM", "#E8396B", "4px,3px", "star"),
    "pca": Style("PCA", "#666433", "12px,3px,2px,3px,2px,3px", "hexagon"),
    "steinglm_lsuv": Style("SteinGLM + LSUV", "#408CFF", "16px,2px", "cross"),
}


def style(method: str) -> Style:
    """Return the style of a method; one that is not in `STYLES` is neutral grey."""
    return STYLES.get(method, Style(method.replace("_", " "), GREY, "longdash", "x"))
