"""Neural methods of dynamic feature selection. Only training needs PyTorch, the optional dependencies ``deep``."""

from baselines.neural.dime import DIMEClassifier, DIMEPolicy
from baselines.neural.gdfs import GDFSClassifier, GDFSPolicy

__all__ = ["DIMEClassifier", "DIMEPolicy", "GDFSClassifier", "GDFSPolicy"]
