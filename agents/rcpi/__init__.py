"""Rollouts Classification Policy Iteration (Dulac-Arnold, Denoyer, Preux and Gallinari, 2012, section 3.4)."""

from agents.rcpi.rcpi import RCPI

__all__ = ["RCPI"]
