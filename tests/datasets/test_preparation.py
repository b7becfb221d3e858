"""From table to tensors: golden spectra, scikit-learn as a twin, and every kind of bad table."""

import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from steinglm.datasets import Dataset, Split, design, load, names, prepare
from steinglm.exceptions import InvalidInputError

HERE = tuple(name for name in names() if name != "parkinsons")

# Eigenvalues, ordered by magnitude, of M = (1/n) sum_i y_i (x_i x_i^T - I) over all n complete rows: x
# one-hot encoded, standardized with the population sd; y scaled to [0, 1] or 0/1. From another program.
GOLDEN = {
    "abalone": "1.7279001408 -0.3190601594 -0.3164763364 -0.3149174551 -0.2955049649 "
    "-0.27357647 -0.2720701202 -0.2338196076 0.2174483098 -0.0397276679",
    "magic": "1.6723476966 -0.637660117 -0.6158659096 -0.5744294183 -0.525024546 "
    "-0.4601070984 -0.373955341 -0.3638297042 -0.2051336351 -0.131540509",
}


def table(n: int = 20, **columns: object) -> Dataset:
    X = pd.DataFrame({"a": np.arange(n) % 7, "b": np.arange(n) ** 2.0} | columns)
    return Dataset("mine", X, pd.Series(np.arange(n) * 3.0), "regression", "", "Mine")


def parts(split: Split) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [
        (split.X_train, split.y_train),
        (split.X_validation, split.y_validation),
        (split.X_test, split.y_test),
    ]


@pytest.mark.parametrize("name", GOLDEN)
def test_the_design_reproduces_golden_spectra(name: str) -> None:
    X, y = (part.to_numpy() for part in design(load(name)))
    h = (X - X.mean(axis=0)) / X.std(axis=0)
    M = (h * y[:, None]).T @ h / len(y) - y.mean() * np.eye(h.shape[1])
    eigenvalues = np.linalg.eigvalsh(M)
    eigenvalues = eigenvalues[np.argsort(-abs(eigenvalues))]
    np.testing.assert_allclose(eigenvalues, np.array(GOLDEN[name].split(), dtype=float), rtol=0, atol=1e-8)


def test_the_design_is_scikit_learns() -> None:
    data = load("bank_marketing")
    X, _ = design(data)
    categories = data.X.select_dtypes("category")
    expected = OneHotEncoder(sparse_output=False).fit_transform(categories.astype(str))
    encoded = X[[name for name in X.columns if "=" in name]]
    assert sorted(expected.sum(axis=0)) == sorted(encoded.sum())
    assert (X.drop(columns=encoded.columns) == data.X.drop(columns=categories.columns)).all(axis=None)


@pytest.mark.parametrize("name", HERE)
def test_the_training_part_is_standardized_and_nothing_is_lost(name: str) -> None:
    data = load(name)
    split = prepare(data, seed=3)
    n = len(design(data)[0])
    n_train, n_validation, n_test = (len(y) for _, y in parts(split))
    assert n_train + n_validation + n_test == n
    assert n_test == round(0.2 * n) and n_validation == round(0.2 * (n - n_test))
    highest = split.outputs - 1 if data.task == "multiclass" else 1
    for X, y in parts(split):
        assert X.dtype == y.dtype == torch.float64 and X.is_contiguous()
        assert X.shape == (len(y), len(split.features)) and X.isfinite().all()
        assert y.min() >= 0 and y.max() <= highest
    assert split.X_train.mean(0).abs().max() < 1e-9
    assert (split.X_train.var(0, correction=0) - 1).abs().max() < 1e-9
    y = torch.cat([y for _, y in parts(split)])
    assert y.min() == 0 and y.max() == highest
    assert split.task == data.task


