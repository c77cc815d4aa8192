"""The classifier that chooses its learner: the lattice, the mixture or the network."""

from agents.adaptive.classifier import AdaptiveClassifier
from agents.adaptive.policy import ChosenPolicy
from agents.adaptive.report import LearnerReport, LearnerTrial

__all__ = ["AdaptiveClassifier", "ChosenPolicy", "LearnerReport", "LearnerTrial"]
