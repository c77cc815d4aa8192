"""A made-up table of patients, from the CSV file to a saved policy and its predictions on another file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier, load_classifier
from support.patients import (
    GROUPS,
    NOT_FEATURES,
    PATIENT,
    PREREQUISITES,
    PRICES,
    RULES,
    TARGET,
    UNITS,
    features_and_labels,
    patients,
    write_patients,
)
from support.refusals import one_sentence, refused

CHEAPER: dict[str, Any] = RULES | {"lam": 0.05}
CLASSIFIERS: dict[str, Any] = {
    "lattice": LatticeClassifier(budget=4, unknown=0, random_state=0, **RULES),
    "rcpi": DatumWiseClassifier(n_iterations=5, random_state=0, **CHEAPER),
}


class Hospital(NamedTuple):
    """A policy that was trained on the file of a hospital, loaded from its own file, and rows that it has not seen."""

    data: fsgym.Dataset
    fitted: Any
    model: Any
    X: pd.DataFrame
    y: pd.Series


@pytest.fixture(scope="module", params=CLASSIFIERS)
def hospital(request, tmp_path_factory) -> Hospital:
    folder = tmp_path_factory.mktemp("hospital")
    table = patients()
    files = write_patients(folder, table[:1000])
    data = fsgym.load_dataset(files.table, target=TARGET, drop=NOT_FEATURES, row_groups=PATIENT)
    data = data.with_groups(GROUPS).replace(units=UNITS)
    options = {"costs": fsgym.load_costs(files.prices, data), "groups": None}
    fitted = CLASSIFIERS[request.param].set_params(**options).fit(data)
    fitted.save(folder / "policy.safetensors")
    write_patients(folder, table[1000:])  # a later file
    X, y = features_and_labels(pd.read_csv(files.table))
    return Hospital(data, fitted, load_classifier(folder / "policy.safetensors"), X, y)


def test_the_table_is_as_in_the_file(hospital):
    data = hospital.data
    assert (data.n_samples, len(data.columns), data.n_classes) == (1000, 12, 2)
    assert data.classes.tolist() == ["acs", "other"]
    assert data.acquisition_names == tuple(PRICES)
    assert [c.name for c in data.columns if c.kind == "category"] == ["sex", "arrival"]
    assert [c.name for c in data.columns if c.kind == "bool"] == ["smoker"]
    assert len(np.unique(data.row_groups)) < data.n_samples
    X, y = features_and_labels(patients())
    assert 0.08 < (y == "acs").mean() < 0.1
    assert X.isna().any().sum() >= 4
    assert patients().equals(patients())


def test_a_saved_policy_answers_like_the_fitted_one(hospital):
    _, fitted, model, X, y = hospital
    for name in ("predict", "features_used"):
        np.testing.assert_array_equal(getattr(model, name)(X), getattr(fitted, name)(X))
    pd.testing.assert_frame_equal(model.trajectories(X).to_frame(), fitted.trajectories(X).to_frame())
    assert repr(fsgym.evaluate(model, X, y)) == repr(fsgym.evaluate(fitted, X, y))
    assert list(model.feature_names_in_) == list(X.columns)


def test_predictions_do_not_depend_on_how_the_table_is_written(hospital):
    model, X = hospital.model, hospital.X
    answers, used = model.predict(X), model.features_used(X)
    variants = {
        "order": X[sorted(X, key=lambda name: name[::-1])],
        "extra columns": X.assign(visit=7, ward="b", note=None),
        "text": X.astype(object).where(X.notna(), None).map(lambda v: v if v is None else str(v)),
        "objects": X.astype(object),
        "nullable": X.convert_dtypes(),
        "categories": X.astype(
            {"sex": "category", "arrival": pd.CategoricalDtype([*X["arrival"].unique()[::-1], "x"])}
        ),
        "floats": X.assign(age=X["age"].astype(float), smoker=X["smoker"].astype(float), pain=X["pain"].astype("Int8")),
        "yes as words": X.assign(smoker=X["smoker"].map({True: " TRUE", False: "false "})),
        "labelled rows": X.set_axis(["row"] * len(X)),
        "a file": fsgym.load_dataset(
            X.assign(diagnosis=hospital.y), target=TARGET, category=["arrival"], numeric=["crp"]
        ),
    }
    for name, table in variants.items():
        np.testing.assert_array_equal(model.predict(table), answers, err_msg=name)
        np.testing.assert_array_equal(model.features_used(table), used, err_msg=name)


def test_one_row(hospital):
    model, X = hospital.model, hospital.X
    answers = model.predict(X[:12])
    for i in range(12):
        assert model.predict(X.iloc[i]).tolist() == [answers[i]]
        assert model.predict(X.iloc[i, ::-1]).tolist() == model.predict(X[i : i + 1]).tolist() == [answers[i]]


def test_a_missing_column_is_refused_or_unavailable(hospital):
    model, X, y = hospital.model, hospital.X, hospital.y
    without = X.drop(columns="troponin")
    for call in (model.predict, model.features_used, model.trajectories, lambda Z: fsgym.evaluate(model, Z, y)):
        refused(ValueError, r"must have the column 'troponin'.*missing_columns='unavailable'", without, call=call)
    answers = model.predict(without, missing_columns="unavailable")
    np.testing.assert_array_equal(answers, model.predict(X.assign(troponin=np.nan)))
    used = model.features_used(without, missing_columns="unavailable")
    assert not used[:, [list(X).index("troponin"), list(X).index("ct")]].any()  # the CT needs the troponin
    renamed = X.add_suffix("_2")
    for option in ("error", "unavailable"):
        refused(ValueError, "age.*got age_2", renamed, call=model.predict, missing_columns=option)
    refused(ValueError, "'error' or 'unavailable', got 'skip'", X, call=model.predict, missing_columns="skip")


def test_an_unseen_level_counts_as_unavailable_and_is_named(hospital):
    model, X = hospital.model, hospital.X
    with pytest.warns(UserWarning, match=r"levels of 'arrival' that training did not \('spaceship'\)") as caught:
        answers = model.predict(X.assign(arrival="spaceship"))
    assert len(caught) == 1
    np.testing.assert_array_equal(answers, model.predict(X.assign(arrival=None)))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"age": "old"}, "'age' must hold numbers, got 'old' in 500 cell"),
        ({"age": pd.Timestamp("2024-01-01")}, "'age' must hold numbers, got dates"),
        (
            {"age": pd.Series([pd.Timestamp("2024-01-01")] * 500, dtype=object)},
            "'age' must hold numbers, got Timestamp",
        ),
        ({"age": 1j}, "'age' must hold real numbers"),
        ({"crp": np.inf}, "'crp' must hold numbers from"),
        ({"smoker": "perhaps"}, "'smoker' must hold True or False, got 'perhaps'"),
        ({"smoker": 2}, "'smoker' must hold True or False, got '2'"),
    ],
    ids=str,
)
def test_cells_of_another_kind_are_refused(hospital, change, match):
    refused(ValueError, match, hospital.X.assign(**change), call=hospital.model.predict)


def test_tables_that_are_none_are_refused(hospital):
    model, X = hospital.model, hospital.X
    refused(ValueError, r"at least one row, got shape \(0, 12\)", X[:0], call=model.predict)
    refused(ValueError, "two columns 'age'", pd.concat([X, X[["age"]]], axis=1), call=model.predict)
    levels = pd.MultiIndex.from_product([["first"], X.columns])
    refused(ValueError, r"single texts, got \('first', 'age'\)", X.set_axis(levels, axis=1), call=model.predict)
    with pytest.raises(TypeError, match="must all be text, got 3"):
        model.predict(X.rename(columns={"age": 3}))


def test_the_evaluation_and_the_steps_agree(hospital):
    _, _, model, X, y = hospital
    result = fsgym.evaluate(model, X, y)
    steps = model.trajectories(X).to_frame()
    assert result.trajectories is not None
    pd.testing.assert_frame_equal(steps, result.trajectories.to_frame())
    per_row = steps.groupby("row")
    assert per_row["price"].sum().mean() == pytest.approx(result.spent)
    assert per_row["spent"].last().mean() == pytest.approx(result.spent)
    np.testing.assert_array_equal(per_row["answer"].last(), model.predict(X))
    asked = steps[steps["acquired"].notna()]
    assert len(asked) / len(X) == pytest.approx(result.n_acquisitions)
    assert set(asked["acquired"]) <= set(PRICES)
    assert (asked["price"] == asked["acquired"].map(PRICES)).all()
    shown = {name: set(part["value"]) for name, part in asked.groupby("acquired")}
    for name, values in shown.items():
        if name in UNITS:
            assert all(value.endswith(f" {UNITS[name]}") for value in values)
    assert shown.get("arrival", set()) <= set(X["arrival"])
    assert shown.get("smoker", set()) <= {"True", "False"}
    for order in asked.groupby("row")["acquired"].agg(list):
        assert "ct" not in order or "troponin" in order[: order.index("ct")]
    used = model.features_used(X)
    panel = [list(X).index(name) for name in GROUPS["blood_count"]]
    wbc, hgb, platelets = used[:, panel].T
    np.testing.assert_array_equal(hgb, platelets)  # which are never missing
    np.testing.assert_array_equal(wbc, hgb & X["wbc"].notna())


def test_the_policy_is_worth_its_price(hospital):
    _, _, model, X, y = hospital
    loss = fsgym.evaluate(model, X, y).loss
    share = (y == "acs").mean()
    unaided = min(40 * (1 - share), 1000 * share)  # without acquiring anything
    assert loss < 0.7 * unaided


def test_everything_comes_back_from_the_file(hospital):
    model = hospital.model
    assert model.groups == GROUPS
    assert model.costs == PRICES
    assert {name: needed for name, needed in model.prerequisites.items() if needed} == PREREQUISITES
    assert model.error_costs == {"acs": {"acs": 0.0, "other": 40.0}, "other": {"acs": 1000.0, "other": 0.0}}
    assert {c.name: c.unit for c in model.columns_ if c.unit} == UNITS
    assert model.columns_ == hospital.data.columns.with_ranges(hospital.data.X) == hospital.fitted.columns_
    assert model.rules_.names == hospital.data.acquisition_names
    assert model.rules_.state()[1] == hospital.fitted.rules_.state()[1]


def test_labels_that_are_unknown_are_one_sentence(hospital):
    with pytest.raises(ValueError, match="the label ill") as caught:
        fsgym.evaluate(hospital.model, hospital.X, hospital.y.replace("acs", "ill"))
    assert one_sentence(caught.value)