def test_held_out_rows_are_standardized_by_the_training_part() -> None:
    data = load("power_plant")
    split = prepare(data, seed=1)
    order = np.random.default_rng(1).permutation(len(data.X))
    test, train = order[:1914], order[1914 + 1531 :]
    scaler = StandardScaler().fit(data.X.to_numpy()[train])
    np.testing.assert_allclose(split.X_test, scaler.transform(data.X.to_numpy()[test]), atol=1e-10)


def test_a_seed_fixes_the_split_and_no_global_stream_is_touched() -> None:
    data = table(100)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # type: ignore[index]
    first, again, other = prepare(data, 5), prepare(data, np.int64(5)), prepare(data, 6)  # type: ignore[arg-type]
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # type: ignore[index]
    assert before[:2] == after[:2] and torch.equal(before[2], after[2])
    assert torch.equal(first.X_train, again.X_train) and torch.equal(first.y_test, again.y_test)
    assert not torch.equal(first.y_test, other.y_test)


def test_rows_with_missing_values_are_dropped() -> None:
    data = table()
    data.X.loc[0, "b"] = np.nan
    data.y[1] = np.nan
    X, y = design(data)
    assert list(X.index) == list(y.index) == list(range(2, 20))
    assert y.min() == 0 and y.max() == 1


def test_columns_by_kind() -> None:
    kinds = {
        "two": [1, 2] * 10,
        "flag": [True, False] * 10,
        "nullable": pd.array([1, 2] * 10, dtype="Int64"),
        "text": ["u", "v", "v", "w"] * 5,
        "sort": pd.Categorical(["x", "y"] * 10, categories=["z", "y", "x"]),
        "constant": [4.0] * 20,
    }
    X, _ = design(table(20, **kinds))
    numbers = ["a", "b", "two", "flag", "nullable"]
    assert list(X.columns) == [*numbers, "text=u", "text=v", "text=w", "sort=y", "sort=x"]
    assert (X.dtypes == np.float64).all()
    assert list(X["text=v"][:4]) == [0, 1, 1, 0]


def test_a_level_seen_in_held_out_rows_only_is_zero_in_training() -> None:
    data = table(20, rare=["once"] + ["often"] * 19)
    held_out = next(seed for seed in range(99) if 0 in np.random.default_rng(seed).permutation(20)[:7])
    assert design(data)[0].shape[1] == 4
    split = prepare(data, held_out)
    assert split.features == ("a", "b", "rare=often", "rare=once")
    assert (split.X_train[:, 2:] == 0).all()


