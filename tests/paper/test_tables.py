"""Our tables stand beside the paper's numbers, cell by cell."""

import pandas as pd
import pytest

from steinglm.paper import study, tables


def made(names: tuple[str, ...], value: float = 0.5) -> pd.DataFrame:
    """Rows of a study of two depths in which the metric is `value`, plus a tenth in the second repeat."""
    return pd.DataFrame(
        [
            (name, depth, method, output, repeat, 0, "test_metric", -1, value + repeat / 10)
            for name in names
            for depth in (10, 20)
            for method in study.METHODS
            for output in study.OUTPUTS
            for repeat in (0, 1)
        ],
        columns=list(study.COLUMNS),
    )


def test_the_papers_numbers_are_all_there() -> None:
    counts = tables.published()["table"].value_counts()
    assert counts.to_dict() == {2: 80, 3: 80, 4: 32, 5: 32}
    first = tables.published().query("dataset == 'abalone' and depth == 10 and method == 'steinglm'")
    assert first[["mean", "sd"]].to_numpy().tolist() == [[0.0755, 0.0024]]


def test_a_line_a_cell_with_the_difference_in_pooled_sd() -> None:
    lines = tables.table(made(study.DATASETS["regression"]), 2)
    assert len(lines) == 5 * 2 * 5
    assert lines["dataset"].iloc[0] == "abalone"
    line = lines.query("dataset == 'abalone' and depth == 10 and method == 'steinglm'").iloc[0]
    assert (line["mean"], line["sd"], line["repeats"]) == pytest.approx((0.55, 0.1 / 2**0.5, 2))
    assert line["difference"] == pytest.approx((0.55 - 0.0755) / ((0.005 + 0.0024**2) / 2) ** 0.5)
    assert lines.query("method == 'steinglm_standardized'")["difference"].isna().all()


def test_the_ablation_averages_over_the_data_sets() -> None:
    lines = tables.table(made(study.DATASETS["binary"]), 5)
    assert len(lines) == 2 * 2 * 5
    assert set(lines["dataset"]) == {""}
    assert lines["mean"].tolist() == pytest.approx([0.55] * 20)
    assert lines.query("method == 'steinglm_standardized'")["paper_mean"].isna().all()


def test_a_part_of_the_study_gives_a_part_of_the_table() -> None:
    lines = tables.table(made(("abalone",)), 2)
    assert set(lines["dataset"]) == {"abalone"}
    text = tables.as_text(lines, 2)
    assert "0.5500 (0.0755)" in text
    assert text.index("SteinGLM") < text.index("Glorot normal") < text.index("Orthogonal")
    assert "own" in tables.as_text(tables.table(made(("abalone",)), 4), 4)
