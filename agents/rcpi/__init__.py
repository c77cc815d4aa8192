"""Rollouts Classification Policy Iteration (Dulac-Arnold, Denoyer, Preux and Gallinari, 2012, section 3.4)."""

from agents.rcpi.classifier import DatumWiseClassifier
from agents.rcpi.policy import LinearPolicy
from agents.rcpi.rcpi import RCPI

__all__ = ["RCPI", "DatumWiseClassifier", "LinearPolicy"]
