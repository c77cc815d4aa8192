"""Gradient boosted feature selection (Xu, Huang, Weinberger and Zheng, 2014) with its own histogram trees."""

from baselines.gbfs.estimator import GBFSClassifier, GBFSRegressor, gbfs_path

__all__ = ["GBFSClassifier", "GBFSRegressor", "gbfs_path"]
