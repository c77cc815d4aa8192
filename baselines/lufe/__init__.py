"""Learning using unselected features (Taylor, Sharmanska, Kersting, Weir and Quadrianto, 2016)."""

from baselines.lufe.classifier import LUFeClassifier
from baselines.lufe.search import LUFeCV

__all__ = ["LUFeCV", "LUFeClassifier"]
