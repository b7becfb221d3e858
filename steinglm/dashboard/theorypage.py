"""The parts of the page "Theory": order and chaos, the Jacobian, and scaling factors."""

import math

import pandas as pd
import streamlit as st

from steinglm.analysis import alphas
from steinglm.dashboard import charts, controls, words
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.live import Panel, live
from steinglm.dashboard.measure import jacobian_and_phases, predicted
from steinglm.dashboard.panels import explain
from steinglm.experiment import TITLES, Experiment
from steinglm.phases import critical_line

__all__ = ["factors", "show"]

COLUMNS = {
    "method": "Method", "sigma_w2": "σ_w²", "chi": "χ₁", "phase": "Phase", "q_star": "q*", "xi_q": "Depth scale of q",
    "xi_c": "Depth scale of correlations", "measured": "Jacobian, root mean square", "expected": "the same, theory",
}  # fmt: skip


def show(experiment: Experiment) -> None:
    """The phase diagram beside the Jacobian's singular values, and a table of what both say."""
    rows, phases = jacobian_and_phases(experiment)
    said = predicted(experiment, "jacobian_root_mean_square")
    assert said is not None
    own = said[(said["quantity"] == "jacobian_root_mean_square") & (said["layer"] == experiment.depth)]
    expected = own.set_index("method")["value"]
    st.markdown(words.phases(phases, experiment.activation))
    line = pd.DataFrame([vars(point) for point in critical_line(experiment.activation)])
    first = charts.phases(phases, line, experiment.activation)
    second = charts.spectrum(
        rows, layer=experiment.depth, quantity="jacobian_singular_value", log=True,
        behind={"theory": _flat(rows, expected)},
    )  # fmt: skip
    sentence = words.jacobian(rows)
    panels = [
        Panel("phases", first, "The critical line, and where the methods stand.", about=True),
        Panel("jacobian", second, f"Singular values by rank. {sentence}", sentence, about=True),
    ]
    events = live(panels, key="theory_charts", on_moved=controls.moved)
    if events.about in TOPICS:
        explain(events.about)
    _table(rows, phases, expected)


def _flat(rows: pd.DataFrame, expected: pd.Series) -> pd.DataFrame:
    """Theory's one number a method at every rank that is measured."""
    own = rows[rows["quantity"] == "jacobian_singular_value"]
    return own.assign(value=own["method"].map(expected))


def _table(rows: pd.DataFrame, phases: pd.DataFrame, expected: pd.Series) -> None:
    own = rows[rows["quantity"] == "jacobian_root_mean_square"]
    measured = own.groupby("method", sort=False)["value"].median()
    table = phases.set_index("method").reindex(measured.index).assign(measured=measured, expected=expected)
    table = table.reset_index().drop(columns="sigma_b2").rename(columns=COLUMNS)
    table["Method"] = table["Method"].map(TITLES)
    scales = [COLUMNS["xi_q"], COLUMNS["xi_c"]]
    table[scales] = table[scales].map(_scale)
    st.dataframe(
        table, hide_index=True, height="content", placeholder="–", alt="Phases and Jacobians by method"
    )
    st.caption("SteinGLM has no phase: its biases remove the means of which the length map is made.")


def _scale(layers: float) -> str | None:
    """A depth scale as a person reads it: on the critical line there is none that ends."""
    return None if math.isnan(layers) else "∞" if math.isinf(layers) else f"{layers:.2f}"


def factors() -> None:
    """The scaling factors by activation."""
    st.subheader("Scaling factors", help=TOPICS["alpha"].text)
    table = alphas().rename(
        columns={
            "activation": "Activation",
            "paper": "1/f′(0)",
            "variance_preserving": "Holds a variance of 1",
        }
    )
    st.dataframe(
        table, hide_index=True, height="content", width="content", placeholder="–",
        alt="Scaling factors by activation",
    )  # fmt: skip
