"""Tables of real and generated data for fitting methods, and the check that a method reports its usage honestly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification


def one_hot(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four categories in one-hot codes, one column twice, and a label of three classes: dependent columns."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(n, 4))
    y = np.where(rng.random(n) < 0.8, codes[:, 0], codes[:, 1])
    X = np.hstack([np.eye(3)[codes[:, j]] for j in range(4)])
    return np.hstack([X, X[:, :1]]), y


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    X, y = load_digits(return_X_y=True)
    wide = make_classification(60, 90, n_informative=5, random_state=1)
    return {
        "binary": load_breast_cancer(return_X_y=True),
        "three": load_wine(return_X_y=True),
        "constant columns": (X[:300], y[:300]),
        "dependent": one_hot(),
        "wide": (wide[0], np.where(wide[1] == 1, "no", "yes")),
    }


TABLES = tables()


def honest_usage_of_columns(model: Any, X: pd.DataFrame) -> np.ndarray:
    """As ``honest_usage``, for a table with categories: a column that is not used may have any other valid value."""
    used, answers, rng = model.features_used(X), model.predict(X), np.random.default_rng(0)
    assert used.shape == X.shape
    steps = model.trajectories(X).to_frame()
    for huge in (1.0, 1e30):
        changed = X.copy()
        for k, name in enumerate(X):
            cells = X[name]
            if pd.api.types.is_float_dtype(cells.dtype):
                others = pd.Series(rng.uniform(-huge, huge, len(X)), X.index)
            else:
                others = pd.Series(rng.choice(cells.dropna().unique(), len(X)), X.index)
            changed[name] = cells.where(used[:, k] | cells.isna(), others)
        assert not changed.equals(X)
        np.testing.assert_array_equal(model.predict(changed), answers)
        np.testing.assert_array_equal(model.features_used(changed), used)
        pd.testing.assert_frame_equal(model.trajectories(changed).to_frame(), steps)
    return used


def honest_usage(model: Any, X: np.ndarray, *, largest: float = 1e300) -> np.ndarray:
    """The features that a fitted method uses, checked: changing values that it does not use changes no answer."""
    used, answers, rng = model.features_used(X), model.predict(X), np.random.default_rng(0)
    assert used.shape == X.shape
    assert used.dtype == bool
    for huge in (1.0, 1e30, largest):
        corrupted = np.where(used, X, rng.uniform(-huge, huge, X.shape))
        np.testing.assert_array_equal(model.predict(corrupted), answers)
        np.testing.assert_array_equal(model.features_used(corrupted), used)
    return used
