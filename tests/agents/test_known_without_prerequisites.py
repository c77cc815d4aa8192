"""A case that brings the result of a test without that of the test before it: the result counts."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from agents import AdaptiveClassifier, AnyStateNetworkClassifier, LatticeClassifier, MixtureClassifier
from fsgym import Dataset

NAMES = ["sign", "proxy", "scan"]
AGENTS = {
    "adaptive": AdaptiveClassifier,
    "lattice": LatticeClassifier,
    "mixture": MixtureClassifier,
    "network": partial(AnyStateNetworkClassifier, n_steps=400),  # 2,000 by default
}


def table(n=400, seed=0):
    """A weak sign, a proxy, and after it a scan that shows the class; the rare class is expensive to miss."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.15
    sign = np.where(rng.random(n) < np.where(ill, 0.6, 0.4), 1.0, 0.0)
    proxy = rng.normal(np.where(ill, 1.5, 0.0), 1.0)
    scan = np.where(rng.random(n) < np.where(ill, 0.97, 0.02), 1.0, 0.0)
    return Dataset(np.column_stack([sign, proxy, scan]), np.where(ill, "ill", "well"), feature_names=NAMES)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_result_of_a_test_counts_without_that_of_its_prerequisite(agent):
    options = {
        "costs": [0.0, 1.0, 4.0],
        "prerequisites": {"scan": ["proxy"]},
        "error_costs": [[0.0, 15.0], [60.0, 0.0]],
    }
    model = AGENTS[agent](1.0, known=["sign"], random_state=0, **options).fit(table())
    for scan, answer in ((1.0, "ill"), (0.0, "well")):
        session = model.session(known={"sign": 1.0, "scan": scan}, unavailable=["proxy"])
        while (question := session.next()) is not None:
            session.unknown(question.name)
        assert session.stop() == answer
        assert session.probabilities[answer] > 0.7
