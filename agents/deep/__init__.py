"""Deep reinforcement learning. Only training (``agents.deep.sb3``) needs the optional dependencies ``rl``."""

from agents.deep.algorithms import ALGORITHMS
from agents.deep.classifier import SB3Classifier
from agents.deep.network import NetworkPolicy

__all__ = ["ALGORITHMS", "NetworkPolicy", "SB3Classifier"]
