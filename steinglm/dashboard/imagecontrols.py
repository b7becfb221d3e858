"""The side bar of the page "Images": widgets that build an `ImageExperiment`; their values are in the page's link.

A value in the link that a widget does not offer is ignored by Streamlit; the library checks the whole once more.
"""

import math
from typing import Literal

import streamlit as st

from steinglm.dashboard import caps
from steinglm.dashboard.explain import TOPICS
from steinglm.datasets import mnist
from steinglm.experiment import TITLES
from steinglm.images import ImageExperiment
from steinglm.images.settings import METHODS
from steinglm.settings import MAX_SEED
from steinglm.stein import SCORES

__all__ = ["choices"]

IN_LINK: Literal["query-params"] = "query-params"
PAIRS = {f"{first} and {second}": (first, second) for first, second in mnist.PAIRS}
OTHER = "Other"
DIGITS = tuple(range(10))
ALPHAS = ("default", "auto", "number")
# The embedded part is small and the machine of a page is shared: less than the paper's 20 epochs and all patches.
EPOCHS, PATCHES = 5, 32
STANDARD = ImageExperiment().score
DEFAULT = ImageExperiment().methods


def choices() -> ImageExperiment:
    """Draw the side bar and return what it says. Raises InvalidInputError for a forged value."""
    with st.sidebar:
        pair = _pair()
        complete = _complete()
        methods = st.pills(
            "Methods", METHODS, key="image_methods", selection_mode="multi", default=DEFAULT,
            format_func=TITLES.__getitem__, help=TOPICS["methods"].text, bind=IN_LINK,
        )  # fmt: skip
        if not methods:
            st.caption("Where no method is chosen, the first four are shown.")
        scores = tuple(SCORES)
        score = st.selectbox(
            "Score",
            scores,
            scores.index(STANDARD),
            key="image_score",
            help=TOPICS["score"].text,
            bind=IN_LINK,
        )
        alpha = _alpha()
        patches = _count("patches", "Patches of an image", 1, 784, PATCHES, "max_patches")
        most = min(100, caps.most("epochs"))
        epochs = st.slider(
            "Epochs", 1, most, min(EPOCHS, most), key="image_epochs", help=TOPICS["epochs"].text, bind=IN_LINK
        )
        with st.expander("More"):
            calibrate = st.toggle(
                "Bias calibration", True, key="image_calibrate", help=TOPICS["calibrate"].text, bind=IN_LINK
            )
            batch_size = _count("batch_size", "Batch size", 1, 10_000, 128)
            learning_rate = _number("learning_rate", "Learning rate", 1e-5, 1.0, 1e-3)
            l2 = _number("l2", "Penalty of the weights", 0.0, 1.0, 1e-4)
            repeats = _count("repeats", "Repeats", 1, caps.most("repeats"), 1)
            seed = _count("seed", "Seed", 0, MAX_SEED, 0)
    chosen = ImageExperiment(
        pair=pair,
        complete=complete,
        alpha=alpha,
        score=score or STANDARD,
        calibrate=calibrate,
        methods=tuple(name for name in METHODS if name in (methods or DEFAULT)),
        max_patches=patches,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        l2=l2,
        repeats=repeats,
        seed=seed,
    )
    caps.check_networks(chosen)
    return chosen


def _pair() -> tuple[int, int]:
    """One of the paper's pairs, or any two different digits."""
    chosen = st.pills(
        "Digits", (*PAIRS, OTHER), key="image_pair", default=next(iter(PAIRS)), required=True,
        help=TOPICS["digits"].text, bind=IN_LINK,
    )  # fmt: skip
    if chosen != OTHER:
        return PAIRS.get(chosen, mnist.PAIRS[0])  # a link may leave it empty
    left, right = st.columns(2)
    first = left.selectbox("One digit", DIGITS, key="image_first", bind=IN_LINK)
    others = tuple(digit for digit in DIGITS if digit != first)
    second = right.selectbox("The other", others, key="image_second", bind=IN_LINK)
    return first, second


def _complete() -> bool:
    """Whether to take all of MNIST, where it is on this machine."""
    there = mnist.available()
    wanted = st.toggle(
        "All of MNIST", key="image_complete", disabled=not there, help=TOPICS["complete"].text, bind=IN_LINK
    )
    if not there:
        st.caption("It is not on this machine yet; how it gets here stands behind the question mark.")
    return wanted and there


def _alpha() -> float | str | None:
    kind = st.segmented_control(
        "Scaling alpha", ALPHAS, key="image_alpha", default="default", required=True, help=TOPICS["alpha"].text,
        bind=IN_LINK,
    )  # fmt: skip
    if kind == "number":
        return _number("alpha_number", "alpha", 0.01, 100.0, 1.0, "alpha")
    return "auto" if kind == "auto" else None


def _bound(key: str) -> Literal["query-params"] | None:
    """Streamlit fails to make a whole number of a number in the link that is too large for it; then leave the link."""
    try:
        endless = math.isinf(float(st.query_params.get(key, "0")))
    except ValueError:
        endless = False
    return None if endless else IN_LINK


def _count(name: str, label: str, low: int, high: int, default: int, topic: str = "") -> int:
    key, about = f"image_{name}", TOPICS[topic or name].text
    return st.number_input(label, low, high, default, key=key, help=about, bind=_bound(key))


def _number(name: str, label: str, low: float, high: float, default: float, topic: str = "") -> float:
    about = TOPICS[topic or name].text
    step = default if default < 1 else 0.1
    return st.number_input(
        label, low, high, default, key=f"image_{name}", step=step, format="%g", help=about, bind=IN_LINK
    )
