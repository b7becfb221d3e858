"""The page "Images" runs as a script; its pictures are what the numbers say, and its sentences count right."""

import re
from base64 import b64decode
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from steinglm.dashboard import charts, imagemeasure, imagepage, imagewords, pictures, server, words
from steinglm.images import ImageExperiment, initialize, starts, train
from steinglm.images.start import LAYERS
from steinglm.results import Result

PAGE = Path(__file__).parents[2] / "pages" / "images.py"
TINY = ImageExperiment(methods=("steinglm", "glorot_normal"), max_patches=4, epochs=1)
TRAINED = {"image_methods": ["SteinGLM", "Glorot normal"], "image_patches": "4", "image_epochs": "1"}  # TINY
ONE = {"image_methods": "Glorot normal", "image_epochs": "1"}  # the cheapest link


def opened(**query: str | list[str]) -> AppTest:
    app = AppTest.from_file(str(PAGE), default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def texts(app: AppTest) -> str:
    return " ".join(str(each.value) for kind in (app.markdown, app.error, app.warning) for each in kind)


def html(app: AppTest) -> str:
    return " ".join(each.proto.body for each in app.get("html"))


@pytest.fixture(scope="module")
def result() -> Result:
    *_, made = train(TINY)
    assert isinstance(made, Result)
    return made


def test_the_page_opens_with_a_sentence_charts_and_filters() -> None:
    app = opened(**ONE)
    assert not app.exception
    assert "On the digits 3 and 5, nine convolutions and a dense layer of tanh: the signal of G" in texts(app)
    assert 'alt="The first images of a 3 and of a 5"' in html(app)
    assert "The 9 filters of Glorot normal before training, weights from -" in html(app)
    assert "after training" not in html(app)
    assert "Lengths of the nine filters before training: Glorot normal 0." in texts(app)


def test_controls_change_the_experiment_and_the_link() -> None:
    app = opened(**ONE)
    app.pills(key="image_pair").set_value("Other")
    app.run()
    assert "On the digits 0 and 1" in texts(app)
    app.selectbox(key="image_first").set_value(1)
    app.pills(key="image_methods").set_value(["orthogonal"])
    app.select_slider(key="image_layer").set_value("conv1_1")
    app.run()
    assert not app.exception
    assert "On the digits 1 and 0" in texts(app)  # the other gives way
    assert "The 9 filters of Orthogonal before training" in html(app)


def test_a_training_setting_initializes_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(**ONE)
    monkeypatch.setattr(imagemeasure, "networks", lambda *_: pytest.fail("computed again"))
    app.slider(key="image_epochs").set_value(9)
    app.number_input(key="image_learning_rate").set_value(0.01)
    app.number_input(key="image_patches").set_value(7)  # which only SteinGLM knows
    app.run()
    assert not app.exception
    assert not app.error


@pytest.mark.parametrize(
    "query",
    [
        {"image_pair": "<b>", "image_epochs": "-4", "image_seed": "1e400", "image_score": "cube"},
        {"image_pair": "", "image_score": "", "image_alpha": "", "image_variance": "", "image_spectrum": ""},
        {"image_epochs": "nan", "image_patches": "inf", "image_learning_rate": "inf", "image_layer": "conv9"},
        {"image_complete": "true", "image_batch_size": "0", "image_repeats": "1e9", "image_l2": "-1"},
    ],
)
def test_a_hostile_link_falls_back(query: dict[str, str]) -> None:
    app = opened(**ONE | query)
    assert not app.exception
    assert not app.error
    assert "On the digits 3 and 5" in texts(app)
    assert app.number_input(key="image_seed").value == 0
    assert app.number_input(key="image_patches").value == 32


@pytest.mark.parametrize("second", ["3", "42"])
def test_two_equal_or_impossible_digits_fall_back(second: str) -> None:
    app = opened(**ONE, image_pair="Other", image_first="3", image_second=second)
    assert not app.error
    assert "On the digits 3 and 0" in texts(app)


def test_train_without_an_engine_is_one_message() -> None:
    app = opened(**ONE, image_l2="0.5")
    next(button for button in app.button if button.label == "**Train**").click().run()
    assert not app.exception
    assert "engine" in app.warning[0].value


def test_a_finished_run_has_its_table_its_filters_and_its_errors(result: Result) -> None:
    server.engine().store.put(result)
    app = opened(**TRAINED)
    assert not app.exception
    table = app.dataframe[0].value
    assert table["Method"].tolist() == ["SteinGLM", "Glorot normal"]
    assert table["Test accuracy"].between(0.4, 1).all()
    assert "Training moves SteinGLM's by" in texts(app)
    assert "The 9 filters of SteinGLM after training" in html(app)
    wrong = imagemeasure.wrong(TINY.key, result)
    counts = [int((wrong["method"] == method).sum()) for method in TINY.methods]
    said = f"Of 200 test images, wrong are: SteinGLM {counts[0]} and Glorot normal {counts[1]}."
    assert said in texts(app)
    assert html(app).count("taken for") == sum(min(count, imagepage.MOST) for count in counts)
    first = wrong[wrong["method"] == "glorot_normal"].iloc[0]
    assert imagewords.caption(first["digit"], first["taken_for"], first["probability"]) in html(app)


def test_an_initialization_by_method_is_that_of_all() -> None:
    rows, filters = imagemeasure.start(TINY)
    every = initialize(TINY)
    own, every = (
        each[each["quantity"] != "initialization_seconds"].reset_index(drop=True) for each in (rows, every)
    )
    pd.testing.assert_frame_equal(own, every)
    weights = starts(TINY)["steinglm.0.conv1_1.weight"]
    assert np.array_equal(filters["steinglm"], weights[:, 0].numpy())


def test_the_charts_tell_the_layers_names() -> None:
    rows, _ = imagemeasure.start(TINY)
    signal = charts.variance(rows, names=LAYERS)
    assert signal["layout"]["xaxis"]["ticktext"] == list(LAYERS[:-1])  # the output is no hidden layer
    spectrum = charts.spectrum(rows, layer=4, names=LAYERS)
    assert spectrum["layout"]["title"]["subtitle"]["text"].startswith("layer conv2_1, signed")
    assert "by layer dense" in words.signal(rows, names=LAYERS)
    assert words.spectrum(rows, 2, names=LAYERS).startswith("In layer conv1_2, SteinGLM's leading eigenvalue")


def test_filters_are_drawn_where_they_stand() -> None:
    weights = np.zeros((9, 3, 3))
    weights[5, 0, 2] = -2.0  # the last filter of the second row
    drawn = pictures.mosaic(weights, 2.0)
    frame, side = pictures.FRAME, 3 * pictures.CELL + 2 * pictures.FRAME
    step = side + pictures.GAP
    assert drawn.shape == (3 * step - pictures.GAP, 3 * step - pictures.GAP, 4)
    inside = drawn[step : step + side, 2 * step :][frame:-frame, frame:-frame]
    blue = (inside == [0, 114, 178, 255]).all(-1)
    assert blue[: pictures.CELL, -pictures.CELL :].all()
    assert blue.sum() == pictures.CELL**2


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 4)])
def test_a_png_holds_its_pixels(shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    with Image.open(BytesIO(pictures.png(pixels))) as file:
        assert file.format == "PNG"
        assert np.array_equal(np.asarray(file), pixels)


def test_words_in_pictures_are_escaped() -> None:
    drawn = pictures.digit(np.eye(2), 'a "3" & <b>', "<i>")
    assert 'alt="a &quot;3&quot; &amp; &lt;b&gt;"' in drawn
    assert "&lt;i&gt;" in drawn
    encoded = re.search(r'base64,([^"]+)', drawn)
    assert encoded is not None
    assert b64decode(encoded[1]) == pictures.png(255 * np.eye(2, dtype=np.uint8))


def test_the_errors_of_all_networks_are_counted() -> None:
    wrong = pd.DataFrame({"method": ["steinglm", "steinglm", "orthogonal"], "image": [3, 5, 5]})
    said = imagewords.errors(wrong, ["steinglm", "orthogonal"], 200)
    assert said == "Of 200 test images, wrong are: SteinGLM 2 and Orthogonal 1. 1 is wrong by every network."
    none = imagewords.errors(wrong[:0], ["steinglm"], 2000)
    assert none == "Of 2,000 test images, wrong are: SteinGLM 0."


def test_the_filters_sentence_measures_lengths_and_moves() -> None:
    before = {"steinglm": np.eye(9).reshape(9, 3, 3)}
    after = {"steinglm": 1.25 * before["steinglm"]}
    assert imagewords.filters(before, {}) == "Lengths of the nine filters before training: SteinGLM 1."
    assert imagewords.filters(before, after).endswith(
        "Training moves SteinGLM's by 25\u00a0% of their length."
    )
