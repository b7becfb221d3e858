"""A file in one call: held, trained on, and the same run from the code that is taken home."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from steinglm.__main__ import main
from steinglm.datasets import hold
from steinglm.exceptions import InvalidInputError
from steinglm.experiment import Experiment, Result, train
from steinglm.export import Source, code
from steinglm.tables.loading import Choices, Options, load_file
from tests.tables.test_corpus import N, X, Y, lines


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my houses.csv"
    content = lines("x;c;y;z", [str(x).replace(".", ",") for x in X], ["a", "b"] * 20, Y, X[::-1], sep=";")
    path.write_text(content.replace("a;", ";", 1))
    return path


def test_the_report_begins_with_what_the_reader_took_for_granted(file: Path) -> None:
    cleaned = load_file(file, Choices("y", missing="drop", leave_out=("z",)), Options(decimal=","))
    assert cleaned.report[0] == ("file", "Columns are separated by “;”.")
    assert ("z", "left out by choice") in cleaned.report
    assert cleaned.dataset.title == "my houses.csv" and len(cleaned.dataset.y) == N - 1


def test_equal_content_has_equal_names_and_other_choices_others(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "copy.csv"
    other.write_bytes(file.read_bytes())
    names = {load_file(path, Choices("y")).dataset.name for path in (file, other)}
    assert len(names) == 1
    assert load_file(file, Choices("y", leave_out=("z",))).dataset.name not in names
    assert load_file(file, Choices("z")).dataset.name not in names


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="No such file or directory"):
        load_file(tmp_path / "nowhere.csv")
    with pytest.raises(InvalidInputError, match="check its path"):
        load_file(tmp_path)


def test_the_code_to_take_home_reads_the_file_and_gives_the_same_numbers(file: Path) -> None:
    choices, options = Choices("y", "regression", "impute", leave_out=("z",)), Options(decimal=",")
    held = hold(load_file(file, choices, options).dataset)
    experiment = Experiment(dataset=held.dataset.name, depth=2, epochs=3, methods=("steinglm", "orthogonal"))
    *_, result = train(experiment)
    assert isinstance(result, Result)
    script = code(experiment, Source(file.name, options, choices))
    script += "print(result.summary.to_json(orient='records'))\n"
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": root},  # numpy's kernels may hang on variables
    )
    rows = json.loads(done.stdout.splitlines()[-1])
    assert [row["test_metric"] for row in rows] == pytest.approx(
        result.summary["test_metric"].tolist(), abs=1e-9
    )


def test_compare_on_a_file_tells_what_it_did(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = [
        "compare",
        "--data",
        str(file),
        "--target",
        "y",
        "--missing",
        "drop",
        "--depth",
        "2",
        "--epochs",
        "2",
    ]
    assert main([*line, "--leave-out", "z", "--decimal", ",", "--methods", "steinglm"]) == 0
    out, err = capsys.readouterr()
    assert "my houses.csv: 39 of 40 rows, 3 inputs, 'y' by regression" in err
    assert "1 row with missing values dropped (“c” 1)" in err
    assert "SteinGLM" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "yy"], "target must be one of x, c, y, z, got yy"),
        (["--target", "c", "--task", "regression"], "numbers for a regression"),
        (["--sheet", "x", "--delimiter", "::"], "delimiter must be one sign"),
    ],
)
def test_compare_on_a_file_refuses_in_one_line(
    options: list[str], message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--data", str(file), *options]) == 2
    assert message in capsys.readouterr().err
