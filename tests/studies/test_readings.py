"""The two readings of RCPI: what their words say is what they do, and studies and suites say which one they show."""

from __future__ import annotations

import numpy as np
import pytest

import support.tiny_suite.suite as tiny
from agents import DatumWiseClassifier
from fsgym import Dataset, Rules
from fsgym.comparison.cell import fit_settings
from fsgym.methods import METHODS, find_method
from fsgym_studies.dwsm import shared as dwsm
from fsgym_studies.lattice_vs_peers import cell as lattice_cell
from fsgym_studies.lattice_vs_peers import study as lattice_vs_peers
from fsgym_studies.lattice_vs_peers.claims import RCPI_READINGS
from fsgym_studies.lattice_vs_peers.tables import METHOD_TITLES
from fsgym_studies.suites.methods import BENCHMARK_METHODS, SuiteMethods, chosen_methods
from fsgym_studies.suites.scores import version_of_rows

WORDS = {  # of each parameter and value
    ("states", "both"): "states of the previous policies and uniform ones",
    ("states", "uniform"): "with uniform states",
    ("mixture", "decision"): "a policy drawn from the mixture at each decision",
    ("answers", "logistic"): "answers by logistic regression",
    ("answers", "linear"): "least squares",
    ("n_iterations", 20): "of 20 iterations",
    ("n_iterations", 10): "of ten iterations",
    ("select", "best"): "the policy with the lowest training loss",
    ("select", "last"): "the policy of the last",
}


@pytest.mark.parametrize("name", RCPI_READINGS)
def test_the_words_of_a_reading_are_those_of_its_parameters(name):
    method = find_method(name)
    parameters = DatumWiseClassifier(**method.preset).get_params()
    for (parameter, value), words in WORDS.items():
        assert (words in method.reading) == (parameters[parameter] == value), words
    assert "literally" not in method.reading
    assert parameters["intercept"]
    assert "without a constant term" not in method.reading


def test_the_reading_that_may_differ_in_it_says_that_it_has_a_constant_term():
    """The paper does not say; without one no policy could answer at once."""
    assert "least squares with a constant term" in find_method("rcpi_printed").reading
    assert "with a constant term" in dwsm.AS_PRINTED_TEXT


def test_only_the_readings_of_rcpi_share_a_paper_and_a_class():
    assert {name for name, method in METHODS.items() if method.reading} == set(RCPI_READINGS)


def test_the_study_runs_rcpi_as_printed_at_each_price():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    data = Dataset(rows, rows[:, 0] > 0)
    candidates, held_out = lattice_cell.settings_of("rcpi_printed", data, [0.01, 0.6], 3)
    models = fit_settings(data, candidates, Rules.for_dataset(data), 3)
    assert held_out is None
    for price, model in zip([0.01, 0.6], models):
        wanted = {**find_method("rcpi_printed").preset, "lam": price, "random_state": 3}
        assert {name: value for name, value in model.get_params().items() if name in wanted} == wanted
        assert len(model.history_) == 10


@pytest.mark.parametrize("full", [False, True])
def test_the_protocol_of_the_study_says_what_both_readings_are(full):
    text = lattice_vs_peers.protocol(full)
    for name in RCPI_READINGS:
        assert f" {METHOD_TITLES[name]}: {find_method(name).reading}." in text
    assert "one claim compares the lattice with each of them, and either may be the best peer." in text


def test_suites_run_rcpi_as_printed_by_its_name():
    data = tiny.problems(True, None, ())[0].runs[0][0]
    methods = chosen_methods(("rcpi", "rcpi_printed"), {})
    by_name = {m.name: m for m in methods.settings(data, tiny.PRICES, {})}
    assert by_name["rcpi_printed"].title == "RCPI as printed"
    for name in RCPI_READINGS:
        candidates = by_name[name].candidates
        wanted = {**DatumWiseClassifier().get_params(), **find_method(name).preset}
        assert [c.lam for c in candidates] == list(tiny.PRICES)
        assert all(c.get_params() | {"lam": 0.01} == wanted for c in candidates)
    assert "rcpi_printed" not in BENCHMARK_METHODS


def test_suites_say_which_reading_a_method_is():
    """Of methods that were named, those of the first run among them; others have no such sentence."""
    named = SuiteMethods(("cart",), {}, {}, ("rcpi_printed",))
    assert named.readings == [f"RCPI as printed: {find_method('rcpi_printed').reading}."]
    assert SuiteMethods(("cart",), {}, {}).readings == []
    reading = METHODS["rcpi"].reading.replace("this library", f"fsgym {version_of_rows()}")
    assert chosen_methods(("rcpi", "rcpi_printed"), {}).readings[0] == f"RCPI (datum-wise): {reading}."
