"""Agents that ask for features one by one."""

from agents.classifier import DatumWiseClassifier
from agents.deep import SB3Classifier
from agents.lattice import LatticeClassifier, LatticePolicy
from agents.loading import load_classifier
from agents.network import NetworkPolicy
from agents.policy import LinearPolicy, Policy
from agents.rcpi import RCPI

__all__ = [
    "RCPI", "DatumWiseClassifier", "LatticeClassifier", "LatticePolicy", "LinearPolicy", "NetworkPolicy", "Policy",
    "SB3Classifier", "load_classifier",
]  # fmt: skip
