"""Inputs of many tests: small data sets, a table of rules, the folder of data sets."""

from __future__ import annotations

import os

import numpy as np
import pytest

from fsgym import Dataset

FOLDER = os.environ.get("FSGYM_DATA")
needs_folder = pytest.mark.skipif(not FOLDER, reason="FSGYM_DATA names no folder of data sets")

N, C = 6, 3
LINE = [[int(abs(i - j) == 1) for i in range(N)] for j in range(N)]  # each related to its neighbours
CHAIN = [[int(i == j - 1 and j in (2, 4)) for i in range(N)] for j in range(N)]  # 2 after 1, 4 after 3
PRICES = [0.5, 1.0, 2.0, 0.0, 1.5, 0.25]
ERRORS = [[-50.0, 400.0, 10.0], [800.0, -5.0, 20.0], [100.0, 30.0, -1.0]]
GROUPS = [[0, 3], [1], [5, 2, 4]]
TRIO = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
RELATED = {"lam": 1.0, "costs": PRICES, "related": LINE, "unrelated_costs": 3.0}

# A new rule is one more row here: every test of the environments then runs under it.
VARIANTS = {
    "base": {"lam": 0.1},
    "budget 0": {"lam": 0.1, "budget": 0},
    "budget 1": {"lam": 0.1, "budget": 1},
    "budget 3": {"lam": 0.0, "budget": 3},
    "budget_cost": {"lam": 0.1, "costs": PRICES, "budget_cost": 2.5},
    "costs": {"lam": 1.0, "costs": PRICES},
    "error costs": {"lam": 1.0, "costs": PRICES, "error_costs": ERRORS},
    "referral": {"lam": 0.1, "refer_cost": 0.3},
    "referral, error costs": {"lam": 1.0, "error_costs": ERRORS, "refer_cost": 15.0, "refer_label": "the ward"},
    "groups": {"lam": 0.1, "groups": GROUPS},
    "related to any": RELATED,
    "related to all": RELATED | {"relation": "all"},
    "first unrelated": RELATED | {"empty_is_related": False},
    "first unrelated to all": RELATED | {"empty_is_related": False, "relation": "all", "unrelated_costs": PRICES},
    "forbidden": RELATED | {"unrelated_costs": "forbid"},
    "forbidden, all": RELATED | {"unrelated_costs": "forbid", "relation": "all", "empty_is_related": False},
    "prerequisites": {"lam": 0.1, "prerequisites": CHAIN},
    "panel": {"lam": 0.5, "groups": GROUPS, "costs": [3.0, 1.0, 2.0], "budget": 2, "error_costs": ERRORS},
    "panel with a needle": {
        "lam": 1.0, "groups": GROUPS, "costs": [1.0, 0.5, 2.0], "related": TRIO, "unrelated_costs": [4.0, 2.5, 5.0],
        "empty_is_related": False, "budget_cost": 5.5, "error_costs": ERRORS,
    },
    "everything": RELATED | {"budget": 4, "budget_cost": 6.0, "prerequisites": CHAIN, "error_costs": ERRORS},
    "everything, forbidden": RELATED | {
        "budget": 4, "budget_cost": 3.0, "prerequisites": CHAIN, "error_costs": ERRORS, "unrelated_costs": "forbid",
        "refer_cost": 5.0,
    },
}  # fmt: skip


def make_data(missing: bool, seed: int = 0, rows: int = 40) -> Dataset:
    """Values on a grid of eighths (exact in float32), with some missing, some zero."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, (rows, N)) / 8.0
    if missing:
        X[rng.random(X.shape) < 0.3] = np.nan
        X[0], X[1, 1:] = np.nan, np.nan
    return Dataset(X, np.arange(rows) % C, feature_names=list("abcdef"), name="small")


DATA = {"complete": make_data(False), "missing": make_data(True)}


def one_decides(n=400, n_features=5, seed=0):
    """A table and labels that are the sign of the third column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, n_features))
    return X, (X[:, 2] > 0).astype(int)


MIXED = """id,age,sex,city,score,target
p1,30,m,Rome,1.5,no
p2,,f,Oslo,?,yes
p3,50,m,,2.5,no
p4,41,,Bern,NA,yes
p5,28,f,Rome,0.5,no
p6,33,m,Oslo,3.5,yes
"""
