"""Deep reinforcement learning. Training (``agents.deep.sb3``) needs the extra ``rl``, the rest only NumPy."""

from agents.deep.algorithms import ALGORITHMS
from agents.deep.classifier import SB3Classifier
from agents.deep.network import NetworkPolicy

__all__ = ["ALGORITHMS", "NetworkPolicy", "SB3Classifier"]
