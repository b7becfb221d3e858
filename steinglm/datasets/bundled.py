"""Four small data sets that come with scikit-learn, in their original units."""

from typing import Any

from steinglm.datasets.dataset import Dataset

__all__ = ["breast_cancer", "diabetes", "digits", "wine"]


def diabetes() -> Dataset:
    """Progression of diabetes after one year: 442 rows, 10 inputs, a regression.

    >>> diabetes().X.shape
    (442, 10)
    """
    table = _load("diabetes", scaled=False)
    return Dataset(
        name="diabetes",
        X=table.data,
        y=table.target,
        task="regression",
        description="Progression of diabetes after one year; scikit-learn (Efron et al., 2004), "
        "no licence stated",
        title="Diabetes",
    )


def breast_cancer() -> Dataset:
    """Benign (1) against malignant (0) tumours, scikit-learn's coding: 569 rows, 30 inputs, two classes.

    >>> int(breast_cancer().y.sum())
    357
    """
    table = _load("breast_cancer")
    return Dataset(
        name="breast_cancer",
        X=table.data,
        y=table.target,
        task="binary",
        description="Benign (positive) against malignant tumours; scikit-learn, from UCI Machine Learning "
        "Repository, data set 17 (Wolberg et al., 1993), CC BY 4.0",
        title="Breast Cancer",
    )


def digits() -> Dataset:
    """Handwritten digits as 8 x 8 images: 1797 rows, 64 inputs, ten classes.

    >>> int(digits().y.max())
    9
    """
    table = _load("digits")
    return Dataset(
        name="digits",
        X=table.data,
        y=table.target,
        task="multiclass",
        description="Handwritten digits of 8 x 8 pixels, ten classes; scikit-learn, from UCI Machine Learning "
        "Repository, data set 80 (Alpaydin and Kaynak, 1998), CC BY 4.0",
        title="Digits",
    )


def wine() -> Dataset:
    """Wines of three cultivars, by chemical analysis: 178 rows, 13 inputs, three classes.

    >>> wine().y.value_counts().sort_index().tolist()
    [59, 71, 48]
    """
    table = _load("wine")
    return Dataset(
        name="wine",
        X=table.data,
        y=table.target,
        task="multiclass",
        description="Three cultivars of wine, by chemical analysis; scikit-learn, from UCI Machine Learning "
        "Repository, data set 109 (Aeberhard and Forina, 1992), CC BY 4.0",
        title="Wine",
    )


def _load(name: str, **options: Any) -> Any:
    from sklearn import datasets  # to import it takes a second, which other data do not need

    return getattr(datasets, f"load_{name}")(as_frame=True, **options)
