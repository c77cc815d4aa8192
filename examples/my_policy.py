"""A policy of your own on the leaderboard: a naive Bayes classifier that acquires features in a fixed order.

python examples/my_policy.py
fsgym leaderboard DatumWise-v0 --mine examples/my_policy.py:train
"""

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.naive_bayes import GaussianNB

import fsgym


def train(env: gym.Env, patience: float = 3.0) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A policy that acquires while an answer's expected cost is above ``patience`` times the price of a feature."""
    data, rules = env.unwrapped.dataset, env.unwrapped.rules
    n = rules.n_acquisitions  # actions 0 to n - 1 acquire, action n + k answers class k
    model = GaussianNB(var_smoothing=1e-3).fit(data.X, data.y)
    separation = model.theta_.var(axis=0) / model.var_.mean(axis=0)  # of the classes, by each feature
    merit = np.array([separation[list(members)].max() for members in rules.groups])

    def policy(observations: np.ndarray, action_masks: np.ndarray) -> np.ndarray:
        known, values = np.split(observations, 2, axis=1)  # known is 1 for acquired features
        distances = (values[:, None] - model.theta_) ** 2 / model.var_ + np.log(model.var_)  # (rows, classes, features)
        beliefs = softmax(np.log(model.class_prior_) - (known[:, None] * distances).sum(axis=2) / 2, axis=1)
        expected = beliefs @ rules.error_costs.T  # cost of each answer
        best = np.where(action_masks[:, :n], merit, -1.0).argmax(axis=1)
        acquire = action_masks[:, :n].any(axis=1) & (expected.min(axis=1) > patience * rules.lam * rules.costs[best])
        return np.where(acquire, best, n + expected.argmin(axis=1))

    return policy


def main(env_id: str = "DatumWise-v0") -> pd.DataFrame:
    table = fsgym.leaderboard(env_id, train)
    print(table.attrs["answer"])
    return table


if __name__ == "__main__":
    main()
