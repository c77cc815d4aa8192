"""Feature selection for uncertain data: sampled values, the sparse group LASSO, and the intersection kernel SVM."""

from baselines.uncertain.classifier import UncertainHIKClassifier
from baselines.uncertain.expander import UncertainExpander
from baselines.uncertain.intersection import intersection_kernel
from baselines.uncertain.selector import UncertainSGLSelector

__all__ = ["UncertainExpander", "UncertainHIKClassifier", "UncertainSGLSelector", "intersection_kernel"]
