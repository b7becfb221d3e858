"""The controls of the page "Sweep": two axes, a method and a colour, and the part of the page's link that holds them.

An axis is a setting with a range, from, to and steps, or with a list of values. In the link it is the text that
`sweep.Axis.parse` reads, as on the command line.
"""

from collections.abc import Mapping

import streamlit as st

from steinglm.dashboard.controls import LIMITS
from steinglm.dashboard.explain import TOPICS
from steinglm.exceptions import InvalidInputError
from steinglm.experiment import TITLES, Experiment
from steinglm.init import INITIALIZERS
from steinglm.mlp import ACTIVATIONS
from steinglm.stein import SCORES
from steinglm.sweep import AXES, QUANTITIES, Axis, Sweep

__all__ = ["AXIS_TITLES", "COLOUR_TITLES", "choose", "query"]

AXIS_TITLES = {
    "depth": "Depth", "width": "Width", "alpha": "Scaling alpha", "activation": "Activation", "score": "Score",
    "learning_rate": "Learning rate", "rows": "Training rows",
}  # fmt: skip
COLOUR_TITLES = {
    "last_variance": "Variance of the last layer", "chi_1": "χ₁ of the last layer", "initial_loss": "Initial loss",
    "final_loss": "Loss after training", "test_metric": "Test metric", "epochs_to_target": "Epochs to a target",
}  # fmt: skip
NAMES = {"activation": tuple(ACTIVATIONS), "score": tuple(SCORES)}
START = {  # what an axis has when its setting is chosen
    "depth": "1:40:10", "width": "2:20:10", "alpha": "0.5:4:10:log", "learning_rate": "0.0001:0.1:7:log",
    "rows": "20:2000:7:log", "activation": ",".join(ACTIVATIONS), "score": ",".join(SCORES),
}  # fmt: skip
DEFAULTS = {"x": "alpha=0.5:4:10:log", "y": "depth=1:40:10", "method": "steinglm", "colour": "last_variance"}
KINDS = {"range": "from – to", "list": "list"}
STEPS = (2, 40)
LONGEST = 400  # characters of a text in a link that are worth reading


def query() -> dict[str, str]:
    """The page's own part of its link, after a link that was opened has been put into the widgets.

    What cannot be used is left at its default, with a message.
    """
    known: dict[str, str] | None = st.session_state.get("sweep_query")
    given = {name: text for name, text in st.query_params.to_dict().items() if name in DEFAULTS}
    left = "sweep_x" not in st.session_state  # Streamlit forgets the widgets of another page
    if known is not None and left and not given:
        _fill(DEFAULTS | known)
    elif left or st.session_state.get("moved"):
        _fill(_usable(given))
    texts = {axis: _text(axis) for axis in ("x", "y")}
    texts |= {name: st.session_state[f"sweep_{name}"] for name in ("method", "colour")}
    changed = {name: text for name, text in texts.items() if text != DEFAULTS[name]}
    st.session_state["sweep_query"] = changed
    return changed


def choose(base: Experiment) -> Sweep:
    """Draw the controls and return what they say; raises InvalidInputError for what is no sweep."""
    left, right = st.columns(2, gap="large")
    with left:
        _axis("x", "Horizontal axis")
    with right:
        _axis("y", "Vertical axis")
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.selectbox(
            "Method", tuple(INITIALIZERS), key="sweep_method", format_func=TITLES.__getitem__, width=190,
            help=TOPICS["methods"].text,
        )  # fmt: skip
        st.selectbox(
            "Colour", QUANTITIES, key="sweep_colour", format_func=COLOUR_TITLES.__getitem__, width=260,
            help=TOPICS["sweep"].text,
        )  # fmt: skip
    state = st.session_state
    x, y = (Axis.parse(_text(axis)) for axis in ("x", "y"))
    return Sweep(base, x, y, state["sweep_method"], state["sweep_colour"])


