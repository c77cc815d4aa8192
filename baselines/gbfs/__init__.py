"""Gradient boosted feature selection (Xu, Huang, Weinberger and Zheng, 2014) on histogram trees of its own."""

from baselines.gbfs.estimator import GBFSClassifier, GBFSRegressor
from baselines.gbfs.path import gbfs_path

__all__ = ["GBFSClassifier", "GBFSRegressor", "gbfs_path"]
