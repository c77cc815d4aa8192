"""Small model files of every kind that the package writes, under rules that change what is in a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fsgym
from agents import LatticeClassifier, MixtureClassifier, load_classifier
from support.asked_models import ASKED_AGENTS, RULES, asked_table
from support.model_files import agent_of
from support.patients import RULES as RULES_OF_PATIENTS
from support.patients import UNITS, features_and_labels, patients

VARIANTS_OF_EACH = ("panel with a needle", "everything")
ORIGIN = {"data": "patients.csv", "target": "diagnosis", "split": "all"}


def write_small_models(folder: Path, every_variant: bool = False) -> dict[str, Path]:
    """Write the files and return them by a name; files that are there are not written again."""
    paths = {}
    for name, make in _models(every_variant):
        paths[name] = folder / (name.replace(",", "").replace(" ", "-") + ".safetensors")
        if not paths[name].exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make().save(paths[name])
    return paths


def _models(every_variant: bool) -> Iterator[tuple[str, Any]]:
    variants = list(RULES)
    for k, agent in enumerate(ASKED_AGENTS):
        chosen = variants if agent == "linear" else [*VARIANTS_OF_EACH, *variants[k::7]]
        for variant in dict.fromkeys(chosen if every_variant else [*VARIANTS_OF_EACH, variants[k]]):
            yield f"{agent}, {variant}", lambda agent=agent, variant=variant: _on_asked_table(agent, variant)
        yield f"{agent}, patients", lambda agent=agent: _on_patients(agent)
    for variant in ("everything", "base"):
        yield f"agent, {variant}", lambda variant=variant: agent_of(variant)
    yield "lattice, no chart", lambda: _without_chart(_on_asked_table("lattice", "base"))
    yield "mixture, levels", _mixture_of_levels
    yield "lattice, target", lambda: LatticeClassifier(effort=0.1, target_features=2, random_state=0).fit(*_plain())
    yield "lattice, known", lambda: LatticeClassifier(effort=0.1, known=[0, 2], random_state=0).fit(*_plain())


def _on_asked_table(agent: str, variant: str) -> Any:
    return ASKED_AGENTS[agent](**RULES[variant]).fit(*asked_table(variant))


def _on_patients(agent: str) -> Any:
    """A table with categories, units, groups and prerequisites."""
    X, y = features_and_labels(patients(300))
    data = fsgym.load_dataset(X.assign(diagnosis=y), target="diagnosis", units=UNITS)
    model = ASKED_AGENTS[agent](**RULES_OF_PATIENTS, budget_cost=140.0).fit(data)
    model.training_data_ = ORIGIN
    return model


def _plain() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(90, 4))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


def _mixture_of_levels() -> Any:
    rng, n = np.random.default_rng(1), 120
    table = pd.DataFrame(
        {
            "ward": np.array(["er", "icu", "gp", "or"])[rng.integers(0, 4, n)],
            "few": rng.integers(0, 3, n).astype(float),
            "yes": rng.random(n) < 0.5,
            "far": 1.7e9 + rng.integers(0, 60, n),
            "wide": rng.lognormal(0, 2, n),
        }
    )
    return MixtureClassifier(lam=0.01).fit(table, np.where(table["wide"] > 1, "high", "low"))


def _without_chart(model: Any) -> Any:
    model._chart = model._chart_rows = None
    return model


def is_agent(name: str) -> bool:
    """Whether the file of this name has no labels."""
    return name.startswith("agent,")


def load_any(path: Path, is_agent: bool) -> Any:
    """The classifier of a file, or the agent of one that has no labels."""
    if is_agent:
        from agents import RCPI

        return RCPI.load(path)
    return load_classifier(path)
