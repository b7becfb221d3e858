"""One self-contained HTML page of a run: its charts, its table, its settings and the versions that made it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio

from steinglm.dashboard.charts import LIGHT, Figure
from steinglm.experiment import Experiment
from steinglm.export import Source, code, versions

__all__ = ["report"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2328; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #dde2e8; }
th:first-child, td:first-child { text-align: left; } pre { background: #f3f5f8; padding: 1rem; overflow-x: auto; }
figcaption { color: #59636e; } figure { margin: 2rem 0; }
"""


def report(
    experiment: Experiment,
    title: str,
    headline: str,
    figures: Sequence[tuple[Figure, str]],
    table: pd.DataFrame,
    source: Source | None = None,
) -> bytes:
    """The page as HTML, with plotly.js in it: it opens without a network.

    Parameters
    ----------
    title, headline : plain text
    figures : (figure, the sentence below it)
    table : as the dashboard shows it; empty before training
    source : of a person's own table, for the code
    """
    charts = [_figure(figure, sentence, first=i == 0) for i, (figure, sentence) in enumerate(figures)]
    values = experiment.as_dict() | ({} if source is None else {"dataset": source.file})
    settings = [(name.replace("_", " "), str(value)) for name, value in values.items()]
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(headline)}</p>",
        *charts,
        "<h2>After training</h2>"
        + table.to_html(index=False, border=0, na_rep="never", float_format="{:.5g}".format)
        if len(table)
        else "",
        "<h2>Settings</h2>" + _pairs(settings),
        f"<h2>Code</h2><pre>{escape(code(experiment, source))}</pre>",
        "<h2>Versions</h2>" + _pairs(list(versions().items())),
        f"<p>Made {made}.</p></body></html>",
    ]
    return "\n".join(parts).encode()


def _figure(figure: Figure, sentence: str, *, first: bool) -> str:
    own = go.Figure(figure).update_layout(template=LIGHT, height=420)
    html = pio.to_html(own, full_html=False, include_plotlyjs=first, config={"displaylogo": False})
    return f"<figure>{html}<figcaption>{escape(sentence)}</figcaption></figure>"


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in pairs)
    return f"<table>{rows}</table>"
