"""Controls -> link -> controls is the identity, old links stay right, and hostile ones only fall back."""

from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st

from steinglm import datasets
from steinglm.dashboard import link
from steinglm.dashboard.link import View
from steinglm.datasets.workshop import COMBINATIONS, DISTRIBUTIONS, LINKS
from steinglm.init import INITIALIZERS
from steinglm.mlp import ACTIVATIONS
from steinglm.settings import OUTPUTS, Experiment
from steinglm.stein import SCORES

positive = st.floats(1e-6, 1e3, allow_nan=False)
recipes = st.builds(
    datasets.Recipe,
    rows=st.integers(50, 50_000),
    inputs=st.integers(5, 100),
    links=st.lists(st.sampled_from(sorted(LINKS)), min_size=1, max_size=5).map(tuple),
    combine=st.sampled_from(COMBINATIONS),
    noise=st.floats(0, 100),
    distribution=st.sampled_from(sorted(DISTRIBUTIONS)),
    task=st.sampled_from(["regression", "binary"]),
    seed=st.integers(0, 2**32 - 1),
)
experiments = st.builds(
    Experiment,
    dataset=st.sampled_from(datasets.names()) | recipes.map(lambda recipe: recipe.name),
    depth=st.integers(1, 100),
    width=st.none() | st.integers(1, 200),
    activation=st.sampled_from(sorted(ACTIVATIONS)),
    alpha=st.none() | st.just("auto") | positive,
    score=st.sampled_from(sorted(SCORES)),
    methods=st.lists(st.sampled_from(sorted(INITIALIZERS)), min_size=1, unique=True).map(tuple),
    output=st.sampled_from(OUTPUTS),
    epochs=st.integers(1, 1000),
    batch_size=st.none() | st.integers(1, 10_000),
    learning_rate=st.floats(1e-5, 1.0),
    repeats=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
    target_loss=st.none() | positive,
    patience=st.none() | st.integers(1, 100),
    time_budget=st.none() | positive,
)
views = st.builds(
    View,
    variance=st.sampled_from(link.VARIANCES),
    spectrum=st.sampled_from(link.SPECTRA),
    layer=st.integers(1, 101),
    presentation=st.booleans(),
    hidden=st.lists(st.sampled_from(sorted(INITIALIZERS)), unique=True).map(tuple),
    scales=st.lists(st.sampled_from(link.SCALES), unique=True).map(tuple),
)


@settings(max_examples=50, deadline=None)
@given(experiments, views)
def test_a_link_gives_back_what_made_it(experiment: Experiment, view: View) -> None:
    address = link.address("http://localhost/?old=1", experiment, view)
    query = dict(parse_qsl(urlsplit(address).query, strict_parsing=True))
    assert link.decode(query) == (experiment, view, [])


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*asdict(Experiment()), *asdict(View()), "v", "other"]), st.text(max_size=300)
    )
)
def test_a_fuzzed_link_falls_back_and_says_so(query: dict[str, str]) -> None:
    experiment, view, messages = link.decode(query)
    written = link.encode(experiment, view)
    for name, text in query.items():
        if name in link.DEFAULTS["1"] and text != written.get(name, text):
            assert any(name.replace("_", " ") in message for message in messages) or _same(
                name, text, written
            )


def _same(name: str, text: str, written: dict[str, str]) -> bool:
    """Another way to write the value that was taken, as " 7" or "1e1"."""
    again, _, messages = link.decode({name: text})
    return not messages and link.encode(again).get(name, written[name]) == written[name]


def test_one_bad_value_does_not_take_the_others_along() -> None:
    experiment, _, messages = link.decode(
        {"depth": "40", "activation": "<script>", "alpha": "nan", "seed": "7"}
    )
    assert (experiment.depth, experiment.activation, experiment.alpha, experiment.seed) == (
        40,
        "tanh",
        None,
        7,
    )
    assert len(messages) == 2


def test_the_defaults_of_a_link_are_those_of_the_library() -> None:
    """If this fails, a default has changed: add a version to link.DEFAULTS and leave the old entry as it is."""
    now: dict[str, Any] = asdict(Experiment()) | asdict(View())
    assert link.DEFAULTS[link.VERSION] == now


def test_an_old_link_keeps_the_defaults_of_its_version(monkeypatch: Any) -> None:
    monkeypatch.setitem(link.DEFAULTS, "2", link.DEFAULTS["1"] | {"depth": 20})
    monkeypatch.setattr(link, "VERSION", "2")
    assert link.decode({"v": "1"})[0].depth == 10
    assert link.decode({"v": "2"})[0].depth == 20


def test_an_unknown_version_is_named() -> None:
    assert "version" in link.decode({"v": "99"})[2][0]
