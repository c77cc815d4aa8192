"""What notebooks and the prompt show of a classifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from agents import DatumWiseClassifier, LatticeClassifier
from fsgym import Dataset, evaluate
from fsgym.data.columns import Column, Columns
from support.pages import Markup

NASTY = "<b>crp</b>"
COSTS = {"acs": {"acs": 0, "none": 40}, "none": {"acs": 1000, "none": 0}}


def text_of(markup):
    page = Markup()
    page.feed(markup)
    return page.tags, "|".join(page.text)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[:, 2:] = np.eye(3)[rng.integers(3, size=60)]
    columns = Columns([Column(NASTY, unit="mg/l"), Column("wbc"), Column("ward", "category", ("er", "gp", "icu"))])
    groups = {"panel": [NASTY, "wbc"]}
    y = np.where(X[:, 0] > 0, "acs", "none")
    return Dataset(X, y, columns=columns, groups=groups, costs={"panel": 3, "ward": 7}, row_groups=np.arange(60) // 2)


@pytest.fixture(scope="module")
def model(data):
    return DatumWiseClassifier(
        lam=0.5, n_iterations=1, states_per_sample=2, error_costs=COSTS, prerequisites={"ward": ["panel"]}, budget=2
    ).fit(data)


def test_notebooks_show_the_columns_prices_classes_and_error_costs_of_a_fitted_classifier(model):
    markup = model._repr_mimebundle_()["text/html"]
    assert model._repr_html_() == markup
    tags, text = text_of(markup)
    assert "b" not in tags
    for part in (
        "DatumWiseClassifier: 3 columns, 2 classes, lambda 0.5",
        "|column|kind|levels|unit|acquisition|price of the acquisition|needs|",
        f"|{NASTY}|number|mg/l|panel|3|wbc|number|panel|3|",
        "|ward|category|er, gp, icu|ward|7|panel|",
        "Classes: acs, none.",
        "a missed acs costs 1000, a false acs costs 40",
        "at most 2 acquisitions",
        "Trained on 60 rows with DatumWiseClassifier(n_iterations=1",
    ):
        assert part in text
    assert "class 0" not in text


def test_a_loaded_classifier_shows_what_its_file_has(model, tmp_path):
    model.save(tmp_path / "m.safetensors")
    _, text = text_of(DatumWiseClassifier.load(tmp_path / "m.safetensors")._repr_html_())
    assert f"|{NASTY}|number|mg/l|panel|3|" in text
    assert "Trained" not in text


def test_the_lattice_shows_what_it_expects_and_plain_tables_are_plain():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = LatticeClassifier(lam=0.1, random_state=0).fit(X, np.arange(40) % 3)
    _, text = text_of(model._repr_html_())
    assert "|column|kind|price|x0|number|1|x1|number|1|" in text
    assert f"out of fold: {model.expected_n_features_:.4g} features, cost {model.expected_cost_:.4g}" in text
    assert "A wrong answer costs 1" in text


def test_unfitted_classifiers_pipelines_and_text_are_left_to_scikit_learn(model):
    assert "sk-" in DatumWiseClassifier()._repr_html_()
    assert "sk-" in make_pipeline(FunctionTransformer(), model)._repr_html_()
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(model, "_repr_html_")


def test_evaluations_show_class_labels_and_columns(model, data):
    _, text = text_of(evaluate(model, data)._repr_html_())
    assert "|truth: acs|truth: none|acs|0|40|none|1000|0" in text
    assert f"|acquisition|price|needs|columns|panel|3|{NASTY}, wbc|ward|7|panel|ward" in text


NAMES = [f"feature_number_{j}" for j in range(100)]
SQUARE = 1.0 - np.eye(30)
LABELS = [f"class{k}" for k in range(30)]


@pytest.mark.parametrize(
    "parameters",
    [
        {"costs": dict.fromkeys(NAMES, 1.5)},
        {"error_costs": pd.DataFrame(SQUARE, LABELS, LABELS).to_dict()},
        {"error_costs": SQUARE, "costs": list(range(100)), "groups": [[j] for j in range(100)]},
        {"prerequisites": {NAMES[0]: NAMES[1:]}, "costs": pd.Series(1.0, NAMES)},
    ],
)
def test_reprs_with_long_parameters_are_short(parameters):
    text = repr(LatticeClassifier(lam=0.25, **parameters))
    assert len(text) < 800
    assert text.startswith("LatticeClassifier(")
    assert text.endswith(")")


def test_short_reprs_are_those_of_scikit_learn():
    assert repr(LatticeClassifier(costs=[1, 2])) == "LatticeClassifier(costs=[1, 2])"
    assert len(LatticeClassifier(costs=list(range(900))).__repr__(N_CHAR_MAX=10**6)) > 3000
