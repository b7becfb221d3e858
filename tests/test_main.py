"""The command line in process: its three formats, what goes to which stream, and how it fails."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest

from steinglm import __main__ as cli
from steinglm import __version__
from steinglm.__main__ import main
from steinglm.commands import compare, sweep
from steinglm.commands.options import experiment
from steinglm.experiment import Experiment, summarize, train

FAST = ["compare", "--dataset", "diabetes", "--depth", "2", "--epochs", "2"]
METHODS = ["steinglm", "glorot_normal", "he_normal", "orthogonal"]


def output(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[str, str]:
    assert main([*FAST, *options]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_table_on_standard_output_and_progress_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, err = output(capsys, "--repeats", "2")
    header, *lines = out.splitlines()
    names = ["method", "test RMSE", "sd", "best validation loss", "best epoch", "init s", "train s"]
    assert header.split() == " ".join(names).split()
    assert [line.split("  ")[0].strip() or line.strip().split("  ")[0] for line in lines] == [
        "SteinGLM", "Glorot normal", "He normal", "Orthogonal",
    ]  # fmt: skip
    assert "2/2" in err
    assert "epoch" in err
    assert "2/2" not in out


def test_one_repeat_has_no_standard_deviation(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = output(capsys)
    assert " sd " not in out
    assert "nan" not in out


def test_lessons_are_measured_and_a_false_claim_is_a_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = (Path(__file__).parents[1] / "docs" / "lessons.md").read_text()
    example = document.split("```toml\n")[1].split("```")[0]
    path = tmp_path / "10-depth.toml"
    path.write_text(example)
    assert main(["lessons", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("depth\n  orthogonal preactivation_variance layer 40: ") and "x 0." in out
    path.write_text(example.replace('"above"', '"below"'))
    assert main(["lessons", str(path)]) == 1 and "DOES NOT HOLD" in capsys.readouterr().out
    path.write_text("title =")
    assert (
        main(["lessons", str(path)]) == 2 and "10-depth.toml must be a TOML file" in capsys.readouterr().err
    )


def test_two_classes_have_an_auc(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = output(capsys, "--dataset", "mammographic")
    assert "test AUC" in out


def test_json_is_the_experiment_and_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = output(capsys, "--format", "json", "--repeats", "2", "--alpha", "1", "--no-calibrate")
    document = json.loads(out)
    experiment = Experiment(dataset="diabetes", depth=2, epochs=2, repeats=2, alpha=1, calibrate=False)
    assert Experiment.from_dict(document["experiment"]) == experiment
    assert document["metric"] == "RMSE"
    *_, result = train(experiment)
    expected = summarize(result.summary)  # type: ignore[union-attr]
    for row, twin in zip(document["rows"], expected.to_dict("records"), strict=True):
        assert row["method"] == twin["method"]
        assert row["test_metric_mean"] == pytest.approx(twin["test_metric_mean"])
        assert row["test_metric_sd"] == pytest.approx(twin["test_metric_sd"])


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    out, _ = output(capsys, "--format", "json", "--methods", "steinglm")
    assert json.loads(out, parse_constant=refuse)["rows"][0]["epochs_to_best_baseline_mean"] is None


def test_csv_has_a_row_a_method(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = output(capsys, "--format", "csv", "--methods", "orthogonal, steinglm")
    table = pd.read_csv(io.StringIO(out))
    assert list(table["method"]) == ["orthogonal", "steinglm"]
    assert table["test_metric_mean"].between(0, 1).all()


@pytest.mark.parametrize(
    ("text", "alpha"), [("default", None), ("auto", "auto"), ("1", 1.0), ("2.5", 2.5), ("1e-3", 1e-3)]
)
def test_alpha_is_a_number_or_a_word(text: str, alpha: float | str | None) -> None:
    options = cli._parser().parse_args(["compare", "--alpha", text])
    assert experiment(options).alpha == alpha


def test_without_options_it_is_the_default_experiment() -> None:
    assert experiment(cli._parser().parse_args(["compare"])) == Experiment()


def test_every_setting_has_an_option() -> None:
    line = """compare --dataset magic --depth 3 --width 7 --activation relu --alpha auto --score gaussian
        --methods he_normal --output own --epochs 5 --batch-size 32 --learning-rate .01 --repeats 4 --seed 9
        --target-loss .5 --patience 6 --time-budget 60 --rows 500"""
    options = cli._parser().parse_args(line.split())
    assert experiment(options) == Experiment(
        dataset="magic", depth=3, width=7, activation="relu", alpha="auto", score="gaussian", methods=("he_normal",),
        output="own", epochs=5, batch_size=32, learning_rate=0.01, repeats=4, seed=9, target_loss=0.5, patience=6,
        time_budget=60, rows=500,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dataset", "iris"], "steinglm: data set must be a known name"),
        (["--depth", "0"], "steinglm: depth must be 1..200, got 0; one hidden layer is the smallest network"),
        (["--depth", "1000000000"], "steinglm: depth must be 1..200, got 1000000000"),
        (["--alpha", "0"], "steinglm: alpha must be a positive number"),
        (["--alpha", "-1"], "steinglm: alpha must be a positive number"),
        (["--alpha", "nan"], "steinglm: alpha must be a positive number"),
        (["--methods", ""], "steinglm: methods must be one or more of"),
        (["--methods", "steinglm,lecun"], "steinglm: methods must be one of"),
        (["--activation", "softmax"], "steinglm: activation must be one of"),
        (["--score", "third"], "steinglm: score must be one of"),
        (["--output", "all"], "steinglm: output must be one of"),
        (["--learning-rate", "0"], "steinglm: learning_rate must be a positive number"),
    ],
)
def test_bad_input_is_one_line_on_standard_error(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FAST, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "options", [["--depth", "ten"], ["--alpha", "large"], ["--format", "xml"], ["--nothing"]]
)
def test_what_cannot_be_parsed_exits_with_2_and_no_traceback(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*FAST, *options])
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error: " in captured.err
    assert "Traceback" not in captured.err


def test_an_interruption_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: Experiment) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "train", interrupted)
    assert main(FAST) == 130
    assert "steinglm: interrupted" in capsys.readouterr().err


def test_no_command_and_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code in (([], 2), (["--help"], 0), (["compare", "--help"], 0), (["--version"], 0)):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == code
    assert capsys.readouterr().out.endswith(f"{__version__}\n")


SWEEP = ["sweep", "--dataset", "diabetes", "--x", "alpha=0.5,1", "--y", "depth=1,2,0"]


def test_a_sweep_prints_a_grid_and_writes_every_quantity(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*SWEEP, "--out", str(tmp_path / "cells.csv")]) == 0
    out, err = capsys.readouterr()
    title, across, *lines, error = out.splitlines()
    assert title == "last_variance, SteinGLM; depth down, alpha across"
    assert across.split() == ["0.5", "1"]
    assert [line.split()[0] for line in lines] == ["1", "2", "0"]
    assert lines[2].split() == ["0", "-", "-"] and "2 without a value: depth must be" in error
    assert "6/6" in err
    rows = pd.read_csv(tmp_path / "cells.csv")
    assert [*rows.columns] == ["alpha", "depth", "last_variance", "chi_1", "initial_loss", "error"]
    assert float(lines[1].split()[2]) == pytest.approx(rows["last_variance"][3], rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--x", "beta=1"], "axis must be one of"),
        (["--x", "alpha=one"], "axis must be a setting with values"),
        (["--x", "depth=1,2"], "y must be another setting than x"),
        (["--method", "he_normal"], "axis must be a setting of the method"),
        (["--colour", "epochs_to_target"], "target_loss must be given"),
        (["--out", "cells.txt"], "out must be a name that ends in .csv or .parquet"),
    ],
)
def test_a_sweep_that_cannot_be_is_one_line(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SWEEP, *options]) == 2
    assert capsys.readouterr().err.startswith(f"steinglm: {message}")


def test_an_interrupted_sweep_says_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "_followed", interrupted)
    assert main(SWEEP) == 130
    assert "the same command goes on" in capsys.readouterr().err


@pytest.mark.slow
def test_paper_prints_its_tables_beside_the_papers_and_leaves_a_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ["--tables", "3", "--datasets", "mammographic", "--depths", "10", "--repeats", "2"]
    assert main(["paper", *options, "--folder", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "Table 3" in out
    assert "(0.8871)" in out  # the paper's number, beside ours
    assert "experiments" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "environment.json", "figure3.svg", "reproduction.md", "rows.parquet",
    ]  # fmt: skip
    assert "SteinGLM predicts better" in (tmp_path / "reproduction.md").read_text()


@pytest.mark.parametrize(
    "option", [("--tables", "9"), ("--datasets", "iris"), ("--depths", "11"), ("--repeats", "0")]
)
def test_paper_refuses_what_the_paper_has_not(
    capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    assert main(["paper", *option]) == 2
    assert capsys.readouterr().err.startswith("steinglm: ")


@pytest.mark.parametrize("command", ["compare", "sweep", "paper", "league"])
def test_help_says_defaults_that_say_something(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "(default: " in text
    for nothing in ("(default: None)", "(default: ())", "(default: False)", "(default: )", "None for"):
        assert nothing not in text
    if command == "compare":
        assert "determines everything random (default: 0)" in text


def test_what_is_nearly_a_name_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "--datasets", "abalon"]) == 2
    assert "did you mean 'abalone'?" in capsys.readouterr().err


def test_alpha_says_what_it_may_be(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "--alpha", "big"])
    assert "a number, default or auto was expected, got 'big'" in capsys.readouterr().err


def test_paper_needs_numbers_for_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["paper", "--depths", "ten"])
    assert (
        "whole numbers with commas between them, such as 10,40, were expected, got 'ten'"
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_league_prints_ranks_and_a_verdict_and_leaves_a_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ["--datasets", "mammographic", "--depths", "10", "--activations", "tanh", "--repeats", "1"]
    command = ["league", *options, "--epochs", "1", "--folder", str(tmp_path)]
    assert main(command) == 0
    first = capsys.readouterr()
    assert "mean_rank" in first.out and "SteinGLM (matched)" in first.out
    assert "too few data sets" in first.out or "we recommend the default" in first.out
    names = ["environment.json", "league.md", "league.svg", "rows.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert "# The league" in (tmp_path / "league.md").read_text()


def test_league_refuses_what_it_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["league", "--activations", "gelu"]) == 2
    assert capsys.readouterr().err.startswith("steinglm: activations must be of tanh, sigmoid, relu")
