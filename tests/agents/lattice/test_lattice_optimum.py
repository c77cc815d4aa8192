"""The lattice agent against the exact optimum of small tasks, found by dynamic programming."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.lattice.classifier import refit
from agents.lattice.learn import learn
from agents.lattice.training_data import prepare_data
from agents.parallel import run_serially
from fsgym import Dataset, Rules, exact

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
PROBLEMS = {
    "naive Bayes": exact.naive_bayes,
    "decision list": exact.decision_list,
    "multiplexer": exact.multiplexer,
    "parity": exact.parity,
}


def losses(joint, options, n_rows):
    """Expected loss of the policy learned from a sample, and the minimum, for each kind of rules.

    The classifiers of the subsets do not depend on prices and error costs: kinds with the same groups share them.
    """
    X, y = exact.sample(joint, n_rows, 0)
    n, data = X.shape[1], prepare_data(Dataset(X, y), np.random.default_rng(0))
    classifiers: dict[Any, dict] = {}
    figures = {}
    for kind, options_of_kind in options.items():
        rules = Rules(n, 2, **options_of_kind)
        result = learn(data, rules, run_serially, classifiers=classifiers.setdefault(rules.groups, {}))
        done = refit([result.policy], run_serially).trajectories(exact.all_rows(n))
        figures[kind] = exact.expected_loss(done, joint, rules), exact.optimum(joint, rules)
    return figures


# Largest difference from the optimum. In the last two problems the first acquisitions are uninformative on their own.
COMMON = ["budget", "budget_cost", "prices and errors", "groups", "relational", "prerequisites"]
SMALL = {
    "naive Bayes": dict.fromkeys(COMMON, 0.015),
    "decision list": dict.fromkeys(COMMON, 0.015),
    "multiplexer": {"groups": 0.01, "prerequisites": 0.01},
    "parity": {"budget": 0.005, "groups": 0.005},
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in ("decision list", "multiplexer") else ()) for n in PROBLEMS]
)
@pytest.mark.one_in(2)
def test_small_tasks_are_solved(name):
    targets, rules = SMALL[name], exact.rules_of_every_kind(6)
    for kind, (loss, best) in losses(PROBLEMS[name](6), {k: rules[k] for k in targets}, 1500).items():
        assert best - 1e-9 <= loss <= best + targets[kind], kind


@pytest.mark.slow  # with fewer rows, in test_lattice: test_the_context_is_acquired_first_and_then_its_block
def test_a_context_is_acquired_first_where_a_greedy_policy_fails(tmp_path):
    script = runpy.run_path(str(BENCHMARKS / "context.py"))
    figures = script["main"](1000, prices=(0.02, 0.1), folder=tmp_path)
    best, lattice, greedy = (np.array(figures[name]) for name in ("optimum", "lattice", "greedy"))
    np.testing.assert_allclose(best, [0.12585, 0.35])  # 0.02: two of a block, and the third if they disagree; 0.1: one
    np.testing.assert_allclose(greedy, [1.15 / 3 + 0.02, 1.15 / 3 + 0.1])
    assert (lattice <= best + 0.03).all()
    for name in ("RCPI", "CART"):
        assert figures[name][0] > lattice[0] + 0.02
    assert figures["CART"][1] > lattice[1] + 0.02
    assert "| 0.1 | 0.3500 |" in (tmp_path / "context.md").read_text()
    assert (tmp_path / "context.png").read_bytes().startswith(b"\x89PNG")


KINDS = ("base", "budget", "prices and errors", "groups", "relational")


@pytest.mark.slow  # with fewer bits and rows: test_small_tasks_are_solved
@pytest.mark.parametrize("name", PROBLEMS)
def test_large_samples_of_twelve_features_come_close_to_the_optimum(name):
    rules = exact.rules_of_every_kind(12)
    for kind, (loss, best) in losses(PROBLEMS[name](12), {k: rules[k] for k in KINDS}, 20_000).items():
        assert best - 1e-9 <= loss <= best + 0.01, kind
