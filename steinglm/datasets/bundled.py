"""Two small data sets that come with scikit-learn, in their original units."""

from sklearn.datasets import load_breast_cancer, load_diabetes

from steinglm.datasets.dataset import Dataset

__all__ = ["breast_cancer", "diabetes"]


def diabetes() -> Dataset:
    """Progression of diabetes after one year: 442 rows, 10 inputs, a regression.

    >>> diabetes().X.shape
    (442, 10)
    """
    table = load_diabetes(as_frame=True, scaled=False)
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
    table = load_breast_cancer(as_frame=True)
    return Dataset(
        name="breast_cancer",
        X=table.data,
        y=table.target,
        task="binary",
        description="Benign (positive) against malignant tumours; scikit-learn, from UCI Machine Learning "
        "Repository, data set 17 (Wolberg et al., 1993), CC BY 4.0",
        title="Breast Cancer",
    )
