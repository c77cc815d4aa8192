"""The sparse group LASSO: an exact solver with a certified duality gap, its path, the published 100 steps of FISTA,
and a classifier with the logistic loss."""

from baselines.sparse_group_lasso.classifier import GroupLassoClassifier
from baselines.sparse_group_lasso.estimator import SparseGroupLasso
from baselines.sparse_group_lasso.path import SGLPath, sgl_lambda_max, sgl_path

__all__ = ["GroupLassoClassifier", "SGLPath", "SparseGroupLasso", "sgl_lambda_max", "sgl_path"]
