"""Policy iteration on a lattice of feature subsets, each with its own classifier.

The parts, in the order of the algorithm:

- ``training_data``, ``forest``, ``subset_classifier``: the classifiers of the subsets, cross-fitted.
- ``nodes``: the lattice, its legal moves with their prices, and the error cost of answering at each subset.
- ``growth``: which subsets are added to it.
- ``sweep``: the features of a state, and policy improvement and evaluation in one backward sweep.
- ``learn``: the loop of sweeps and growth.
- ``held``: the subsets that the policy keeps, with its moves where it cannot obtain what it prefers.
- ``plan``, ``inference``, ``policy``, ``classifier``: the trained policy as flat arrays, and the estimator.
- ``constants``: all numbers with their units and origins.
"""

from agents.lattice.classifier import LatticeClassifier
from agents.lattice.policy import LatticePolicy

__all__ = ["LatticeClassifier", "LatticePolicy"]
