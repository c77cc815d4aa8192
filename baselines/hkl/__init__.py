"""Sparse disjunctions of Boolean features by hierarchical kernel learning, and tables made Boolean."""

from baselines.hkl.booleanizer import Booleanizer
from baselines.hkl.classifier import DisjunctionClassifier

__all__ = ["Booleanizer", "DisjunctionClassifier"]
