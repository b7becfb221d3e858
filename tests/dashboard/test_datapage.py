"""A person's own table: brought on its page, compared on the other, never in a link or on disk."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from steinglm.dashboard import server
from steinglm.dashboard.owntable import title_of
from steinglm.datasets import own
from tests.tables.test_corpus import PLAIN, N, X, Y, lines

PAGES = Path(__file__).parents[2] / "pages"
HOSTILE = "<img src=x onerror=alert(1)>![p](http://127.0.0.1:9/p.png)[l](javascript:alert(1))$x$"


@pytest.fixture
def data() -> AppTest:
    return AppTest.from_file(str(PAGES / "data.py"), default_timeout=60)


def pasted(app: AppTest, text: str) -> AppTest:
    app.run()
    app.segmented_control(key="how").set_value("Paste it")
    app.run()
    app.text_area(key="pasted").set_value(text)
    return app.run()


def shown(app: AppTest) -> str:
    kinds = (app.markdown, app.error, app.warning, app.caption, app.text, app.title, app.subheader)
    return " ".join(str(element.value) for kind in kinds for element in kind)


def tables(app: AppTest) -> str:
    return " ".join(frame.value.to_csv() for frame in app.dataframe)


def test_a_pasted_table_is_shown_with_kinds_guesses_and_a_report(data: AppTest) -> None:
    app = pasted(data, lines("x;c;when;price", X, ["a", "b"] * 20, ["2024-01-02"] * N, Y, sep=";"))
    assert not app.exception and not app.error
    assert "Columns are separated by “;”." in shown(app)
    assert "x,number,0,40" in tables(app) and "when,date" in tables(app)
    assert any(box.value == "price" for box in app.selectbox)
    assert [metric.value for metric in app.metric] == ["40 of 40", "2", "3"]
    assert "when,left out: dates and times are left out" in tables(app)


def test_the_table_is_still_there_when_one_comes_back_and_choices_belong_to_a_file(data: AppTest) -> None:
    app = pasted(data, lines("x;y", X, Y, sep=";"))
    box = next(each for each in app.selectbox if each.key and each.key.startswith("delimiter"))
    box.set_value("semicolon ;")
    app.run()
    app.segmented_control(key="how").set_value("A file")
    app.run()
    assert not app.exception and "In use: pasted.csv" in shown(app)
    assert next(metric.value for metric in app.metric) == "40 of 40"
    assert (
        next(each.value for each in app.selectbox if (each.key or "").startswith("delimiter"))
        == "semicolon ;"
    )
    app.segmented_control(key="how").set_value("Paste it")
    app.run()
    app.text_area(key="pasted").set_value(PLAIN)
    app.run()
    assert next(each.value for each in app.selectbox if (each.key or "").startswith("delimiter")) is None
    app.segmented_control(key="how").set_value("A file")
    app.run()
    next(button for button in app.button if button.label == "Forget it").click()
    app.run()
    assert not app.exception and not app.metric


def test_how_to_read_a_file_can_be_changed_where_it_could_not_be_read(data: AppTest) -> None:
    app = pasted(data, "a|b\n" + "1|2|3\n" * 30)
    assert "3 cells in line 2" in shown(app)
    assert any((each.key or "").startswith("delimiter") for each in app.selectbox)


def test_a_bad_table_is_one_message(data: AppTest) -> None:
    app = pasted(data, "only one column\n1\n2\n")
    assert not app.exception
    assert "one input beside the response" in shown(app) or "20 or more rows" in shown(app)


def test_leaks_and_heavy_tails_are_pointed_out(data: AppTest) -> None:
    big = [2.0**i if i % 7 == 0 else 1.5 + i % 3 for i in range(60)]
    y = [0.37 * (i * i % 61) for i in range(60)]
    app = pasted(data, lines("copy,big,y", [3 * v + 1 for v in y], big, y))
    assert "all but repeat the response" in shown(app)
    assert "Heavy tails" in shown(app) and "“big”" in shown(app)


def test_names_and_cells_of_a_hostile_table_reach_no_markdown(data: AppTest) -> None:
    app = pasted(data, lines(f"{HOSTILE},c,y", X, [f"={HOSTILE}"] * 20 + ["b"] * 20, Y))
    assert not app.exception and not app.error
    rich = [app.markdown, app.caption, app.title, app.subheader, app.warning, app.error]
    assert not any("onerror" in str(element.value) for kind in rich for element in kind)
    assert "onerror" in tables(app)


@pytest.mark.parametrize(
    "name", ["![x](http://y/z.png).csv", "<b>.csv", "a$b$.csv", "`x`*y*.csv", "../../etc/passwd"]
)
def test_a_title_is_plain_text(name: str) -> None:
    assert not set(title_of(name)) & set("<>[]!$`*/\\")


def test_the_table_is_compared_and_is_in_no_link_or_store(data: AppTest) -> None:
    app = pasted(data, PLAIN)
    next(button for button in app.button if "Compare" in button.label).click()
    compare = AppTest.from_file(str(PAGES / "compare.py"), default_timeout=60)
    app.run()
    for name in ("own", "own_chosen"):
        compare.session_state[name] = app.session_state[name]
    compare.run()
    assert not compare.exception and not compare.error, shown(compare)
    assert "On pasted.csv, 10 layers of tanh" in shown(compare)
    assert "40 rows, 1 features, regression" in shown(compare)
    assert "own" not in str(compare.query_params) and "dataset" not in compare.query_params
    script = next(code.value for code in compare.code if "import torch" in code.value)
    assert "load_file(" in script and "'pasted.csv'" in script
    compare.selectbox(key="dataset").set_value("diabetes")
    compare.run()
    assert "On Diabetes" in shown(compare)
    compare.selectbox(key="dataset").set_value(app.session_state["own"].name)
    compare.run()
    assert "On pasted.csv" in shown(compare) and not compare.exception
    assert not any(own.is_own(key) for key in server.engine().store.keys())  # noqa: SIM118


def test_a_link_with_somebody_elses_table_is_refused() -> None:
    compare = AppTest.from_file(str(PAGES / "compare.py"), default_timeout=60)
    compare.query_params.update({"v": "1", "dataset": "own:0123456789abcdef"})
    compare.run()
    assert not compare.exception
    assert "The link's dataset could not be used" in shown(compare)
