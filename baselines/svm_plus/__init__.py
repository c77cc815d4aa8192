"""SVM+ (Vapnik and Vashist, 2009) by an interior point method of its own."""

from baselines.svm_plus.classifier import SVMPlusClassifier

__all__ = ["SVMPlusClassifier"]