def test_known_directions_follow_the_standardization() -> None:
    data = load("synthetic_quadratic")
    stretched = replace(data, X=data.X * np.arange(1.0, 11.0) + 5)
    assert data.directions is not None
    stretched = replace(stretched, directions=data.directions / np.arange(1.0, 11.0)[:, None])
    split, plain = prepare(stretched, 0), prepare(data, 0)
    assert split.directions is not None and plain.directions is not None
    assert torch.allclose(split.directions.T @ split.directions, torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(split.directions, plain.directions)
    u = stretched.X.to_numpy() @ stretched.directions  # the indices, and z must determine them
    order = np.random.default_rng(0).permutation(len(u))
    z = split.X_test.numpy() @ split.directions.numpy()
    fit = np.column_stack([z, np.ones(len(z))])
    assert np.linalg.lstsq(fit, u[order[: len(z)]])[1].max() < 1e-16


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (table(9), "10 or more rows without missing values, got 9"),
        (table(20, a=[np.nan] * 11 + [1.0] * 9), "got 9"),
        (table(20, a=[np.inf] + [1.0] * 19), r"X\['a'\] must be finite, got 1 infinite values"),
        (table(20, a=pd.date_range("2020-01-01", periods=20)), r"numbers or categories, got datetime64"),
        (table(2000, a=[str(i) for i in range(2000)]), "at most 1000 levels, got 2000 levels"),
        (table(20, a=[1] * 20, b=2), "at least one column that varies"),
        (table(20, **{"a=u": np.arange(20), "a": ["u", "v"] * 10}), "different column names"),
        (replace(table(), y=pd.Series([2.5] * 20)), "two or more values, got 2.5 in every row"),
        (replace(table(), y=pd.Series([np.inf, 1.0] * 10)), "y must be finite"),
        (replace(table(), y=pd.Series(["no", "yes"] * 10)), "y must be numbers"),
        (replace(table(), y=pd.Series([1] * 20), task="binary"), "two classes, got 1 in every row"),
        (replace(table(), y=pd.Series([1, 2] * 10), task="binary"), "code the positive class as 1"),
        (replace(table(), y=pd.Series(["no", "yes"] * 10), task="binary"), "code the positive class as 1"),
        (replace(load("synthetic_saddle"), X=load("synthetic_saddle").X.round().astype(str)), "numeric"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_the_cure(data: Dataset, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        prepare(data, 0)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1", None])
def test_a_bad_seed_is_refused(seed: int) -> None:
    with pytest.raises(InvalidInputError, match="seed must be an integer, 0 or more"):
        prepare(table(), seed)


def test_a_training_part_of_one_class_is_refused() -> None:
    data = replace(table(), y=pd.Series([1] + [0] * 19), task="binary")
    held_out = next(seed for seed in range(99) if 0 in np.random.default_rng(seed).permutation(20)[:7])
    with pytest.raises(InvalidInputError, match="training part, got 0 in each of its 13 rows"):
        prepare(data, held_out)


def test_a_training_part_of_constants_is_refused() -> None:
    data = table(20, a=[1] + [0] * 19, b=5)
    held_out = next(seed for seed in range(99) if 0 in np.random.default_rng(seed).permutation(20)[:7])
    with pytest.raises(InvalidInputError, match="varies in the training part, got constants"):
        prepare(data, held_out)


def classes(*codes: float, n: int = 40) -> Dataset:
    y = pd.Series([codes[i % len(codes)] for i in range(n)])
    return Dataset("classes", pd.DataFrame({"x": np.arange(n) % 7}), y, "multiclass", "made here", "Classes")


def test_more_classes_stay_codes_and_are_counted() -> None:
    split = prepare(load("wine"), seed=0)
    assert (split.task, split.outputs) == ("multiclass", 3)
    assert set(torch.cat([y for _, y in parts(split)]).tolist()) == {0.0, 1.0, 2.0}
    assert prepare(load("digits"), seed=0).outputs == 10
    assert prepare(load("breast_cancer"), seed=0).outputs == prepare(load("abalone"), seed=0).outputs == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            classes(0, 1, 2.5),
            "y must be 0, 1, 2, ... below 1000 for classes, got 3 values from 0 to 2.5; code",
        ),
        (classes(-1, 0, 1), "y must be 0, 1, 2, ... below 1000 for classes, got 3 values from -1 to 1"),
        (classes(0, 1, 5000), "y must be 0, 1, 2, ... below 1000"),
        (classes(1, 1), "y must be of two classes, got 1 in every row"),
        (classes(0, 1, 3), "y must be of every class in the training part, got none of class 2"),
    ],
)
def test_codes_that_are_no_classes_are_refused(data: Dataset, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        prepare(data, seed=0)


def test_several_responses_are_scaled_column_by_column() -> None:
    X = pd.DataFrame({"x": np.arange(40.0)})
    y = pd.DataFrame({"a": np.arange(40) * 3.0 - 5, "b": np.arange(40)[::-1] ** 2})
    y.loc[7, "b"] = np.nan
    table, responses = design(Dataset("several", X, y, "regression", "made here", "Several"))
    assert len(table) == len(responses) == 39  # the row with a missing response is dropped
    assert responses.min().tolist() == [0, 0] and responses.max().tolist() == [1, 1]
    split = prepare(Dataset("several", X, y, "regression", "made here", "Several"), seed=0)
    assert split.outputs == 2
    assert split.y_train.shape == (len(split.X_train), 2)
