"""Sparse disjunctions of Boolean features by hierarchical kernel learning, and a transformer to Boolean features."""

from baselines.hkl.booleanizer import Booleanizer
from baselines.hkl.classifier import DisjunctionClassifier

__all__ = ["Booleanizer", "DisjunctionClassifier"]
