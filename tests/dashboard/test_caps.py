"""What a teacher bounds is what the page offers and takes."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from steinglm.dashboard import caps
from steinglm.exceptions import InvalidInputError
from steinglm.experiment import Experiment

PAGE = Path(__file__).parents[2] / "pages" / "compare.py"


@pytest.mark.parametrize("name", caps.CAPS)
def test_a_variable_lowers_a_bound_and_never_raises_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert caps.most(name) == caps.CAPS[name]
    monkeypatch.setenv(f"STEINGLM_MAX_{name.upper()}", "7")
    assert caps.most(name) == 7
    monkeypatch.setenv(f"STEINGLM_MAX_{name.upper()}", "1000000")
    assert caps.most(name) == caps.CAPS[name]


@pytest.mark.parametrize("text", ["0", "-3", "many", "1.5", "1e3"])
def test_a_bound_that_is_no_number_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEINGLM_MAX_DEPTH", text)
    with pytest.raises(InvalidInputError, match="STEINGLM_MAX_DEPTH must be a whole number, 1 or more"):
        caps.most("depth")


def test_too_many_networks_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEINGLM_MAX_NETWORKS", "6")
    caps.check_networks(Experiment(methods=("steinglm", "orthogonal"), repeats=3))
    with pytest.raises(InvalidInputError, match="at most 6 on this server, got 4 methods x 2 repeats"):
        caps.check_networks(Experiment(repeats=2))
    app = AppTest.from_file(str(PAGE), default_timeout=60)
    app.query_params.update({"v": "1", "dataset": "diabetes", "depth": "2", "repeats": "2"})
    app.run()
    assert not app.exception
    assert "at most 6 on this server" in app.error[0].value
