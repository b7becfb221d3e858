"""The side bar: widgets that build an `Experiment`, and the link that holds them.

Widget values live in the session under their setting's name. A link that was opened (or reached by the browser's back
button) is decoded into them before they are drawn; after that the link follows the widgets. The library checks
everything again when it makes the `Experiment`: a widget's limits are only the browser's.
"""

from dataclasses import asdict, fields, replace
from typing import Any

import streamlit as st

from steinglm import datasets
from steinglm.dashboard import link
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.link import View
from steinglm.dashboard.measure import facts, title
from steinglm.experiment import TITLES, Experiment
from steinglm.init import INITIALIZERS
from steinglm.mlp import ACTIVATIONS
from steinglm.settings import MAX_SEED, OUTPUTS
from steinglm.stein import SCORES

__all__ = ["apply", "choices", "next_seed"]

OUTPUT_TITLES = {"paper": "for SteinGLM", "glm": "for all", "own": "for none"}
ALPHA_TITLES = {"default": "1/f′(0)", "auto": "auto", "number": "number"}


def choices() -> tuple[Experiment, View]:
    """Draw the side bar and return what it and the page's own controls say.

    In a presentation there is no side bar, and the link alone says it. Raises InvalidInputError for a forged value.
    """
    _follow_link()
    if st.session_state["presentation"]:
        chosen, _, _ = link.decode(st.session_state["link"])
    else:
        with st.sidebar:
            _main_settings()
            with st.expander("More"):
                _more_settings()
            with st.expander("Training"):
                _training_settings()
        chosen = Experiment(**_settings())
    view = View(**{field.name: st.session_state[field.name] for field in fields(View)})
    view = replace(view, layer=min(view.layer, chosen.depth + 1))
    _keep(view)
    query = link.encode(chosen, view)
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)
    st.session_state["link"] = query
    return chosen, view


def apply(**settings: Any) -> None:
    """Set controls from elsewhere on the page; a callback, so that the widgets follow."""
    for name, value in settings.items():
        st.session_state[name] = value


def next_seed() -> None:
    """Take another seed; a callback like `apply`."""
    chosen, _, _ = link.decode(st.session_state["link"])
    seed = (chosen.seed + 1) % (MAX_SEED + 1)
    apply(seed=seed)
    st.query_params["seed"] = str(seed)
    st.session_state["link"] = st.query_params.to_dict()


def _keep(view: View) -> None:
    """Write the view back, so that widgets which are drawn later in the script find it."""
    for field in fields(view):
        st.session_state[field.name] = getattr(view, field.name)


def _follow_link() -> None:
    """Put a link's settings into the widgets: when the page opens, or the browser moves to another link.

    Streamlit forgets widgets that are not drawn, so they are filled again after another page or a presentation.
    """
    query, known = st.query_params.to_dict(), st.session_state.get("link")
    if known is None or query not in ({}, known):
        settings, view, messages = link.decode(query)
        _fill(settings)
        apply(link=query, **asdict(view))
        for message in messages:
            st.warning(message, icon=":material/link_off:")
    elif "dataset" not in st.session_state:
        settings, view, _ = link.decode(known)
        _fill(settings)
        apply(**{name: st.session_state.get(name, value) for name, value in asdict(view).items()})


def _fill(settings: Experiment) -> None:
    """Set the side bar's widgets."""
    alpha = settings.alpha
    kind = "number" if isinstance(alpha, float) else alpha or "default"
    values = asdict(settings) | {"alpha_kind": kind, "alpha": alpha if isinstance(alpha, float) else 1.0}
    apply(**values | {"methods": list(settings.methods)})


def _main_settings() -> None:
    st.selectbox("Data", datasets.names(), key="dataset", format_func=title, help=TOPICS["data"].text)
    st.caption(facts(st.session_state["dataset"]))
    st.slider("Depth", 1, 100, key="depth", help=TOPICS["depth"].text)
    st.selectbox("Activation", tuple(ACTIVATIONS), key="activation", help=TOPICS["activation"].text)
    st.segmented_control(
        "Scaling alpha", tuple(ALPHA_TITLES), key="alpha_kind", format_func=ALPHA_TITLES.__getitem__, required=True,
        help=TOPICS["alpha"].text,
    )  # fmt: skip
    if st.session_state["alpha_kind"] == "number":
        about = TOPICS["alpha"].text
        st.number_input(
            "alpha", 0.01, 100.0, key="alpha", step=0.1, format="%g", persist_state="session", help=about
        )
    st.pills(
        "Methods", tuple(INITIALIZERS), key="methods", format_func=TITLES.__getitem__, selection_mode="multi",
        help=TOPICS["methods"].text,
    )  # fmt: skip


def _more_settings() -> None:
    st.segmented_control("Score", tuple(SCORES), key="score", required=True, help=TOPICS["score"].text)
    st.segmented_control(
        "GLM output layer", OUTPUTS, key="output", format_func=OUTPUT_TITLES.__getitem__, required=True,
        help=TOPICS["output"].text,
    )  # fmt: skip
    st.number_input("Width", 1, 200, key="width", placeholder="min(features, 20)", help=TOPICS["width"].text)
    st.number_input("Repeats", 1, 20, key="repeats", help=TOPICS["repeats"].text)
    st.number_input("Seed", 0, MAX_SEED, key="seed", help=TOPICS["seed"].text)


def _training_settings() -> None:
    about = {name: TOPICS[name].text for name in ("epochs", "batch_size", "learning_rate", "stop")}
    st.slider("Epochs", 1, 1000, key="epochs", help=about["epochs"])
    few, rate = "min(500, 20 %)", "learning_rate"
    st.number_input("Batch size", 1, 10_000, key="batch_size", placeholder=few, help=about["batch_size"])
    st.number_input("Learning rate", 1e-5, 1.0, key=rate, step=1e-3, format="%g", help=about[rate])
    st.caption("Stop a network early")
    never = {"placeholder": "never", "help": about["stop"]}
    st.number_input("at a validation loss of", 1e-9, key="target_loss", format="%g", **never)
    st.number_input("after epochs without a better one", 1, 10_000, key="patience", **never)
    st.number_input("after seconds", 0.1, key="time_budget", format="%g", **never)


def _settings() -> dict[str, Any]:
    settings = {field.name: st.session_state.get(field.name) for field in fields(Experiment)}
    kind = st.session_state.get("alpha_kind")
    settings["alpha"] = settings["alpha"] if kind == "number" else "auto" if kind == "auto" else None
    chosen = settings["methods"] or ()
    # pills give the order of the clicks; the same methods are the same experiment
    settings["methods"] = tuple(name for name in INITIALIZERS if name in chosen) or tuple(chosen)
    return settings
