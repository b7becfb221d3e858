"""scikit-learn's two tables, as scikit-learn has them."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

from steinglm.datasets import load


def test_diabetes_is_in_its_original_units() -> None:
    data, original = load("diabetes"), load_diabetes(scaled=False)
    assert data.task == "regression" and data.X.shape == (442, 10)
    np.testing.assert_array_equal(data.X, original.data)
    np.testing.assert_array_equal(data.y, original.target)


def test_breast_cancer_keeps_scikit_learns_coding() -> None:
    data, original = load("breast_cancer"), load_breast_cancer()
    assert data.task == "binary" and data.X.shape == (569, 30)
    np.testing.assert_array_equal(data.y, original.target)
