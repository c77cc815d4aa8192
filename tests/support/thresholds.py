"""A policy of thresholds for breast cancer, and a factory that trains it."""

import numpy as np

import fsgym

COLUMNS = [7, 20, 27]


class Thresholds:
    """Acquires three columns and answers by the sign of their sum, for values scaled to [-1, 1]."""

    def __init__(self, env, shift=0.3):
        self.n, self.shift = env.unwrapped.dataset.n_features, shift

    def __call__(self, observations, action_masks):
        acquired, values = observations[:, : self.n] > 0, observations[:, self.n :]
        n_taken = acquired[:, COLUMNS].sum(axis=1)
        malignant = (values[:, COLUMNS] + self.shift).sum(axis=1) > 0
        return np.where(n_taken < 3, np.array([*COLUMNS, 0])[n_taken], self.n + malignant)


def train(env):
    """A factory whose policy depends on the rows of the environment."""
    data = env.unwrapped.dataset
    candidates = [Thresholds(env, shift) for shift in (0.1, 0.3, 0.5)]
    return max(candidates, key=lambda policy: fsgym.evaluate(policy, data).accuracy)
