"""The page "Method" as a script: its matrices and numbers are those of the library, its code is the library's."""

import json
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from steinglm.dashboard.matrixmap import heatmap
from steinglm.experiment import Experiment
from steinglm.walkthrough import STEPS, code_of, functions, walk

PAGE = Path(__file__).parents[2] / "pages" / "method.py"


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(str(PAGE), default_timeout=60)
    app.query_params.update(query)
    return app.run()


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ({"method_layer": "2"}, {"dataset": "diabetes", "width": 2}),
        (
            {"method_data": "Mammographic", "method_activation": "sigmoid", "method_score": "gaussian"},
            {"dataset": "mammographic", "width": 2, "activation": "sigmoid", "score": "gaussian"},
        ),
    ],
)
def test_the_steps_are_shown_with_their_numbers_and_their_code(
    query: dict[str, str], settings: dict[str, object]
) -> None:
    app = opened(**query)
    assert not app.exception and not app.error
    experiment = Experiment(depth=2, **settings)  # type: ignore[arg-type]
    walked = walk(experiment)
    step = walked.layers[int(query.get("method_layer", "1")) - 1]
    drawn = [
        json.loads(each.proto.json)["panels"][0]["figure"]["data"][0]["z"]
        for each in app.get("bidi_component")
    ]
    np.testing.assert_allclose(drawn[0], step.moment)
    np.testing.assert_allclose(drawn[1], step.V)
    np.testing.assert_allclose(app.dataframe[0].value["Bias b"], step.b)
    assert app.dataframe[1].value["Validation loss"].tolist() == list(walked.output.losses)
    task = "binary" if experiment.dataset == "mammographic" else "regression"
    expected = [code_of(each) for name in STEPS for each in functions(name, experiment.score, task)]
    assert [block.value for block in app.code] == expected


def test_what_a_link_forges_is_left_out() -> None:
    app = opened(method_data="<b>", method_units="999", method_layer="7")
    assert not app.exception and not app.error
    assert any("Diabetes: 442 rows" in caption.value for caption in app.caption)


def test_a_heat_map_is_symmetric_about_zero_and_keeps_its_first_row_on_top() -> None:
    figure = heatmap(np.array([[1.0, -3.0]]), ["a"], ["b", "c"], title="M", note="", across="x", down="y")
    (trace,) = figure["data"]
    assert (trace["zmin"], trace["zmax"]) == (-3, 3) and trace["text"] == [["a, b", "a, c"]]
    assert figure["layout"]["yaxis"]["range"] == [1.5, 0.5]