def _usable(given: Mapping[str, str]) -> dict[str, str]:
    """The link's texts, each of them checked."""
    found = dict(DEFAULTS)
    for name, text in given.items():
        try:
            if name in ("x", "y"):
                if len(text) > LONGEST:
                    raise InvalidInputError(name, f"at most {LONGEST} characters", len(text), "shorten it")
                Axis.parse(text)
            elif text not in (INITIALIZERS if name == "method" else QUANTITIES):
                raise InvalidInputError(name, "a known name", text, "choose one")
            found[name] = text
        except InvalidInputError:
            st.warning(
                f"The link's {name} could not be used and is left at its default.", icon=":material/link_off:"
            )
    return found


def _fill(texts: Mapping[str, str]) -> None:
    st.session_state["sweep_method"], st.session_state["sweep_colour"] = texts["method"], texts["colour"]
    for axis in ("x", "y"):
        name, _, values = texts[axis].partition("=")
        st.session_state[f"sweep_{axis}"] = name
        _fill_values(axis, name, values)


def _fill_values(axis: str, name: str, values: str) -> None:
    """Set the widgets of an axis' values; a number beyond what they offer makes it a list, which is checked later."""
    own: dict[str, object] = {"list": values, "kind": "list"}
    if name in NAMES:
        own["names"] = [value for value in values.split(",") if value in NAMES[name]]
    elif ":" in values:
        low, high, steps, *log = values.split(":")
        kind = int if AXES[name] is int else float
        least, most = LIMITS[name]
        own |= {"list": ",".join(Axis.parse(f"{name}={values}").labels)}
        if all(least <= kind(end) <= most for end in (low, high)) and STEPS[0] <= int(steps) <= STEPS[1]:
            own |= {
                "kind": "range",
                "low": kind(low),
                "high": kind(high),
                "steps": int(steps),
                "log": log == ["log"],
            }
    for part, value in own.items():
        st.session_state[f"sweep_{axis}_{part}"] = value


def _renew(axis: str) -> None:
    """Another setting was chosen; a callback."""
    name = st.session_state[f"sweep_{axis}"]
    _fill_values(axis, name, START[name])


def _axis(axis: str, label: str) -> None:
    """The widgets of an axis."""
    key = f"sweep_{axis}"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        name = st.selectbox(
            label, tuple(AXES), key=key, format_func=AXIS_TITLES.__getitem__, on_change=_renew, args=(axis,),
            width=200,
        )  # fmt: skip
        if name in NAMES:
            st.pills("Values", NAMES[name], key=f"{key}_names", selection_mode="multi")
            return
        st.segmented_control(
            "Values", tuple(KINDS), key=f"{key}_kind", format_func=KINDS.__getitem__, required=True,
            on_change=_other_kind, args=(axis,), label_visibility="collapsed",
        )  # fmt: skip
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if st.session_state[f"{key}_kind"] == "list":
            st.text_input("Values, with commas", key=f"{key}_list", width="stretch")
            return
        low, high = LIMITS[name]
        form = None if AXES[name] is int else "%g"
        if AXES[name] is int:
            low, high = int(low), int(high)
        st.number_input("From", low, high, key=f"{key}_low", format=form, width=100)
        st.number_input("To", low, high, key=f"{key}_high", format=form, width=100)
        st.number_input("Steps", *STEPS, key=f"{key}_steps", width=80)
        st.toggle(
            "by a factor", key=f"{key}_log", help="Each value is the one before it times the same factor."
        )


def _other_kind(axis: str) -> None:
    """From a range to its list, and back to the setting's own range; a callback."""
    name, kind = st.session_state[f"sweep_{axis}"], st.session_state[f"sweep_{axis}_kind"]
    _fill_values(axis, name, START[name])
    st.session_state[f"sweep_{axis}_kind"] = kind


def _text(axis: str) -> str:
    """What the widgets of an axis say."""
    state, key = st.session_state, f"sweep_{axis}"
    name = state[key]
    if name in NAMES:
        return f"{name}={','.join(value for value in NAMES[name] if value in state[f'{key}_names'])}"
    if state[f"{key}_kind"] == "list":
        return f"{name}={state[f'{key}_list']}"
    ends = f"{state[f'{key}_low']:g}:{state[f'{key}_high']:g}:{state[f'{key}_steps']}"
    return f"{name}={ends}{':log' if state[f'{key}_log'] else ''}"
