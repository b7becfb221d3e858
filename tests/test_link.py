"""Controls -> link -> controls is the identity, old links stay right, and hostile ones only fall back."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from steinglm import datasets, link
from steinglm.datasets.workshop import COMBINATIONS, DISTRIBUTIONS, LINKS, PREFIX, parse
from steinglm.init import INITIALIZERS
from steinglm.link import View
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
    calibrate=st.booleans(),
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
    rows=st.none() | st.integers(10, 100_000),
)
views = st.builds(
    View,
    variance=st.sampled_from(link.SIGNALS),
    spectrum=st.sampled_from(link.SPECTRA),
    layer=st.integers(1, 101),
    presentation=st.booleans(),
    theory=st.booleans(),
    hidden=st.lists(st.sampled_from(sorted(INITIALIZERS)), unique=True).map(tuple),
    scales=st.lists(st.sampled_from(link.SCALES), unique=True).map(tuple),
)


@settings(max_examples=50, deadline=None)
@given(experiments, views)
def test_a_link_gives_back_what_made_it(experiment: Experiment, view: View) -> None:
    address = link.address("http://localhost/?old=1", experiment, view)
    query = dict(parse_qsl(urlsplit(address).query, strict_parsing=True))
    assert link.decode(query) == (experiment, view, [])


NAMES = [*asdict(Experiment()), *asdict(View()), "v", "other"]
SIGNS = list(",:;=&%+-.0123456789eExX_'\"<>/\\ \x00\n\u202e٣äß∞")
OFTEN = [
    "None", "True", "nan", "inf", "-inf", "1e400", "-0", "1_0", " 7 ", "9" * 199, "own:0123456789abcdef", "auto",
    "default", "multi_index:", "multi_index:links=", "multi_index:rows=1e9", "steinglm,steinglm", ",", "signal:log",
    "<img src=x onerror=alert(1)>", "javascript:alert(1)", "=cmd()", "../../etc/passwd", "[](x)",
]  # fmt: skip


def damaged(text: str, place: int, put: str) -> str:
    return text[: place % (len(text) + 1)] + put + text[place % (len(text) + 1) + 1 :]


texts = st.one_of(
    st.text(max_size=300),
    st.text(st.sampled_from(SIGNS), max_size=12),
    st.sampled_from(OFTEN),
    st.builds(damaged, recipes.map(lambda recipe: recipe.name), st.integers(0, 300), st.sampled_from(SIGNS)),
)
changed = st.builds(
    lambda query, name, place, put: query | {name: damaged(query.get(name, ""), place, put)},
    st.builds(link.encode, experiments, views),
    st.sampled_from(NAMES),
    st.integers(0, 300),
    st.sampled_from([*SIGNS, ""]),
)
pieces = st.lists(st.sampled_from([*SIGNS, *NAMES, *OFTEN]), max_size=30)
raw = st.builds(lambda parts: dict(parse_qsl("".join(parts))), pieces)


def fuzz(examples: int) -> Callable[[], None]:
    """A run of so many links: each is read, falls back where it must, and says so."""

    @settings(
        phases=[Phase.generate],
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.dictionaries(st.sampled_from(NAMES), texts) | changed | raw)
    def run(query: dict[str, str]) -> None:
        experiment, view, messages = link.decode(query)
        written = link.encode(experiment, view)
        assert link.decode(written) == (experiment, view, [])
        for name, text in query.items():
            if name in link.DEFAULTS["1"] and text != written.get(name, text):
                told = any(name.replace("_", " ") in message for message in messages)
                assert told or _same(name, text, written)

    return run


def test_hundreds_of_fuzzed_links_fall_back_and_say_so() -> None:
    fuzz(300)()


@pytest.mark.soak
def test_ten_thousand_fuzzed_links() -> None:
    fuzz(10_000)()


def test_planted_fault_the_harness_sees_another_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    original = link._value

    def faulty(name: str, text: str) -> Any:
        return {}[text] if name == "depth" and text.startswith("9") else original(name, text)

    monkeypatch.setattr(link, "_value", faulty)
    with pytest.raises(KeyError):
        fuzz(3000)()


def test_planted_fault_the_harness_sees_a_value_that_is_dropped_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = link._value

    def faulty(name: str, text: str) -> Any:
        return 7 if name == "layer" and not text.isdecimal() else original(name, text)

    monkeypatch.setattr(link, "_value", faulty)
    with pytest.raises(AssertionError):
        fuzz(3000)()


def _same(name: str, text: str, written: dict[str, str]) -> bool:
    """Another way to write the value that was taken, as " 7" or "1e1", read without the link's own reader."""
    taken = written.get(name, link._text(link.DEFAULTS["1"][name]))
    if text == taken:
        return True
    if name == "dataset":
        return text.startswith(PREFIX) and parse(text).name == taken
    try:
        return float(text) == float(taken)
    except ValueError:
        return False


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
