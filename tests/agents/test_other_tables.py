"""Tables and labels of polars and Arrow: as those of pandas, at every door."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fsgym
from agents import LatticeClassifier


def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80), "w": rng.choice(["x", "y", "z"], 80)})
    return frame, np.where(frame["a"] + rng.normal(0, 0.3, 80) > 0, "p", "q")


def polars_of(values):
    polars = pytest.importorskip("polars", reason="needs polars, which the extra test installs")
    return polars.from_pandas(values) if isinstance(values, pd.DataFrame) else polars.Series("y", values)


def arrow_of(values):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow, which the extra parquet installs")
    return pyarrow.Table.from_pandas(values) if isinstance(values, pd.DataFrame) else pyarrow.array(values)


@pytest.mark.parametrize("other", [polars_of, arrow_of])
def test_tables_and_labels_of_other_libraries(other):
    X, y = table()
    model = LatticeClassifier(random_state=0).fit(X, pd.Series(y))
    again = LatticeClassifier(random_state=0).fit(other(X), other(y))
    assert again.policy_digest() == model.policy_digest()
    np.testing.assert_array_equal(again.predict(other(X)), model.predict(X))
    assert repr(fsgym.evaluate(model, other(X), other(y))) == repr(fsgym.evaluate(model, X, y))
    assert fsgym.describe(other(X)).equals(fsgym.describe(X))
    whole = X.assign(target=y)
    np.testing.assert_array_equal(fsgym.load_dataset(other(whole)).X, fsgym.load_dataset(whole).X)
    data = fsgym.Dataset(other(X[["a", "b"]]), other(y))
    assert (data.feature_names, data.n_classes) == (("a", "b"), 2)


def test_a_lazy_table_is_refused():
    X, y = table()
    with pytest.raises(TypeError, match=r"got a LazyFrame; pass its collect\(\)"):
        LatticeClassifier().fit(polars_of(X).lazy(), y)
