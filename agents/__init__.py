"""Agents: policies that acquire features one by one, and classifiers around them."""

from agents.adaptive import AdaptiveClassifier, ChosenPolicy, LearnerReport
from agents.anystate import AnyStateNetworkClassifier, AnyStateNetworkPolicy, MixtureClassifier, MixturePolicy
from agents.base import BaseAgentClassifier
from agents.deep import NetworkPolicy, SB3Classifier
from agents.lattice import LatticeClassifier, LatticePolicy
from agents.loading import load_classifier
from agents.policy import Policy
from agents.rcpi import RCPI, DatumWiseClassifier, FittedQ, LinearPolicy

__all__ = [
    "RCPI",
    "AdaptiveClassifier",
    "AnyStateNetworkClassifier",
    "AnyStateNetworkPolicy",
    "BaseAgentClassifier",
    "ChosenPolicy",
    "DatumWiseClassifier",
    "FittedQ",
    "LatticeClassifier",
    "LatticePolicy",
    "LearnerReport",
    "LinearPolicy",
    "MixtureClassifier",
    "MixturePolicy",
    "NetworkPolicy",
    "Policy",
    "SB3Classifier",
    "load_classifier",
]
