"""The report says what the rows say, for the whole study and for a part, and is the same for the same rows."""

from xml.etree import ElementTree as ET

import pytest

from steinglm.paper import report, study
from tests.paper.test_claims import made

ENVIRONMENT = {
    "versions": {"steinglm": "1"}, "processor": "P", "cores": 2, "wall_seconds": 120.0,
    "experiments": [
        {
            "output": "paper", "score": "identity", "methods": ["steinglm", "orthogonal"], "repeats": 2, "epochs": 100,
            "initialization_seconds": {"steinglm": 0.2, "orthogonal": 0.1}, "training_seconds": 40.0,
        }
    ],
}  # fmt: skip


def test_the_report_has_every_part() -> None:
    rows = made(steinglm=0.01)
    text = report.markdown(rows, ENVIRONMENT)
    assert "4,000 trained networks" in text
    assert "The run took 2.0 minutes" in text
    assert "SteinGLM predicts better than every benchmark (Tables 2 and 3).** It **holds**." in text
    assert "against Orthogonal with GLM: better in 40 of 40 rows" in text
    for number in (2, 3, 4, 5):
        assert f"## Table {number}" in text
    assert "| abalone | 10 | 0.4" in text
    assert "0.0755 ± 0.0024" in text
    assert (
        "| SteinGLM | 0.2000 | 2.00 |" in text
    )  # an epoch of one network: 40 s / 100 epochs / 4 networks = 0.1 s
    assert text == report.markdown(rows.sample(frac=1, random_state=0), ENVIRONMENT)


def test_means_far_from_the_papers_are_named() -> None:
    far = report.outside(made())
    assert set(far["method"]) == set(study.METHODS) - {"steinglm_standardized"}
    assert (far["away"].abs() > report.LIMIT).all()
    assert "- SteinGLM on abalone, depth 10: 0." in report.markdown(made(), ENVIRONMENT)


@pytest.mark.parametrize("number", report.FIGURES)
def test_a_figure_has_a_panel_a_depth_and_a_line_a_method(number: int) -> None:
    root = ET.fromstring(report.figure(made(steinglm=0.1), number))
    lines = list(root.iter("{http://www.w3.org/2000/svg}path"))
    curves = [line for line in lines if line.get("fill") == "none"]
    assert len(curves) == len(study.DEPTHS) * len(study.METHODS)
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"10 layers", "40 layers", "SteinGLM", "Orthogonal"} <= set(words)


def test_a_part_of_the_study_has_a_report_too() -> None:
    part = made().query("dataset == 'abalone' and depth == 10 and output == 'glm'")
    assert report.figures_of(part) == [2]
    text = report.markdown(part, ENVIRONMENT | {"experiments": []})
    assert "## Table 3" not in text
    assert "No times were measured." in text
    ET.fromstring(report.figure(part, 2))
