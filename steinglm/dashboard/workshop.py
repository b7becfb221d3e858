"""The widgets that build a multi-index model, whose true directions are known. A link holds all of them."""

from dataclasses import asdict

import streamlit as st

from steinglm.dashboard.explain import TOPICS
from steinglm.datasets.workshop import COMBINATIONS, DISTRIBUTIONS, LIMITS, LINKS, TASKS, Recipe, parse

__all__ = ["MODEL", "choose", "fill"]

HELP = {
    "inputs": "Features $d$ of the model; only a few directions among them matter to the response.",
    "rows": "Rows that are drawn: the more, the better the directions are found.",
    "directions": "How many true directions $B$ the response depends on. With fewer units than inputs (*Width*, "
    "under *More*) a layer has to choose; the chart *True directions* shows who chooses well.",
    "noise": "In units of the signal's standard deviation: 0 is an exact function, 1 as much noise as signal.",
    "link": "The response along this direction. The second-order score cannot see an odd function, such as *linear* or "
    "*sine*, of normal inputs.",
    "combine": "Sum: $f_1(u_1) + \\frac12 f_2(u_2) + \\frac14 f_3(u_3) + \\dots$; "
    "product: $f_1(u_1)\\,f_2(u_2)\\cdots$",
    "task": "A number is a regression; two classes are drawn with log odds of standard deviation 3.",
    "seed": "Draws directions, inputs and noise; the seed under *More* draws the split and the networks.",
}
MODEL = "multi_index"  # the choice among the data sets that stands for a recipe
TASK_TITLES = {"regression": "a number", "binary": "two classes"}


def fill(recipe: Recipe) -> None:
    """Set the widgets to a recipe."""
    values = asdict(recipe) | {"directions": len(recipe.links)}
    del values["links"]
    links = {f"link{j}": name for j, name in enumerate(recipe.links)}
    for name, value in (values | links).items():
        st.session_state[f"model_{name}"] = value
    st.session_state["recipe"] = recipe.name


def choose() -> Recipe:
    """Draw the widgets and return what they say.

    Raises
    ------
    InvalidInputError : a forged value
    """
    if "model_rows" not in st.session_state:  # Streamlit forgets widgets that are not drawn
        fill(parse(st.session_state.get("recipe", "")))
    _select("distribution", "Inputs are", tuple(DISTRIBUTIONS), TOPICS["distribution"].text)
    left, right = st.columns(2)
    with left:
        st.number_input("Inputs", *LIMITS["inputs"], key="model_inputs", help=HELP["inputs"])
        st.number_input("Rows", *LIMITS["rows"], key="model_rows", step=500, help=HELP["rows"])
    with right:
        most = min(LIMITS["directions"][1], st.session_state["model_inputs"])
        st.session_state["model_directions"] = min(st.session_state["model_directions"], most)
        st.number_input("Directions", 1, most, key="model_directions", help=HELP["directions"])
        st.number_input("Noise", 0.0, 100.0, key="model_noise", step=0.1, format="%g", help=HELP["noise"])
    links = []
    for j in range(st.session_state["model_directions"]):
        st.session_state.setdefault(f"model_link{j}", "square")
        links.append(_select(f"link{j}", f"Link function of direction {j + 1}", tuple(LINKS), HELP["link"]))
    if len(links) > 1:
        st.segmented_control(
            "Combined as a", COMBINATIONS, key="model_combine", required=True, help=HELP["combine"]
        )
    else:
        st.session_state["model_combine"] = "sum"
    named = TASK_TITLES.__getitem__
    st.segmented_control(
        "The response is", TASKS, key="model_task", format_func=named, required=True, help=HELP["task"]
    )
    st.number_input("Seed of the model", *LIMITS["seed"], key="model_seed", help=HELP["seed"])
    own = ("rows", "inputs", "combine", "noise", "distribution", "task", "seed")
    recipe = Recipe(links=tuple(links), **{name: st.session_state[f"model_{name}"] for name in own})
    st.session_state["recipe"] = recipe.name
    return recipe


def _select(name: str, label: str, options: tuple[str, ...], about: str) -> str:
    return str(st.selectbox(label, options, key=f"model_{name}", format_func=_named, help=about))


def _named(value: str) -> str:
    return value.replace("_", "-")
