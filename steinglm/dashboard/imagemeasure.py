"""The library's calls as the page "Images" makes them: cached and shared between sessions.

An initialization is kept by method, so that another choice of methods, or a setting that only some know, does not
compute the others again.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from steinglm import images
from steinglm.images import ImageExperiment
from steinglm.images.start import measure, networks, states
from steinglm.init import OPTIONS
from steinglm.results import Result

__all__ = ["start", "wrong"]

PLAIN = ImageExperiment()  # its settings stand in for those that an initialization does not depend on
Start = tuple[pd.DataFrame, dict[str, np.ndarray]]


def start(experiment: ImageExperiment) -> Start:
    """The networks before training: the rows of `images.initialize`, and the first repeat's filters by method."""
    own = replace(
        experiment,
        epochs=PLAIN.epochs,
        batch_size=PLAIN.batch_size,
        learning_rate=PLAIN.learning_rate,
        l2=PLAIN.l2,
    )
    others = replace(own, alpha=PLAIN.alpha, max_patches=PLAIN.max_patches)
    parts = [
        _start(replace(own if method in OPTIONS else others, methods=(method,)))
        for method in experiment.methods
    ]
    rows = pd.concat([rows for rows, _ in parts], ignore_index=True)
    return rows, {method: filters for _, each in parts for method, filters in each.items()}


@st.cache_resource(max_entries=64, show_spinner=False)
def _start(experiment: ImageExperiment) -> Start:
    models, names, seconds = networks(experiment)
    parameters = states(names, [model.state_dict() for model in models])
    filters = {method: images.filters(parameters, method) for method in experiment.methods}
    return measure(experiment, models, names, seconds), filters


@st.cache_resource(max_entries=16, show_spinner=False)
def wrong(key: str, _result: Result) -> pd.DataFrame:
    """The test images that each method's first network gets wrong, as `images.wrong`; `key` is the experiment's."""
    found = images.wrong(_result)
    return found[found["repeat"] == 0]
