"""Each page runs as a script: it shows what it should, and whatever is forged becomes one message."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from steinglm.dashboard import reproduction, server
from steinglm.dashboard.explain import GROUPS, TOPICS
from steinglm.datasets import Recipe
from steinglm.experiment import Experiment, Result, train
from steinglm.paper import results
from tests.paper import test_mnist
from tests.paper.test_claims import made
from tests.paper.test_report import ENVIRONMENT

PAGES = Path(__file__).parents[2] / "pages"


@pytest.fixture
def compare() -> AppTest:
    return AppTest.from_file(str(PAGES / "compare.py"), default_timeout=60)


@pytest.fixture
def stored() -> Experiment:
    """A finished run in the store, which the page shows without an engine that runs."""
    experiment = Experiment(dataset="diabetes", depth=2, epochs=2)
    *_, result = train(experiment)
    assert isinstance(result, Result)
    server.engine().store.put(result)
    return experiment


def texts(app: AppTest) -> str:
    return " ".join(str(element.value) for kind in (app.markdown, app.error, app.warning) for element in kind)


def charts(app: AppTest) -> list[dict[str, Any]]:
    """The panels that the browser is sent."""
    panels: list[dict[str, Any]] = json.loads(app.get("bidi_component")[0].proto.json)["panels"]
    return panels


def test_the_page_opens_with_abalone_and_says_what_is_to_be_seen(compare: AppTest) -> None:
    app = compare.run()
    assert not app.exception
    assert app.title[0].value == "What does the initialization do to the signal?"
    assert "On Abalone, 10 layers of tanh" in texts(app)
    assert any(
        "4,177 rows, 8 features, 10 after encoding, regression" in caption.value for caption in app.caption
    )


def test_another_data_set_and_depth_change_the_headline_and_the_link(compare: AppTest) -> None:
    app = compare.run()
    app.selectbox(key="dataset").set_value("power_plant")
    app.slider(key="depth").set_value(3)
    app.run()
    assert "On Power plant, 3 layers of tanh" in texts(app)
    assert app.query_params["dataset"] == "power_plant"
    assert app.query_params["depth"] == "3"


def test_a_link_sets_the_controls(compare: AppTest) -> None:
    compare.query_params.update(
        {"v": "1", "dataset": "diabetes", "depth": "2", "alpha": "1.6", "methods": "steinglm,orthogonal"}
    )
    app = compare.run()
    assert app.selectbox(key="dataset").value == "diabetes"
    assert app.number_input(key="alpha").value == 1.6
    assert "2 layers" in texts(app)


def test_a_move_whose_word_comes_after_its_address_is_followed(compare: AppTest) -> None:
    before = {"v": "1", "dataset": "diabetes", "depth": "2"}
    compare.query_params.update(before)
    app = compare.run()
    app.slider(key="depth").set_value(3).run()
    app.query_params.update(before)  # so far it may be a late address, and the widgets hold
    app.run()
    assert app.slider(key="depth").value == 3
    assert app.query_params["depth"] == "3"
    app.session_state["moved"] = True
    app.run()
    assert app.slider(key="depth").value == 2
    assert app.query_params["depth"] == "2"


def test_an_activation_without_a_slope_at_0_says_which_alpha_is_taken(compare: AppTest) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "2", "activation": "relu"})
    app = compare.run()
    assert any("relu has no slope at 0" in caption.value for caption in app.caption)
    app.selectbox(key="activation").set_value("tanh").run()
    assert not any("no slope" in caption.value for caption in app.caption)


@pytest.mark.parametrize("depth", ["0", "-1", "1000000000", "<b>", "nan", "1e3"])
def test_a_hostile_link_falls_back_with_a_message(compare: AppTest, depth: str) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": depth})
    app = compare.run()
    assert not app.exception
    assert app.slider(key="depth").value == 10
    assert "depth could not be used" in texts(app)


def test_a_link_beyond_the_limits_of_the_page_is_brought_within(compare: AppTest) -> None:
    compare.query_params.update(
        {"v": "1", "dataset": "diabetes", "depth": "150", "epochs": "5000", "width": "3"}
    )
    app = compare.run()
    assert not app.exception
    assert not app.error
    assert (app.slider(key="depth").value, app.slider(key="epochs").value) == (100, 1000)
    assert "depth is set to 100" in texts(app)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("activation", "cube", "Activation must be one of"),
        ("depth", 10**9, "Depth must be 1..200"),
        ("methods", [], "Methods must be one or more of"),
        ("dataset", "../etc/passwd", "must be"),
        ("seed", -1, "Seed must be"),
    ],
)
def test_a_forged_widget_value_is_one_message(
    compare: AppTest, key: str, value: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steinglm.dashboard import controls

    genuine = controls._settings
    monkeypatch.setattr(controls, "_settings", lambda: genuine() | {key: value})
    app = compare.run()
    assert not app.exception
    assert len(app.error) == 1
    assert said in app.error[0].value


def test_a_finished_run_is_shown_at_once_with_its_table(compare: AppTest, stored: Experiment) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "2", "epochs": "2"})
    app = compare.run()
    assert not app.exception
    table = app.dataframe[0].value
    assert table["Method"].tolist() == ["SteinGLM", "Glorot normal", "He normal", "Orthogonal"]
    assert "Test RMSE" in table.columns


def test_a_pinned_run_stays_behind_the_next_one(compare: AppTest, stored: Experiment) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "2", "epochs": "2"})
    app = compare.run()
    before = [len(panel["figure"]["data"]) for panel in charts(app)]
    next(button for button in app.button if button.label == "Pin").click().run()
    assert [len(panel["figure"]["data"]) for panel in charts(app)] == before  # not behind itself
    app.slider(key="depth").set_value(3).run()
    assert not app.exception
    assert len(charts(app)[0]["figure"]["data"]) > before[0]
    assert any(header.value == "Pinned runs" for header in app.subheader)


def test_the_presentation_hides_the_side_bar_and_keeps_the_settings(compare: AppTest) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "3"})
    app = compare.run()
    app.toggle(key="presentation").set_value(True).run()
    assert not app.sidebar.selectbox
    assert "On Diabetes, 3 layers" in texts(app)
    app.toggle(key="presentation").set_value(False).run()
    assert app.selectbox(key="dataset").value == "diabetes"
    assert app.slider(key="depth").value == 3


def test_another_seed_is_another_link(compare: AppTest) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "2"})
    app = compare.run()
    next(button for button in app.button if button.label == "New seed").click().run()
    assert app.query_params["seed"] == "1"
    assert app.number_input(key="seed").value == 1


def test_train_without_an_engine_is_one_message(compare: AppTest) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "2", "epochs": "3"})
    app = compare.run()
    next(button for button in app.button if button.label == "**Train**").click().run()
    assert not app.exception
    assert "engine" in app.warning[0].value


def test_the_glossary_has_every_topic() -> None:
    app = AppTest.from_file(str(PAGES / "glossary.py")).run()
    assert not app.exception
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(TOPICS)
    assert [header.value for header in app.subheader] == [TOPICS[name].title for name in named]


def test_a_link_puts_a_topic_of_the_glossary_on_top() -> None:
    app = AppTest.from_file(str(PAGES / "glossary.py"))
    app.query_params["topic"] = "score"
    app.run()
    assert [each.value for each in app.markdown[:2]] == ["#### Score", TOPICS["score"].text]
    app.query_params["topic"] = "nothing"
    assert not app.run().exception


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """The page over a made-up study, in which SteinGLM is the best everywhere."""
    caches = (reproduction._claims, reproduction._image_claims, reproduction._table, reproduction._far)
    monkeypatch.setattr(results, "kept", lambda: (made(steinglm=0.01), ENVIRONMENT))
    monkeypatch.setattr(
        results, "kept_images", lambda: (test_mnist.made(steinglm=0.01), test_mnist.ENVIRONMENT)
    )
    for cached in caches:
        cached.cache_clear()
    yield AppTest.from_file(str(PAGES / "paper.py"), default_timeout=60)
    for cached in caches:
        cached.cache_clear()


def test_the_paper_page_has_claims_tables_figures_and_times(paper: AppTest) -> None:
    app = paper.run()
    assert not app.exception
    assert "4,000 networks, 10 data sets, 4 depths, 10 repeats" in texts(app)
    holds = ":material/check_circle: holds: SteinGLM predicts better than every benchmark (Tables 2 and 3)."
    assert holds in [each.label for each in app.expander]
    (two,) = (each.value for each in app.dataframe if "Data set" in each.value)
    (four,) = (each.value for each in app.dataframe if "Output layer" in each.value)
    assert len(two) == 20
    assert two["SteinGLM"].str.fullmatch(r"0\.4\d{3} \(0\.\d{4}\)").all()
    assert len(four) == 8
    faster = [each.label for each in app.expander if "converges much faster on images" in each.label]
    assert len(faster) == 2
    assert all(label.startswith(":material/check_circle: holds: SteinGLM") for label in faster)
    (images,) = (each.value for each in app.dataframe if "Digits" in each.value)
    assert len(images) == 20
    assert images["Epoch 1"].between(0.003, 0.2).all()


def test_the_paper_pages_filters_reach_its_tables(paper: AppTest) -> None:
    app = paper.run()
    app.segmented_control(key="task").set_value("binary")
    app.run()
    app.pills(key="sets_binary").set_value(["magic"])
    app.pills(key="depths").set_value([20, 40])
    app.pills(key="compared").set_value(["steinglm", "orthogonal"])
    app.run()
    assert not app.exception
    (table,) = (each.value for each in app.dataframe if "Data set" in each.value)
    assert table[["Data set", "Depth"]].to_numpy().tolist() == [["Magic", 20], ["Magic", 40]]
    assert list(table.columns[2:]) == ["SteinGLM", "Orthogonal"]


@pytest.mark.parametrize(
    ("dataset", "aim", "accuracy"),
    [
        ("wine", "178 rows, 13 features, 3 classes", True),
        ("digits", "1,797 rows, 64 features, 61 after encoding, 10 classes", True),
        ("synthetic_responses", "5,000 rows, 10 features, regression of 3 responses", False),
    ],
)
def test_many_classes_and_several_responses(compare: AppTest, dataset: str, aim: str, accuracy: bool) -> None:
    experiment = Experiment(dataset=dataset, depth=2, epochs=1)
    *_, result = train(experiment)
    assert isinstance(result, Result)
    server.engine().store.put(result)
    compare.query_params.update({"v": "1", "dataset": dataset, "depth": "2", "epochs": "1"})
    app = compare.run()
    assert not app.exception
    assert any(aim in caption.value for caption in app.caption)
    columns = app.dataframe[0].value.columns
    assert ("Test accuracy" in columns) == accuracy
    assert ("Test macro AUC" if accuracy else "Test RMSE") in columns


@pytest.mark.parametrize(
    ("quantity", "said"),
    [
        ("gradient_variance", "gradient variance"),
        ("probe", "predicts the response of other rows"),
        ("effective_rank", "So many directions, in effect, the activations of layer 3 span"),
    ],
)
def test_other_signals_are_shown_and_are_in_the_link(compare: AppTest, quantity: str, said: str) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "3"})
    app = compare.run()
    app.selectbox(key="variance").set_value(quantity)
    app.run()
    assert not app.exception
    assert said in charts(app)[0]["sentence"]
    assert app.query_params["variance"] == quantity


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_theory_page_shows_phases_the_jacobian_and_factors(activation: str) -> None:
    app = AppTest.from_file(str(PAGES / "theory.py"), default_timeout=60)
    app.query_params.update({"v": "1", "dataset": "diabetes", "depth": "3", "activation": activation})
    app.run()
    assert not app.exception and not app.error
    assert f"With {activation}, Glorot normal and Orthogonal" in texts(app)
    assert [panel["name"] for panel in charts(app)] == ["phases", "jacobian"]
    phases, factors = (frame.value for frame in app.dataframe)
    assert phases["Method"].tolist() == ["SteinGLM", "Glorot normal", "He normal", "Orthogonal"]
    assert (phases["Jacobian, root mean square"] > 0).all() and len(factors) == 7


def test_theory_without_a_baseline_asks_for_one() -> None:
    app = AppTest.from_file(str(PAGES / "theory.py"), default_timeout=60)
    app.query_params.update({"v": "1", "dataset": "diabetes", "depth": "3", "methods": "steinglm"})
    app.run()
    assert not app.exception and "Choose Glorot normal" in texts(app)


def test_theory_is_a_thin_line_a_method_which_can_be_switched_off(compare: AppTest) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "3"})
    app = compare.run()

    def thin() -> list[str]:
        return [
            trace["name"] for trace in charts(app)[0]["figure"]["data"] if trace["meta"]["role"] == "behind"
        ]

    assert len(thin()) == 4 and thin()[0] == "SteinGLM, theory"
    app.toggle(key="theory").set_value(False)
    app.run()
    assert not thin() and app.query_params["theory"] == "False"


def test_a_model_is_built_on_the_page_and_the_link_holds_it(compare: AppTest) -> None:
    app = compare.run()
    app.selectbox(key="dataset").set_value("multi_index")
    app.run()
    assert "On a multi-index model" in texts(app)
    assert app.selectbox(key="variance").value == "direction_recovery"
    app.number_input(key="model_directions").set_value(3)
    app.run()
    app.selectbox(key="model_link2").set_value("tanh")
    app.selectbox(key="model_distribution").set_value("skewed")
    app.segmented_control(key="model_combine").set_value("product")
    app.number_input(key="model_noise").set_value(0.5)
    app.run()
    assert not app.exception
    recipe = Recipe(links=("square", "square", "tanh"), combine="product", noise=0.5, distribution="skewed")
    assert app.query_params["dataset"] == recipe.name
    assert app.query_params["variance"] == "direction_recovery"
    assert any("3 known directions" in caption.value for caption in app.caption)

    other = AppTest.from_file(str(PAGES / "compare.py"), default_timeout=60)
    other.query_params.update(app.query_params)
    other.run()
    assert not other.exception and not other.warning
    assert other.number_input(key="model_directions").value == 3
    assert other.selectbox(key="model_link2").value == "tanh"
    assert other.selectbox(key="variance").value == "direction_recovery"


def test_a_model_is_there_again_after_another_data_set(compare: AppTest) -> None:
    compare.query_params.update({"v": "1", "dataset": "multi_index:rows=500,inputs=4,links=bump"})
    app = compare.run()
    app.selectbox(key="variance").set_value("direction_recovery")
    app.run()
    app.selectbox(key="dataset").set_value("diabetes")
    app.run()
    assert not app.exception
    assert app.selectbox(key="variance").value == "preactivation_variance"  # nobody knows its directions
    app.selectbox(key="dataset").set_value("multi_index")
    app.run()
    assert app.selectbox(key="model_link0").value == "bump"
    assert app.number_input(key="model_inputs").value == 4
    app.number_input(key="model_inputs").set_value(1)
    app.run()
    assert not app.exception and not app.error


@pytest.mark.parametrize("dataset", ["multi_index:rows=5", "multi_index:" + "x" * 100, "multi_index"])
def test_a_forged_model_falls_back_to_the_default(compare: AppTest, dataset: str) -> None:
    compare.query_params.update({"v": "1", "dataset": dataset})
    app = compare.run()
    assert not app.exception
    assert "The link's dataset could not be used" in texts(app)
    assert app.selectbox(key="dataset").value == "abalone"


def test_a_finished_run_shows_its_layers_along_training(compare: AppTest, stored: Experiment) -> None:
    compare.query_params.update({"v": "1", "dataset": "diabetes", "depth": "2", "epochs": "2"})
    app = compare.run()
    assert not app.exception
    own = json.loads(app.get("bidi_component")[1].proto.json)["panels"][0]
    assert "after epoch 2" in own["alt"]
    app.select_slider[0].set_value(1)
    app.button_group(key="along").set_value("gradient_norm")
    app.run()
    own = json.loads(app.get("bidi_component")[1].proto.json)["panels"][0]
    assert own["figure"]["layout"]["title"]["text"].startswith("Gradients of the weights")
    assert "after epoch 1" in own["alt"]
