"""Policy iteration on a lattice of feature subsets, each with its own classifier.

The parts, in the order of the algorithm:

- ``basis``, ``subset_classifier``: the classifiers of the subsets, cross-fitted.
- ``nodes``: the lattice, its legal moves with their prices, and the error cost of answering at each subset.
- ``growth``: which subsets are added to it.
- ``state_features``, ``sweep``: policy improvement and evaluation in one backward sweep.
- ``learn``, ``target``: the loop of sweeps and growth, and the search for the ``lam`` of a target.
- ``plan``, ``inference``, ``policy``, ``classifier``: the trained policy as flat arrays, and the estimator.
- ``constants``: all numbers with their units and origins.
"""

from agents.lattice.classifier import LatticeClassifier
from agents.lattice.policy import LatticePolicy

__all__ = ["LatticeClassifier", "LatticePolicy"]
