"""Deep agents refuse prices whose sums single precision does not hold, as the other agents do."""

from __future__ import annotations

import numpy as np
import pytest

from agents import SB3Classifier
from agents.policy import MAX_LOSS

X, Y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2


@pytest.mark.parametrize("algorithm", ["maskable_ppo", "dqn", "ppo", "a2c"])
@pytest.mark.parametrize("rules", [{"lam": 1.0, "costs": 1e9}, {"lam": 1e30}, {"error_costs": [[0, 1e10], [1, 0]]}])
def test_prices_over_the_common_bound_are_refused_before_training(algorithm, rules):
    model = SB3Classifier(algorithm=algorithm, total_timesteps=1, **rules)
    with pytest.raises(ValueError, match=f"must not add up to more than {MAX_LOSS:g}".replace("+", r"\+")):
        model.fit(X, Y)
