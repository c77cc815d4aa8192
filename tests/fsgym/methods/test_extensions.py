"""Methods and variants of other projects: registered by a call or an entry point, then known by name everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.utils.env_checker import check_env
from sklearn.base import BaseEstimator, ClassifierMixin

import fsgym
from agents import load_classifier
from fsgym import cli
from fsgym.comparison import figures
from fsgym.comparison.compared import compared_methods
from fsgym.comparison.protocol import make_protocol
from fsgym.methods import METHODS, Method, find_method, load_class, method_names
from fsgym.methods import registry as methods
from support.outside import TopFeatures
from support.problems import PRICES, make_data
from support.refusals import one_sentence


@pytest.fixture
def registry():
    """Undo all registrations of a test after it."""
    known, ids = dict(METHODS), set(gym.registry)
    yield METHODS
    METHODS.clear()
    METHODS.update(known)
    for name in set(gym.registry) - ids:
        del gym.registry[name]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_a_registered_method_is_compared_by_name_under_its_title(registry, tmp_path):
    fsgym.register_method("top", TopFeatures, title="Top features", reference="Nobody (2026)")
    results = fsgym.compare("wine", ["top", "cart"], splits=2, out=tmp_path, references=False)
    assert results.loc[results["method"] == "top", "error"].isna().all()
    assert len(results[results["method"] == "top"]) == 2 * 5
    assert "Top features" in (tmp_path / "report.html").read_text()
    named = fsgym.compare("wine", {"mine": [TopFeatures(k) for k in (0, 1, 2, 3, 13)]}, splits=2, references=False)
    top = results[results["method"] == "top"].reset_index(drop=True)
    np.testing.assert_array_equal(top["accuracy"], named["accuracy"])


def test_a_method_by_its_address_with_a_preset_and_prices(registry):
    fsgym.register_method("quick", "agents:DatumWiseClassifier", prices=True, preset={"n_iterations": 1})
    results = fsgym.compare("wine", "quick", splits=1, lam=[0.01, 0.1], references=False)
    assert results["params"].tolist() == ['{"lam": 0.01}', '{"lam": 0.1}']
    assert load_class(find_method("quick")).__name__ == "DatumWiseClassifier"


@pytest.mark.parametrize(
    ("arguments", "options", "error", "sentence"),
    [
        (("cart", TopFeatures), {}, ValueError, "the method 'cart' exists already"),
        (("a b", TopFeatures), {}, ValueError, "name must be a word"),
        ((3, TopFeatures), {}, ValueError, "name must be a word"),
        (("mine", "nowhere"), {}, TypeError, "must be a class or 'module:Class', got 'nowhere'"),
        (("mine", TopFeatures()), {}, TypeError, "must be a class or 'module:Class'"),
        (("mine", dict), {}, TypeError, "dict has no fit"),
        (("mine", TopFeatures), {"extra": "gold"}, ValueError, "extra must be one of"),
    ],
)
def test_what_is_no_method_is_refused_in_a_sentence(registry, arguments, options, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        fsgym.register_method(*arguments, **options)
    assert "\n" not in str(caught.value)
    assert method_names() == list(registry)


class Bare(ClassifierMixin, BaseEstimator):
    """Knows neither prices nor settings."""

    def fit(self, X, y):
        return self

    predict = features_used = fit


class Odd(TopFeatures):
    """Its settings are not parameters of its class."""

    def sparsity_grid(self, X, y):
        return [(1,), (2,)]


@pytest.mark.parametrize(
    ("cls", "prices", "sentence"),
    [
        (Bare, False, r"mine must have sparsity_grid\(X, y\) -> list of dict, .*; Bare has no sparsity_grid"),
        (Bare, True, "mine has prices=True, but Bare has no parameter lam"),
        (Odd, False, r"sparsity_grid of Odd must return a list of dicts of its parameters, got \[\(1,\), \(2,\)\]"),
    ],
)
def test_a_method_without_settings_is_refused_before_the_work(registry, cls, prices, sentence):
    fsgym.register_method("mine", cls, prices=prices)
    with pytest.raises(TypeError, match=sentence) as caught:
        fsgym.compare("wine", "mine", references=False)
    assert "\n" not in str(caught.value)


class PerPrice(TopFeatures):
    """Has settings of its own, and knows prices; ``lam`` and ``groups`` are its own too."""

    def __init__(self, k=2, costs=None, error_costs=None, budget=None, lam=7.0, groups="mine"):
        super().__init__(k)
        self.costs, self.error_costs, self.budget, self.lam, self.groups = costs, error_costs, budget, lam, groups


@pytest.mark.parametrize("own", [None, np.arange(1.0, 14.0)])  # the prices of the data
def test_a_method_with_settings_of_its_own_receives_prices(registry, own):
    fsgym.register_method("mine", PerPrice)
    prices = [2.0] * 6 + [1.0] * 7 if own is None else [1.0] * 13
    options = {"costs": prices, "budget": 3, "error_costs": 2.0 - 2 * np.eye(3)}
    wine = fsgym.load_dataset("wine").replace(costs=own)
    protocol = make_protocol(wine, splits=1, train_share=0.5, seed=0, lam=0.05, options=options)
    (compared,) = compared_methods("mine", protocol)
    for candidate in compared.candidates:
        received = candidate.get_params()
        assert (received["costs"], received["budget"], received["lam"], received["groups"]) == (prices, 3, 7.0, "mine")
        assert received["error_costs"] == options["error_costs"].tolist()
    assert [{"k": candidate.k} for candidate in compared.candidates] == TopFeatures().sparsity_grid(wine.X, wine.y)


def test_a_preset_holds_for_methods_that_know_no_price(registry):
    fsgym.register_method("stump", "baselines:CARTClassifier", preset={"max_depth": 1})
    results = fsgym.compare("wine", ["stump", "cart"], splits=1, references=False)
    most = results.groupby("method")["n_features"].max()
    assert most["stump"] <= 1 < most["cart"]


def test_a_method_that_cannot_be_imported_is_one_sentence(registry):
    fsgym.register_method("lost", "no_such_module:Thing")
    with pytest.raises(ImportError, match="'no_such_module:Thing' cannot be imported"):
        fsgym.compare("wine", "lost", references=False)


ENTRY_POINTS = """[fsgym.methods]
top = outside_of_all:TopFeatures
record = outside_of_all:RECORD
broken = outside_of_all:nothing
most = outside_of_all:MajorityClassifier
number = outside_of_all:NUMBER
"""


@pytest.fixture
def distribution(tmp_path, monkeypatch, registry):
    """A distribution with entry points, as pip would have installed it."""
    folder = tmp_path / "site"
    info = folder / "outside-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    code = "from support.majority import MajorityClassifier\nfrom support.outside import TopFeatures\n"
    code += "from fsgym import Method\nNUMBER = 3\n"
    (folder / "outside_of_all.py").write_text(
        code + "RECORD = Method('A record', TopFeatures, False, reference='Nobody')\nprint('loaded')\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("outside_of_all", None)


def test_an_entry_point_is_loaded_only_when_its_name_is_asked_for(distribution):
    assert {"top", "record", "broken", "number"} <= set(method_names())
    find_method("cart")
    with pytest.raises(ValueError, match="did you mean 'record'"):
        find_method("recod")
    assert "outside_of_all" not in sys.modules
    found = find_method("top")
    assert (found.title, found.prices, load_class(found)) == ("top", False, TopFeatures)
    assert find_method("record").title == "A record"
    assert isinstance(find_method("record"), Method)
    with pytest.raises(ImportError, match=r"'broken' \(outside_of_all:nothing\) cannot be loaded"):
        find_method("broken")
    with pytest.raises(TypeError, match="must be a class or 'module:Class', got 3"):
        find_method("number")


@pytest.mark.slow  # the tests above call them in Python
def test_the_command_line_knows_methods_of_other_distributions(distribution, tmp_path):
    place = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [
        sys.executable,
        "-m",
        "fsgym",
        "compare",
        "wine",
        "--methods",
        "record,top",
        "--splits",
        "1",
        "--no-references",
    ]
    message = subprocess.run(
        [*command, "--jobs", "2", "--out", str(tmp_path / "out")], capture_output=True, text=True, env=place
    )
    assert message.returncode == 0, message.stderr
    assert "A record" in message.stdout
    assert Path(tmp_path, "out", "results.csv").read_text().count("\nwine,0,top") == 5


def test_an_agent_of_another_distribution_is_trained_and_loaded(distribution, tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["train", "wine", "-o", str(tmp_path / "model"), "--agent", "most", "--lam", "0.5"])
    assert left.value.code == 0, capsys.readouterr().err
    model = load_classifier(tmp_path / "model")
    assert (type(model).__name__, model.rules_.lam) == ("MajorityClassifier", 0.5)


def test_a_method_looks_the_same_whatever_it_is_compared_with():
    together = figures.method_styles(["cart", "lattice", "mine"])
    assert together["lattice"] == figures.method_styles(["lattice"])["lattice"]
    assert together["cart"] == figures.method_styles(["mine", "rcpi", "cart"])["cart"]
    every = figures.method_styles([*METHODS, "mine", "yours"])
    assert len({(v["color"], v["marker"]) for v in every.values()}) == len(METHODS) + 2
    assert len({v["color"] for v in figures.method_styles(list(methods.DEFAULT_METHODS)).values()}) == 6


def test_a_variant_of_ones_own_is_single_and_vectorised(registry):
    data = make_data(missing=True)
    fsgym.register_variant("Mine-v0", dataset=data, lam=0.5, costs=PRICES, budget=2)
    env = gym.make("Mine-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert env.unwrapped.dataset is data
    envs = gym.make_vec("Mine-v0", num_envs=3, budget=1)
    assert envs.unwrapped.__class__ is fsgym.DatumWiseVectorEnv
    assert envs.unwrapped.rules.budget == 1
    fsgym.register_variant("clinic/Digits-v3", dataset="digits", block=(2, 2))
    assert gym.make("clinic/Digits-v3").unwrapped.rules.n_acquisitions == 16


@pytest.mark.parametrize(
    ("id", "options", "error", "sentence"),
    [
        ("DatumWise-v0", {}, ValueError, "registered already"),
        ("Mine", {}, ValueError, "id must be a name with a version"),
        (3, {}, ValueError, "id must be a name with a version"),
        ("Mine-v0", {"lamb": 1}, TypeError, "unexpected keyword argument 'lamb'; did you mean 'lam'"),
        ("Mine-v0", {"dataset": 3}, TypeError, "dataset must be a name or a fsgym.Dataset, got int"),
        ("Mine-v0", {"dataset": make_data(False), "costs": [1.0]}, ValueError, r"costs must have shape \(6,\)"),
    ],
)
def test_what_is_no_variant_is_refused_in_a_sentence(registry, id, options, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        fsgym.register_variant(id, **options)
    assert "\n" not in str(caught.value)
    assert "Mine-v0" not in gym.registry


@pytest.mark.parametrize("dataset", [pd.DataFrame({"a": [0.0, 1.0]}), ([[0.0], [1.0]], [0, 1]), 3, None])
@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_what_is_no_dataset_is_refused_without_its_values(make, dataset):
    with pytest.raises(ValueError, match=r"^dataset must be a name or a fsgym\.Dataset, got ") as caught:
        make("DatumWise-v0", dataset=dataset)
    assert one_sentence(caught.value)
    assert "load_dataset(frame, target=...)" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_only_public_names_are_listed():
    assert set(dir(fsgym)) == {*fsgym.__all__, "__version__"}
    assert all(getattr(fsgym, name).__doc__ for name in fsgym.__all__)
