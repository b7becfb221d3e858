"""The page "Lessons" as a script: the list, one lesson with its mark and controls, and what is wrong with others."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from steinglm.dashboard.marks import marked
from steinglm.lessons.lesson import Mark
from steinglm.lessons.reading import FOLDER, every

PAGE = Path(__file__).parents[2] / "pages" / "lessons.py"


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(str(PAGE), default_timeout=60)
    app.query_params.update(query)
    return app.run()


def panels(app: AppTest) -> dict[str, dict[str, Any]]:
    sent = json.loads(app.get("bidi_component")[0].proto.json)["panels"]
    return {panel["name"]: panel for panel in sent}


def test_without_a_lesson_all_are_listed_and_one_is_opened_by_its_title() -> None:
    app = opened()
    assert not app.exception and not app.warning
    titles = [lesson.title for lesson in every()[0].values()]
    assert len(app.button) == len(titles)
    assert all(title in button.label for title, button in zip(titles, app.button, strict=True))
    app.button[-1].click().run()
    assert app.title[0].value == titles[-1] and app.query_params["lesson"] == "odd-links"


def test_a_lesson_has_its_texts_its_controls_alone_and_its_mark() -> None:
    app, lesson = opened(lesson="odd-links"), every()[0]["odd-links"]
    assert not app.exception and app.title[0].value == lesson.title
    said = [element.value for element in app.markdown]
    assert " ".join(lesson.text) in said and f"**{lesson.question}**" in said
    assert app.expander[0].label == "Answer" and app.expander[0].markdown[0].value == lesson.answer
    assert not app.slider and not app.selectbox and not app.sidebar.children
    assert len(app.get("button_group")) == len(lesson.controls)
    shown = panels(app)
    assert list(shown) == ["signal", "spectrum"]
    (shape,) = shown["signal"]["figure"]["layout"]["shapes"]
    assert shape["label"]["text"] == lesson.look.label and lesson.look.label in shown["signal"]["alt"]
    assert "shapes" not in shown["spectrum"]["figure"]["layout"]


def test_a_control_changes_the_charts_and_may_come_with_the_link() -> None:
    app = opened(lesson="odd-links")
    before = panels(app)["signal"]["sentence"]
    app.button_group(key="odd-links-score").set_value("first and second").run()
    assert not app.exception and panels(app)["signal"]["sentence"] != before
    after = panels(app)["signal"]["sentence"]
    again = opened(**{"lesson": "odd-links", "odd-links-score": "first and second"})
    assert panels(again)["signal"]["sentence"] == after


def test_what_the_mark_says_is_of_the_preset_alone() -> None:
    app = opened(lesson="odd-links")
    app.button_group(key="odd-links-score").set_value("first and second").run()
    assert "shapes" not in panels(app)["signal"]["figure"]["layout"]


@pytest.mark.parametrize("name", every()[0])
def test_every_lesson_opens_with_its_mark(name: str) -> None:
    app, lesson = opened(lesson=name), every()[0][name]
    assert panels(app)[lesson.look.chart]["figure"]["layout"]["shapes"]


def test_a_height_is_marked_on_the_quantity_that_it_belongs_to() -> None:
    app = opened(lesson="alpha")
    assert panels(app)["signal"]["figure"]["layout"]["shapes"][0]["type"] == "line"
    app.button_group(key="alpha-variance").set_value("what a layer knows").run()
    assert "shapes" not in panels(app)["signal"]["figure"]["layout"]


def test_data_that_is_not_here_is_not_offered_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from steinglm import datasets

    monkeypatch.setattr(datasets, "available", lambda name: name != "parkinsons")
    app = opened(lesson="holding-the-variance")
    assert not app.exception
    assert any("Parkinsons: not on this machine" in caption.value for caption in app.caption)
    options = app.button_group(key="holding-the-variance-dataset").options
    assert len(options) == 1


def test_a_broken_lesson_of_a_teachers_is_named_and_takes_no_other_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text('title = "<script>alert(1)</script>"\nlink = "?depth=<b>"')
    monkeypatch.setenv(FOLDER, str(tmp_path))
    app = opened(lesson="<img src=x>")
    assert not app.exception and len(app.button) == len(every()[0])
    assert "mine" in app.warning[0].value and "depth could not be used" in app.warning[0].value
    assert app.warning[1].value == "The link's lesson is not known here."


def test_the_label_of_a_mark_keeps_off_the_edges() -> None:
    trace = {"x": np.arange(1, 21), "y": np.linspace(1.0, 5.0, 20)}
    figure = {"data": [trace], "layout": {"title": "x"}}

    def shape(mark: Mark) -> dict[str, Any]:
        found: dict[str, Any] = marked(figure, mark)["layout"]["shapes"][0]
        return found

    assert shape(Mark("signal", "end", 15, 20))["label"]["textposition"] == "top right"
    assert shape(Mark("signal", "start", 1, 3))["label"]["textposition"] == "top left"
    assert shape(Mark("signal", "high", level=9.0))["label"]["yanchor"] == "top"
    assert shape(Mark("signal", "low", level=2.0))["label"]["yanchor"] == "bottom"
    assert "shapes" not in figure["layout"]
