"""What is measured beside the answers to a numeric target: a constant, and a regression forest with all features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.metrics import NUMBER_FIGURES, mean_power

N_TREES = 100  # by hand
N_FOLDS = 5
MAX_ROWS = 20_000  # by hand: a forest of so many rows takes some seconds


def reference_errors(test: Dataset, train: Dataset | None = None) -> dict[str, dict[str, float]]:
    """The mean absolute and squared error of a constant and of a forest on the rows of a numeric target.

    Parameters
    ----------
    test : Dataset with ``bins``, whose rows are answered
    train : Dataset, optional
        The rows that both are fitted on, with the features of ``test``; by default the other rows of ``test``, in five
        folds, whole row groups together. Of more than 20,000 rows, a random part.

    Returns
    -------
    dict
        ``constant``, the median of the numbers, or their mean where the answers of the bins are means, and ``forest``;
        each a dict of ``absolute_error`` and ``squared_error``.

    Notes
    -----
    Of a forest whose leaves are single rows, the median over the trees is the one for the absolute error, and the mean
    that for the squared error.

    Raises
    ------
    ValueError
        If the target is not numeric.

    Examples
    --------
    >>> import numpy as np
    >>> from fsgym import Dataset
    >>> x = np.arange(40.0) % 4
    >>> found = reference_errors(Dataset(x[:, None], 10 * x, bins=2))
    >>> found["constant"]["absolute_error"], round(found["forest"]["absolute_error"], 1)
    (11.0, 0.0)
    """
    if test.bins is None or test.numbers is None:
        raise ValueError(f"{test.name!r} must have a numeric target; make it with Dataset(..., bins=16)")
    draw = np.random.default_rng(0).permutation
    if train is not None:
        rows = draw(train.n_samples)[:MAX_ROWS]
        predicted = _predictions(train.X[rows], train.target[rows], test.X, test.bins.answers)
        return _figures(predicted, test.numbers)
    rows = np.sort(draw(test.n_samples)[:MAX_ROWS])
    X, numbers = test.X[rows], test.numbers[rows]
    groups = np.arange(len(rows)) if test.row_groups is None else test.row_groups[rows]
    names = np.unique(groups)
    fold = (np.argsort(draw(len(names))) % N_FOLDS)[np.searchsorted(names, groups)]
    predicted = {name: np.full(len(rows), np.nan) for name in ("constant", "forest")}
    for k in range(N_FOLDS):
        out = fold == k
        if out.any() and not out.all():
            for name, part in _predictions(X[~out], numbers[~out], X[out], test.bins.answers).items():
                predicted[name][out] = part
    return _figures(predicted, numbers)


def _predictions(X: NDArray, numbers: NDArray, X_test: NDArray, answers: str) -> dict[str, NDArray[np.float64]]:
    from sklearn.ensemble import RandomForestRegressor

    constant = np.median(numbers) if answers == "median" else numbers.mean()
    forest = RandomForestRegressor(N_TREES, random_state=0).fit(X, numbers)
    of_trees = np.array([tree.predict(X_test.astype(np.float32)) for tree in forest.estimators_])
    return {
        "constant": np.full(len(X_test), constant),
        "forest": np.median(of_trees, axis=0) if answers == "median" else of_trees.mean(axis=0),
    }


def _figures(predicted: dict[str, NDArray[np.float64]], numbers: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    return {
        name: dict(zip(NUMBER_FIGURES, (mean_power(values - numbers, power) for power in (1, 2)), strict=True))
        for name, values in predicted.items()
    }
