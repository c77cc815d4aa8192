"""Agents with one model for all states, from which they go on wherever they start."""

from agents.anystate.mixture.classifier import MixtureClassifier, MixturePolicy
from agents.anystate.network.classifier import AnyStateNetworkClassifier, AnyStateNetworkPolicy

__all__ = ["AnyStateNetworkClassifier", "AnyStateNetworkPolicy", "MixtureClassifier", "MixturePolicy"]
