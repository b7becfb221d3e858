"""Multi-index models to order: names that hold them completely, inputs as promised, directions that are there."""

from dataclasses import replace

import numpy as np
import pytest

from steinglm import datasets
from steinglm.datasets import workshop
from steinglm.datasets.workshop import DISTRIBUTIONS, LINKS, Recipe, parse
from steinglm.exceptions import InvalidInputError
from steinglm.stein import cross_moment, directions

MANY = Recipe(rows=50_000, inputs=6, noise=0.0)


def test_a_name_holds_the_whole_recipe() -> None:
    recipe = Recipe(321, 7, ("tanh", "bump", "sine"), "product", 1 / 3, "heavy_tailed", "binary", 99)
    assert parse(recipe.name) == recipe
    assert parse(workshop.PREFIX) == Recipe()
    assert datasets.canonical("multi_index:seed=5,rows=500") == replace(Recipe(), rows=500, seed=5).name
    longest = Recipe(
        50_000, 100, ("absolute",) * 5, "product", 1 / 3, "heavy_tailed", "regression", 2**32 - 1
    )
    assert len(longest.name) <= 200  # what a link reads of a value


def test_the_same_name_is_the_same_table_whatever_its_order() -> None:
    one, two = (
        datasets.load(f"multi_index:{text}")
        for text in ("rows=200,links=square,noise=0.5", "noise=.5,links=square,rows=200")
    )
    assert one.name == two.name and one.X.equals(two.X) and one.y.equals(two.y)
    other = datasets.load("multi_index:rows=200,links=square,noise=0.5,seed=1")
    assert not np.allclose(other.X, one.X)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_inputs_are_distributed_as_named(distribution: str) -> None:
    x = datasets.load(replace(MANY, distribution=distribution).name).X.to_numpy()
    z = (x - x.mean(0)) / x.std(0)
    skewness, kurtosis, R = (z**3).mean(0), (z**4).mean(0), np.corrcoef(x.T)
    near = lambda values, expected, by: np.testing.assert_allclose(values, expected, rtol=0, atol=by)  # noqa: E731
    if distribution == "mixture":
        assert abs(R - np.eye(6)).max() > 0.3  # three centers lie in a plane
        assert len(np.unique(np.round(x[:, 0] * 1e6))) > 10_000
        return
    near(x.mean(0), 0, 0.03)
    near(x.std(0), 1, 0.03)
    near(skewness, 2 if distribution == "skewed" else 0, 0.3 if distribution == "skewed" else 0.5)
    if distribution in ("normal", "correlated"):
        near(kurtosis, 3, 0.15)
    else:
        assert (kurtosis > 5).all()
    place = np.arange(6)
    expected = 0.7 ** abs(place[:, None] - place) if distribution == "correlated" else np.eye(6)
    near(R, expected, 0.03)


@pytest.mark.parametrize("link", LINKS)
def test_the_response_is_the_link_of_the_index(link: str) -> None:
    data = datasets.load(replace(MANY, rows=100, links=(link,)).name)
    assert data.directions is not None
    np.testing.assert_allclose(data.directions.T @ data.directions, 1)
    u = data.X.to_numpy() @ data.directions[:, 0]
    np.testing.assert_allclose(data.y, LINKS[link](u))


def test_links_are_summed_with_weights_or_multiplied() -> None:
    recipe = replace(MANY, rows=100, links=("square", "tanh", "cosine"))
    added, multiplied = (datasets.load(replace(recipe, combine=how).name) for how in ("sum", "product"))
    assert added.directions is not None
    u = added.X.to_numpy() @ added.directions
    parts = u[:, 0] ** 2, np.tanh(2 * u[:, 1]), np.cos(2 * u[:, 2])
    np.testing.assert_allclose(added.y, parts[0] + parts[1] / 2 + parts[2] / 4)
    np.testing.assert_allclose(multiplied.y, parts[0] * parts[1] * parts[2])


def test_noise_is_in_units_of_the_signal() -> None:
    silent, noisy = (datasets.load(replace(MANY, noise=noise).name) for noise in (0.0, 0.5))
    assert (noisy.y - silent.y).std() == pytest.approx(0.5 * silent.y.std(), rel=0.02)


def test_two_classes_are_drawn_with_the_odds_of_the_signal() -> None:
    data = datasets.load(replace(MANY, task="binary", links=("linear",)).name)
    assert data.task == "binary" and set(data.y) == {0, 1} and data.directions is not None
    u = data.X.to_numpy() @ data.directions[:, 0]
    for low, high in ((-1.0, -0.9), (0.4, 0.5), (1.0, 1.1)):
        own = (u > low) & (u < high)
        assert data.y[own].mean() == pytest.approx((1 / (1 + np.exp(-3 * u[own]))).mean(), abs=0.05)


def test_stein_finds_the_directions() -> None:
    data = datasets.load(replace(MANY, noise=0.2).name)
    V, _ = directions(cross_moment(data.X.to_numpy(), data.y.to_numpy()), 2)
    assert data.directions is not None
    cosines = np.linalg.svd(V.numpy().T @ data.directions, compute_uv=False)
    assert cosines.min() > 0.99


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rows=10", "rows must be 50..50000, got 10"),
        ("rows=1e9", "rows must be a whole number, got 1e9"),
        ("rows=" + "9" * 5000, "rows must be a whole number"),
        ("inputs=101", "inputs must be 1..100, got 101"),
        ("inputs=1", "directions must be 1..1, got 2; name a link function for each"),
        ("links=", "link must be one of linear"),
        ("links=squares", "did you mean 'square'"),
        ("links=square+square+square+square+square+square", "directions must be 1..5, got 6"),
        ("combine=max", "combine must be one of sum, product"),
        ("noise=-1", "noise must be a positive number up to 100"),
        ("noise=nan", "noise must be a positive number"),
        ("noise=loud", "noise must be a number, got loud"),
        ("distribution=cauchy", "distribution must be one of normal"),
        ("task=multiclass", "task must be one of regression, binary"),
        ("seed=-1", "seed must be a whole number"),
        ("colour=red", "setting of a multi-index model must be one of rows"),
        ("rows", "rows must be a whole number"),
    ],
)  # fmt: skip
def test_a_recipe_that_cannot_be_drawn_is_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        datasets.load(workshop.PREFIX + name)
    assert message in str(raised.value)


def test_the_task_of_the_smallest_model_can_be_prepared() -> None:
    for task in workshop.TASKS:
        data = datasets.load(replace(Recipe(rows=50, inputs=1, links=("linear",)), task=task).name)
        split = datasets.prepare(data, 0)
        assert split.directions is not None and split.directions.shape == (1, 1)
