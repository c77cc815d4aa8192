"""Agents: policies that acquire features one by one, and classifiers around them."""

from typing import TYPE_CHECKING

from fsgym.support.lazy import imported_later

if TYPE_CHECKING:
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

__getattr__, __dir__ = imported_later(
    __name__,
    {
        "agents.adaptive": "AdaptiveClassifier ChosenPolicy LearnerReport",
        "agents.anystate": "AnyStateNetworkClassifier AnyStateNetworkPolicy MixtureClassifier MixturePolicy",
        "agents.base": "BaseAgentClassifier",
        "agents.deep": "NetworkPolicy SB3Classifier",
        "agents.lattice": "LatticeClassifier LatticePolicy",
        "agents.loading": "load_classifier",
        "agents.policy": "Policy",
        "agents.rcpi": "RCPI DatumWiseClassifier FittedQ LinearPolicy",
    },
)
