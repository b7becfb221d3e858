"""The side bar: widgets that build an `Experiment`, and the link that holds them.

Widget values live in the session under their setting's name. A link that was opened (or reached by the browser's back
button) is decoded into them before they are drawn; after that the link follows the widgets. The library checks
everything again when it makes the `Experiment`: a widget's limits are only the browser's.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from types import MappingProxyType
from typing import Any, Literal

import streamlit as st

from steinglm import datasets, link
from steinglm.dashboard import caps, departure, owntable, presentation, workshop
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.measure import directions, facts, title
from steinglm.datasets.own import is_own
from steinglm.datasets.workshop import PREFIX, parse
from steinglm.experiment import TITLES, Experiment
from steinglm.init import INITIALIZERS
from steinglm.link import RECOVERY, VARIANCES, View
from steinglm.mlp import ACTIVATIONS
from steinglm.settings import FEWEST_ROWS, MAX_SEED, OUTPUTS
from steinglm.stein import SCORES

__all__ = ["LIMITS", "apply", "choices", "entered", "go_to_compare", "moved", "next_seed"]

OUTPUT_TITLES = {"paper": "as published", "glm": "for all", "own": "for none"}
# What the widgets offer, narrower than what the library takes: a page is shared, and a slider has an end.
LIMITS: dict[str, tuple[float, float]] = {
    "depth": (1, caps.most("depth")), "width": (1, caps.most("width")), "repeats": (1, caps.most("repeats")),
    "epochs": (1, caps.most("epochs")), "batch_size": (1, 10_000),
    "learning_rate": (1e-5, 1.0), "alpha": (0.01, 100.0), "target_loss": (1e-9, 1e9), "patience": (1, 10_000),
    "time_budget": (0.1, 1e6), "seed": (0, MAX_SEED), "rows": (FEWEST_ROWS, 10**9),
}  # fmt: skip
ALPHA_TITLES = {"default": "1/f′(0)", "auto": "auto", "number": "number"}


def choices(also: Mapping[str, str] = MappingProxyType({})) -> tuple[Experiment, View]:
    """Draw the side bar and return what it and the page's own controls say; `also` is in the page's link as well.

    In a presentation there is no side bar, and the link alone says it. Raises InvalidInputError for a forged value.
    """
    _follow_link()
    if st.session_state["presentation"]:
        chosen, _, _ = link.decode(st.session_state["link"])
        own = owntable.current()
        if own is not None and st.session_state.get("own_chosen"):
            chosen = replace(chosen, dataset=own.name)
    else:
        with st.sidebar:
            _main_settings()
            with st.expander("More"):
                _more_settings()
            with st.expander("Training"):
                _training_settings()
        chosen = Experiment(**_settings())
    caps.check_networks(chosen)
    view = View(**{field.name: st.session_state[field.name] for field in fields(View)})
    view = replace(view, layer=min(view.layer, chosen.depth + 1))
    if view.variance == RECOVERY and not directions(chosen.dataset):
        view = replace(view, variance=VARIANCES[0])
    _keep(view)
    if not view.presentation:
        with st.sidebar:
            presentation.switch()
    query = link.encode(chosen, view) | dict(also)
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


def go_to_compare(experiment: Experiment, view: View) -> None:
    """Leave this page for Compare, with this experiment in the controls."""
    query = link.encode(experiment, view)
    if is_own(experiment.dataset):  # no link holds it, but the controls know that it is chosen
        st.session_state["link"], query = query, {}
    departure.to_compare(query)


def moved() -> None:
    """Note that the browser went to another link; a callback of the charts."""
    st.session_state["moved"] = True


def entered(page: str) -> None:
    """Note which page is about to be shown; to come from another one is a move."""
    if st.session_state.get("page") != page:
        moved()
    st.session_state["page"] = page


def _keep(view: View) -> None:
    """Write the view back, so that widgets which are drawn later in the script find it."""
    for field in fields(view):
        st.session_state[field.name] = getattr(view, field.name)


def _follow_link() -> None:
    """Put a link's settings into the widgets: when the page opens, or the browser moves to another link.

    Another query alone is no move: what a person changes quickly comes with the address of the time before.
    Streamlit forgets widgets that are not drawn, so they are filled again after another page or a presentation.
    """
    query, known = st.query_params.to_dict(), st.session_state.get("link")
    came, before = st.session_state.pop("moved", False), st.session_state.pop("overruled", None)
    if came and query == known and before is not None:
        query = before  # the new address came without word of the move, which is only here now
    elif not came and known is not None and query not in ({}, known):
        st.session_state["overruled"] = query
    if known is None or (came and query not in ({}, known)):
        settings, view, messages = link.decode(query)
        settings, beyond = _within_limits(settings)
        _fill(settings)
        apply(link=query, **asdict(view))
        if query == {}:
            _back_to_own()
        if messages + beyond:
            st.warning("  \n".join(messages + beyond), icon=":material/link_off:")
    elif came or "dataset" not in st.session_state:
        settings, view, _ = link.decode(known)
        _fill(settings)
        apply(**{name: st.session_state.get(name, value) for name, value in asdict(view).items()})
        _back_to_own()


def _back_to_own() -> None:
    """Choose the session's own table again, which no link holds."""
    own = owntable.current()
    if own is not None and st.session_state.get("own_chosen"):
        apply(dataset=own.name)


