"""What is taken home is what was computed: the code reproduces the run, the files read back."""

import io
import json
import subprocess
import sys

import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load

from steinglm import export
from steinglm.experiment import Experiment, Result, summarize, train

SMALL = Experiment(dataset="diabetes", depth=2, epochs=3, methods=("steinglm", "he_normal"), seed=5)


@pytest.fixture(scope="module")
def result() -> Result:
    *_, last = train(SMALL)
    assert isinstance(last, Result)
    return last


def test_the_code_run_in_a_fresh_process_gives_the_same_test_metrics(result: Result) -> None:
    script = export.code(SMALL) + "print(result.summary.to_json(orient='records'))\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout.splitlines()[-1])
    # JSON has ten digits
    assert [row["test_metric"] for row in rows] == pytest.approx(
        result.summary["test_metric"].tolist(), abs=1e-9
    )


def test_the_code_measures_layers_on_as_many_rows_as_the_page() -> None:
    assert "initialize(experiment, max_rows=500)" in export.code(SMALL, max_rows=500)
    assert "initialize(experiment)" in export.code(SMALL)


def test_rows_read_back(result: Result) -> None:
    csv = pd.read_csv(io.BytesIO(export.as_csv(result.history)))
    parquet = pd.read_parquet(io.BytesIO(export.as_parquet(result.history)))
    pd.testing.assert_frame_equal(parquet, result.history)
    assert csv["value"].tolist() == result.history["value"].tolist()


def test_weights_read_back_with_the_experiment_that_made_them(
    result: Result, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = export.weights(result)
    state = load(data)
    assert state.keys() == result.state.keys()
    assert all(torch.equal(state[name], value) for name, value in result.state.items())
    path = tmp_path_factory.mktemp("weights") / "run.safetensors"
    path.write_bytes(data)
    with safe_open(path, "pt") as opened:
        assert Experiment.from_dict(json.loads(opened.metadata()["experiment"])) == SMALL


def test_summaries_of_the_same_run_are_equal(result: Result) -> None:
    assert summarize(result.summary)["method"].tolist() == ["steinglm", "he_normal"]
