"""Names and labels mean the same in any order and form, and a wrong one is refused in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier
from support.refusals import refused

CLASSES = ["acs", "other", "stroke"]
GROUPS = {"blood": ["wbc", "hgb"], "basics": ["age", "sex"]}
COSTS = {"basics": 0.5, "blood": 3.0, "crp": 2.0, "fever": 1.0, "ward": 0.25}
DEARER = {"basics": 1.0, "blood": 4.0, "crp": 2.5, "fever": 1.0, "ward": 0.5}
NEEDS = {"blood": ["basics", "ward"], "crp": ["ward"]}
RELATED = {"blood": ["crp", "fever"], "crp": ["blood"], "fever": ["blood"]}
ERRORS = {
    "acs": {"other": 1.0, "stroke": 2.0, "acs": 0.0},
    "other": {"acs": 3.0, "stroke": 2.5, "other": 0.0},
    "stroke": {"acs": 2.0, "other": 1.5, "stroke": 0.0},
}
OPTIONS: dict[str, Any] = {
    "lam": 0.02,
    "groups": GROUPS,
    "costs": COSTS,
    "unrelated_costs": DEARER,
    "related": RELATED,
    "prerequisites": NEEDS,
    "error_costs": ERRORS,
}
ESTIMATORS: dict[str, Any] = {
    "rcpi": DatumWiseClassifier(n_iterations=4, random_state=0),
    "lattice": LatticeClassifier(unknown=0, effort=0.1, random_state=0),
}


def small_table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    sick = rng.integers(0, 3, rows)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 90, rows) + 9 * sick,
            "crp": np.where(rng.random(rows) < 0.1, np.nan, (rng.random(rows) + sick).round(2)),
            "fever": rng.random(rows) < 0.2 + 0.3 * sick,
            "hgb": rng.normal(14, 1, rows).round(2),
            "sex": rng.choice(["f", "m"], rows),
            "ward": np.where(rng.random(rows) < 0.5, rng.choice(["er", "gp", "icu"], rows), "gp"),
            "wbc": (rng.normal(8, 2, rows) + 3 * (sick == 2)).round(2),
        }
    )
    return X, pd.Series(np.array(CLASSES)[sick])


X, Y = small_table()


def shown(model: Any, table: pd.DataFrame) -> dict[str, bytes]:
    """What a model predicts for a table, with everything by name, as bytes."""
    steps = model.trajectories(table).to_frame()
    steps["value"] = [v if pd.isna(v) else ", ".join(sorted(v.split(", "))) for v in steps["value"]]
    used = pd.DataFrame(model.features_used(table), columns=list(model.feature_names_in_))
    result = {
        "predict": "".join(model.predict(table)).encode(),
        "used": used[sorted(used)].to_csv().encode(),
        "steps": steps.sort_values(["row", "step"]).to_csv().encode(),
    }
    if hasattr(model, "predict_proba"):
        result["proba"] = model.predict_proba(table).tobytes()
    return result


@pytest.fixture(scope="module")
def expected():
    models = {name: clone(model).set_params(**OPTIONS).fit(X, Y) for name, model in ESTIMATORS.items()}
    result = {name: shown(model, X) for name, model in models.items()}
    for model in models.values():
        assert len(set(model.predict(X))) > 1
        assert model.features_used(X).any(axis=0).sum() > 2
    return result


@st.composite
def mixed(draw, mapping):
    """The mapping, and the lists and mappings in it, in another order."""
    keys = draw(st.permutations(list(mapping)))
    parts = {}
    for key in keys:
        value = mapping[key]
        if isinstance(value, list):
            value = draw(st.permutations(value))
        parts[key] = draw(mixed(value)) if isinstance(value, dict) else value
    return parts


@st.composite
def error_costs(draw):
    """The error costs as a mapping or a DataFrame, with or without names of the axes."""
    rows = draw(mixed(ERRORS))
    form = draw(st.sampled_from(["mapping", "wrong answers only", "table", "named table"]))
    if form == "mapping":
        return rows
    if form == "wrong answers only":
        return {answer: {truth: v for truth, v in row.items() if truth != answer} for answer, row in rows.items()}
    table = pd.DataFrame(rows).T[draw(st.permutations(CLASSES))]
    if form == "named table":
        table = table.rename_axis(index=draw(st.sampled_from(["answer", "Predicted"])), columns="truth")
    return table


@st.composite
def all_options(draw):
    """The options of the rules with every label in any order, and mappings of prices as Series, too."""
    options = {name: draw(mixed(OPTIONS[name])) for name in ("groups", "prerequisites", "costs", "unrelated_costs")}
    for name in ("costs", "unrelated_costs"):
        options[name] = draw(st.sampled_from([dict, pd.Series]))(options[name])
    related = draw(mixed(RELATED))
    if draw(st.booleans()):
        pairs = [draw(st.permutations(["blood", other])) for other in RELATED["blood"]]
        related = draw(st.permutations(pairs))
    return options | {"lam": OPTIONS["lam"], "related": related, "error_costs": draw(error_costs())}


columns_in_any_order = st.permutations(list(X))


def training_arguments(table: pd.DataFrame, form: str, mixed_groups: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    """What ``fit`` takes: a table with labels, or a data set, with groups of its own or not."""
    if form == "table":
        return table, Y
    data = fsgym.load_dataset(table.assign(sick=Y), target="sick")
    if form == "grouped data set":
        options["groups"] = None
        data = data.with_groups(mixed_groups)
    return (data,)


@pytest.mark.parametrize("name", ESTIMATORS)
@settings(max_examples=12, deadline=None)
@given(
    options=all_options(),
    fitted=columns_in_any_order,
    predicted=columns_in_any_order,
    form=st.sampled_from(["table", "data set", "grouped data set"]),
)
@pytest.mark.one_in(2)
def test_orders_and_forms_do_not_matter(expected, name, options, fitted, predicted, form):
    arguments = training_arguments(X[fitted], form, options["groups"], options)
    model = clone(ESTIMATORS[name]).set_params(**options).fit(*arguments)
    assert list(model.feature_names_in_) == fitted
    assert shown(model, X[predicted]) == expected[name]


@settings(max_examples=10, deadline=None)
@given(order=columns_in_any_order)
def test_a_dataset_of_numbers_in_any_order(order):
    numbers = X[["age", "crp", "hgb", "wbc"]]
    order = [name for name in order if name in numbers]
    groups = {"blood": ["hgb", "wbc"]}
    model = clone(ESTIMATORS["rcpi"]).set_params(groups=groups, lam=0.02)
    first = shown(clone(model).fit(numbers, Y), numbers)
    data = fsgym.Dataset(numbers[order].to_numpy(), Y, feature_names=order)
    again = clone(model).fit(data)
    assert shown(again, numbers) == first
    assert again.predict(data).tolist() == again.predict(numbers).tolist()
    assert fsgym.evaluate(again, data).loss == fsgym.evaluate(again, numbers, Y).loss


def test_error_costs_by_label_and_by_position_agree():
    by_position = [[ERRORS[a][t] for t in CLASSES] for a in CLASSES]
    models = [
        clone(ESTIMATORS["rcpi"]).set_params(error_costs=costs, lam=0.05).fit(X, Y)
        for costs in (ERRORS, by_position, np.array(by_position), pd.DataFrame(by_position, CLASSES, CLASSES))
    ]
    for model in models:
        assert model.rules_.error_costs.tolist() == by_position
        assert shown(model, X) == shown(models[0], X)
    numbers = pd.DataFrame(by_position)  # labels 0, 1, 2, which are the classes and the positions
    codes = Y.map({name: k for k, name in enumerate(CLASSES)})
    for costs in (numbers, numbers.loc[[2, 0, 1], [1, 2, 0]], numbers.rename(columns=str), numbers.to_dict("index")):
        rules = clone(ESTIMATORS["rcpi"]).set_params(error_costs=costs).fit(X, codes).rules_
        assert rules.error_costs.tolist() == by_position
    swapped = pd.DataFrame(by_position, CLASSES, CLASSES)
    for names in ({"index": "truth"}, {"columns": "answer"}, {"index": "Actual", "columns": "Predicted"}):
        wrong = clone(ESTIMATORS["rcpi"]).set_params(error_costs=swapped.rename_axis(**names))
        refused(ValueError, "error_costs must have the answers as its index", X, Y, call=wrong.fit)


def renamed(mapping, old, new):
    return {new if key == old else key: value for key, value in mapping.items()}


FRAME = pd.DataFrame(ERRORS).T
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a price": ({"costs": renamed(COSTS, "crp", "crb")}, "costs names 'crb'"),
    "a price of a Series": ({"costs": pd.Series(renamed(COSTS, "ward", "wards"))}, "costs names 'wards'"),
    "a price too many": ({"costs": COSTS | {"wbc": 1.0}}, "costs names 'wbc'"),  # a column of a group
    "no price": ({"costs": {k: v for k, v in COSTS.items() if k != "blood"}}, "no price for 'blood'"),
    "a price of nothing": ({"costs": pd.Series(COSTS | {"crp": np.nan})}, "no price for 'crp'"),
    "a price twice": ({"costs": pd.Series([*COSTS.values(), 1.0], [*COSTS, "crp"])}, "two prices for 'crp'"),
    "an unrelated price": ({"unrelated_costs": renamed(DEARER, "crp", "crb")}, "unrelated_costs names 'crb'"),
    "an answer": ({"error_costs": renamed(ERRORS, "acs", "asc")}, "error_costs.*'asc'"),
    "a truth": ({"error_costs": ERRORS | {"acs": renamed(ERRORS["acs"], "other", "othr")}}, "'acs'.*'othr'"),
    "no answer": ({"error_costs": {k: ERRORS[k] for k in ("acs", "other")}}, "answering 'stroke'"),
    "no truth": ({"error_costs": ERRORS | {"acs": {"other": 1.0}}}, "answering 'acs' when it is 'stroke'"),
    "a row of a table": ({"error_costs": FRAME.rename(index={"acs": "asc"})}, "error_costs.*'asc'"),
    "a column of a table": ({"error_costs": FRAME.rename(columns={"acs": "asc"})}, "error_costs.*'asc'"),
    "a row twice": ({"error_costs": pd.concat([FRAME, FRAME[:1]])}, "'acs' twice in its index"),
    "labels twice": ({"error_costs": {1: {}, "1": {}}}, "error_costs.*'1'"),
    "a member": ({"groups": {"blood": ["wbc", "hbg"]}}, "'blood'.*'hbg'"),
    "a member twice": ({"groups": {"blood": ["wbc", "wbc"]}}, "'blood' lists 'wbc' twice"),
    "a member of two": ({"groups": {"blood": ["wbc", "hgb"], "more": ["wbc"]}}, "'wbc' is in 'blood' and in 'more'"),
    "a group of text": ({"groups": {"blood": "wbc"}}, "'blood' must list names of columns, got 'wbc'"),
    "a group of none": ({"groups": {"blood": []}}, "'blood' is empty"),
    "a group as a column": ({"groups": {"age": ["wbc", "hgb"]}}, "'age' is the name of a group and of a column"),
    "who needs": ({"prerequisites": {"blod": ["ward"]}}, "prerequisites.*'blod'"),
    "what is needed": ({"prerequisites": {"blood": ["wards"]}}, "prerequisites.*'wards'"),
    "a column of a group": ({"prerequisites": {"ward": ["wbc"]}}, "prerequisites.*'wbc'"),
    "needs in a cycle": ({"prerequisites": {"ward": ["crp"], "crp": ["ward"]}}, "cycle.*'(ward|crp)'"),
    "who is related": ({"related": {"blod": ["ward"]}}, "related.*'blod'"),
    "a related one": ({"related": [("blood", "ward"), ("crp", "wards")]}, "related.*'wards'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_label_is_one_sentence(case):
    change, match = WRONG[case]
    options = OPTIONS | change
    if "groups" in change:
        options = {"groups": change["groups"]}
    for estimator in ESTIMATORS.values():
        wrong = clone(estimator).set_params(**options)
        refused(ValueError if case != "a group of text" else TypeError, match, X, Y, call=wrong.fit)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_misspelt_name_is_named(data):
    """One name anywhere is replaced by another text."""
    option = data.draw(
        st.sampled_from(["groups", "costs", "unrelated_costs", "related", "prerequisites", "error_costs"])
    )
    text = data.draw(st.text("abcxyz", min_size=1, max_size=4))
    known = {*X, *COSTS, *CLASSES}
    if text in known:
        text += "_"
    given: Any = OPTIONS[option]
    key = data.draw(st.sampled_from(sorted(given)))
    value: Any = given[key]
    within = data.draw(st.booleans())
    if not within and option == "groups":
        return  # a group has any name
    if isinstance(value, float) or not within:
        wrong = renamed(given, key, text)
    elif isinstance(value, dict):
        wrong = given | {key: renamed(value, data.draw(st.sampled_from(sorted(value))), text)}
    else:
        place = data.draw(st.integers(0, len(value) - 1))
        wrong = given | {key: [*value[:place], text, *value[place + 1 :]]}
    model = clone(ESTIMATORS["rcpi"]).set_params(**(OPTIONS | {option: wrong}))
    refused(ValueError, f"'{text}'", X, Y, call=model.fit)


def test_wrong_names_of_units_and_classes_are_refused():
    refused(ValueError, "units: unknown column 'crb'; did you mean 'crp'", units={"crb": "mg/l"}, call=of_numbers)
    refused(TypeError, "units must map names", units={"crp": 3}, call=of_numbers)
    refused(TypeError, "units must map names", units=["mg/l"], call=of_numbers)
    weighted = clone(ESTIMATORS["rcpi"]).set_params(class_weight={"asc": 2})
    refused(ValueError, "class_weight names 'asc'", X, Y, call=weighted.fit)
    data = fsgym.load_dataset(X.assign(sick=Y), target="sick")
    refused(ValueError, "'hbg'", {"blood": ["hbg"]}, call=data.with_groups)
    for option in ("drop", "category", "numeric"):
        refused(ValueError, "'wbz'", X.assign(sick=Y), target="sick", **{option: ["wbz"]})
    refused(ValueError, "'wbz'", X.assign(sick=Y), target="sick", row_groups="wbz")
    refused(ValueError, "'sik'", X.assign(sick=Y), target="sik")


def of_numbers(**options):
    return fsgym.Dataset(X[["age", "crp"]].to_numpy(), Y, feature_names=["age", "crp"], **options)