def _within_limits(settings: Experiment) -> tuple[Experiment, list[str]]:
    """The experiment with every number within what the widgets offer, and a message for each that was not."""
    changed: dict[str, Any] = {}
    for name, (low, high) in LIMITS.items():
        value = getattr(settings, name)
        if isinstance(value, int | float) and not low <= value <= high:
            changed[name] = type(value)(min(max(value, low), high))
    words = [
        f"The link's {name.replace('_', ' ')} is set to {value:g}, this page's limit."
        for name, value in changed.items()
    ]
    return replace(settings, **changed), words


def _fill(settings: Experiment) -> None:
    """Set the side bar's widgets."""
    alpha = settings.alpha
    kind = "number" if isinstance(alpha, float) else alpha or "default"
    values = asdict(settings) | {"alpha_kind": kind, "alpha": alpha if isinstance(alpha, float) else 1.0}
    if settings.dataset.startswith(PREFIX):
        workshop.fill(parse(settings.dataset))
        values["dataset"] = workshop.MODEL
    apply(**values | {"methods": list(settings.methods)})


def _main_settings() -> None:
    about = {name: topic.text for name, topic in TOPICS.items()}
    own = owntable.current()
    known = (*([own.name] if own else []), *datasets.names(), workshop.MODEL)
    dataset = st.selectbox(
        "Data",
        known,
        key="dataset",
        format_func=_dataset_title,
        help=about["data"],
        on_change=_show_directions,
    )
    if dataset == workshop.MODEL:
        with st.expander("The model", expanded=True):
            st.caption("What it is, and its formula", help=about["model"])
            dataset = workshop.choose().name
    st.session_state["own_chosen"] = is_own(dataset)
    st.caption(facts(dataset))
    if st.button("Your own table …", icon=":material/upload_file:", type="tertiary"):
        st.switch_page("data.py")
    st.slider("Depth", *_whole("depth"), key="depth", help=about["depth"])
    activation = st.selectbox("Activation", tuple(ACTIVATIONS), key="activation", help=about["activation"])
    named = ALPHA_TITLES.__getitem__
    kinds = tuple(ALPHA_TITLES)
    st.segmented_control(
        "Scaling alpha", kinds, key="alpha_kind", format_func=named, required=True, help=about["alpha"]
    )
    if st.session_state["alpha_kind"] == "number":
        _number("alpha", "alpha", about["alpha"], step=0.1)
    elif st.session_state["alpha_kind"] == "default" and ACTIVATIONS[activation].slope is None:
        st.caption(f"{activation} has no slope at 0: alpha is found as by auto.")
    named, every = TITLES.__getitem__, tuple(INITIALIZERS)
    st.pills(
        "Methods", every, key="methods", format_func=named, selection_mode="multi", help=about["methods"]
    )


def _show_directions() -> None:
    """A model is built to see its directions."""
    if st.session_state["dataset"] == workshop.MODEL:
        apply(variance=RECOVERY)


def _dataset_title(name: str) -> str:
    if name == workshop.MODEL:
        return "A multi-index model …"
    return title(name) if datasets.available(name) else f"{title(name)} (to be downloaded)"


def _more_settings() -> None:
    about = {name: topic.text for name, topic in TOPICS.items()}
    st.selectbox("Score", tuple(SCORES), key="score", help=about["score"])
    st.toggle("Bias calibration", key="calibrate", help=about["calibrate"])
    named = OUTPUT_TITLES.__getitem__
    st.segmented_control(
        "GLM output layer", OUTPUTS, key="output", format_func=named, required=True, help=about["output"]
    )
    _count("width", "Width", about["width"], "min(features, 20)")
    _count("rows", "Training rows", about["rows"], "all")
    _count("repeats", "Repeats", about["repeats"])
    _count("seed", "Seed", about["seed"])


def _training_settings() -> None:
    about = {name: topic.text for name, topic in TOPICS.items()}
    st.slider("Epochs", *_whole("epochs"), key="epochs", help=about["epochs"])
    _count("batch_size", "Batch size", about["batch_size"], "min(500, 20 %)")
    _number("learning_rate", "Learning rate", about["learning_rate"], step=1e-3)
    st.caption("Stop a network early")
    _number("target_loss", "at a validation loss of", about["stop"], "never")
    _count("patience", "after epochs without a better one", about["stop"], "never")
    _number("time_budget", "after seconds", about["stop"], "never")


def _whole(name: str) -> tuple[int, int]:
    low, high = LIMITS[name]
    return int(low), int(high)


def _count(name: str, label: str, about: str, empty: str | None = None) -> None:
    """A whole number; where it may be left empty, `empty` says what that means."""
    st.number_input(label, *_whole(name), key=name, placeholder=empty, help=about)


def _number(name: str, label: str, about: str, empty: str | None = None, step: float | None = None) -> None:
    low, high = LIMITS[name]
    keep: Literal["session"] = "session"  # alpha is not drawn while it is not a number
    st.number_input(
        label, low, high, key=name, step=step, format="%g", placeholder=empty, help=about, persist_state=keep
    )


def _settings() -> dict[str, Any]:
    settings = {field.name: st.session_state.get(field.name) for field in fields(Experiment)}
    if settings["dataset"] == workshop.MODEL:
        settings["dataset"] = st.session_state["recipe"]
    kind = st.session_state.get("alpha_kind")
    settings["alpha"] = settings["alpha"] if kind == "number" else "auto" if kind == "auto" else None
    chosen = settings["methods"] or ()
    # pills give the order of the clicks; the same methods are the same experiment
    settings["methods"] = tuple(name for name in INITIALIZERS if name in chosen) or tuple(chosen)
    return settings
