"""Policies for ``--mine`` on the suite ``tiny``."""

import numpy as np

from support.tiny_suite.suite import PRICES


def train(env):
    """Acquire the first bit, and answer it."""
    assert env.unwrapped.rules.lam in PRICES
    return lambda observations, masks: np.where(observations[:, 0] == 1, 2 + (observations[:, 2] > 0), 0)


def repeat(env):
    """Acquire the first bit again and again, which is illegal."""
    return lambda observations, masks: np.zeros(len(observations), int)
