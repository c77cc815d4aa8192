"""Policy iteration on a lattice of feature subsets, each with a classifier of its own."""

from agents.lattice.classifier import LatticeClassifier
from agents.lattice.policy import LatticePolicy

__all__ = ["LatticeClassifier", "LatticePolicy"]
