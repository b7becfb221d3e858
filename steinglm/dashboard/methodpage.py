"""The page "Method": Algorithm 1 in formulas on a small live example, and beside each step the lines that do it."""

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from steinglm.dashboard import matrixmap, words
from steinglm.dashboard.charts import Figure
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.guard import plain
from steinglm.dashboard.live import Panel, live
from steinglm.dashboard.measure import facts, task, title
from steinglm.experiment import Experiment
from steinglm.stein import SCORES
from steinglm.walkthrough import LayerStep, Walk, code_of, functions, walk

__all__ = ["bias", "choices", "directions", "layer_of", "output", "score", "steps", "weights"]

IN_LINK: Literal["query-params"] = "query-params"
EXAMPLES = ("diabetes", "power_plant", "mammographic")  # of one response and few inputs
ACTIVATIONS = ("tanh", "sigmoid", "elu")  # for which the paper's 1 / f'(0) exists
CENTERED = r"M = \frac1n \sum_i (y_i - \bar y)\, S_2("
S2 = {  # the second-order score, and the moment with the response
    "identity": (r"S_2(h) = h h^\top - I", r"M = \frac1n \sum_i y_i\, S_2(h_i)"),
    "centered": (r"S_2(h) = h h^\top - I", CENTERED + "h_i)"),
    "standardized": (r"S_2(z) = z z^\top - I, \quad z = (h - \bar h) / \mathrm{sd}(h)", CENTERED + "z_i)"),
    "gaussian": (
        r"S_2(h) = P (h - \bar h)(h - \bar h)^\top P - P, \quad P = \mathrm{Cov}(h)^{-1}",
        CENTERED + "h_i)",
    ),
}


def choices() -> tuple[Experiment, int]:
    """Draw the example's controls; the experiment, and the layer that is looked at."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        dataset = _one("Data", EXAMPLES, "method_data", TOPICS["data"].text, titles=True)
        activation = _one("Activation", ACTIVATIONS, "method_activation", TOPICS["activation"].text)
        chosen = _one(
            "Score", tuple(name for name in SCORES if name in S2), "method_score", TOPICS["score"].text
        )
        units = _one("Units a layer", ("2", "3", "4"), "method_units", TOPICS["width"].text)
        layer = _one(
            "Layer", ("1", "2"), "method_layer", "The second layer is given the outputs of the first."
        )
    st.caption(f"{title(dataset)}: {facts(dataset)}. Two hidden layers.")
    experiment = Experiment(
        dataset=dataset, depth=2, width=int(units), activation=activation, score=chosen, methods=("steinglm",)
    )
    return experiment, int(layer)


def _one(label: str, options: Sequence[str], key: str, about: str, *, titles: bool = False) -> str:
    standard = "standardized" if "standardized" in options else options[0]
    picked = st.segmented_control(
        label, options, default=standard, key=key, required=True, help=about, bind=IN_LINK,
        format_func=title if titles else str,
    )  # fmt: skip
    return picked or standard


@st.cache_resource(max_entries=32, show_spinner=False)
def steps(experiment: Experiment) -> Walk:
    """The walk, kept for whoever opens the same one."""
    return walk(experiment)


def layer_of(walked: Walk, layer: int) -> tuple[LayerStep, list[str]]:
    """A layer's steps, and the names of its inputs: columns of the data, or units of the layer before."""
    own = walked.layers[layer - 1]
    names = list(walked.features) if layer == 1 else [f"h{unit}" for unit in _units(len(own.moment))]
    return own, names


def score(own: LayerStep, experiment: Experiment, names: Sequence[str]) -> None:
    """The second-order score and its moment with the response."""
    left = _step("1 · The moment of the score with the response", "score", experiment)
    with left:
        for formula in S2[experiment.score]:
            st.latex(formula)
        st.markdown(
            "By Stein's identity $M$ estimates the mean Hessian of the response, $E[\\nabla^2 g(h)]$: its range is "
            "spanned by the directions that the response depends on."
        )
        figure = matrixmap.heatmap(
            own.moment.numpy(), names, names, title="The moment M", note="inputs of the layer by inputs",
            across="input", down="input",
        )  # fmt: skip
        _draw("moment", figure, f"The moment, a symmetric matrix of {len(names)} by {len(names)}.")


