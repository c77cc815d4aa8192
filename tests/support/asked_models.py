"""Classifiers of all agents under all variants of the rules, to be asked case by case."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from agents import (
    AdaptiveClassifier,
    AnyStateNetworkClassifier,
    DatumWiseClassifier,
    LatticeClassifier,
    MixtureClassifier,
)
from agents.policy_export import EXPORTED_OPTIONS
from support.deep_training import short_classifier
from support.problems import VARIANTS
from support.rcpi_twin import VARIANTS as MORE_VARIANTS
from support.rcpi_twin import problem

NAMES = ["f", "b", "e", "a", "d", "c"]  # not in alphabetical order, in which policies are trained
ASKED_AGENTS = {
    "linear": lambda **options: DatumWiseClassifier(n_iterations=2, random_state=0, **options),
    "lattice": lambda **options: LatticeClassifier(effort=0.1, random_state=0, **options),
    "mixture": lambda **options: MixtureClassifier(random_state=0, **options),
    "any_network": lambda **options: AnyStateNetworkClassifier(n_steps=20, random_state=0, **options),
    "dqn": lambda **options: short_classifier("dqn", **options),
    "adaptive": lambda **options: AdaptiveClassifier(random_state=0, **options),
    "maskable_ppo": lambda **options: short_classifier("maskable_ppo", **options),
}
# All rows of the table of rules, and the mixed ones of the tests of RCPI.
RULES = VARIANTS | {f"{name}, mixed": {"lam": 0.05, **rules} for name, rules in MORE_VARIANTS.items()}
# Those with options that exported pages know; a policy with another one is refused.
EXPORTED_RULES = {name: options for name, options in RULES.items() if options.keys() <= EXPORTED_OPTIONS}
QUICK = [("linear", variant) for variant in RULES] + [
    (agent, variant)
    for agent in ("lattice", "mixture", "any_network", "dqn")
    for variant in (
        "budget 0",
        "everything",
        "panel with a needle",
        "base, mixed",
        "prerequisites, budget, mixed",
        "referral",
    )
]
REST = [(agent, variant) for agent in ASKED_AGENTS for variant in RULES if (agent, variant) not in QUICK]


@cache
def asked_table(variant: str, n: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with names and missing values, and labels of three classes that depend on it."""
    dataset, _ = problem("base", missing=True, n=n, seed=len(variant))
    X = np.where(np.isnan(dataset.X), 0, dataset.X)
    label = np.digitize(X[:, 0] + X[:, 1] - X[:, 2], [-0.5, 0.5])
    return pd.DataFrame(dataset.X, columns=NAMES), np.array(["low", "mid", "top"])[label]


@cache
def asked_model(agent: str, variant: str) -> Any:
    """A fitted classifier, which takes the options of the rules by position, as its table has six columns."""
    return ASKED_AGENTS[agent](**RULES[variant]).fit(*asked_table(variant))


def ask_row(model: Any, row: pd.Series, **options: Any) -> Any:
    """A session on one row, asked to its end: missing values are unavailable, all answers are those of the row."""
    absent = [name for name in row.index if row[name] != row[name]]
    session = model.session(unavailable=absent, **options)
    while question := session.next():
        session.answer(question.name, values_in(question, row))
    return session


def values_in(question: Any, row: pd.Series) -> dict[str, float]:
    """The answers to a question by column."""
    return {column.name: float(row[column.name]) for column in question.columns}
