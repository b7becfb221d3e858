"""The page Sweep, its script run without a browser: the link holds its controls, and what cannot be is said."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from steinglm.dashboard.server import engine
from steinglm.dashboard.sweepcontrols import DEFAULTS
from steinglm.settings import Experiment
from steinglm.sweep import Axis, Sweep, batches, train

PAGE = str(Path(__file__).parents[2] / "pages" / "sweep.py")
LINK = {
    "v": "1", "dataset": "diabetes", "x": "learning_rate=0.001:0.1:3:log", "y": "activation=tanh,relu",
    "colour": "test_metric", "method": "orthogonal",
}  # fmt: skip


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(PAGE, default_timeout=60)
    for name, text in query.items():
        app.query_params[name] = text
    app.run()
    assert not app.exception
    return app


def link_of(app: AppTest) -> dict[str, str]:
    values = dict(app.query_params)
    return {name: value if isinstance(value, str) else value[0] for name, value in values.items()}


def test_the_page_opens_with_its_defaults_which_no_link_holds() -> None:
    app = opened(v="1", dataset="diabetes")
    assert link_of(app) == {"v": "1", "dataset": "diabetes"}
    assert any("100 cells of SteinGLM, before training" in each.value for each in app.caption)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"x": "depth=2,3,40", "y": "score=identity,centered", "method": "steinglm"},
        {"x": "alpha=0.5,default,auto", "method": "steinglm", "colour": "chi_1"},
        {"x": "rows=20:300:4", "y": "width=2,default"},
    ],
)
def test_a_link_sets_the_controls_and_comes_back(changed: dict[str, str]) -> None:
    link = LINK | changed
    app = opened(**link)
    assert not app.warning and not app.error
    written = {"v": "1", **DEFAULTS} | link_of(app)
    assert {name: written[name] for name in link} == link


@pytest.mark.parametrize("name", ["x", "y", "method", "colour"])
@pytest.mark.parametrize("text", ["seed=1,2", "<b>", "depth=9:1e400:3"])
def test_a_hostile_link_falls_back_with_a_message(name: str, text: str) -> None:
    app = opened(v="1", dataset="diabetes", **{name: text})
    assert f"The link's {name} could not be used" in app.warning[0].value
    assert link_of(app) == {"v": "1", "dataset": "diabetes"}


def test_another_setting_has_its_own_values_and_the_link_follows() -> None:
    app = opened(v="1", dataset="diabetes")
    app.selectbox(key="sweep_x").set_value("activation").run()
    assert link_of(app)["x"].startswith("activation=tanh,")
    app.selectbox(key="sweep_x").set_value("learning_rate").run()
    app.number_input(key="sweep_x_steps").set_value(5).run()
    assert link_of(app)["x"] == "learning_rate=0.0001:0.1:5:log"
    assert not app.exception and not app.error


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"y": "alpha=1,2"}, "another setting than x"),
        ({"method": "he_normal"}, "a setting of the method"),
        ({"colour": "epochs_to_target"}, "set a validation loss"),
        ({"y": "depth=2,150"}, "at most 100 on this server"),
        ({"x": "alpha=1:2:30", "y": "depth=1:40:30"}, "at most 400 cells on this server"),
    ],
)
def test_a_sweep_that_cannot_be_is_one_message(query: dict[str, str], message: str) -> None:
    app = opened(v="1", dataset="diabetes", **query)
    assert message in app.error[0].value


def test_what_is_finished_on_disk_is_shown_at_once_with_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    base = Experiment(dataset="diabetes", seed=31)
    sweep = Sweep(base, Axis("alpha", (0.5, 1.0)), Axis("depth", (1, 2)))
    monkeypatch.setattr(engine(), "_steward", object())  # as if it were started: nothing is computed
    for batch in batches(sweep):
        *_, result = train(batch)
        engine().store.put(result)  # type: ignore[arg-type]
    app = opened(v="1", dataset="diabetes", seed="31", x="alpha=0.5,1", y="depth=1,2")
    shown = app.dataframe[0].value
    assert shown["0.5"].notna().all() and list(shown["Depth"]) == ["1", "2"]
    assert any("Done" in button.label for button in app.button)