def directions(own: LayerStep, experiment: Experiment, names: Sequence[str]) -> None:
    """The eigenvectors that are kept."""
    units = own.V.shape[1]
    with _step("2 · Its leading eigenvectors", "directions", experiment):
        st.latex(r"M = \sum_j \lambda_j\, v_j v_j^\top, \quad |\lambda_1| \ge |\lambda_2| \ge \dots")
        st.latex(r"V = [v_1 \dots v_k]")
        kept = [words.number(float(value)) for value in own.eigenvalues]
        st.markdown(
            f"Kept: $\\lambda$ = {', '.join(kept[:units])}. Left out: {', '.join(kept[units:]) or 'none'}."
        )
        figure = matrixmap.heatmap(
            own.V.numpy(), names, _units(units), title="The directions V", note="one column a unit",
            across="unit", down="input",
        )  # fmt: skip
        _draw("directions", figure, f"The {units} directions that are kept, by input.")


def weights(own: LayerStep, experiment: Experiment) -> None:
    """The scaling factor and the weights."""
    with _step("3 · Scaled to weights", "weights", experiment):
        st.latex(r"W = \alpha V, \qquad \alpha = 1 / f'(0)")
        st.markdown(
            f"For {experiment.activation}, $\\alpha$ = {words.number(own.alpha)}: to first order, "
            "$f(a) \\approx f(0) + f'(0)\\,a$, the layer then passes the signal on unchanged."
        )


def bias(own: LayerStep, experiment: Experiment) -> None:
    """The bias, and the mean of each unit before and after it."""
    with _step("4 · Centered by the bias", "bias", experiment):
        st.latex(r"b = -\frac1n \sum_i W^\top h_i \;")  # room for the overhang, which would make a scroll bar
        table = pd.DataFrame(
            {
                "Unit": _units(len(own.b)),
                "Mean of Wᵀh": own.before.numpy(),
                "Bias b": own.b.numpy(),
                "Mean of Wᵀh + b": own.after.numpy(),
            }
        )
        means: Any = {name: st.column_config.NumberColumn(format="%.4f") for name in list(table)[1:]}
        st.dataframe(
            table, hide_index=True, height="content", column_config=means,
            alt="Means of the units before and after the bias",
        )  # fmt: skip
        st.markdown(
            "Every unit then works around 0, where $f$ is steepest. The next layer is given $f(W^\\top h + b)$."
        )


def output(walked: Walk, experiment: Experiment) -> None:
    """The output layer and how its penalty was chosen."""
    fit = walked.output
    with _step("5 · The output layer, a generalized linear model", "output", experiment):
        if task(experiment.dataset) == "regression":
            st.latex(r"\min_{w,\, b_o} \sum_i (y_i - w^\top h_i - b_o)^2 + \lambda \lVert w \rVert^2")
        else:
            st.latex(
                r"\min_{w,\, b_o} \sum_i \mathrm{CE}\big(y_i,\, \sigma(w^\top h_i + b_o)\big)"
                r" + \tfrac{\lambda}{2} \lVert w \rVert^2"
            )
        table = pd.DataFrame({"Penalty λ": fit.strengths, "Validation loss": fit.losses})
        st.dataframe(table, hide_index=True, height="content", alt="Validation loss by penalty")
        weights_ = ", ".join(words.number(float(value)) for value in fit.coefficients.ravel())
        st.markdown(
            f"Taken: $\\lambda$ = {fit.strength:g}, the lowest validation loss. "
            f"$w$ = ({weights_}), $b_o$ = {words.number(float(fit.intercept))}."
        )


def _step(heading: str, step: str, experiment: Experiment) -> DeltaGenerator:
    """A step's heading and its code; where its formula and numbers go."""
    st.header(heading, divider="gray")
    left, right = st.columns(2, gap="large")
    with right:
        for function in functions(step, experiment.score, task(experiment.dataset)):
            st.caption(plain(f"{function.__module__}.{function.__name__}"))
            st.code(code_of(function), language=None, wrap_lines=True)  # its colours are too faint
    return left


def _units(count: int) -> list[str]:
    return [f"{unit}" for unit in range(1, count + 1)]


def _draw(name: str, figure: Figure, alt: str) -> None:
    live([Panel(name, figure, alt)], key=f"method-{name}", legend=False)
