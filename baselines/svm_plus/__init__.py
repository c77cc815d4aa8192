"""SVM+ (Vapnik and Vashist, 2009), solved by an interior point method that certifies its solution."""

from baselines.svm_plus.classifier import SVMPlusClassifier

__all__ = ["SVMPlusClassifier"]
